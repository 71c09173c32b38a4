"""Options that several commands share, each declared once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    from tabsa.datasets.records import Columns

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="The model: a name of `tabsa models`, a folder, or hub:OWNER/NAME. [default: reader]",
        show_default=False,
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

# What the columns of one's own labelled file are called; `labelled_columns` puts them together.
LabelledTextColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--text-column", metavar="C", help="The column of texts. [default: text]", show_default=False),
]
LabelledTargetColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--target-column",
        metavar="C",
        help="The column of targets, if there is one. [default: target]",
        show_default=False,
    ),
]
LabelledAspectColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--aspect-column", metavar="C", help="The column of aspects. [default: aspect]", show_default=False),
]
LabelledPolarityColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--polarity-column", metavar="C", help="The column of polarities. [default: polarity]", show_default=False
    ),
]
LabelledIdColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--id-column", metavar="C", help="The column of ids, if there is one. [default: id]", show_default=False
    ),
]


def labelled_columns(
    text: str | None, target: str | None, aspect: str | None, polarity: str | None, id_: str | None
) -> "Columns | None":
    """The columns of one's own file, where any of them is named."""
    from tabsa.datasets.records import Columns

    named = {"text": text, "target": target, "aspect": aspect, "polarity": polarity, "id": id_}
    given = {role: name for role, name in named.items() if name is not None}
    return Columns(**given) if given else None
