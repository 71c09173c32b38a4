import json

import pytest
import typer
from typer.testing import CliRunner

from open_model import open_model
from tabsa.cli import models
from tabsa.evaluation.published import OTHERS, PUBLISHED
from tabsa.models.registry import SYSTEMS
from tabsa.text.aspects import EVERYDAY

__all__ = ["open_model"]  # a fixture

TABLE = ["lr", "lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm", "entnet", "delayed-entnet"]
OPEN = ["reader", "reader-large"]
NAMES = [*TABLE, *OPEN]


def run(*arguments):
    app = typer.Typer()
    app.command()(models.command)
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_lists_every_system():
    systems = json.loads(run("--json"))["systems"]
    assert [system["name"] for system in systems] == NAMES
    assert [system["name"] for system in systems if system["open_aspects"]] == OPEN
    of = {system["name"]: system for system in systems}
    assert "concepts" in of["sentic-lstm"]["needs"]
    assert "POS tagger" in of["lr"]["needs"]
    assert all(system["about"] and system["paper"] for system in systems)
    assert of["delayed-entnet"]["published"]["strict_accuracy"] == 0.735
    assert of["lstm-ta-sa"]["published"]["aspect_auc"] is None
    assert of["reader"]["published"] is None


def test_the_models_in_the_package_are_listed_with_their_aspects(monkeypatch, open_model):
    monkeypatch.setattr("tabsa.checkpoint.model_folder.shipped_models", lambda: {"open": open_model})
    (model,) = json.loads(run("--json"))["models"]
    assert (model["name"], model["system"], model["open_aspects"]) == ("open", "reader", True)
    assert model["aspects"] == list(EVERYDAY)
    assert model["labels"] == ["none", "positive", "negative", "neutral", "mixed"]
    monkeypatch.setattr("tabsa.cli.console.out.width", 200)
    assert f"any words; by default {', '.join(EVERYDAY)}" in run()


def test_the_default_comes_first_and_a_model_may_have_another_name(monkeypatch):
    models = json.loads(run("--json"))["models"]
    found = [(model["name"], model["aliases"], model["default"], model["precision"]) for model in models]
    assert found == [("reader", [], True, "int8"), ("places", ["fast"], False, "float32")]
    monkeypatch.setattr("tabsa.cli.console.out.width", 200)
    words = [line.split() for line in run().splitlines()]
    assert ["the", "default"] in words
    assert ["or", "fast"] in words


@pytest.mark.parametrize("figures", [*PUBLISHED.values(), *OTHERS.values()], ids=[*PUBLISHED, *OTHERS])
def test_figures_are_fractions(figures):
    values = [value for name, value in figures.to_dict().items() if name != "source"]
    assert len(values) == 5
    assert all(value is None or 0 < value < 1 for value in values)


def test_every_system_of_the_table_is_one_of_the_package_and_has_its_figures():
    assert list(PUBLISHED) == TABLE
    assert list(SYSTEMS) == NAMES
    assert [system.name for system in SYSTEMS.values()] == NAMES
    assert [name for name, system in SYSTEMS.items() if not system.neural] == ["lr"]
