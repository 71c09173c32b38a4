"""Cells that a spreadsheet would run: text that begins as a formula does gets an apostrophe before it, on request.

A spreadsheet takes a cell of a CSV for a formula where it begins with `=`, `+`, `-`, `@`, a tab or a carriage return,
and what a stranger wrote may be one (CSV injection). Behind an apostrophe it is text. Numbers stay numbers.
"""

import re
from typing import Final

_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?%?")


def escape_formula(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would take it for a formula; a number is as it was."""
    return f"'{text}" if text.startswith(_STARTS) and not _NUMBER.fullmatch(text) else text
