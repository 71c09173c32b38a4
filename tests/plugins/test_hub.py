"""Models of the hub: what is downloaded, checked and pushed, with `huggingface_hub` but for its network."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from unittest.mock import create_autospec

import pytest

import tabsa
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.hub import hub_name, pinned_name
from tabsa.checkpoint.model_folder import ANSWERING, read_folder
from tabsa.errors import ModelError
from tabsa.plugins.hub import push

huggingface_hub = pytest.importorskip("huggingface_hub", reason="needs: pip install 'tabsa[hub]'")
NAME, TEXT, TARGETS = "hub:someone/tiny", "Camden is cheap but not safe.", ["Camden"]
Files = dict[str, bytes]


class Hub:
    """Repositories by name and revision, and the client's calls, which must fit the real ones' signatures."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.repos: dict[tuple[str, str], Files] = {}
        self.error: Exception | None = None
        self.commits: list[dict[str, object]] = []
        real = huggingface_hub.snapshot_download
        patch.setattr(huggingface_hub, "snapshot_download", create_autospec(real, side_effect=self.download))
        api = create_autospec(huggingface_hub.HfApi)
        api.return_value.create_repo.side_effect = lambda repo_id, **given: self.made(repo_id, given)
        api.return_value.upload_folder.side_effect = self.upload
        patch.setattr(huggingface_hub, "HfApi", api)

    def failed(self, kind: type[Exception]) -> Exception:
        error = kind.__new__(kind)  # they want a response
        Exception.__init__(error, "the hub's own words\nand more of them")
        return error

    def download(self, repo_id: str, *, revision: str | None, local_dir: Path, allow_patterns: list[str], **_) -> str:
        if self.error is not None:
            raise self.error
        if not any(name == repo_id for name, _ in self.repos):
            raise self.failed(huggingface_hub.errors.RepositoryNotFoundError)
        if (repo_id, revision or "main") not in self.repos:
            raise self.failed(huggingface_hub.errors.RevisionNotFoundError)
        for name, content in self.repos[repo_id, revision or "main"].items():
            if any(fnmatch(name, pattern) for pattern in allow_patterns):
                local_dir.mkdir(parents=True, exist_ok=True)
                (local_dir / name).write_bytes(content)
        return str(local_dir)

    def made(self, repo_id: str, given: dict[str, object]) -> object:
        self.commits.append(given)
        return huggingface_hub.RepoUrl(f"https://huggingface.co/{repo_id}")

    def upload(self, *, repo_id: str, folder_path: str, delete_patterns: list[str], **given: object) -> object:
        if self.error is not None:
            raise self.error
        before = self.repos.get((repo_id, "main"), {})
        left = {name: data for name, data in before.items() if not any(fnmatch(name, p) for p in delete_patterns)}
        self.repos[repo_id, "main"] = left | {path.name: path.read_bytes() for path in Path(folder_path).iterdir()}
        self.commits.append(given)
        return huggingface_hub.CommitInfo(f"https://huggingface.co/{repo_id}/commit/1", "", "", "1")


@pytest.fixture
def files(tiny_model: Path) -> Files:
    """A model folder as it lies on the hub, among files that are none of a model's."""
    own = {path.name: path.read_bytes() for path in tiny_model.iterdir()}
    return own | {"run.py": b"print('code')", "weights.pkl": b"\x80", "report.html": b""}


