"""How `-t` names targets, the same for every command."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from tabsa.cli.console import warn
from tabsa.errors import DataError

if TYPE_CHECKING:
    from tabsa.scoring.request import Request
    from tabsa.tables.outputs import Counts

METAVAR = "NAME[=ALIAS,...]"
_FEW_NAMED: Final = 20  # one text in so many; where fewer name a target, they may be about one that they do not name
_ENOUGH_ROWS: Final = 20  # to tell
_LONG_LIST: Final = 3  # targets, from which on few are named in any text

Implied: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--implied/--no-implied",
        help="Take a text that does not name a target to be about it. [default: as the model was taught]",
        show_default=False,
    ),
]


def named_targets(options: Iterable[str]) -> dict[str, list[str]]:
    """The names with their aliases, from `NAME` or `NAME=ALIAS,ALIAS`."""
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
    """Whether texts may be about what they do not name: as one says, or else as the model was taught."""
    from tabsa.checkpoint.model_folder import open_folder

    return open_folder(model).config.implied if implied is None else implied


def shared_targets(
    file: Path | None, names: Sequence[str], column: str | None, implied: bool | None = None, model: str | None = None
) -> Mapping[str, Sequence[str]] | None:
    """The targets to look for in every row; None where each row has its own, no name where texts imply theirs."""
    given = sum((file is not None, bool(names), column is not None))
    if not given and is_implied(implied, model):
        return {}
    if given != 1:
        hint = (
            "give one of them." if given else "give one of them, or --implied if texts do not name what they are about."
        )
        raise typer.BadParameter(hint, param_hint="-t NAME, --targets FILE or --target-column C")
    if file is not None:
        from tabsa.scoring.request import read_targets

        return read_targets(file)
    return named_targets(names) if names else None


def warn_if_few_are_named(counts: "Counts", request: "Request", model: str | None) -> None:
    """Tell of `--implied` where a table's texts hardly ever name its target; of a long list few are named anyway."""
    if len(request.targets or ()) > _LONG_LIST or is_implied(request.implied, model) or request.implied_column:
        return
    if counts.scored >= _ENOUGH_ROWS and counts.named * _FEW_NAMED < counts.scored:
        found = f"only {counts.named:,} of {counts.scored:,} texts name a target"
        warn(f"{found}; --implied reads the others as being about it")
