"""The evidence of each answer as a part of a page: the text shaded by what carries it, its phrases and sentences."""

from collections.abc import Iterator, Sequence

from tabsa.evidence.grid import Cell
from tabsa.inference.results import Evidence, SentenceAnswer
from tabsa.text import split_sentences
from tabsa.text.escaping import html_text

_LEAST = 0.01  # a word of less is not shaded


def evidence_section(evidence: Sequence[Evidence]) -> str:
    """What carries each answer, in their order; nothing where there is none."""
    if not evidence:
        return ""
    return f'<section class="evidence"><h3>What carries each answer</h3>{"".join(map(_figure, evidence))}</section>'


def _figure(one: Evidence) -> str:
    cell = Cell(one.polarity, one.probability)
    sign = f'<span aria-hidden="true">{cell.sign}</span> ' if cell.sign else ""
    judged = f'<span class="tag {cell.tone}">{sign}{html_text(one.polarity)} {one.probability:.0%}</span>'
    caption = f"<b>{html_text(one.target)}</b> on <b>{html_text(one.aspect)}</b> {judged}"
    parts = [_carried_by(one), _sentences(one), _unread(one)]
    return f'<figure><figcaption>{caption}</figcaption><p class="carried">{_shaded(one)}</p>{"".join(parts)}</figure>'


def _shaded(one: Evidence) -> str:
    """The text, each word in a shade as deep as it carries the answer; what speaks against it is underlined."""
    pieces, reached = [], 0
    for (start, end), weight in one.words:
        if abs(weight) < _LEAST:
            continue
        kind = "for" if weight > 0 else "against"
        title = f"{round(weight * 100):+d} points"
        word = f'<span class="{kind}" style="--w:{min(1, abs(weight)):.3f}" title="{title}">'
        pieces += [html_text(one.text[reached:start]), word, html_text(one.text[start:end]), "</span>"]
        reached = end
    return "".join([*pieces, html_text(one.text[reached:])])


def _carried_by(one: Evidence) -> str:
    phrases = [
        f"<li><q>{html_text(one.text[span.start : span.end])}</q> <small>{round(weight * 100):+d} points</small></li>"
        for span, weight in one.phrases()
    ]
    if not phrases:
        return '<p class="note">No single phrase carries it.</p>'
    return f'<ul class="phrases" aria-label="phrases that carry it">{"".join(phrases)}</ul>'


def _sentences(one: Evidence) -> str:
    """The sentences that carry the answer, where the text has several."""
    if len(split_sentences(one.text)) < 2 or not one.sentences:
        return ""
    return f'<ol class="sentences" aria-label="sentences that carry it">{"".join(_items(one))}</ol>'


def _items(one: Evidence) -> Iterator[str]:
    for sentence in one.sentences:
        yield f"<li>{html_text(one.text[sentence.span.start : sentence.span.end])} {_own_answer(sentence)}</li>"


def _own_answer(sentence: SentenceAnswer) -> str:
    cell = Cell(sentence.polarity, sentence.probabilities[sentence.polarity])
    if not cell.sign:
        return '<small class="tag silent">silent by itself</small>'
    return f'<small class="tag {cell.tone}">{cell.sign} {html_text(cell.polarity)} {cell.confidence:.0%}</small>'


def _unread(one: Evidence) -> str:
    if not one.unread:
        return ""
    count = len(one.unread)
    what = "One sentence was" if count == 1 else f"{count} sentences were"
    return f'<p class="note">{what} not read for {html_text(one.target)}: it is neither named nor meant there.</p>'
