"""Model folders for others: copied whole with a card that the hub understands, and pushed there."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabsa import __version__
from tabsa.checkpoint.card import with_metadata
from tabsa.checkpoint.checksums import CHECKSUMS, is_regular, read_checksums, write_checksums
from tabsa.checkpoint.hub import BESIDE, hub_errors
from tabsa.checkpoint.model_folder import ANSWERING, ModelFolder, read_folder
from tabsa.errors import ModelError, OutputError
from tabsa.files import read_text, reason, replacing

_CARD, _CONFIG = "README.md", "config.json"


def save_folder(folder: ModelFolder, path: Path, card: Mapping[str, Any] | None = None) -> ModelFolder:
    """Copy a model folder, `config.json` last: a folder that has it is complete.

    Each file is compared with its checksum first; a folder from before checksums gets them. Nothing else is taken
    along, such as a report that shows texts of the data.

    Args:
        folder: the model.
        path: where to; a model folder that is there is replaced.
        card: metadata of the card, such as `{"license": "mit"}`, beside what the folder says.
    """
    names = [name for name in ANSWERING if is_regular(folder.files.checked(name))]
    others = [name for name in BESIDE if name != _CARD and is_regular(folder.path / name)]
    text = read_text(folder.path / _CARD, ModelError) if is_regular(folder.path / _CARD) else _plain_card(folder)
    text = with_metadata(text, folder, card)
    digests = read_checksums(folder.path) or {name: folder.files.digest(name) for name in names}
    if missing := sorted(set(digests) - set(names)):
        raise ModelError(f"{folder.path} has no {missing[0]}; the folder is incomplete")
    if path.resolve() != folder.path.resolve():
        try:
            for name in (_CONFIG, CHECKSUMS, *ANSWERING, *BESIDE):  # of another model, config.json first
                (path / name).unlink(missing_ok=True)
        except OSError as e:
            raise OutputError(f"cannot write {path}: {reason(e)}") from e
        for name in (*others, *(name for name in names if name != _CONFIG)):
            _write(path / name, (folder.path / name).read_bytes())
    _write(path / _CARD, text.encode("utf-8"))
    write_checksums(path, digests)
    if path.resolve() != folder.path.resolve():
        _write(path / _CONFIG, (folder.path / _CONFIG).read_bytes())
    return read_folder(path)


def push_folder(
    folder: ModelFolder,
    repo_id: str,
    *,
    commit_message: str | None = None,
    private: bool | None = None,
    token: str | bool | None = None,
    branch: str | None = None,
    create_pr: bool = False,
    card: Mapping[str, Any] | None = None,
) -> str:
    """Upload a model folder to the hub as one commit, and give the commit's address.

    A repository that is not there is made. Files of an earlier model that this one has not are deleted; whatever else
    lies there stays.
    """
    try:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    except ImportError as e:
        raise ModelError("pushing to the hub needs huggingface_hub: pip install 'tabsa[hub]'") from e
    api = HfApi(token=token, library_name="tabsa", library_version=__version__)
    with tempfile.TemporaryDirectory() as temporary:
        saved = save_folder(folder, Path(temporary) / repo_id.rpartition("/")[2], card).path
        files = sorted(path.name for path in saved.iterdir())
        with hub_errors(f"hub:{repo_id}", branch):
            repo = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
            if branch is not None and not create_pr:
                api.create_branch(repo, branch=branch, exist_ok=True)
            there = api.list_repo_files(repo, revision=branch)
            gone = [name for name in there if name in ANSWERING and name not in files]
            commit = api.create_commit(
                repo,
                [
                    *(CommitOperationDelete(path_in_repo=name) for name in gone),
                    *(CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(saved / name)) for name in files),
                ],
                commit_message=commit_message or f"A {folder.config.kind} of tabsa {__version__}",
                revision=branch,
                create_pr=create_pr,
            )
    return str(commit.pr_url or commit.commit_url)


def _plain_card(folder: ModelFolder) -> str:
    config = folder.config
    return f"# {config.kind}\n\n- aspects: {', '.join(config.aspects)}\n- answers: {', '.join(config.labels)}\n"


def _write(path: Path, content: bytes) -> None:
    with replacing(path, "wb") as stream:
        stream.write(content)
