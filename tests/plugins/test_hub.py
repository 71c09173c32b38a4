"""Models of the hub, with the real client against a hub on this machine."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tabsa
from hub_server import NAME, TARGETS, TEXT, TOKEN, HubServer, answers
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.hub import hub_name, pinned_name
from tabsa.checkpoint.model_folder import ANSWERING, read_folder
from tabsa.errors import ModelError
from tabsa.plugins.hub import push


def refused(name: str = NAME) -> str:
    with pytest.raises(ModelError) as caught:
        tabsa.load(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "repo", "revision", "sha256"),
    [
        ("hub:a/b", "a/b", None, None),
        ("hub:a-1/b.c_d@v1.0", "a-1/b.c_d", "v1.0", None),
        ("hub:a/b@refs/pr/3", "a/b", "refs/pr/3", None),
        ("hub:a/b@main#sha256=" + "A" * 64, "a/b", "main", "a" * 64),
    ],
)
def test_names(text: str, repo: str, revision: str | None, sha256: str | None) -> None:
    name = hub_name(text)
    assert (name.repo, name.revision, name.sha256) == (repo, revision, sha256)
    assert hub_name(str(name)) == name


@pytest.mark.parametrize(
    "text", ["hub:", "hub:a", "hub:a/b/c", "hub:a/b@", "hub:a/b#sha256=12", "hub:../..", "hub:a/.b", "hub:a/b@x y"]
)
def test_malformed_names(text: str) -> None:
    assert "names no model; expected hub:OWNER/NAME" in refused(text)


def test_a_model_of_the_hub_answers_as_its_folder(there: HubServer, tiny_model: Path) -> None:
    loaded = tabsa.load(NAME)
    assert answers(loaded) == answers(tabsa.load(tiny_model))
    assert loaded.folder.sha256 == read_folder(tiny_model).sha256
    known = {*ANSWERING, CHECKSUMS, "README.md", "metrics.json"}
    assert set(there.resolved()) <= known
    assert {path.name for path in loaded.folder.path.iterdir() if path.is_file()} <= known


def test_revisions(there: HubServer, files: dict[str, bytes]) -> None:
    repo = there.repos["someone/tiny"]
    repo.refs["v1"] = repo.refs["main"]
    repo.commit(files | {"README.md": b"# second\n"})
    for revision, text in {"v1": "# tiny\n", "main": "# second\n"}.items():
        assert (tabsa.load(f"{NAME}@{revision}").folder.path / "README.md").read_text() == text
    assert refused(f"{NAME}@v9") == f"{NAME} has no revision 'v9'"


def test_the_cache_serves_where_the_hub_does_not(there: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(tabsa.load(NAME))
    there.down = True
    assert answers(tabsa.load(NAME)) == before
    there.down = False
    there.asked.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert answers(tabsa.load(NAME)) == before
    assert there.asked == []


def test_a_pinned_name_is_one_model(there: HubServer, files: dict[str, bytes], tiny_model: Path) -> None:
    names = sorted(json.loads((tiny_model / CHECKSUMS).read_text())["sha256"])
    lines = "".join(f"{hashlib.sha256((tiny_model / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    pin = hashlib.sha256(lines.encode()).hexdigest()
    assert pinned_name(NAME) == f"{NAME}#sha256={pin}"
    assert tabsa.load(f"{NAME}#sha256={pin}").folder.sha256 == pin
    assert pinned_name("places") == "places"
    other = "0" * 64
    assert refused(f"{NAME}#sha256={other}") == f"the files of {NAME} have the SHA-256 {pin}, not {other}"


@pytest.mark.parametrize("name", ["weights.safetensors", "model.onnx", "config.json"])
def test_a_changed_file_is_refused(there: HubServer, files: dict[str, bytes], name: str) -> None:
    changed = bytearray(files[name])
    changed[len(changed) // 2] ^= 1
    there.repos["someone/tiny"].commit(files | {name: bytes(changed)})
    assert f"{name} is" in refused()


def test_a_folder_without_checksums_or_not_whole(there: HubServer, files: dict[str, bytes]) -> None:
    repo = there.repos["someone/tiny"]
    repo.commit({name: data for name, data in files.items() if name != CHECKSUMS})
    assert refused().startswith(f"{NAME} has no whole checksums.json")
    repo.commit({name: data for name, data in files.items() if name != "weights.safetensors"}, "half")
    assert refused(f"{NAME}@half") == f"{NAME} has no weights.safetensors, so it is no whole model folder"


@pytest.mark.parametrize("listed", [{"config.json": "0", "../../up": "0" * 64}, {"config.json": "0", "run.py": "0"}])
def test_checksums_that_name_other_files(there: HubServer, files: dict[str, bytes], listed: dict[str, str]) -> None:
    there.repos["someone/tiny"].commit(files | {CHECKSUMS: json.dumps({"sha256": listed}).encode()})
    assert refused().startswith(f"{NAME}: checksums.json names ")


def test_errors_of_one_line(there: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    login = "log in (`hf auth login`, or HF_TOKEN)"
    private = f"or it is private or gated: ask on its page, then {login}"
    assert refused("hub:someone/else") == f"there is no hub:someone/else, {private}"
    repo = there.repos["someone/tiny"]
    repo.gated = True
    assert refused() == f"there is no {NAME}, {private}"
    repo.gated = False
    there.cut = {"weights.safetensors"}
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 1)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    assert NAME in refused()
    there.cut = set()
    assert tabsa.load(NAME).predict(TEXT, TARGETS).opinions  # goes on where it broke off
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "needs huggingface_hub: pip install 'tabsa[hub]'" in refused()
    with pytest.raises(ModelError, match=r"needs huggingface_hub: pip install 'tabsa\[hub\]'"):
        push(tabsa.load("places"), "me/places")


def test_commands_take_names_of_the_hub(there: HubServer, tmp_path: Path, command_line) -> None:
    (tmp_path / "in.csv").write_text("text\nCamden is cheap.\n")
    assert '"target": "Camden"' in command_line("predict", TEXT, "-t", "Camden", "--model", NAME, "--json")[1]
    out = tmp_path / "out.csv"
    assert command_line("score", tmp_path / "in.csv", out, "-t", "Camden", "--model", NAME)[0] == 0
    assert out.read_text().startswith("text,")
    code, _, stderr = command_line("predict", TEXT, "-t", "Camden", "--model", "hub:someone/else")
    assert (code, "Traceback" in stderr) == (1, False)
    assert "error: there is no hub:someone/else" in stderr


def test_nothing_is_imported_without_such_a_name() -> None:
    code = "import sys, tabsa; tabsa.load('places').folder.sha256; print('huggingface_hub' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert ran.stdout.strip() == "False"


def test_push(there: HubServer, tiny_model: Path) -> None:
    model = tabsa.load(tiny_model)
    address = push(model, "me/mine", private=True, token=TOKEN, card={"license": "mit"})
    repo = there.repos["me/mine"]
    pushed = repo.commits[repo.refs["main"]]
    assert address.endswith(repo.refs["main"])
    assert repo.private
    assert set(pushed) & set(ANSWERING) == set(json.loads(pushed[CHECKSUMS])["sha256"])
    assert pushed["README.md"].startswith(b"---\n")
    assert b"license: mit" in pushed["README.md"]
    assert b"library_name: tabsa" in pushed["README.md"]
    assert {name: pushed[name] for name in ANSWERING if name in pushed} == {
        name: (tiny_model / name).read_bytes() for name in ANSWERING if (tiny_model / name).exists()
    }


def test_another_model_is_pushed_over_one(there: HubServer, files: dict[str, bytes], tiny_model: Path) -> None:
    repo = there.repos["someone/tiny"]
    repo.commit(files | {"model.int8.onnx": b"of an earlier model"})
    push(tabsa.load(tiny_model), "someone/tiny", token=TOKEN, commit_message="again")
    now = repo.commits[repo.refs["main"]]
    assert "model.int8.onnx" not in now
    assert now["run.py"] == files["run.py"]  # somebody else's
    assert answers(tabsa.load(NAME)) == answers(tabsa.load(tiny_model))
    with pytest.raises(ModelError, match=r"^the hub does not take or give hub:me/mine: .*401") as caught:
        push(tabsa.load(tiny_model), "me/mine", token="hf_wrong")
    assert "hf_wrong" not in str(caught.value)
