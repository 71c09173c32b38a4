"""What is asked of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tabsa.errors import ConfigError
from tabsa.tables.fields import is_whole


class Layout(StrEnum):
    """How answers are laid out: a column for each target-aspect pair, or a row for each opinion."""

    WIDE = "wide"
    LONG = "long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ask of every row, and how to lay out the answers; either `targets` or `target_column` is given."""

    # Names, each with its aliases, to look for in every row; with `implied` it may be empty: what no text names.
    targets: Mapping[str, Sequence[str]] | None = None
    target_column: str | None = None  # the column that names a row's own targets
    implied: bool | None = (
        None  # a text that does not name a target is taken to be about it; None: as the model was taught
    )
    implied_column: str | None = None  # the column that says so of each row; where it is empty, `implied` holds
    aspects: Sequence[str] | None = None  # as for `Predictor.predict`; the model's own by default
    text_column: str | None = None  # "text" by default, or the only column that holds text
    id_column: str | None = None  # "id" by default, if there is one
    layout: Layout = Layout.WIDE
    probabilities: bool = False  # the wide layout has them only if asked for, the long one always
    every: bool = False  # the long layout has a row for `none`, too
    evidence: bool = False  # beside each opinion, the sentence that carries it
    keep: Sequence[str] | None = None  # columns of the input to keep beside its id and text; all by default
    prefix: str = ""  # goes before the name of each added column
    escape_formulas: bool = False  # in a CSV, text that a spreadsheet would take for a formula has an apostrophe first
    chunk: int = 1024  # rows that are read, scored and saved together
    longest_text: int = 1_000_000  # characters; a row with more is rejected
    most_targets: int | None = None  # of a row's own; one with more is rejected
    longest_name: int | None = None  # characters of a row's own targets
    most_cells: int | None = None  # of the results, new ones; where there are more, scoring ends with an error
    most_bytes: int | None = None  # of the results

    def __post_init__(self) -> None:
        if (self.targets is None) == (self.target_column is None):
            raise ConfigError("expected either targets to look for in every row, or the column that names a row's own")
        if self.targets is not None and not self.targets and self.implied is False:
            raise ConfigError("no target is asked for; name at least one")
        if self.chunk < 1:
            raise ConfigError(f"a chunk is {self.chunk} rows; expected at least 1")
        named = (*(self.targets or ()), *(self.aspects or ()), self.prefix)
        if broken := [name for name in named if not is_whole({"": name})]:
            raise ConfigError(f"half a character (a lone surrogate) is in {broken[0]!r}; write it as UTF-8")
