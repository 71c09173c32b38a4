"""Options that several commands share, each declared once, and the reading of targets and aspects."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    from tabsa.datasets.records import Columns


def optional(metavar: str, about: str, *names: str, **limits: Any) -> Any:
    """Declare an option that is None unless it is given; without names, it is called as its parameter."""
    return typer.Option(*names, metavar=metavar, help=about, show_default=False, **limits)


TARGET_METAVAR = "NAME[=ALIAS,...]"
ModelName: TypeAlias = Annotated[
    str | None,
    optional(
        "NAME|FOLDER", "The model: a name of `tabsa models`, a folder, or hub:OWNER/NAME. [default: reader]", "--model"
    ),
]
Precision: TypeAlias = Annotated[
    Literal["auto", "float32", "int8"],
    typer.Option("--precision", help="Of the model's products: int8 is faster and needs a graph exported in it."),
]
Implied: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--implied/--no-implied",
        help="Take a text that does not name a target to be about it. [default: as the model was taught]",
        show_default=False,
    ),
]
Aspects: TypeAlias = Annotated[
    list[str] | None,
    optional(
        "ASPECT",
        "An aspect: any words if the model is open, else one that it knows; repeatable. [default: the model's own]",
        "--aspect",
        "-a",
    ),
]
AspectLists: TypeAlias = Annotated[
    list[str] | None,
    optional(
        "LIST|FILE|A,B",
        "Several aspects: everyday, places, restaurants, hotels, phones or laptops; or a file with one a line; "
        "or words with commas.",
        "--aspects",
    ),
]
DataDir: TypeAlias = Annotated[Path | None, optional("DIR", "Look for data here first.", "--data-dir")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, figures as fractions.")]
RunSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one option of the configuration; repeatable."),
]
Device: TypeAlias = Annotated[str, typer.Option("--device", help="cpu, cuda, or auto: cuda where there is one.")]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
EscapeFormulas: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--escape-formulas", help="In CSV, put an apostrophe before text that a spreadsheet would take for a formula."
    ),
]
Threads: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="N", help="Threads of the model; 0 is one a core, or with workers one each.")
]

# Columns of one's own labelled file; `labelled_columns` puts them together.
LabelledTextColumn: TypeAlias = Annotated[
    str | None, optional("C", "The column of texts. [default: text]", "--text-column")
]
LabelledTargetColumn: TypeAlias = Annotated[
    str | None, optional("C", "The column of targets, if any. [default: target]", "--target-column")
]
LabelledAspectColumn: TypeAlias = Annotated[
    str | None, optional("C", "The column of aspects. [default: aspect]", "--aspect-column")
]
LabelledPolarityColumn: TypeAlias = Annotated[
    str | None, optional("C", "The column of polarities. [default: polarity]", "--polarity-column")
]
LabelledIdColumn: TypeAlias = Annotated[
    str | None, optional("C", "The column of ids, if any. [default: id]", "--id-column")
]

# Columns and targets of a table that is to be scored.
TextColumn: TypeAlias = Annotated[
    str | None, optional("C", "The column to read. [default: guessed, and said]", "--text-column")
]
TargetsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--targets", metavar="FILE", help="Names to look for, one a line, aliases behind it with commas."),
]
TargetNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", metavar=TARGET_METAVAR, help="A name to look for, with aliases; repeatable."),
]
TargetColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--target-column", metavar="C", help="The column of a row's own targets: a name, several with `;`."),
]


def labelled_columns(
    text: str | None, target: str | None, aspect: str | None, polarity: str | None, id_: str | None
) -> "Columns | None":
    """Return the columns of one's own file, where any of them is named."""
    from tabsa.datasets.records import Columns

    named = {"text": text, "target": target, "aspect": aspect, "polarity": polarity, "id": id_}
    given = {role: name for role, name in named.items() if name is not None}
    return Columns(**given) if given else None
