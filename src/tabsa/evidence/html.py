"""A page that needs nothing but itself: no script, no font, no address; every text in it is escaped."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tabsa.encoding.passages import Passage
from tabsa.evidence.bands import Band, bands, carried, lines, without_gates
from tabsa.evidence.grid import Cell, Grid, opinion_grid
from tabsa.evidence.section import evidence_section
from tabsa.inference.results import Prediction
from tabsa.text import Token
from tabsa.text.escaping import html_document
from tabsa.text.escaping import html_text as _text

_WIDTH = 104  # of a line of words, in characters: what fits a page of A4 and most screens
_SIGNS = {"forward": "→", "backward": "←", "only": "", "mean": "", "opinion": ""}


def html_page(predictions: Sequence[Prediction], title: str = "") -> str:
    """The page as text, in the order of the predictions."""
    title = title or "Who is judged, on what, and how"
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    articles = "\n".join(_article(prediction, number, predictions) for number, prediction in enumerate(predictions, 1))
    legends = [_CARRIED] if any(prediction.explain for prediction in predictions) else []
    legends += [] if without_gates(predictions) else [_LEGEND]
    body = f"""<header>
<h1>{_text(title)}</h1>
{"".join(legends)}
</header>
{articles}"""
    return html_document(title, style, body)


_CARRIED = """<p class="about">Under <b>what carries each answer</b>, a word's shade says how many points of that
answer's probability the word carries, measured by asking and reading again without it; what speaks against the answer
is underlined.</p>"""


_LEGEND = """<p class="about">Under <b>what the memory kept</b>, words are shaded by their gates. A gate says how far a
chain of the model's memory was rewritten at a word, reading forwards (→) or backwards (←); the shade of the word itself
is the mean of them all. A chain named after a target follows that target; a line named after an opinion weighs the
chains as that answer does. Gates show where the model took notice, not how it judged.</p>
<p class="scale" aria-hidden="true"><span>gate 0</span><span class="ramp"></span><span>1</span></p>"""


def _article(prediction: Prediction, number: int, predictions: Sequence[Prediction]) -> str:
    heading = f"Text {number} of {len(predictions)}" if len(predictions) > 1 else "The text"
    gates = "".join(_reading(prediction, passage) for passage in prediction.passages)
    kept = f"<section><h3>What the memory kept</h3>{gates}</section>" if gates else ""
    if not prediction.passages:
        kept = '<p class="note">No words are shaded: nothing was read for these targets.</p>'
    return f"""<article aria-labelledby="text-{number}">
