"""Pieces of the page: tables with captions and headings, chips, bars. Every text that is given in is escaped here."""

import math
from collections.abc import Iterable, Sequence

from tabsa.evaluation.report_tables import percent
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE
from tabsa.text.escaping import html_text

_SIGNS = {POSITIVE: "▲", NEGATIVE: "▼", NEUTRAL: "○", MIXED: "◆", "conflict": "◆", NONE: "–"}
_TONES = {POSITIVE: "positive", NEGATIVE: "negative", NEUTRAL: "neutral", MIXED: "mixed", "conflict": "mixed"}


def section(name: str, heading: str, content: str, about: str = "") -> str:
    """A part of the page; `name` is what the list of contents leads to, `about` and `content` are HTML."""
    words = f'<p class="about">{about}</p>' if about else ""
    head = f'<section id="{name}" aria-labelledby="{name}-h">\n<h2 id="{name}-h">{heading}</h2>'
    return f"{head}\n{words}{content}\n</section>"


def table(caption: str, heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """A table whose rows are HTML; it scrolls where a screen is narrow. Caption and headings are plain text."""
    columns = "".join(f'<th scope="col">{html_text(head)}</th>' for head in heads)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    scrolled = f'class="scroll" tabindex="0" role="group" aria-label="{html_text(caption)}"'
    head = f"<caption>{html_text(caption)}</caption>\n<thead><tr>{columns}</tr></thead>"
    name = f' class="{kind}"' if kind else ""
    return f"<div {scrolled}><table{name}>{head}\n<tbody>\n{body}\n</tbody></table></div>"


def row_head(text: str) -> str:
    """The heading of a row, plain text."""
    return f'<th scope="row">{html_text(text)}</th>'


def count(number: int) -> str:
    """A cell with a whole number."""
    return f"<td>{number:,}</td>"


def share(fraction: float, interval: tuple[float, float] | None = None, *, bar: bool = False) -> str:
    """A cell with a figure in percent, perhaps with its interval, perhaps with a bar as long."""
    words = f"<b>{percent(fraction)}</b>" if bar or interval else percent(fraction)
    if interval:
        words += f" <small>[{percent(interval[0])}, {percent(interval[1])}]</small>"
    if not bar or math.isnan(fraction):
        return f"<td>{words}</td>"
    return f'<td class="bar" style="--v:{fraction:.4f}">{words}</td>'


def chip(label: str, probability: float | None = None) -> str:
    """A label, told by a sign and a word, not by colour alone."""
    tone = "silent" if label == NONE else _TONES.get(label, "other")
    sign = f'<span aria-hidden="true">{_SIGNS.get(label, "●")}</span>'
    sure = "" if probability is None else f" <b>{probability:.0%}</b>"
    return f'<span class="chip {tone}">{sign} {html_text(label)}{sure}</span>'


def tone(label: str) -> str:
    """The name of a label's colours."""
    return "silent" if label == NONE else _TONES.get(label, "other")


def plural(number: int, noun: str) -> str:
    """So many of a thing, in words."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
