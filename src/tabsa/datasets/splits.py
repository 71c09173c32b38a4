"""A stable way to hold examples out of data that comes in one piece."""

import hashlib


def share(text: str) -> float:
    """A number in [0, 1) that depends on the text alone.

    Examples below or above a threshold make a split that is the same on every machine, that stays the same when
    other examples are added or removed, and that never has one text on both sides.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53
