"""Anyone's text in a page."""

import re
from html import escape
from typing import Final

_UNFIT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def html_text(text: str) -> str:
    """Escaped, and without what HTML cannot hold: control characters and halves of characters."""
    return escape(_UNFIT.sub("\ufffd", text))
