"""`tabsa predict`: the opinions in one text, and how a prediction is shown."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli import options
from tabsa.cli.console import note, out, print_json, printable, warn
from tabsa.errors import DataError
from tabsa.pages.tally import percent
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE

if TYPE_CHECKING:
    from rich.text import Text

    from tabsa.inference.results import PredictedOpinion, Prediction

_EXAMPLE = 'tabsa predict "Camden is lovely but far too dear" -t Camden'
_STYLES = {POSITIVE: "green", NEGATIVE: "red", NEUTRAL: "blue", MIXED: "magenta", NONE: "dim"}
_SIGNS = {POSITIVE: "▲", NEGATIVE: "▼", NEUTRAL: "○", MIXED: "◆", NONE: "·"}
_BAR = 12  # characters


def command(
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="`-`, or nothing, reads standard input.")] = None,
    targets: options.Targets = None,
    implied: options.Implied = None,
    aspects: options.Aspects = None,
    aspect_lists: options.AspectLists = None,
    exclusive: options.Exclusive = False,
    model: options.ModelName = None,
    as_json: Annotated[bool, options.flag("--json", "Print JSON, every pair with its probabilities.")] = False,
    explain: Annotated[Path | None, options.optional("FILE.html", "Write what carries each answer as a page.")] = None,
    evidence: Annotated[bool, typer.Option("--evidence", "-e", help="Say which words carry each answer.")] = False,
    every: Annotated[bool, options.flag("--all", "Show every pair, also where the text is silent.")] = False,
    precision: options.Precision = "auto",
) -> None:
    """Say who is judged in a text, on what, and how.

    Examples:
    - `tabsa predict "The Pixel 9 lasts for days" -t "Pixel 9" -a "battery life" -a price`
    - `tabsa predict "The Pixel 9 lasts for days" -t "Pixel 9" --aspects phones`
    - `tabsa predict "Great food, slow service" --implied -a food -a service`
    - `tabsa predict "The Pixel 9 gets hot" -t "Pixel 9" -a heat --evidence`
    - `cat review.txt | tabsa predict -t Camden -t Brixton -a price --json`
    - `tabsa predict "I love Stokey" -t "Stoke Newington=Stokey,N16" --explain why.html`
    """
    if not targets and not options.is_implied(implied, model):
        hint = "or give --implied, if the text does not name what it is about"
        raise typer.BadParameter(f"name at least one target, such as: {_EXAMPLE}; {hint}", param_hint="'-t'")
    names = options.named_targets(targets) if targets else None
    content = _text(text)
    from tabsa.inference.predictor import load

    if explain is not None:
        from tabsa.pages.rendering import check_page_name

        check_page_name(explain)
    predictor = load(model, precision=precision)
    wanted = options.requested_aspects(aspect_lists, aspects)
    prediction = predictor.predict(content, names, wanted, implied=implied, exclusive=exclusive)
    for name in prediction.unmentioned():
        warn(f"the text does not mention '{name}'; give other names for it with -t '{name}=ALIAS'")
    if as_json:
        print_json(prediction.to_dict(evidence=evidence))
    else:
        show(prediction, every=every, evidence=evidence)
    if explain is not None:
        from tabsa.pages.evidence_page import write_explanation

        write_explanation(prediction, explain)
        note(f"explanation: {explain}")


def _text(argument: str | None) -> str:
    """Return the text itself, or standard input."""
    if argument is None and sys.stdin.isatty():
        raise typer.BadParameter(f"give a text, such as: {_EXAMPLE}", param_hint="'TEXT'")
    if argument is None or argument == "-":
        try:
            argument = sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as e:
            raise DataError(f"standard input is not UTF-8 text (byte {e.start}); save it as UTF-8") from e
    if not argument.strip():
        raise DataError("the text is empty; expected at least one word")
    try:
        argument.encode("utf-8")
    except UnicodeEncodeError as e:
        raise DataError("the text is not UTF-8; write it as UTF-8, in a UTF-8 terminal") from e
    return argument


def show(prediction: "Prediction", *, every: bool = False, evidence: bool = False) -> None:
    """Print a prediction: the opinions found, or with `every` all pairs; with `evidence`, the words that carry them."""
    from rich.text import Text

    prediction = prediction.for_people()
    marked = Text(printable(prediction.text))
    for target in prediction.mentions():
        for start, end in target.mentions:
            marked.stylize("bold underline", start, end)
    out.print(marked)
    shown = list(prediction.opinions) if every else prediction.found()
    if shown:
        _show_table(prediction, shown, evidence=evidence)
    else:
        out.print("\n [bold]no opinion found[/bold]\n")
    for name, words in _silences(prediction, every=every):
        out.print(Text.assemble((printable(name), "bold dim"), (f": {printable(words)}", "dim")))


def _show_table(prediction: "Prediction", opinions: list["PredictedOpinion"], *, evidence: bool) -> None:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False)
    for heading, fixed in (("target", False), ("aspect", False), ("opinion", True), ("confidence", True)):
        table.add_column(heading, no_wrap=fixed, overflow="ellipsis" if fixed else "fold")
    if evidence:
        table.add_column("carried by", overflow="fold")
    previous = None
    for opinion in opinions:
        style = _STYLES.get(opinion.polarity, "cyan")
        name = Text("" if opinion.target == previous else printable(opinion.target), "bold")
        judged = Text(f"{_SIGNS.get(opinion.polarity, '●')} {printable(opinion.polarity)}", style)
        row = [name, Text(printable(opinion.aspect)), judged, _bar(opinion.confidence, style)]
        table.add_row(*row, *([Text(_phrases(prediction, opinion))] if evidence else []))
        previous = opinion.target
    out.print(table)


def _phrases(prediction: "Prediction", opinion: "PredictedOpinion") -> str:
    """Return the phrases that carry an answer, each with its points."""
    if opinion.polarity == NONE:
        return ""
    found = prediction.evidence(opinion.target, opinion.aspect)
    return ", ".join(
        f"{printable(found.text[span.start : span.end])} {round(weight * 100):+d}" for span, weight in found.phrases()
    )


def _bar(share: float, style: str) -> "Text":
    """Return a bar as long as the share, and the share in per cent."""
    from rich.text import Text

    block = "#" if out.options.ascii_only else "━"
    return Text.assemble((f"{block * round(share * _BAR):<{_BAR}}", style), f" {percent(share):>4}")


def _silences(prediction: "Prediction", *, every: bool) -> Iterator[tuple[str, str]]:
    """Yield each target that the text does not mention or is silent on, with a line that says so."""
    unmentioned = prediction.unmentioned()
    silent: dict[str, list[str]] = {}
    for opinion in prediction.opinions:
        silent.setdefault(opinion.target, []).extend([opinion.aspect] if opinion.polarity == NONE else [])
    count = len({opinion.aspect for opinion in prediction.opinions})
    for target, aspects in silent.items():
        if target in unmentioned:
            yield target, "not mentioned in the text, so nothing was read for it"
            continue
        if aspects and not every:
            yield target, "silent on " + ("every aspect" if len(aspects) == count > 1 else ", ".join(aspects))
        if missed := len(prediction.unread(target)):
            what = "one sentence was" if missed == 1 else f"{missed} sentences were"
            yield target, f"{what} not read for it: it is not named there, nor in what comes before"
