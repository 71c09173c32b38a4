"""Share a model on the Hugging Face hub; `tabsa.load("hub:OWNER/NAME")` loads one."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tabsa import __version__
from tabsa.checkpoint.checksums import CHECKSUMS, is_regular
from tabsa.checkpoint.hub import BESIDE, PREFIX, hub_errors
from tabsa.checkpoint.model_folder import ANSWERING
from tabsa.inference.predictor import Predictor

_CARD: Final = "README.md"
_METADATA: Final = {
    "library_name": "tabsa",
    "pipeline_tag": "text-classification",
    "tags": ["tabsa", "sentiment-analysis", "aspect-based-sentiment-analysis", "onnx"],
}


def push(
    model: Predictor,
    repo_id: str,
    *,
    commit_message: str | None = None,
    private: bool | None = None,
    token: str | bool | None = None,
    card: Mapping[str, Any] | None = None,
) -> str:
    """Upload a model folder to the hub as one commit, and return the commit's address.

    Only the files of a model folder are pushed, each compared with its checksum first; files of an earlier model that
    this one has not are deleted, and whatever else lies there stays.

    Args:
        model: as `tabsa.load` gives it.
        repo_id: OWNER/NAME, or a name of your own; made where it is not there.
        commit_message: says what is new.
        private: make a new repository private; None is as its owner has it.
        token: by default the one that `hf auth login` or HF_TOKEN left.
        card: metadata of the card, such as `{"license": "mit", "language": "en"}`.
    """
    folder = model.folder
    files = [name for name in ANSWERING if is_regular(folder.files.checked(name))]
    with TemporaryDirectory() as temporary, hub_errors(f"{PREFIX}{repo_id}", None):
        from huggingface_hub import HfApi, ModelCard

        api = HfApi(token=token, library_name="tabsa", library_version=__version__)
        for name in (*files, CHECKSUMS, *BESIDE):
            if is_regular(folder.path / name):
                shutil.copyfile(folder.path / name, Path(temporary) / name)
        path = Path(temporary) / _CARD
        page = ModelCard(path.read_text("utf-8") if path.is_file() else f"# {folder.path.name}\n")
        for field, value in {**_METADATA, **(card or {})}.items():
            setattr(page.data, field, value)
        page.save(path)
        repo = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
        commit = api.upload_folder(
            repo_id=repo,
            folder_path=temporary,
            delete_patterns=[name for name in ANSWERING if name not in files],
            commit_message=commit_message or f"A {folder.config.kind} of tabsa {__version__}",
        )
    return str(commit.commit_url)
