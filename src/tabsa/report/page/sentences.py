"""The telling sentences, as a list that can be filtered."""

from collections.abc import Iterable

from tabsa.evaluation.page.markup import chip, plural, section
from tabsa.report.page.shown import Shown, called
from tabsa.report.summary import Summary
from tabsa.report.telling import Telling
from tabsa.text.escaping import html_text

_ABOUT = (
    "For each target and aspect, the sentences whose polarity the model is surest of: what stands behind the numbers, "
    "and where to see whether it read them right."
)
_PLAIN_ABOUT = (
    "For each target and aspect, some short texts of each polarity: what stands behind the numbers, and where to see "
    "whether the model read them right. The table holds no probabilities to rank them by."
)


def sentences_part(summary: Summary, shown: Shown) -> str:
    """The part of the page."""
    told = [
        (telling, row, column, place)
        for row, target in enumerate(shown.targets)
        for column, aspect in enumerate(shown.aspects)
        for place, telling in enumerate(summary.cell(target, aspect).telling)
    ]
    if not told:
        return ""
    items = [_item(*one) for one in told]
    ranked = any(telling.probability is not None for telling, *_ in told)
    content = f'{_form(summary, shown)}<p id="matches" class="note" role="status">{plural(len(items), "sentence")}</p>'
    content += f'<ol id="tellings" class="tellings">\n{"".join(items)}</ol>'
    more = '<p><button type="button" id="more" hidden>Show more</button></p>'
    return section("sentences", "Telling sentences", content + more, _ABOUT if ranked else _PLAIN_ABOUT)


def _form(summary: Summary, shown: Shown) -> str:
    targets = _options((called(target) for target in shown.targets), "any target")
    aspects = _options(shown.aspects, "any aspect")
    polarities = "".join(f"<option>{html_text(polarity)}</option>" for polarity in summary.polarities)
    return f"""<form id="filter" class="choices" data-script hidden>
<label>Target <select name="target">{targets}</select></label>
<label>Aspect <select name="aspect">{aspects}</select></label>
<label>Polarity <select name="polarity"><option value="">any polarity</option>{polarities}</select></label>
<label>Word <input name="word" type="search" autocomplete="off" spellcheck="false"></label>
<button type="reset">Show all</button>
</form>"""


def _options(names: Iterable[str], every: str) -> str:
    listed = "".join(f'<option value="{place}">{html_text(name)}</option>' for place, name in enumerate(names))
    return f'<option value="">{every}</option>{listed}'


def _item(telling: Telling, row: int, column: int, place: int) -> str:
    anchor = f' id="c{row}-{column}"' if place == 0 else ""
    data = f'data-target="{row}" data-aspect="{column}" data-polarity="{html_text(telling.polarity)}"'
    marks = " · ".join(html_text(mark) for mark in (telling.date, telling.file, telling.id) if mark)
    named = f"<b><bdi>{html_text(called(telling.target))}</bdi></b> on {html_text(telling.aspect)}"
    who = f'<span class="who">{named}</span>'
    return (
        f'<li{anchor} {data}><p class="of">{chip(telling.polarity, telling.probability)} {who}'
        f' <small>{marks}</small></p><blockquote dir="auto">{_marked(telling)}</blockquote></li>\n'
    )


def _marked(telling: Telling) -> str:
    """The sentence with the mentions of its target marked."""
    text, pieces, reached = telling.sentence, [], 0
    for start, end in telling.mentions:
        pieces += [html_text(text[reached:start]), f"<mark>{html_text(text[start:end])}</mark>"]
        reached = end
    return "".join(pieces) + html_text(text[reached:])
