"""`tabsa models`: what there is to ask and to train; `tabsa export`: a folder made ready for use without PyTorch."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tabsa.cli.console import out, print_json
from tabsa.cli.options import AsJson


def command(as_json: AsJson = False) -> None:
    """List the models in the package with their aspects, and the systems: what each is and what it needs.

    A model with open aspects takes any words (`-a "battery life"`), and has a list of its own by default.
    `tabsa reproduce SYSTEM` trains one as the paper has it.

    Examples:
    - `tabsa models`
    - `tabsa models --json`
    """
    from tabsa.models.registry import SYSTEMS

    shown = ("name", "about", "paper", "open_aspects", "needs")
    models = _models()
    systems = [{field: getattr(system, field) for field in shown} for system in SYSTEMS.values()]
    if as_json:
        print_json({"models": models, "systems": systems})
        return
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "aspects", "answers", box=SIMPLE, title="in the package", title_justify="left")
    for model in models:
        also = [f"or {alias}" for alias in model["aliases"]] + ["the default"] * model["default"]
        name = Text.assemble((model["name"], "bold"), *((f"\n{words}", "dim") for words in also))
        aspects = ("any words; by default " if model["open_aspects"] else "") + ", ".join(model["aspects"])
        table.add_row(name, Text(aspects), Text(", ".join(model["labels"])))
    out.print(table)
    table = Table("name", "what it is", box=SIMPLE, title="systems", title_justify="left")
    for system in systems:
        paper = system["paper"].replace("Liu, Cohn and Baldwin", "Liu et al.")
        table.add_row(Text(system["name"], no_wrap=True), Text.assemble(system["about"], (f"; {paper}", "dim")))
    out.print(table)


def _models() -> list[dict[str, Any]]:
    from tabsa.checkpoint.model_folder import DEFAULT, aliases_of, read_folder, shipped_models
    from tabsa.models.registry import system_of

    folders = {name: read_folder(path) for name, path in shipped_models().items()}
    return [
        {
            "name": name,
            "aliases": list(aliases_of(name)),
            "default": name == DEFAULT,
            "system": folder.config.kind,
            "open_aspects": system_of(folder).open_aspects,
            "aspects": list(folder.config.aspects),
            "labels": list(folder.config.labels),
            "precision": folder.precision(),
        }
        for name, folder in folders.items()
    ]


def export_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A model folder.")],
    precision: Annotated[Literal["float32", "int8"], typer.Option(help="int8: a reader's faster graphs.")] = "float32",
) -> None:
    """Write a model folder's `model.onnx`, which is what `predict` and `score` run.

    A reader has two graphs, `read.onnx` and `ask.onnx`, and with `--precision int8` two more, which they run with the
    same option.

    Examples:
    - `tabsa export my-model`
    - `tabsa export my-model --precision int8`
    """
    from tabsa.checkpoint.model_folder import read_folder
    from tabsa.models.export import export

    path = export(read_folder(folder), precision)
    typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
