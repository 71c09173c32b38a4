"""Anyone's text in a page, and the frame of pages that are one file."""

import re
from html import escape
from typing import Final

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def html_text(text: str) -> str:
    """Escaped, and without what HTML cannot hold: control characters and halves of characters."""
    return escape(_UNFIT.sub("\ufffd", text))


def html_document(title: str, style: str, body: str) -> str:
    """A page of one file that loads nothing; `style` and `body` are HTML and CSS, escaped already."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="tabsa">
<title>{html_text(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
