"""Options that several commands share, each declared once, and the reading of targets and aspects."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tabsa.errors import DataError, TabsaError

if TYPE_CHECKING:
    from tabsa.datasets.records import Columns


def optional(metavar: str, about: str, *names: str, **limits: Any) -> Any:
    """Declare an option that is None unless it is given; without names, it is called as its parameter."""
    return typer.Option(*names, metavar=metavar, help=about, show_default=False, **limits)


def option(metavar: str, about: str, *names: str, **limits: Any) -> Any:
    """Declare an option whose default stands in the signature, and in the help."""
    return typer.Option(*names, metavar=metavar, help=about, **limits)


def flag(name: str, about: str) -> Any:
    """Declare an option without a value, which is off unless it is given."""
    return typer.Option(name, metavar="", help=about, show_default=False)


_MODEL = "The model: a name of `tabsa models`, a folder, or hub:OWNER/NAME. [default: reader]"
_IMPLIED = "Take a text that does not name a target to be about it. [default: as the model was taught]"
_ASPECT = "An aspect: any words if the model is open, else one that it knows; repeatable. [default: the model's own]"
_ASPECTS = "Several: everyday, places, restaurants, hotels, phones or laptops; or a file, one a line; or A,B."
_EXCLUSIVE = "Aspects that share a word, or all if none do, exclude each other: the likeliest stays."
_SETTING = "Change one option of the configuration; repeatable."
_PRECISION = "Of the model's products: int8 is faster and needs a graph exported in it."
_ESCAPE = "In CSV, put an apostrophe before text that a spreadsheet would take for a formula."
_TARGET = "Who may be judged, with other names for it; repeatable. In a name write `\\=`, in an alias `\\,`."
_TARGETS = "Names to look for, one a line, aliases after it with commas or tabs."
_OWN_TARGETS = "The column with a row's own targets: a name, several with `;`, or a list."

ModelName: TypeAlias = Annotated[str | None, optional("NAME|FOLDER", _MODEL, "--model")]
Precision: TypeAlias = Annotated[Literal["auto", "float32", "int8"], typer.Option("--precision", help=_PRECISION)]
Implied: TypeAlias = Annotated[bool | None, optional("", _IMPLIED, "--implied/--no-implied")]
Aspects: TypeAlias = Annotated[list[str] | None, optional("ASPECT", _ASPECT, "--aspect", "-a")]
AspectLists: TypeAlias = Annotated[list[str] | None, optional("LIST|FILE|A,B", _ASPECTS, "--aspects")]
Exclusive: TypeAlias = Annotated[bool, flag("--exclusive", _EXCLUSIVE)]
DataDir: TypeAlias = Annotated[Path | None, optional("DIR", "Look for data here first.", "--data-dir")]
AsJson: TypeAlias = Annotated[bool, flag("--json", "Print JSON, figures as fractions.")]
Setting: TypeAlias = Annotated[list[str] | None, optional("SECTION.KEY=VALUE", _SETTING, "--set")]
Device: TypeAlias = Annotated[str, typer.Option("--device", help="cpu, cuda, or auto: cuda where there is one.")]
Overwrite: TypeAlias = Annotated[bool, flag("--overwrite", "Replace what is there.")]
EscapeFormulas: TypeAlias = Annotated[bool, flag("--escape-formulas", _ESCAPE)]

# Columns of one's own labelled file; `labelled_columns` puts them together.
_Column: TypeAlias = str | None
LabelledText: TypeAlias = Annotated[
    _Column, optional("C", "Of texts. [default: text, or with most words]", "--text-column")
]
LabelledTarget: TypeAlias = Annotated[_Column, optional("C", "Of targets. [default: target]", "--target-column")]
LabelledAspect: TypeAlias = Annotated[_Column, optional("C", "Of aspects. [default: aspect]", "--aspect-column")]
LabelledPolarity: TypeAlias = Annotated[_Column, optional("C", "[default: polarity]", "--polarity-column")]
LabelledId: TypeAlias = Annotated[_Column, optional("C", "Of ids, if any. [default: id]", "--id-column")]

# Columns and targets of a table that is to be read.
TextColumn: TypeAlias = Annotated[_Column, optional("C", "[default: text, or with most words]", "--text-column")]
TargetsFile: TypeAlias = Annotated[Path | None, optional("FILE", _TARGETS, "--targets")]
Targets: TypeAlias = Annotated[list[str] | None, optional("NAME[=ALIAS,...]", _TARGET, "--target", "-t")]
TargetColumn: TypeAlias = Annotated[_Column, optional("C", _OWN_TARGETS, "--target-column")]


def labelled_columns(
    text: str | None, target: str | None, aspect: str | None, polarity: str | None, id_: str | None
) -> "Columns | None":
    """Return the columns of one's own file, where any of them is named."""
    from tabsa.datasets.records import Columns

    named = {"text": text, "target": target, "aspect": aspect, "polarity": polarity, "id": id_}
    given = {role: name for role, name in named.items() if name is not None}
    return Columns(**given) if given else None


def requested_aspects(lists: Sequence[str] | None, single: Sequence[str] | None) -> list[str] | None:
    """Return the aspects of `--aspects` and then `-a`; None where neither is given."""
    from tabsa.text.aspects import aspects_in

    if not lists and not single:
        return None
    listed = [aspect for written in lists or () for aspect in aspects_in(written)]
    return list(dict.fromkeys([*listed, *(single or ())]))


def named_targets(options: Iterable[str]) -> dict[str, list[str]]:
    """Return names with their aliases, from `NAME` or `NAME=ALIAS,ALIAS`."""
    from tabsa.text.targets import parse_target

    targets: dict[str, list[str]] = {}
    for option in options:
        try:
            name, aliases = parse_target(option)
        except DataError as e:
            raise typer.BadParameter(str(e), param_hint="'-t'") from e
        if name in targets:
            raise typer.BadParameter(f"'{name}' is given twice; give it once, with all its aliases", param_hint="'-t'")
        targets[name] = aliases
    return targets


def is_implied(implied: bool | None, model: str | None) -> bool:
    """Tell whether texts may be about what they do not name: as given, or else as the model was taught."""
    from tabsa.checkpoint.model_folder import open_folder

    return open_folder(model).config.implied if implied is None else implied


def pinned_model(model: str | None) -> str | None:
    """Return a model of the hub as its folder: one version for all processes, also of those to come."""
    from tabsa.checkpoint.hub import is_hub_name
    from tabsa.checkpoint.model_folder import open_folder

    return str(open_folder(model).path) if is_hub_name(model) else model


def need_torch(what: str) -> None:
    """Refuse what PyTorch is needed for where it is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError as e:
        raise TabsaError(f"{what} needs PyTorch: pip install 'tabsa[train]'") from e


def shared_targets(
    file: Path | None, names: Sequence[str] | None, column: str | None, implied: bool | None, model: str | None
) -> Mapping[str, Sequence[str]] | None:
    """Return the targets of every row; None where each row has its own, no name where texts imply theirs."""
    given = sum((file is not None, bool(names), column is not None))
    if not given and is_implied(implied, model):
        return {}
    if given != 1:
        hint = "" if given else ", or --implied if texts do not name what they are about"
        raise typer.BadParameter(f"give one of them{hint}.", param_hint="-t NAME, --targets FILE or --target-column C")
    if file is not None:
        from tabsa.scoring.request import read_targets

        return read_targets(file)
    return named_targets(names) if names else None
