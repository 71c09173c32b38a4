"""Models of the hub, with the real client against a hub on this machine."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tabsa
from hub_server import NAME, TARGETS, TEXT, TOKEN, HubServer, answers
from tabsa.checkpoint import hub
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.hub import hub_name, is_hub_name, pinned_name
from tabsa.checkpoint.model_folder import ANSWERING, read_folder
from tabsa.errors import ModelError
from tabsa.inference.predictor import Predictor


def refused(name: str = NAME, **how: object) -> str:
    with pytest.raises(ModelError) as caught:
        Predictor.from_pretrained(name, **how)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- names


@pytest.mark.parametrize(
    ("text", "repo", "revision", "sha256"),
    [
        ("hub:a/b", "a/b", None, None),
        ("hub:a-1/b.c_d@v1.0", "a-1/b.c_d", "v1.0", None),
        ("hub:a/b@refs/pr/3", "a/b", "refs/pr/3", None),
        ("hub:a/b#sha256=" + "A" * 64, "a/b", None, "a" * 64),
        ("hub:a/b@main#sha256=" + "0" * 64, "a/b", "main", "0" * 64),
    ],
)
def test_names(text: str, repo: str, revision: str | None, sha256: str | None) -> None:
    name = hub_name(text)
    assert (name.repo, name.revision, name.sha256) == (repo, revision, sha256)
    assert hub_name(str(name)) == name
    assert is_hub_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "hub:",
        "hub:a",
        "hub:a/b/c",
        "hub:a/b@",
        "hub:a/b#sha256=12",
        "hub:../..",
        "hub:a/.b",
        "hub:a/b@x y",
        "hub:a/b@x@y",
        "hub:ä/b",
    ],
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ModelError, match=r"names no model; expected hub:OWNER/NAME"):
        tabsa.load(text)


# ---- loading


def test_a_model_of_the_hub_answers_as_its_folder(there: HubServer, tiny_model: Path) -> None:
    loaded = tabsa.load(NAME)
    assert answers(loaded) == answers(tabsa.load(tiny_model))
    assert loaded.folder.path.name == "tiny"  # what the service calls it
    assert loaded.folder.sha256 == read_folder(tiny_model).sha256
    assert any("tabsa/" in agent for agent in there.agents)


def test_only_a_model_folder_s_files_are_downloaded(there: HubServer) -> None:
    folder = tabsa.load(NAME).folder.path
    known = {*ANSWERING, CHECKSUMS, "README.md", "metrics.json"}
    assert set(there.resolved()) <= known
    assert {path.name for path in folder.iterdir()} <= known
    assert not any(path.is_symlink() for path in folder.iterdir())


def test_revisions(there: HubServer, files: dict[str, bytes], tiny_model: Path) -> None:
    repo = there.repos["someone/tiny"]
    first = repo.refs["main"]
    repo.commit(files | {"README.md": b"# second\n"})
    repo.refs["v1"] = first
    card = {"v1": "# tiny\n", first: "# tiny\n", "main": "# second\n"}
    for revision, text in card.items():
        assert (tabsa.load(f"{NAME}@{revision}").folder.path / "README.md").read_text() == text
        model = Predictor.from_pretrained("someone/tiny", revision=revision)
        assert (model.folder.path / "README.md").read_text() == text
    assert refused(revision="v9") == f"{NAME} has no revision 'v9'"


def test_one_commit_for_several_processes(there: HubServer, files: dict[str, bytes]) -> None:
    repo = there.repos["someone/tiny"]
    first = repo.refs["main"]
    pinned = pinned_name(NAME)
    repo.commit(files | {"README.md": b"# second\n"})
    assert pinned == f"{NAME}@{first}"
    assert pinned_name(pinned) == pinned
    there.down = True
    assert (tabsa.load(pinned).folder.path / "README.md").read_text() == "# tiny\n"
    assert [pinned_name(name) for name in (None, "places", "folder")] == [None, "places", "folder"]


def test_the_cache_serves_where_the_hub_does_not(there: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    before = answers(tabsa.load(NAME))
    there.down = True
    assert answers(tabsa.load(NAME)) == before
    there.down = False
    there.asked.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert answers(tabsa.load(NAME)) == before
    assert answers(Predictor.from_pretrained("someone/tiny", local_files_only=True)) == before
    assert there.asked == []


# ---- checks


def test_the_sha256_of_a_folder_is_what_the_shell_computes(there: HubServer, tiny_model: Path) -> None:
    names = sorted(json.loads((tiny_model / CHECKSUMS).read_text())["sha256"])
    lines = "".join(f"{hashlib.sha256((tiny_model / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    pin = hashlib.sha256(lines.encode()).hexdigest()
    assert read_folder(tiny_model).sha256 == pin
    assert tabsa.load(f"{NAME}#sha256={pin}").folder.sha256 == pin
    assert Predictor.from_pretrained(tiny_model, sha256=pin.upper()).folder.sha256 == pin
    other = "0" * 64
    line = f"the files of {{}} have the SHA-256 {pin}, not {other}"
    assert refused(f"{NAME}#sha256={other}") == line.format(NAME)
    assert refused(str(tiny_model), sha256=other) == line.format(tiny_model)


@pytest.mark.parametrize("name", ["weights.safetensors", "model.onnx", "config.json"])
def test_a_changed_file_is_refused(there: HubServer, files: dict[str, bytes], name: str) -> None:
    changed = bytearray(files[name])
    changed[len(changed) // 2] ^= 1
    there.repos["someone/tiny"].commit(files | {name: bytes(changed)})
    assert refused().startswith(f"{NAME}: {name} is not what checksums.json says: damaged on its way, or changed")
    assert not list((Path(os.environ["XDG_CACHE_HOME"]) / "tabsa").rglob("config.json"))


def test_a_folder_without_checksums_or_not_whole(there: HubServer, files: dict[str, bytes]) -> None:
    repo = there.repos["someone/tiny"]
    repo.commit({name: data for name, data in files.items() if name != CHECKSUMS})
    assert refused() == (
        f"{NAME} has no checksums.json, so it is no whole model folder; `save_pretrained` or `push_to_hub` write one"
    )
    repo.commit({name: data for name, data in files.items() if name != "weights.safetensors"})
    assert refused() == f"{NAME} has no weights.safetensors, so it is no whole model folder"


@pytest.mark.parametrize("listed", [{"../../up": "0" * 64}, {"run.py": "0" * 64}, {}])
def test_checksums_that_name_other_files(there: HubServer, files: dict[str, bytes], listed: dict[str, str]) -> None:
    there.repos["someone/tiny"].commit(files | {CHECKSUMS: json.dumps({"sha256": listed}).encode()})
    message = refused()
    assert message.startswith(f"{NAME}: checksums.json ")
    assert not list((Path(os.environ["XDG_CACHE_HOME"]) / "tabsa").rglob("*.tmp"))


def test_half_a_download_is_no_model(there: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants, file_download

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 1)
    monkeypatch.setattr(file_download.time, "sleep", lambda _: None)
    there.cut = {"weights.safetensors"}
    assert refused().startswith(f"the hub does not take or give {NAME}: ")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    # Older clients give half a snapshot, newer ones say that it is half.
    assert re.search(r"has no weights\.safetensors|not in the cache, or not all of it, and the hub may not", refused())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    there.cut = set()
    assert tabsa.load(NAME).predict(TEXT, TARGETS).opinions  # goes on where it broke off


def test_a_kept_folder_that_was_damaged_is_made_again(there: HubServer) -> None:
    loaded = tabsa.load(NAME)
    before, path = answers(loaded), loaded.folder.path / "weights.safetensors"
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(b"x" + content[1:])
    assert answers(tabsa.load(NAME)) == before
    assert path.read_bytes() == content
    (path.parent / "config.json").unlink()
    assert answers(tabsa.load(NAME)) == before


def test_where_a_damaged_cache_is_told_and_downloaded_again(there: HubServer) -> None:
    loaded = tabsa.load(NAME)
    before = answers(loaded)
    path = loaded.folder.path / "weights.safetensors"
    with path.open("r+b") as stream:  # the hub's cache has the same file
        stream.write(b"x")
    assert "download it again (force_download=True)" in refused()
    assert answers(Predictor.from_pretrained(NAME, force_download=True)) == before


# ---- what cannot be had


def test_errors_of_one_line(there: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    login = "log in (`hf auth login`, or HF_TOKEN)"
    assert refused("hub:someone/else") == f"there is no hub:someone/else at {there.url}, or it is private: then {login}"
    repo = there.repos["someone/tiny"]
    repo.gated = True
    assert refused() == f"{NAME} is gated: its owner lets in who asks on its page; then {login}"
    repo.gated, repo.private = False, True
    assert refused() == f"there is no {NAME} at {there.url}, or it is private: then {login}"
    assert answers(Predictor.from_pretrained(NAME, token=TOKEN))
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "other"))
    assert "hf_wrong" not in refused()
    assert refused("places", revision="v1") == "places is not on the hub, so it has no revision 'v1'"


def test_no_network(there: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    message = refused()
    assert message.startswith(f"{NAME} is not in the cache, or not all of it, and http://127.0.0.1:9 does not answer (")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert refused().endswith("and the hub may not be asked (HF_HUB_OFFLINE, or local_files_only)")


def test_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert refused() == f"'{NAME}' is on the hub, which needs huggingface_hub: pip install 'tabsa[hub]'"
    with pytest.raises(ModelError, match=r"needs huggingface_hub: pip install 'tabsa\[hub\]'"):
        tabsa.load("places").push_to_hub("me/places")


def test_a_cache_that_cannot_be_written(there: HubServer, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(tabsa.TabsaError, match=r"cannot keep hub:someone/tiny at .*: "):
        tabsa.load(NAME)


# ---- the command line


def test_commands_take_names_of_the_hub(there: HubServer, tmp_path: Path) -> None:
    """One process with the variables that users set, and `predict`, `score` and `evaluate` in it."""
    (tmp_path / "in.csv").write_text("text\nCamden is cheap.\n")
    code = f"""
