"""Model cards: what is known of a model at the end of its training, in a page of Markdown."""

import math
from collections.abc import Mapping, Sequence

from tabsa.evaluation.report_tables import percent
from tabsa.training.run_config import RunConfig

_FLATTERS = (
    "These figures are of the split that selected the model, so they flatter it; `tabsa evaluate` on a test split does "
    "not."
)


def model_card(
    config: RunConfig,
    labels: Sequence[str],
    facts: Sequence[str],
    figures: Mapping[str, Mapping[str, float]],
    *,
    implied: bool = False,
    title: str = "",
    judged_on: str = "",
) -> str:
    """What the model does, a list of facts, and figures by column and name.

    `title` and `judged_on` are those of a model that was not selected by dev figures, as which it is described else.
    """
    aspects = "of any aspect in plain words" if config.system.open_aspects else "each aspect"
    names = dict.fromkeys(name for column in figures.values() for name in column)
    rows = [[name.replace("_", " "), *(percent(own.get(name, math.nan)) for own in figures.values())] for name in names]
    header = [judged_on or f"{config.data.name} {config.data.dev}, %", *figures]
    lines = [
        f"# {title or f'{config.kind} trained on {config.data.name}'}",
        "",
        f"Says of each target and {aspects} whether a text is {', '.join(labels[1:])} about it, or silent.",
        "",
        *(f"- {fact}" for fact in facts),
        *(["- a text that does not name a target is taken to be about it (`implied`), unless told"] * implied),
        "",
        *(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)),
        "",
        *([] if judged_on else [_FLATTERS, ""]),
    ]
    return "\n".join(lines)