<h2 id="text-{number}">{heading}</h2>
<blockquote>{_marked(prediction)}</blockquote>
{_opinions(opinion_grid(prediction))}
{evidence_section(carried(prediction))}
{kept}
{_probabilities(prediction)}
</article>"""


def _marked(prediction: Prediction) -> str:
    """The text with the mentions of targets marked."""
    text, pieces, reached = prediction.text, [], 0
    mentions = sorted((span, target.name) for target in prediction.mentions() for span in target.mentions)
    for (start, end), name in mentions:
        pieces += [_text(text[reached:start]), f'<mark title="{_text(name)}">{_text(text[start:end])}</mark>']
        reached = end
    return "".join(pieces) + _text(text[reached:])


def _opinions(grid: Grid) -> str:
    """Targets by aspects; aspects that nothing is said on are listed below."""
    heads = "".join(f'<th scope="col">{_text(aspect)}</th>' for aspect in grid.aspects)
    rows = []
    for target, cells in grid.rows:
        name = f'<th scope="row">{_text(target)}</th>'
        if target in grid.unmentioned:
            cell = f'<td class="silent" colspan="{max(1, len(grid.aspects))}">not mentioned in the text</td>'
        elif not grid.aspects:
            cell = '<td class="silent">no opinion found</td>'
        else:
            cell = "".join(_cell(cell) for cell in cells)
        rows.append(f"<tr>{name}{cell}</tr>")
    head = f'<thead><tr><th scope="col">target</th>{heads}</tr></thead>' if heads else ""
    table = f"<table><caption>Opinions found</caption>{head}<tbody>{''.join(rows)}</tbody></table>"
    rest = f'<p class="note">No opinion on {_text(", ".join(grid.silent))}.</p>' if grid.silent else ""
    return f'<div class="opinions">{table}</div>{rest}'


def _cell(cell: Cell) -> str:
    if cell.sign == "":
        return f'<td class="silent" title="{cell.confidence:.0%} sure of none">–<span class="unseen"> none</span></td>'
    sign = f'<span aria-hidden="true">{cell.sign}</span>'
    return f'<td class="{cell.tone}">{sign}&nbsp;{_text(cell.polarity)} <b>{cell.confidence:.0%}</b></td>'


def _reading(prediction: Prediction, passage: Passage) -> str:
    """The words of a passage above its bands, in as many tables as it takes."""
    shown = bands(prediction, passage)
    if not shown:
        return ""
    several = len(prediction.passages) > 1
    who = ", ".join(passage.targets)
    where = f"Characters {passage.start} to {passage.end}, read for {who}" if several else f"Gates, read for {who}"
    tables = "".join(_table(passage.tokens, shown, line) for line in lines(passage.tokens, _WIDTH))
    return f"<figure><figcaption>{_text(where)}</figcaption>{tables}</figure>"


def _table(tokens: Sequence[Token], shown: Sequence[Band], line: slice) -> str:
    mean, *others = shown
    words = "".join(
        f'<th scope="col" style="--g:{value:.3f}">{_word(token)} <small>{_short(value)}</small></th>'
        for token, value in zip(tokens[line], mean.values[line], strict=True)
    )
    head = f'<thead><tr><th scope="col">mean</th>{words}</tr></thead>'
    body = "".join(_groups(tokens[line], others, line))
    scrolled = 'class="words" tabindex="0" role="group" aria-label="words and gates"'
    return f"<div {scrolled}><table>{head}{body}</table></div>"


def _word(token: Token) -> str:
    return _text(token.text) if token.target is None else f'<b class="target">{_text(token.text)}</b>'


def _groups(tokens: Sequence[Token], others: Sequence[Band], line: slice) -> Iterator[str]:
    """The bands of one kind after another."""
    for kind in dict.fromkeys(band.kind for band in others):
        rows = "".join(_row(tokens, band, line) for band in others if band.kind == kind)
        yield f'<tbody class="{kind}">{rows}</tbody>'


def _row(tokens: Sequence[Token], band: Band, line: slice) -> str:
    spoken = f"{band.kind} " if band.kind in ("forward", "backward") else ""
    label = f'<span aria-hidden="true">{_SIGNS[band.kind]}</span> {_text(band.label)}'
    hidden = f'<span class="unseen">{spoken}</span>' if spoken else ""
    cells = "".join(
        f'<td style="--g:{value:.3f}" title="{_text(token.text)}: {value:.2f}"><span>{_short(value)}</span></td>'
        for token, value in zip(tokens, band.values[line], strict=True)
    )
    return f'<tr><th scope="row" title="{_text(spoken + band.label)}">{hidden}{label}</th>{cells}</tr>'


def _probabilities(prediction: Prediction) -> str:
    """Every pair with the probability of each label, folded away."""
    if not prediction.opinions:
        return ""
    labels = list(prediction.opinions[0].probabilities)
    heads = "".join(f'<th scope="col">{_text(name)}</th>' for name in ("target", "aspect", *labels))
    rows = "".join(
        f'<tr><th scope="row">{_text(opinion.target)}</th><td>{_text(opinion.aspect)}</td>'
        + "".join(
            f"<td{' class=likeliest' if label == opinion.polarity else ''}>{opinion.probabilities[label]:.3f}</td>"
            for label in labels
        )
        + "</tr>"
        for opinion in prediction.opinions
    )
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<details><summary>All probabilities</summary>{table}</details>"


def _short(value: float) -> str:
    """Two digits, without the zero before the point."""
    return f"{value:.2f}".removeprefix("0")
