"""`tabsa models`: the models in the package, and the systems that can be trained."""

import json
from typing import Any

import typer

from tabsa.cli.console import out
from tabsa.cli.options import AsJson


def command(as_json: AsJson = False) -> None:
    """List the models in the package with their aspects, and the systems: what each is and what it needs.

    A model with open aspects takes any words (`-a "battery life"`), and has a list of its own by default. `--json` has
    the figures published on Sentihood.

    Example: `tabsa models`; train one, as the paper has it, with `tabsa reproduce NAME`
    """
    found = {"models": _models(), "systems": _systems()}
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "aspects", "answers", box=SIMPLE, title="in the package", title_justify="left")
    for model in found["models"]:
        also = [f"or {alias}" for alias in model["aliases"]] + ["the default"] * model["default"]
        named = Text.assemble((model["name"], "bold"), *((f"\n{words}", "dim") for words in also))
        listed = ", ".join(model["aspects"])
        aspects = f"any words; by default {listed}" if model["open_aspects"] else listed
        table.add_row(named, Text(aspects), Text(", ".join(model["labels"])))
    out.print(table)
    table = Table("name", "what it is", box=SIMPLE, title="systems", title_justify="left")
    for system in found["systems"]:
        paper = system["paper"].replace("Liu, Cohn and Baldwin", "Liu et al.")
        table.add_row(Text(system["name"], no_wrap=True), Text.assemble(system["about"], (f"; {paper}", "dim")))
    out.print(table)


def _models() -> list[dict[str, Any]]:
    from tabsa.checkpoint.model_folder import DEFAULT, aliases_of, read_folder, shipped_models
    from tabsa.models.registry import system_of

    folders = {name: read_folder(path) for name, path in shipped_models().items()}
    return [
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
        for name, folder in folders.items()
    ]


def _systems() -> list[dict[str, Any]]:
    from tabsa.evaluation.published import PUBLISHED
    from tabsa.models.registry import SYSTEMS

    return [
        {
            "name": system.name,
            "about": system.about,
            "paper": system.paper,
            "open_aspects": system.open_aspects,
            "needs": list(system.needs),
            "published": PUBLISHED[system.name].to_dict() if system.name in PUBLISHED else None,
        }
        for system in SYSTEMS.values()
    ]
