"""`tabsa models`: the models in the package, the systems there are, and what was published of them."""

import json
from typing import TYPE_CHECKING

import typer

from tabsa.cli.console import out
from tabsa.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from tabsa.checkpoint.model_folder import ModelFolder

_METRICS = (
    ("strict_accuracy", "strict"),
    ("macro_f1", "F1"),
    ("aspect_auc", "AUC"),
    ("sentiment_accuracy", "sent. acc."),
    ("sentiment_auc", "sent. AUC"),
)


def command(as_json: AsJson = False) -> None:
    """List the models in the package with their aspects, and the systems: what each is, its size and what it needs.

    A model with open aspects takes any words (`-a "battery life"`), and asks its own list unless told. Published
    figures are on Sentihood. Weights are counted for word vectors of 300 numbers, two targets and four aspects, not
    counting an encoder's; counting needs PyTorch.

    Example: `tabsa models`; train one, as the paper has it, with `tabsa reproduce table1 --only NAME`
    """
    sizes = _sizes()
    if as_json:
        typer.echo(json.dumps(_plain(sizes), indent=2))
    else:
        out.print(_models())
        out.print(_systems(sizes))
        out.print(_figures())


def _sizes() -> dict[str, int]:
    """The trained numbers of each neural system, by name; nothing of those over an encoder, or without PyTorch."""
    try:
        import torch

        from tabsa.embeddings.concepts import load_concepts
        from tabsa.models.base import Vocabulary
        from tabsa.models.registry import SYSTEMS
    except ImportError:
        return {}
    concepts = torch.from_numpy(load_concepts().matrix)
    vocabulary = Vocabulary(torch.zeros(3, 300), (1, 2), torch.zeros(4, 300), 3, concepts)
    return {
        name: system.network_class()(system.config_class(), vocabulary, (0,)).size
        for name, system in SYSTEMS.items()
        if system.neural and not system.open_aspects
    }


def _in_package() -> "list[tuple[str, ModelFolder]]":
    """The models in the package, the default first."""
    from tabsa.checkpoint.model_folder import read_folder, shipped_models

    return [(name, read_folder(path)) for name, path in shipped_models().items()]


def _plain(sizes: dict[str, int]) -> dict[str, list[dict[str, object]]]:
    from tabsa.checkpoint.model_folder import DEFAULT, aliases_of
    from tabsa.evaluation.published import PUBLISHED
    from tabsa.models.registry import SYSTEMS, system_of

    return {
        "models": [
            {
                "name": name,
                "aliases": list(aliases_of(name)),
                "default": name == DEFAULT,
                "system": folder.config.kind,
                "open_aspects": system_of(folder).open_aspects,
                "aspects": list(folder.config.aspects),
                "labels": list(folder.config.labels),
                "precision": folder.precision(),
            }
            for name, folder in _in_package()
        ],
        "systems": [
            {
                "name": system.name,
                "about": system.about,
                "paper": system.paper,
                "open_aspects": system.open_aspects,
                "weights": sizes.get(system.name),
                "needs": list(system.needs),
                "published": PUBLISHED[system.name].to_dict() if system.name in PUBLISHED else None,
            }
            for system in SYSTEMS.values()
        ],
    }


def _models() -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    from tabsa.checkpoint.model_folder import DEFAULT, aliases_of
    from tabsa.models.registry import system_of

    table = Table(box=SIMPLE, title="in the package", title_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("system", no_wrap=True)
    table.add_column("aspects")
    table.add_column("answers")
    for name, folder in _in_package():
        also = [f"or {alias}" for alias in aliases_of(name)] + ["the default"] * (name == DEFAULT)
        named = Text.assemble((name, "bold"), *((f"\n{words}", "dim") for words in also))
        listed = ", ".join(folder.config.aspects)
        open_ = system_of(folder).open_aspects
        asked = Text.assemble(("open", "bold"), f": any words; by default {listed}") if open_ else Text(listed)
        table.add_row(named, folder.config.kind, asked, Text(", ".join(folder.config.labels)))
    return table


def _systems(sizes: dict[str, int]) -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    from tabsa.models.registry import SYSTEMS

    table = Table(box=SIMPLE, title="systems", title_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("what it is", min_width=26)
    table.add_column("aspects")
    table.add_column("weights", justify="right")
    table.add_column("needs", max_width=14)
    for system in SYSTEMS.values():
        size = f"{sizes[system.name]:,}" if system.name in sizes else "–"
        aspects = "open" if system.open_aspects else "fixed"
        about = f"{system.about} [dim]({system.paper})[/]"
        table.add_row(system.name, about, aspects, size, ", ".join(system.needs))
    return table


def _figures() -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    from tabsa.evaluation.published import OTHERS, PUBLISHED

    table = Table(box=SIMPLE, title="published on Sentihood's test set, %", title_justify="left")
    table.add_column("name", no_wrap=True)
    for _, name in _METRICS:
        table.add_column(name, justify="right")
    table.add_column("source", no_wrap=True)
    for name, figures in (PUBLISHED | OTHERS).items():
        values = (getattr(figures, metric) for metric, _ in _METRICS)
        table.add_row(
            name, *("–" if value is None else f"{100 * value:.1f}" for value in values), _short(figures.source)
        )
    return table


def _short(source: str) -> str:
    """A source in a few letters: who and when."""
    return source.replace("Liu, Cohn and Baldwin", "Liu et al.").removesuffix(", Table 1")
