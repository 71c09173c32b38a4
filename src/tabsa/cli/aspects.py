"""How `-a` and `--aspects` name aspects, the same for every command."""

from collections.abc import Sequence


def asked_aspects(lists: Sequence[str] | None, single: Sequence[str] | None) -> list[str] | None:
    """What `--aspects` and then `-a` ask for; None where neither is given."""
    from tabsa.text.aspects import aspects_in

    if not lists and not single:
        return None
    return list(
        dict.fromkeys([*(aspect for written in lists or () for aspect in aspects_in(written)), *(single or ())])
    )
