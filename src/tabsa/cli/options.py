"""Options that several commands share, each declared once."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME|FOLDER", help="The model; see `tabsa models`. [default: reader]", show_default=False
    ),
]
Precision: TypeAlias = Annotated[
    Literal["auto", "float32", "int8"],
    typer.Option(
        "--precision",
        help="Of the model's products: int8 is faster and needs a graph exported in it; auto takes it where the model "
        "was trained for it.",
    ),
]
Aspects: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--aspect",
        "-a",
        metavar="ASPECT",
        help="An aspect to ask for: any words if the model is open, else one that it knows; repeatable. "
        "[default: the model's own]",
        show_default=False,
    ),
]
AspectLists: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--aspects",
        metavar="LIST|FILE|A,B",
        help="Several aspects: everyday, places, restaurants, hotels, phones or laptops; or a file with one a line; "
        "or words with commas.",
        show_default=False,
    ),
]
DataDir: TypeAlias = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="Look for data here first.", show_default=False)
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, figures as fractions.")]
RunSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one option of the configuration; repeatable."),
]
Device: TypeAlias = Annotated[str, typer.Option("--device", help="cpu, cuda, or auto: cuda where there is one.")]
