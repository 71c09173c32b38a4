"""A prediction for people: the text with its targets, a table of opinions, and silences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tabsa.cli.console import out, printable
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from tabsa.inference.results import PredictedOpinion, Prediction

_STYLES = {POSITIVE: "green", NEGATIVE: "red", NEUTRAL: "blue", MIXED: "magenta", NONE: "dim"}
_SIGNS = {POSITIVE: "▲", NEGATIVE: "▼", NEUTRAL: "○", MIXED: "◆", NONE: "·"}
_BAR = 12  # characters


def show(prediction: "Prediction", *, every: bool = False, evidence: bool = False) -> None:
    """Print a prediction: the opinions found, or with `every` all pairs; with `evidence`, the words that carry them."""
    prediction = prediction.for_people()
    shown = list(prediction.opinions) if every else prediction.found()
    out.print(_marked(prediction))
    words = [_phrases(prediction, opinion) for opinion in shown] if evidence else None
    out.print(_table(shown, words) if shown else "\n [bold]no opinion found[/bold]\n")
    for line in _silences(prediction, every=every):
        out.print(line)


def _marked(prediction: "Prediction") -> "Text":
    """Return the text with the mentions of targets in bold."""
    from rich.text import Text

    text = Text(printable(prediction.text))
    for target in prediction.mentions():
        for start, end in target.mentions:
            text.stylize("bold underline", start, end)
    return text


def _phrases(prediction: "Prediction", opinion: "PredictedOpinion") -> str:
    """Return the phrases that carry an answer, each with its points."""
    if opinion.polarity == NONE:
        return ""
    found = prediction.evidence(opinion.target, opinion.aspect)
    return ", ".join(
        f"{printable(found.text[span.start : span.end])} {round(weight * 100):+d}" for span, weight in found.phrases()
    )


def _table(opinions: list["PredictedOpinion"], words: list[str] | None = None) -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("target", overflow="fold")
    table.add_column("aspect", overflow="fold")
    table.add_column("opinion", no_wrap=True)
    table.add_column("confidence", no_wrap=True)
    if words is not None:
        table.add_column("carried by", overflow="fold")
    previous = None
    for number, opinion in enumerate(opinions):
        style = _STYLES.get(opinion.polarity, "cyan")
        name = Text("" if opinion.target == previous else printable(opinion.target), "bold")
        judged = Text(f"{_SIGNS.get(opinion.polarity, '●')} {printable(opinion.polarity)}", style)
        row = [name, Text(printable(opinion.aspect)), judged, _bar(opinion.confidence, style)]
        table.add_row(*row, *([] if words is None else [Text(words[number])]))
        previous = opinion.target
    return table


def _bar(share: float, style: str) -> "Text":
    """Return a bar as long as the share, and the share in per cent."""
    from rich.text import Text

    block = "#" if out.options.ascii_only else "━"
    return Text.assemble((f"{block * round(share * _BAR):<{_BAR}}", style), f" {share:4.0%}")


def _silences(prediction: "Prediction", *, every: bool) -> Iterator["Text"]:
    """Yield a line for each target that the text does not mention, or is silent on."""
    from rich.text import Text

    unmentioned = prediction.unmentioned()
    silent: dict[str, list[str]] = {}
    for opinion in prediction.opinions:
        aspects = silent.setdefault(opinion.target, [])
        if opinion.polarity == NONE:
            aspects.append(opinion.aspect)
    count = len(dict.fromkeys(opinion.aspect for opinion in prediction.opinions))
    for target, aspects in silent.items():
        if target in unmentioned:
            words = "not mentioned in the text, so nothing was read for it"
        elif not aspects or every:
            words = ""
        else:
            words = "silent on " + ("every aspect" if len(aspects) == count > 1 else ", ".join(aspects))
        if words:
            yield Text.assemble((printable(target), "bold dim"), (f": {printable(words)}", "dim"))
        if target not in unmentioned and (missed := len(prediction.unread(target))):
            what = "one sentence was" if missed == 1 else f"{missed} sentences were"
            words = f": {what} not read for it: it is not named there, nor in what comes before"
            yield Text.assemble((printable(target), "bold dim"), (words, "dim"))
