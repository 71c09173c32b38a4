"""The worst mistakes, one by one: what was asked, what is right, what was said, and the words that carry it."""

from collections.abc import Sequence
from typing import Final

from tabsa.evaluation.answers import WAYS, Mistake, Way, worst_of_each
from tabsa.evaluation.page.markup import chip, plural, section, tone
from tabsa.evaluation.report import Report
from tabsa.schema import UNNAMED, Span
from tabsa.text.escaping import html_text

SHOWN: Final = 50
_LEAST = 0.02  # a drop of the probability that is shown at all
_TOLD = 0.05  # a gain that is told in words
_FULL = 0.5  # one that has the full shade
_LONGEST = 1500  # characters of a text that are shown
_HEADINGS: Final[dict[Way, str]] = {
    "missed": "Opinions that were missed",
    "invented": "Opinions found where there are none",
    "turned": "Opinions with another polarity",
}
_LEGEND = (
    '<p class="legend"><span>speaks against the answer</span><span class="ramp" aria-hidden="true"></span>'
    "<span>carries it</span></p>"
)


def mistakes_part(report: Report) -> str:
    """The worst of each way to be wrong, the most wrong first."""
    heading = "The worst mistakes"
    if not report.errors:
        return section("mistakes", heading, '<p class="none">Every answer is right.</p>')
    shown = worst_of_each(report.errors, SHOWN)
    legend = _LEGEND if any(one.evidence for one in shown) else ""
    lists = [
        _list(way, [one for one in shown if one.way == way], sum(one.way == way for one in report.errors))
        for way in WAYS
    ]
    return section("mistakes", heading, legend + "\n".join(filter(None, lists)), _about(report, len(shown)))


def _about(report: Report, shown: int) -> str:
    wrong = len(report.errors)
    part = f"Here are the {shown} worst" if shown < wrong else "Here they are"
    words = (
        f"{wrong:,} of {plural(report.counts['rows'], 'question')} {'is' if wrong == 1 else 'are'} answered wrongly. "
        f"{part}, by how much likelier what was said is than what is right. The target is underlined."
    )
    if any(one.evidence for one in report.errors):
        words += (
            " Words are shaded by how much of the answer's probability is lost, or won, where each is left out; "
            "in brackets in points."
        )
    return words


def _list(way: Way, mistakes: list[Mistake], total: int) -> str:
    if not mistakes:
        return ""
    items = "\n".join(map(_item, mistakes))
    part = f"{len(mistakes)} of {total:,}" if len(mistakes) < total else f"{total:,}"
    return f'<h3>{_HEADINGS[way]} <small>{part}</small></h3>\n<ol class="mistakes">{items}</ol>'


def _item(mistake: Mistake) -> str:
    name = mistake.target.name
    target = "what the text is about" if name == UNNAMED else html_text(name)
    marks = " · ".join(html_text(mark) for mark in (mistake.id, *mistake.example.tags.values()) if mark)
    shares = "".join(
        f'<i class="{tone(label)}" style="--v:{share:.4f}"></i>' for label, share in mistake.probabilities.items()
    )
    spoken = ", ".join(f"{label} {share:.0%}" for label, share in mistake.probabilities.items())
    return (
        f'<li><p class="marks">{marks}</p>\n<blockquote>{_shaded(mistake)}</blockquote>\n'
        f'<p class="verdict"><span><b>{html_text(mistake.aspect)}</b> of <b>{target}</b></span> '
        f"<span>said {chip(mistake.predicted, mistake.probability)}</span> "
        f"<span>right is {chip(mistake.gold, mistake.probabilities[mistake.gold])}</span></p>"
        f'<div class="shares" role="img" aria-label="{html_text(spoken)}" title="{html_text(spoken)}">{shares}</div>'
        f"{_carriers(mistake)}</li>"
    )


def _carriers(mistake: Mistake) -> str:
    """The words with the largest weights, for the answer and against it, in words."""
    if not mistake.evidence:
        return ""
    ranked = sorted(mistake.evidence, key=lambda item: -item[1])
    carrying = [item for item in ranked[:3] if item[1] >= _LEAST]
    opposed = [item for item in ranked[:-3:-1] if item[1] <= -_TOLD]
    words = f"Carried by {_weighed(mistake, carrying)}" if carrying else "No single word carries this answer"
    if opposed:
        words += f"; against it {'speak' if len(opposed) > 1 else 'speaks'} {_weighed(mistake, opposed)}"
    return f'<p class="carriers">{words}.</p>'


def _weighed(mistake: Mistake, items: Sequence[tuple[Span, float]]) -> str:
    return ", ".join(
        f"<b>{html_text(_cut(mistake.text[slice(*span)], 60))}</b>&nbsp;({100 * abs(weight):.0f})"
        for span, weight in items
    )


def _shaded(mistake: Mistake) -> str:
    """The text with its target underlined and its words shaded by what they weigh."""
    text = mistake.text
    limit = _limit(mistake)
    mentions = {Span(*span) for span in mistake.target.mentions}
    marked = dict.fromkeys(mentions, "") | {
        span: _shade(weight) for span, weight in mistake.evidence if abs(weight) >= _LEAST
    }
    weights = dict(mistake.evidence)
    pieces, reached = [], 0
    for span in sorted(marked):
        if span.start < reached or span.end > limit:
            continue
        pieces.append(html_text(text[reached : span.start]))
        words = html_text(text[span.start : span.end])
        if span in mentions:
            pieces.append(f"<mark>{words}</mark>")
        else:
            pieces.append(f'<span class="w"{marked[span]} title="{100 * weights[span]:+.0f} points">{words}</span>')
        reached = span.end
    rest = text[reached:limit] + ("…" if limit < len(text) else "")
    return "".join(pieces) + html_text(rest)


def _limit(mistake: Mistake) -> int:
    """How much of a text is shown: all but of very long ones, and those as far as their target reaches."""
    reach = max((end for _, end in mistake.target.mentions), default=0)
    return min(len(mistake.text), max(_LONGEST, reach + 200))


def _shade(weight: float) -> str:
    strength = min(1.0, abs(weight) / _FULL)
    return f' style="--{"g" if weight > 0 else "a"}:{strength:.3f}"'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
