"""The methods by which models of the Hugging Face world are loaded, saved and shared, for the Predictor."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tabsa.checkpoint.model_folder import AskedPrecision, ModelFolder, open_folder
from tabsa.errors import ModelError


class Pretrained:
    """`from_pretrained`, `save_pretrained` and `push_to_hub`, as others have them."""

    folder: ModelFolder

    def __init__(self, folder: ModelFolder, *, threads: int = 0, precision: AskedPrecision = "auto") -> None:
        raise NotImplementedError

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        revision: str | None = None,
        sha256: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        force_download: bool = False,
        threads: int = 0,
        precision: AskedPrecision = "auto",
    ) -> Self:
        """Load a model by what others call it; `tabsa.load` does the same for names with `hub:`.

        Args:
            pretrained_model_name_or_path: a model folder, the name of a model in the package, or OWNER/NAME on the hub,
                with `hub:` before it or without.
            revision: of a model on the hub: a branch, a tag or a commit.
            sha256: of the whole folder (`ModelFolder.sha256`); another model is refused.
            token: for private models; by default the one that `hf auth login` or HF_TOKEN left.
            cache_dir: where the hub's files are kept, in place of huggingface_hub's cache.
            local_files_only: ask nobody; load what is in the cache.
            force_download: download what is in the cache, too.
            threads: for the arithmetic; 0 takes as many as there are cores.
            precision: of the arithmetic.

        Raises:
            ModelError: there is no such model, or it is not the one that was asked for.
        """
        name = pretrained_model_name_or_path
        if isinstance(name, Path) or Path(name).is_dir() or "/" not in name:
            if revision is not None:
                raise ModelError(f"{name} is not on the hub, so it has no revision '{revision}'")
            folder = open_folder(name)
        else:
            from tabsa.checkpoint.hub import PREFIX, HubAccess, HubName, hub_folder, hub_name

            named = hub_name(PREFIX + name.removeprefix(PREFIX))
            wanted = HubName(named.repo, revision or named.revision, named.sha256)
            access = HubAccess(
                token=token, cache_dir=cache_dir, local_files_only=local_files_only, force_download=force_download
            )
            folder = hub_folder(wanted, access)
        if sha256 is not None and folder.sha256 != sha256.lower():
            raise ModelError(f"the files of {name} have the SHA-256 {folder.sha256}, not {sha256.lower()}")
        return cls(folder, threads=threads, precision=precision)

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        model_card_kwargs: Mapping[str, Any] | None = None,
        **push_to_hub_kwargs: Any,
    ) -> str | None:
        """Write the model folder, with a card that the hub understands.

        Args:
            save_directory: where to; a model folder that is there is replaced.
            repo_id: where to push it, by default the folder's name.
            push_to_hub: push it, too.
            model_card_kwargs: metadata of the card, such as `{"license": "mit", "language": "en"}`.
            push_to_hub_kwargs: what `push_to_hub` takes.

        Returns:
            The commit's address, if it was pushed.
        """
        from tabsa.checkpoint.sharing import save_folder

        path = Path(save_directory)
        save_folder(self.folder, path, model_card_kwargs)
        if not push_to_hub:
            return None
        return self.push_to_hub(
            repo_id or path.resolve().name, model_card_kwargs=model_card_kwargs, **push_to_hub_kwargs
        )

    def push_to_hub(
        self,
        repo_id: str,
        *,
        commit_message: str | None = None,
        private: bool | None = None,
        token: str | bool | None = None,
        branch: str | None = None,
        create_pr: bool = False,
        model_card_kwargs: Mapping[str, Any] | None = None,
    ) -> str:
        """Upload the model folder to the hub as one commit; needs `pip install 'tabsa[hub]'`.

        Args:
            repo_id: OWNER/NAME, or a name of your own; made where it is not there.
            commit_message: says what is new.
            private: make a new repository private; None is as its owner has it.
            token: by default the one that `hf auth login` or HF_TOKEN left.
            branch: where to, by default main; made where it is not there.
            create_pr: ask the owner to take it, in place of changing anything.
            model_card_kwargs: metadata of the card, such as `{"license": "mit", "language": "en"}`.

        Returns:
            The address of the commit, or of the pull request.
        """
        from tabsa.checkpoint.sharing import push_folder

        return push_folder(
            self.folder,
            repo_id,
            commit_message=commit_message,
            private=private,
            token=token,
            branch=branch,
            create_pr=create_pr,
            card=model_card_kwargs,
        )
