"""`tabsa export`: a model folder made ready for use without PyTorch."""

from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.console import out


def command(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A model folder.")]) -> None:
    """Write a model folder's `model.onnx`, which is what `predict` and `score` run.

    Example: `tabsa export my-model`
    """
    from tabsa.export import export
    from tabsa.folder import read_folder

    path = export(read_folder(folder))
    out.print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", markup=False, highlight=False, soft_wrap=True)
