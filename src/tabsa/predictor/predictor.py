"""The one Predictor: it serves the command line, the service, the batch job and the benchmarks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError, ModelError
from tabsa.folder import ModelFolder, read_folder
from tabsa.predictor.engine import Engine, Read, pretrained, words_of
from tabsa.predictor.passages import passages
from tabsa.predictor.result import Passage, PredictedOpinion, Prediction
from tabsa.schema import Target
from tabsa.text import TargetFinder

# Names to look for, names with aliases, or targets with their mentions already marked.
Targets: TypeAlias = Iterable[str] | Mapping[str, Iterable[str]] | Sequence[Target]

DEFAULT = "places"  # the model in the box
_WINDOW = 1024  # texts of `predict_many` that are sorted and batched together


class _Asked(NamedTuple):
    """One text with what is asked of it."""

    text: str
    names: tuple[str, ...]
    passages: list[Passage]


class Predictor:
    """Answers who is judged, on what, and how."""

    def __init__(self, folder: ModelFolder, *, threads: int = 0) -> None:
        self.folder = folder
        self.engine = Engine(folder, threads)
        self.aspects, self.labels = folder.config.aspects, folder.config.labels

    def predict(self, text: str, targets: Targets, aspects: Sequence[str] | None = None) -> Prediction:
        """Every target-aspect pair of one text, with what explains it.

        Args:
            text: any text; a long one is read sentence by sentence.
            targets: names to find in the text (a mapping gives each its aliases), or `Target`s with mentions. A
                target that the text does not mention is `none` throughout.
            aspects: some of the model's; all by default.
        """
        (prediction,) = self.predict_many([text], targets, aspects, explain=True)
        return prediction

    def predict_many(
        self,
        texts: Iterable[str],
        targets: Targets | None = None,
        aspects: Sequence[str] | None = None,
        *,
        targets_of_each: Iterable[Targets] | None = None,
        explain: bool = False,
    ) -> Iterator[Prediction]:
        """The same for many texts, lazily and in order; texts of like length are read together.

        `targets` are asked of every text, `targets_of_each` gives each its own.
        """
        if (targets is None) == (targets_of_each is None):
            raise DataError("give either targets for all texts or targets of each")
        chosen = self._aspects(aspects)
        asked = self._each(texts, targets, targets_of_each)
        while window := list(islice(asked, _WINDOW)):
            reads = iter(self.engine.read([words_of(p.tokens) for item in window for p in item.passages]))
            for item in window:
                yield self._prediction(item, list(islice(reads, len(item.passages))), chosen, explain)

    def _each(
        self, texts: Iterable[str], targets: Targets | None, targets_of_each: Iterable[Targets] | None
    ) -> Iterator[_Asked]:
        shared = _Finder(targets) if targets is not None else None
        own = iter(targets_of_each) if targets_of_each is not None else None
        for text in texts:
            if shared is not None:
                finder = shared
            else:
                theirs = next(own, None) if own is not None else None
                if theirs is None:
                    raise DataError("there are more texts than targets of each")
                finder = _Finder(theirs)
            config = self.folder.config
            found = finder.find(text)
            cut = passages(text, found, at_once=config.targets, max_length=config.max_length)
            yield _Asked(text, finder.names, list(cut))

    def _aspects(self, aspects: Sequence[str] | None) -> tuple[str, ...]:
        if aspects is None:
            return self.aspects
        unknown = [aspect for aspect in aspects if aspect not in self.aspects]
        if unknown:
            raise DataError(f"the model does not know the aspect '{unknown[0]}'; it knows: {', '.join(self.aspects)}")
        return tuple(dict.fromkeys(aspects))

    def _prediction(self, item: _Asked, reads: list[Read], aspects: tuple[str, ...], explain: bool) -> Prediction:
        best = _strongest(item.passages, reads)
        silent = np.zeros((len(self.aspects), len(self.labels)), np.float32)
        silent[:, 0] = 1
        columns = [self.aspects.index(aspect) for aspect in aspects]
        opinions = []
        for name in item.names:
            probabilities = best.get(name, silent)
            for aspect, column in zip(aspects, columns, strict=True):
                row = probabilities[column]
                polarity = self.labels[int(row.argmax())]
                shares = {label: float(p) for label, p in zip(self.labels, row, strict=True)}
                opinions.append(PredictedOpinion(name, aspect, polarity, shares))
        if not explain:
            return Prediction(item.text, tuple(opinions))
        shown = tuple(
            Passage(p.start, p.end, p.tokens, p.targets, read.gates)
            for p, read in zip(item.passages, reads, strict=True)
        )
        attention = self.engine.attention[:, columns] if shown else None
        return Prediction(item.text, tuple(opinions), shown, attention, aspects)


class _Finder:
    """Whatever names targets, ready to find them."""

    def __init__(self, targets: Targets) -> None:
        if isinstance(targets, str):
            raise DataError("targets is one text; expected a list of names, such as ['Camden']")
        listed = targets if isinstance(targets, Mapping) else list(targets)
        self.marked = [target for target in listed if isinstance(target, Target)]
        if self.marked and len(self.marked) < len(listed):
            raise DataError("targets mixes names and marked targets; give one kind")
        self.finder = None if self.marked else TargetFinder(listed)  # type: ignore[arg-type]
        self.names = tuple(t.name for t in self.marked) if self.finder is None else self.finder.names

    def find(self, text: str) -> Sequence[Target]:
        return self.marked if self.finder is None else self.finder.find(text)


def _strongest(read_passages: Sequence[Passage], reads: Sequence[Read]) -> dict[str, NDArray[np.float32]]:
    """Each target's probabilities, (A, labels): for each aspect from the passage least likely to be silent on it."""
    best: dict[str, NDArray[np.float32]] = {}
    for passage, read in zip(read_passages, reads, strict=True):
        for slot, name in enumerate(passage.targets):
            new = read.probabilities[slot]
            if name in best:
                old = best[name]
                new = np.where(new[:, :1] < old[:, :1], new, old)
            best[name] = new
    return best


def load(name: str | Path | None = None, *, threads: int = 0) -> Predictor:
    """A model that is ready to use: the one in the box, another of the package by name, or a model folder."""
    path = pretrained(str(name or DEFAULT)) if name is None or not Path(name).exists() else None
    if path is None:
        if name is None or not Path(name).exists():
            raise ModelError(f"there is no model '{name or DEFAULT}': neither in the package nor a folder of that name")
        path = Path(name)
    return Predictor(read_folder(path), threads=threads)
