"""Anyone's text in a page, and the frame of pages that are one file."""

import base64
import hashlib
import json
import re
from html import escape
from typing import Final

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def html_text(text: str) -> str:
    """Escaped, and without what HTML cannot hold: control characters and halves of characters."""
    return escape(_UNFIT.sub("\ufffd", text))


def json_text(value: object) -> str:
    """JSON that can stand in a page's `<script type="application/json">`: nothing in it ends the script."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def html_document(title: str, style: str, body: str, script: str = "") -> str:
    """A page of one file that loads nothing; `style`, `body` and `script` are CSS, HTML and JavaScript of our own.

    No other script than that one can run in it, whatever `body` holds.
    """
    policy = _POLICY
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        script = f'<script type="module">{script}</script>\n'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="tabsa">
<title>{html_text(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
{script}</body>
</html>
"""
