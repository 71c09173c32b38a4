"""`tabsa export`: a model folder made ready for use without PyTorch."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tabsa.cli.console import out


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A model folder.")],
    precision: Annotated[
        Literal["float32", "int8"], typer.Option(help="Of the products; int8 is a second, faster graph.")
    ] = "float32",
) -> None:
    """Write a model folder's `model.onnx`, which is what `predict` and `score` run.

    With `--precision int8` it is `model.int8.onnx`, which they run with the same option. A reader has two graphs,
    `read.onnx` and `ask.onnx`.

    Examples: `tabsa export my-model`, `tabsa export my-model --precision int8`
    """
    from tabsa.checkpoint.model_folder import read_folder
    from tabsa.models.export import export

    path = export(read_folder(folder), precision)
    out.print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", markup=False, highlight=False, soft_wrap=True)
