"""How `-t` names targets, the same for every command."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from tabsa.cli.console import warn
from tabsa.errors import DataError

if TYPE_CHECKING:
    from tabsa.scoring import Counts, Request

METAVAR = "NAME[=ALIAS,...]"
_FEW_NAMED: Final = 20  # one text in so many; where fewer name a target, they may be about one that they do not name
_ENOUGH_ROWS: Final = 20  # to tell
_LONG_LIST: Final = 3  # targets, from which on few are named in any text

Implied: TypeAlias = Annotated[
    bool, typer.Option("--implied", help="Take a text that does not name a target to be about it.")
]


def named_targets(options: Iterable[str]) -> dict[str, list[str]]:
    """The names with their aliases, from `NAME` or `NAME=ALIAS,ALIAS`."""
    from tabsa.text import parse_target

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


def warn_if_few_are_named(counts: "Counts", request: "Request") -> None:
    """Tell of `--implied` where a table's texts hardly ever name its target; of a long list few are named anyway."""
    if len(request.targets or ()) > _LONG_LIST or request.implied:
        return
    if counts.scored >= _ENOUGH_ROWS and counts.named * _FEW_NAMED < counts.scored:
        found = f"only {counts.named:,} of {counts.scored:,} texts name a target"
        warn(f"{found}; --implied reads the others as being about it")
