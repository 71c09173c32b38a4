"""The options of `tabsa score`, one type each."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tabsa.cli.targets import METAVAR


class LayoutName(StrEnum):
    """How results are laid out."""

    WIDE = "wide"
    LONG = "long"


class EngineName(StrEnum):
    """Where the work is done."""

    LOCAL = "local"
    RAY = "ray"


Source: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="IN",
        help="A table: .csv, .tsv or .jsonl, each also with .gz, .xlsx or .parquet; or a folder or 'pattern'; "
        "with ray Parquet alone, also at a URL, such as s3://bucket/folder.",
    ),
]
Out: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        help="Where results go, in any of these formats; - prints JSON Lines. A folder for many and for ray.",
    ),
]
TextColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="C", help="The column to read. [default: text, or that with most words]", show_default=False),
]
IdColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="C", help="What tells rows apart. [default: id, if there is one]", show_default=False),
]
SeparatorOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--separator", metavar="S", help="Of a CSV's fields. [default: by its rows]", show_default=False),
]
TargetsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Names to look for, one a line, aliases after it with commas or tabs."),
]
TargetNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", metavar=METAVAR, help="A name to look for, with other names; repeatable."),
]
TargetColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="C", help="The column with a row's own targets: a name, several with `;`, or a list."),
]
ImpliedColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="C", help="The column that says of each row, true or false, whether its target is implied."),
]
Layout: TypeAlias = Annotated[
    LayoutName, typer.Option(help="wide: the input with a column a target-aspect pair; long: a row an opinion.")
]
Probabilities: TypeAlias = Annotated[
    bool, typer.Option("--probabilities", help="Add each label's probability to the wide layout, too.")
]
Every: TypeAlias = Annotated[bool, typer.Option("--all", help="In the long layout, write `none` as well.")]
WithEvidence: TypeAlias = Annotated[
    bool, typer.Option("--evidence", help="Add the sentence that carries each opinion; slower on texts of several.")
]
Keep: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="C", help="A column of IN to keep, beside id and text; repeatable. [default: all]"),
]
Prefix: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="Goes before the name of each new column.")]
EscapeFormulas: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--escape-formulas", help="In CSV, put an apostrophe before text that a spreadsheet would take for a formula."
    ),
]
Rejects: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where bad rows go. [default: OUT.rejects.jsonl]", show_default=False),
]
Resume: TypeAlias = Annotated[bool, typer.Option("--resume", help="Go on where a run into OUT was stopped.")]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace OUT, or a stopped run into it.")]
Threads: TypeAlias = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Threads of the model; 0 is one a core, or where there are workers one each."
    ),
]
Chunk: TypeAlias = Annotated[
    int, typer.Option(min=1, metavar="ROWS", help="Rows scored and saved together; a kill loses at most these.")
]
OutputFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="F",
        help="Of many tables' results: csv, jsonl.gz ... [default: as each is]",
        show_default=False,
    ),
]
Engine: TypeAlias = Annotated[
    EngineName,
    typer.Option(help="Where it runs: on this machine, or on a Ray cluster, which splits Parquet files."),
]
RayAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="A", help="The cluster. [default: $RAY_ADDRESS, or this machine]", show_default=False),
]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="That score many tables, a model each. [default: all CPUs]", show_default=False
    ),
]
