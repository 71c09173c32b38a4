"""Every kind of case: what makes them, what runs them, and how many of a hundred are of it."""

from importlib import import_module
from typing import Final, NamedTuple

from fuzz.cases import Kind, Maker


class KindEntry(NamedTuple):
    """Where a kind is; loaded only by who runs it."""

    module: str
    runs: str
    share: int


KINDS: Final = {
    "texts": KindEntry("fuzz.texts", "Texts", 40),
    "tables": KindEntry("fuzz.tables", "Tables", 25),
    "folders": KindEntry("fuzz.folders", "Folders", 10),
    "requests": KindEntry("fuzz.asking", "Requests", 25),
}


def maker(kind: str) -> Maker:
    """What makes its cases."""
    made: Maker = import_module(KINDS[kind].module).make
    return made


def runs(kind: str) -> type[Kind]:
    """What runs them; a kind that is not listed is the module and the class of its own, `module:Class`."""
    module, _, name = kind.partition(":")
    entry = KINDS.get(kind) or KindEntry(module, name, 0)
    made: type[Kind] = getattr(import_module(entry.module), entry.runs)
    return made


def shares(inputs: int, kinds: tuple[str, ...]) -> dict[str, int]:
    """How many inputs each kind has."""
    whole = sum(KINDS[kind].share for kind in kinds)
    return {kind: round(inputs * KINDS[kind].share / whole) for kind in kinds}
