"""Model cards: what is known of a model at the end of its training, in a page of Markdown."""

from collections.abc import Sequence

from tabsa.training.run_config import RunConfig


def model_card(
    title: str, labels: Sequence[str], facts: Sequence[str], table: Sequence[Sequence[str]], *, open_aspects: bool
) -> str:
    """A title, what the model does, a list of facts, and figures; the first row of `table` is its header."""
    aspects = "of any aspect in plain words" if open_aspects else "each aspect"
    header, *rows = table
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        [
            f"# {title}",
            "",
            f"Says of each target and {aspects} whether a text is {', '.join(labels[1:])} about it, or silent.",
            "",
            *(f"- {fact}" for fact in facts),
            "",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
        ]
    )


def flattering_card(
    config: RunConfig, labels: Sequence[str], facts: Sequence[str], table: Sequence[Sequence[str]]
) -> str:
    """The card of a model that was selected by the figures of its table."""
    title = f"{config.kind} trained on {config.data.name}"
    card = model_card(title, labels, facts, table, open_aspects=config.system.open_aspects)
    flatter = "These figures are of the split that selected the model, so they flatter it"
    return f"{card}\n{flatter}; `tabsa evaluate` on a test split does not.\n"


def implied_line(implied: bool) -> list[str]:
    """The fact of texts that do not name a target, where it is one."""
    return ["a text that does not name a target is taken to be about it (`implied`), unless told"] if implied else []


def percent(fraction: float | None) -> str:
    """One decimal, or a dash where there is no figure."""
    return "–" if fraction is None or fraction != fraction else f"{100 * fraction:.1f}"
