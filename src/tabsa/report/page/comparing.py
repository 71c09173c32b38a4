"""Two targets beside each other, aspect by aspect; the script lets the reader choose others."""

from tabsa.evaluation.page.markup import row_head, section, table
from tabsa.evaluation.report_tables import points
from tabsa.report.page.shown import Shown, called
from tabsa.report.page.words import between, percent
from tabsa.report.summary import Contrast, Summary
from tabsa.report.tally import Tally
from tabsa.text.escaping import html_text

_ABOUT = (
    "The share of positive opinions of one less that of the other, in percentage points, with its 95% interval. Where "
    "the interval holds 0, the table cannot tell who is seen better; of twenty differences, one stands out by chance."
)


def comparing_part(summary: Summary, shown: Shown) -> str:
    """The part of the page: at first, the two that are most spoken of."""
    if len(shown.targets) < 2:
        return ""
    first, second = shown.targets[:2]
    names = called(first), called(second)
    rows = [_row(one, names) for one in summary.compare(first, second) if one.aspect in shown.aspects]
    heads = ["aspect", *names, "difference", "seen better"]
    listed = table(f"{names[0]} and {names[1]}: positive among opinions that take a side", heads, rows, "contrast")
    return section("compared", "Two compared", _form(shown) + listed, _ABOUT)


def _form(shown: Shown) -> str:
    def options(chosen: int) -> str:
        return "".join(
            f'<option value="{place}"{" selected" if place == chosen else ""}>{html_text(called(name))}</option>'
            for place, name in enumerate(shown.targets)
        )

    return f"""<form id="pair" class="choices" data-script hidden>
<label>First <select name="first">{options(0)}</select></label>
<label>Second <select name="second">{options(1)}</select></label>
</form>"""


def _row(contrast: Contrast, names: tuple[str, str]) -> str:
    return row_head(contrast.aspect) + _share(contrast.first) + _share(contrast.second) + _difference(contrast, names)


def _share(tally: Tally) -> str:
    if tally.share is None or tally.interval is None:
        return "<td>–</td>"
    numbers = f"{tally.positive:,} of {tally.judged:,}; {between(tally.interval)}"
    return f"<td><b>{html_text(percent(tally.share))}</b> <small>{html_text(numbers)}</small></td>"


def _difference(contrast: Contrast, names: tuple[str, str]) -> str:
    found = contrast.difference
    if found is None:
        return '<td>–</td><td class="word">not judged</td>'
    apart, low, high = found
    tone = {"first": "gain", "second": "loss"}.get(contrast.verdict, "tie")
    places = ";".join(f"--{name}:{(value + 1) / 2:.4f}" for name, value in (("v", apart), ("l", low), ("h", high)))
    word = {"first": names[0], "second": names[1]}.get(contrast.verdict, "cannot tell")
    return (
        f"<td><b>{points(apart)}</b> <small>[{points(low)}, {points(high)}]</small>"
        f'<div class="forest {tone}" style="{places}"></div></td><td class="word">{html_text(word)}</td>'
    )
