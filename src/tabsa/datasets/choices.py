"""Names a caller may choose from, and what to say when a name is not among them."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from tabsa.errors import DataError

ALL = "all"


def unknown(what: str, name: str, known: Iterable[str], also: str = "") -> DataError:
    """The error for a name that is not among the known ones: the nearest one, then all (and what else would do)."""
    names = list(known)
    near = get_close_matches(name.lower(), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return DataError(f"unknown {what} {name!r}{hint} expected one of {', '.join(names)}{also}")


def choose_aspects(wanted: Sequence[str] | None, *, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """The aspects asked for, in that order and each once: names, or "all"; `default` where nothing is asked."""
    if wanted is None:
        return tuple(default)
    names = (wanted,) if isinstance(wanted, str) else tuple(dict.fromkeys(wanted))
    if names == (ALL,):
        return tuple(known)
    if not names:
        raise DataError(f"no aspect is asked for; name some of {', '.join(known)}, or all")
    for name in names:
        if name not in known:
            raise unknown("aspect", name, known, also=", or all")
    return names
