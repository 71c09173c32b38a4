"""`tabsa predict`: the opinions in one text."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.console import note, warn
from tabsa.cli.options import (
    TARGET_METAVAR,
    AspectLists,
    Aspects,
    Implied,
    ModelName,
    Precision,
    is_implied,
    named_targets,
    requested_aspects,
)
from tabsa.errors import DataError

_EXAMPLE = 'tabsa predict "Camden is lovely but far too dear" -t Camden'


def command(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What to read; `-`, or nothing, reads standard input.")
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar=TARGET_METAVAR,
            help="Who may be judged, with other names for it; repeatable. In a name write `\\=`, in an alias `\\,`.",
        ),
    ] = None,
    implied: Implied = None,
    aspects: Aspects = None,
    aspect_lists: AspectLists = None,
    model: ModelName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, every pair with its probabilities.")] = False,
    explain: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write the words shaded by what carries each answer, and of a model with gates what its memory wrote, "
            "as a page.",
        ),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", "-e", help="Say which words carry each answer, as measured on the model.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every pair, also where the text is silent.")] = False,
    precision: Precision = "auto",
) -> None:
    """Say who is judged in a text, on what, and how.

    Examples: `tabsa predict "The Pixel 9 lasts for days" -t "Pixel 9" -a "battery life" -a price`,
    `tabsa predict "The Pixel 9 lasts for days" -t "Pixel 9" --aspects phones`,
    `tabsa predict "Great food, slow service" --implied -a food -a service`,
    `tabsa predict "The Pixel 9 gets hot" -t "Pixel 9" -a heat --evidence`,
    `cat review.txt | tabsa predict -t Camden -t Brixton -a price --json`,
    `tabsa predict "I love Stokey" -t "Stoke Newington=Stokey,N16" --explain why.html`
    """
    if not targets and not is_implied(implied, model):
        hint = "or give --implied, if the text does not name what it is about"
        raise typer.BadParameter(f"name at least one target, such as: {_EXAMPLE}; {hint}", param_hint="'-t'")
    wanted = named_targets(targets) if targets else None
    read = _text(text)
    from tabsa.inference.predictor import load

    if explain is not None:
        from tabsa.pages.rendering import check_page_name

        check_page_name(explain)
    predictor = load(model, precision=precision)
    prediction = predictor.predict(read, wanted, requested_aspects(aspect_lists, aspects), implied=implied)
    for name in prediction.unmentioned():
        warn(f"the text does not mention '{name}'; give other names for it with -t '{name}=ALIAS'")
    if as_json:
        typer.echo(json.dumps(prediction.to_dict(evidence=evidence), indent=2, allow_nan=False))
    else:
        from tabsa.cli.opinions import show

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