import sys
from tabsa.cli import main
sys.stderr.isatty = lambda: False
assert "huggingface_hub" not in sys.modules
for arguments in (
    ["predict", {TEXT!r}, "-t", "Camden", "--model", "{NAME}", "--json"],
    ["score", "in.csv", "out.csv", "-t", "Camden", "--model", "{NAME}"],
    ["evaluate", "{NAME}", "--data", "places", "--bootstrap", "0", "--json"],
    ["predict", {TEXT!r}, "-t", "Camden", "--model", "hub:someone/else"],
):
    sys.argv = ["tabsa", *arguments]
    try:
        main()
    except SystemExit as end:
        print("ended with", end.code)
"""
    own = {"HF_ENDPOINT": there.url, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_DISABLE_XET": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, check=True
    )
    assert '"target": "Camden"' in ran.stdout
    assert '"strict_accuracy"' in ran.stdout
    assert (tmp_path / "out.csv").read_text().startswith("text,")
    assert [line for line in ran.stdout.splitlines() if line.startswith("ended with")][-1] == "ended with 1"
    assert ran.stderr.splitlines()[-1].startswith("error: there is no hub:someone/else at ")
    assert "Traceback" not in ran.stderr
    assert "Fetching" not in ran.stderr, "bars are for terminals"


def test_nothing_is_imported_or_asked_without_such_a_name() -> None:
    code = "import sys, tabsa; tabsa.load('places').folder.sha256; print('huggingface_hub' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
    assert hub.PREFIX == "hub:"
