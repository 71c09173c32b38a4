"""The models that cases are run on: small ones of random weights, and those in the box."""

from functools import cache
from pathlib import Path

from tabsa.inference.predictor import Predictor, load

SMALL = ("tiny", "tiny-reader")
BOX = ("places", "reader")


def write_models(path: Path) -> Path:
    """The folders of the small ones; takes PyTorch, which no case needs."""
    from reader_folder import small_reader, write_reader
    from tiny_folder import write_tiny

    if not (path / "done").exists():
        write_tiny(path / "tiny")
        write_reader(path / "tiny-reader", small_reader())
        (path / "done").touch()
    return path


@cache
def loaded(models: Path, name: str) -> Predictor:
    """A model by its name, loaded once in a process."""
    return load(models / name if name in SMALL else name, threads=1)
