"""How `-t` names targets, the same for every command."""

from collections.abc import Iterable

import typer

from tabsa.errors import DataError

METAVAR = "NAME[=ALIAS,...]"


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
