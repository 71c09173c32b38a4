"""A model with open aspects to test with: it knows a few words, and answers any aspect by them."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.encoding.answers import AspectsOfEach, Engine, PassageAnswer
from tabsa.encoding.passages import Passage
from tabsa.encoding.passages import passages as cut_passages
from tabsa.models.registry import SYSTEMS
from tabsa.schema import Target
from tabsa.text.aspects import EVERYDAY

LABELS = ("none", "positive", "negative", "neutral", "mixed")
GOOD, BAD = frozenset({"good", "great", "lovely"}), frozenset({"bad", "awful", "dear"})
SURE = 0.9


class OpenEngine(Engine):
    """Finds an aspect where a passage has one of its words, and judges it by the good and bad words beside."""

    at_once = 100

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:
        self.folder = folder
        self.calls: list[list[tuple[str, ...]]] = []  # what was asked of each passage

    def cut(self, text: str, targets: Sequence[Target]) -> Iterator[Passage]:
        return cut_passages(text, targets, at_once=self.at_once, max_length=self.folder.config.max_length)

    def read_passages(
        self, passages: Sequence[Passage], aspects: AspectsOfEach = None, *, gates: bool = False
    ) -> list[PassageAnswer]:
        asked = [tuple(own) for own in ([self.folder.config.aspects] * len(passages) if aspects is None else aspects)]
        self.calls.append(asked)
        pairs = zip(passages, asked, strict=True)
        return [PassageAnswer(np.stack([table_of(p, own)] * len(p.targets)), None) for p, own in pairs]


def table_of(passage: Passage, aspects: Sequence[str]) -> np.ndarray:
    """What is said of each aspect, (aspects, labels)."""
    words = {token.text.lower() for token in passage.tokens}
    table = np.full((len(aspects), len(LABELS)), (1 - SURE) / (len(LABELS) - 1), np.float32)
    for row, aspect in zip(table, aspects, strict=True):
        row[LABELS.index(label_of(words, aspect))] = SURE
    return table


def label_of(words: set[str], aspect: str) -> str:
    if not words & set(aspect.lower().replace("-", " ").split()):
        return "none"
    good, bad = bool(words & GOOD), bool(words & BAD)
    return "mixed" if good and bad else "positive" if good else "negative" if bad else "neutral"


def write_open_model(path: Path) -> Path:
    """A folder of the kind `reader` that holds no more than its configuration."""
    config = ModelConfig("reader", {}, EVERYDAY, LABELS, 2, 50)
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(dataclasses.asdict(config)), "utf-8")
    (path / "metrics.json").write_text("{}", "utf-8")
    return path


@pytest.fixture(scope="module")
def open_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a model with open aspects; while it is used, readers are run by the engine above."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SYSTEMS, "reader", dataclasses.replace(SYSTEMS["reader"], engine="open_model:OpenEngine"))
        yield write_open_model(tmp_path_factory.mktemp("models") / "open")