@pytest.fixture
def there(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub with one model, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hub = Hub(monkeypatch)
    hub.repos["someone/tiny", "main"] = files
    return hub


def answers(model: tabsa.Predictor) -> dict[str, object]:
    return model.predict(TEXT, TARGETS).to_dict()


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


def test_a_model_of_the_hub_answers_as_its_folder(there: Hub, tiny_model: Path) -> None:
    loaded = tabsa.load(NAME)
    assert answers(loaded) == answers(tabsa.load(tiny_model))
    assert loaded.folder.sha256 == read_folder(tiny_model).sha256
    known = {*ANSWERING, CHECKSUMS, "README.md", "metrics.json"}
    assert {path.name for path in loaded.folder.path.iterdir()} <= known  # no file of others is downloaded


def test_revisions_and_files_of_an_earlier_one(there: Hub, files: Files) -> None:
    there.repos["someone/tiny", "v1"] = files
    there.repos["someone/tiny", "main"] = files | {"README.md": b"# second\n"}
    for revision, text in {"v1": "# tiny\n", "main": "# second\n"}.items():
        assert (tabsa.load(f"{NAME}@{revision}").folder.path / "README.md").read_text() == text
    assert refused(f"{NAME}@v9") == f"{NAME} has no revision 'v9'"
    folder = tabsa.load(NAME).folder.path
    (folder / "ask.onnx").write_bytes(b"of another model")
    assert not (tabsa.load(NAME).folder.path / "ask.onnx").exists()


def test_a_pinned_name_is_one_model(there: Hub, tiny_model: Path) -> None:
    names = sorted(json.loads((tiny_model / CHECKSUMS).read_text())["sha256"])
    lines = "".join(f"{hashlib.sha256((tiny_model / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    pin = hashlib.sha256(lines.encode()).hexdigest()
    assert pinned_name(NAME) == f"{NAME}#sha256={pin}"
    assert tabsa.load(f"{NAME}#sha256={pin}").folder.sha256 == pin
    assert pinned_name("places") == "places"
    other = "0" * 64
    assert refused(f"{NAME}#sha256={other}") == f"the files of {NAME} have the SHA-256 {pin}, not {other}"


@pytest.mark.parametrize("name", ["weights.safetensors", "model.onnx", "config.json"])
def test_a_changed_file_is_refused(there: Hub, files: Files, name: str) -> None:
    changed = bytearray(files[name])
    changed[len(changed) // 2] ^= 1
    there.repos["someone/tiny", "main"] = files | {name: bytes(changed)}
    assert f"{name} is" in refused()


def test_a_folder_without_checksums_or_not_whole(there: Hub, files: Files) -> None:
    for missing, revision in ((CHECKSUMS, "main"), ("weights.safetensors", "half")):
        there.repos["someone/tiny", revision] = {name: data for name, data in files.items() if name != missing}
    assert refused().startswith(f"{NAME} has no whole checksums.json")
    assert refused(f"{NAME}@half") == f"{NAME} has no weights.safetensors, so it is no whole model folder"


@pytest.mark.parametrize("listed", [{"config.json": "0", "../../up": "0" * 64}, {"config.json": "0", "run.py": "0"}])
def test_checksums_that_name_other_files(there: Hub, files: Files, listed: dict[str, str]) -> None:
    there.repos["someone/tiny", "main"] = files | {CHECKSUMS: json.dumps({"sha256": listed}).encode()}
    assert refused().startswith(f"{NAME}: checksums.json names ")


def test_errors_of_one_line(there: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    private = "or it is private or gated: ask on its page, then log in (`hf auth login`, or HF_TOKEN)"
    assert refused("hub:someone/else") == f"there is no hub:someone/else, {private}"
    errors = huggingface_hub.errors
    for kind, line in (
        (errors.GatedRepoError, f"there is no {NAME}, {private}"),
        (
            errors.LocalEntryNotFoundError,
            f"{NAME} is not in the cache, and the hub does not answer (the hub's own words",
        ),
        (ConnectionError, f"the hub does not take or give {NAME}: the hub's own words"),
    ):
        there.error = there.failed(kind)
        assert refused().startswith(line)
        with pytest.raises(ModelError, match=r"^(there is no|hub:me/places is not|the hub does not take)"):
            push(tabsa.load("places"), "me/places")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for act in (lambda: tabsa.load(NAME), lambda: push(tabsa.load("places"), "me/places")):
        with pytest.raises(ModelError, match=r"needs huggingface_hub: pip install 'tabsa\[hub\]'"):
            act()


def test_commands_take_names_of_the_hub(there: Hub, tmp_path: Path, command_line) -> None:
    (tmp_path / "in.csv").write_text("text\nCamden is cheap.\n")
    assert '"target": "Camden"' in command_line("predict", TEXT, "-t", "Camden", "--model", NAME, "--json")[1]
    out = tmp_path / "out.csv"
    assert command_line("score", tmp_path / "in.csv", out, "-t", "Camden", "--model", NAME)[0] == 0
    assert out.read_text().startswith("text,")


def test_nothing_is_imported_without_such_a_name() -> None:
    code = "import sys, tabsa; tabsa.load('places').folder.sha256; print('huggingface_hub' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert ran.stdout.strip() == "False"


def test_push(there: Hub, tiny_model: Path) -> None:
    address = push(tabsa.load(tiny_model), "me/mine", private=True, token="hf_test", card={"license": "mit"})
    pushed = there.repos["me/mine", "main"]
    assert address == "https://huggingface.co/me/mine/commit/1"
    made, _ = there.commits
    assert made == {"private": True, "exist_ok": True}
    assert huggingface_hub.HfApi.call_args.kwargs["token"] == "hf_test"
    assert set(pushed) & set(ANSWERING) == set(json.loads(pushed[CHECKSUMS])["sha256"])
    assert pushed["README.md"].startswith(b"---\n")
    assert {b"license: mit", b"library_name: tabsa"} <= set(pushed["README.md"].splitlines())
    assert {name: pushed[name] for name in ANSWERING if name in pushed} == {
        name: (tiny_model / name).read_bytes() for name in ANSWERING if (tiny_model / name).exists()
    }


def test_another_model_is_pushed_over_one(there: Hub, files: Files, tiny_model: Path, tmp_path: Path) -> None:
    there.repos["someone/tiny", "main"] = files | {"model.int8.onnx": b"of an earlier model"}
    push(tabsa.load(tiny_model), "someone/tiny", commit_message="again")
    now = there.repos["someone/tiny", "main"]
    assert there.commits[-1] == {"commit_message": "again"}
    assert "model.int8.onnx" not in now
    assert now["run.py"] == files["run.py"]  # somebody else's
    assert answers(tabsa.load(NAME)) == answers(tabsa.load(tiny_model))
    damaged = Path(shutil.copytree(tiny_model, tmp_path / "damaged"))
    model = tabsa.load(damaged)
    (damaged / "weights.safetensors").write_bytes(b"other")
    with pytest.raises(ModelError, match=r"weights\.safetensors is damaged"):
        push(model, "me/mine")
    assert ("me/mine", "main") not in there.repos
