"""The heat map: targets by aspects, with counts and intervals; a cell leads to the sentences behind it."""

from tabsa.evaluation.page.markup import plural, section
from tabsa.report.page.shown import Shown, called
from tabsa.report.page.words import LOOKS, SIGNS, percent, spoken, strength, track
from tabsa.report.summary import Summary
from tabsa.report.tally import Tally
from tabsa.text.escaping import html_text

_ABOUT = (
    "The share of positive opinions among those that take a side, and how many they are. The bar is the 95% interval: "
    "where the share could be if there were many more texts of the kind. A side is named where the interval lies "
    "wholly on it, and the colour is as deep as that is sure, so that 2 of 3 is pale and 200 of 300 is not."
)
_UPRIGHT = 11  # aspects that fit a sheet of paper that stands
_LEGEND = (
    '<ul class="legend">'
    '<li><span class="key positive"><span aria-hidden="true">▲</span></span> mostly positive</li>'
    '<li><span class="key negative"><span aria-hidden="true">▼</span></span> mostly negative</li>'
    '<li><span class="key unclear"><span aria-hidden="true">◇</span></span> cannot tell</li>'
    '<li><span class="key silent"><span aria-hidden="true">–</span></span> nobody speaks of it</li></ul>'
)


def heat_part(summary: Summary, shown: Shown, beside: str) -> str:
    """The part of the page."""
    if not shown.targets:
        return section("judged", "Who is judged how on what", "<p>No text has an opinion.</p>")
    totals, on_aspects = summary.target_totals(), summary.aspect_totals()
    corner = '<th scope="col" class="corner">target</th><th scope="col" class="all">all aspects</th>'
    heads = "".join(f'<th scope="col">{html_text(aspect)}</th>' for aspect in shown.aspects)
    rows = [
        _row(called(target), totals[target], "".join(_cell(summary, shown, row, column) for column in _places(shown)))
        for row, target in enumerate(shown.targets)
    ]
    if len(shown.targets) > 1:
        under = "".join(_plain(on_aspects[aspect], "all") for aspect in shown.aspects)
        rows.append(_row("all targets", summary.total, under, "all"))
    body = "\n".join(rows)
    size = f"{plural(len(shown.targets), 'target')} by {plural(len(shown.aspects), 'aspect')}"
    caption = f"Positive among opinions that take a side, {size}"
    table = (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Targets by aspects"><table class="heat" '
        f'style="--columns:{len(shown.aspects) + 1}"><caption><span>{html_text(caption)}</span></caption>'
        f"<thead><tr>{corner}{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
    panel = '<div id="behind" class="behind" aria-live="polite" hidden></div>'
    wide = " wide" if len(shown.aspects) > _UPRIGHT else ""
    about = f"{_ABOUT} <span data-script hidden>A cell leads to the most telling sentences behind it.</span>"
    content = f'<div class="map{wide}">{_LEGEND}{table}</div>{panel}{_left_out(summary, shown, beside)}'
    return section("judged", "Who is judged how on what", content, about)


def _places(shown: Shown) -> range:
    return range(len(shown.aspects))


def _row(name: str, total: Tally, cells: str, kind: str = "") -> str:
    look = f' class="{kind}"' if kind else ""
    return f'<tr{look}><th scope="row"><bdi>{html_text(name)}</bdi></th>{_plain(total, "all")}{cells}</tr>'


def _cell(summary: Summary, shown: Shown, row: int, column: int) -> str:
    cell = summary.cell(shown.targets[row], shown.aspects[column])
    if not cell.is_told:
        return _plain(cell.tally)
    inside = _inside(cell.tally)
    return f'<td {_look(cell.tally)}><a href="#c{row}-{column}" data-cell="{row} {column}">{inside}</a></td>'


def _plain(tally: Tally, kind: str = "") -> str:
    return f"<td {_look(tally, kind)}><div>{_inside(tally)}</div></td>"


def _look(tally: Tally, kind: str = "") -> str:
    name = f"{LOOKS[tally.verdict]} {kind}".strip()
    return f'class="{name}" style="--s:{strength(tally):.2f}" title="{html_text(spoken(tally))}"'


def _inside(tally: Tally) -> str:
    """Sign, share, interval and numbers for the eye, and a sentence for the ear."""
    heard = f'<span class="unseen">{html_text(spoken(tally))}</span>'
    if not tally.n:
        return f'<span aria-hidden="true">–</span>{heard}'
    if tally.share is None:
        return f'<span aria-hidden="true"><b>○</b><small>{tally.n:,} without a side</small></span>{heard}'
    share = f"<b>{SIGNS[tally.verdict]}&nbsp;{html_text(percent(tally.share))}</b>"
    numbers = f"<small>{tally.positive:,} of {tally.judged:,}</small>"
    return f'<span aria-hidden="true">{share}{track(tally)}{numbers}</span>{heard}'


def _left_out(summary: Summary, shown: Shown, beside: str) -> str:
    """How much there was no room for."""
    targets = len(summary.targets) - len(summary.silent_targets) - len(shown.targets)
    aspects = len(summary.aspects) - len(summary.silent_aspects) - len(shown.aspects)
    parts = [plural(number, noun) for number, noun in ((targets, "target"), (aspects, "aspect")) if number]
    if not parts:
        return ""
    where = f" are in {html_text(beside)}" if beside else " are not shown"
    return f'<p class="note">The most spoken-of are shown; {" and ".join(parts)} more{where}.</p>'
