"""The one Predictor: it serves the command line, the service, the batch job and the benchmarks."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import DEFAULT, ModelFolder, PrecisionChoice, open_folder, shipped_models
from tabsa.encoding.answers import PassageAnswer, exclusive_answers, keep_strongest
from tabsa.encoding.passages import Passage
from tabsa.errors import DataError, DataWarning
from tabsa.inference.explaining import explain_answer
from tabsa.inference.results import PredictedOpinion, Prediction
from tabsa.models.registry import system_of
from tabsa.schema import UNNAMED, Target
from tabsa.text.aspects import clean_aspects, overlap_note, rivals
from tabsa.text.languages import looks_foreign
from tabsa.text.targets import TargetFinder, all_targets
from tabsa.text.tokens import ordered_mentions

# Names to look for, names with aliases, or targets with their mentions already marked.
Targets: TypeAlias = Iterable[str] | Mapping[str, Iterable[str]] | Sequence[Target]

_WINDOW = 1024  # texts of `predict_many` that are sorted and batched together


class Query(NamedTuple):
    """One text with what it is read for; `Predictor.read` answers its passages."""

    text: str
    names: tuple[str, ...]
    passages: list[Passage]
    aspects: tuple[str, ...]


class Predictor:
    """Answers who is judged, on what, and how; `precision` is the one that is used."""

    def __init__(self, folder: ModelFolder, *, threads: int = 0, precision: PrecisionChoice = "auto") -> None:
        self.folder, self.precision, self.system = folder, folder.precision(precision), system_of(folder)
        self.engine = self.system.make_engine(folder, threads, self.precision)
        self.aspects, self.labels = folder.config.aspects, folder.config.labels
        self.implied = folder.config.implied

    def predict(
        self,
        text: str,
        targets: Targets | None = None,
        aspects: Sequence[str] | None = None,
        *,
        implied: bool | None = None,
        exclusive: bool = False,
    ) -> Prediction:
        """Answer every target-aspect pair of one text, with what explains it.

        Args:
            text: any text; a long one is read sentence by sentence.
            targets: names to find in the text (a mapping gives each its aliases), or `Target`s with mentions. A
                target that the text does not mention is `none` throughout, unless it is implied. None is what the
                text is about and does not name, called "" (`schema.UNNAMED`); it needs `implied`.
            aspects: some of the model's, or of a model with open aspects any words; the model's own by default.
            implied: take a name that the text does not mention as that of what the text is about: the whole text is
                read for it. A `Target` says for itself whether it is `implied`. None is what the model was trained for
                (`Predictor.implied`).
            exclusive: aspects exclude each other, those that share a word, or all where no two do: of such that a
                target is judged on, the likeliest keeps its opinion, and the others are `none`.
        """
        if self.english_only and looks_foreign(text):
            note = "the text looks like another language than English, and the model has learnt from English alone"
            warnings.warn(f"{note}: its answer means little", DataWarning, stacklevel=2)
        (prediction,) = self.predict_many([text], targets, aspects, implied=implied, exclusive=exclusive, explain=True)
        return prediction

    def predict_many(
        self,
        texts: Iterable[str],
        targets: Targets | None = None,
        aspects: Sequence[str] | None = None,
        *,
        targets_of_each: Iterable[Targets] | None = None,
        aspects_of_each: Iterable[Sequence[str] | None] | None = None,
        implied: bool | None = None,
        exclusive: bool = False,
        explain: bool = False,
    ) -> Iterator[Prediction]:
        """Answer the same for many texts, lazily and in order; texts of like length are read together.

        `targets` and `aspects` hold for every text, `targets_of_each` and `aspects_of_each` give each its own.
        """
        if isinstance(texts, str):
            raise DataError("texts is one text; expected a list of texts, or use predict")
        if aspects is not None and aspects_of_each is not None:
            raise DataError("give either aspects for all texts or aspects of each")
        finders = self.finders(targets, targets_of_each, implied)
        if aspects_of_each is None:
            wanted: Iterable[tuple[str, ...]] = repeat(self.choose_aspects(aspects))
        else:
            wanted = map(self.choose_aspects, aspects_of_each)
        return self._answers(paired(texts, finders, wanted), explain, exclusive)

    def finders(
        self, targets: Targets | None, targets_of_each: Iterable[Targets] | None, implied: bool | None
    ) -> Iterator["RequestedTargets"]:
        """Yield what finds the targets of each text: the same for all, or each its own."""
        implied = self.implied if implied is None else implied
        if targets is not None and targets_of_each is not None:
            raise DataError("give either targets for all texts or targets of each")
        if targets is None and targets_of_each is None:
            if not implied:
                raise DataError("give either targets for all texts or targets of each, or say that texts imply theirs")
            targets = [Target(UNNAMED, implied=True)]
        make = partial(RequestedTargets, implied=implied, looked_for=self.folder.config.named)
        return repeat(make(targets)) if targets is not None else map(make, targets_of_each or ())

    def implied_targets(self, names: Iterable[str], found: Iterable[Target]) -> tuple[Target, ...]:
        """Return every name as a target of a text that was searched for them: named there, or else what it is about.

        A model that learnt from texts which name nobody reads all of them so.
        """
        return all_targets(names, found if self.folder.config.named else (), implied=True)

    def choose_aspects(self, aspects: Sequence[str] | None) -> tuple[str, ...]:
        """Return the aspects of a request, each once: the model's own where none are given.

        Raises:
            DataError: an aspect is no wording, or none that a model without open aspects knows.
        """
        if aspects is None:
            return self.aspects
        if isinstance(aspects, str):
            raise DataError(f"aspects is one text; expected a list of names, such as ['{aspects}']")
        if self.open_aspects:
            return clean_aspects(aspects)
        unknown = [aspect for aspect in aspects if aspect not in self.aspects]
        if unknown:
            raise DataError(_unknown_aspect(str(unknown[0]), self.aspects))
        if not aspects:
            raise DataError("no aspect is asked for; name at least one")
        return tuple(dict.fromkeys(aspects))

    def _answers(
        self, texts: Iterator[tuple[str, "RequestedTargets", tuple[str, ...]]], explain: bool, exclusive: bool
    ) -> Iterator[Prediction]:
        """Answer a window of texts at a time: cut into passages, read together, put together again."""
        while window := [self.query(text, finder, aspects) for text, finder, aspects in islice(texts, _WINDOW)]:
            cut = [(passage, item.aspects) for item in window for passage in item.passages]
            answers = iter(self.read([passage for passage, _ in cut], [own for _, own in cut], explain=explain))
            for item in window:
                own = list(islice(answers, len(item.passages)))
                yield self.prediction(item, own, explain=explain, exclusive=exclusive)

    def query(self, text: str, finder: "RequestedTargets", aspects: tuple[str, ...]) -> Query:
        """Cut a text into what is read of it for its targets."""
        return Query(text, finder.names, list(self.engine.cut(text, finder.find(text))), aspects)

    def read(
        self, passages: Sequence[Passage], aspects_of_each: Sequence[Sequence[str]], *, explain: bool = False
    ) -> list[PassageAnswer]:
        """Answer passages of any texts, read together; nothing depends on what is read beside it."""
        return self.engine.read_passages(passages, aspects_of_each, gates=explain)

    def prediction(
        self, item: Query, answers: Sequence[PassageAnswer], *, explain: bool = False, exclusive: bool = False
    ) -> Prediction:
        """Return what comes of a text, from the answers of each of its passages."""
        aspects = item.aspects
        best = _strongest(item.passages, answers)
        silent = np.zeros((len(aspects), len(self.labels)), np.float32)
        silent[:, 0] = 1
        opinions = []
        for name in item.names:
            table = best.get(name, silent)
            table = exclusive_answers(table, rivals(aspects)) if exclusive else table
            for aspect, row, likeliest in zip(aspects, table.tolist(), table.argmax(1).tolist(), strict=True):
                shares = dict(zip(self.labels, row, strict=True))
                opinions.append(PredictedOpinion(name, aspect, self.labels[likeliest], shares))
        if not explain:
            return Prediction(item.text, tuple(opinions))
        shown = tuple(
            replace(passage, gates=answer.gates) for passage, answer in zip(item.passages, answers, strict=True)
        )
        attention = self.engine.attention if shown else None
        chosen = None if attention is None else attention[:, [self.aspects.index(aspect) for aspect in aspects]]
        tied = 0 if chosen is None else self.tied
        return Prediction(
            item.text, tuple(opinions), shown, chosen, aspects, tied, partial(explain_answer, self.engine, self.labels)
        )

    @property
    def open_aspects(self) -> bool:
        """An aspect may be any words; where not, it is one of `aspects`."""
        return self.system.open_aspects

    def overlap(self, aspects: Sequence[str]) -> str:
        """Return a note on aspects that share words, unless the model has learnt these, or knows no others; or ""."""
        return "" if not self.open_aspects or set(aspects) <= {*self.aspects} else overlap_note(aspects)

    @property
    def english_only(self) -> bool:
        """The model is in the package, or a reader: their encoder, and the models' labels, are English."""
        return self.open_aspects or self.folder.path in shipped_models().values()

    @property
    def gated(self) -> bool:
        """The model has gates, which explanations show."""
        return self.system.gates

    @property
    def tied(self) -> int:
        """The number of chains that belong to a target: the first ones, in the order of the targets."""
        config = self.folder.config
        return config.targets if config.model.get("keys") in ("tied", "hybrid") else 0


class RequestedTargets:
    """The targets of a request, ready to be found in a text."""

    def __init__(self, targets: Targets, *, implied: bool = False, looked_for: bool = True) -> None:
        if isinstance(targets, str):
            raise DataError("targets is one text; expected a list of names, such as ['Camden']")
        listed = targets if isinstance(targets, Mapping) else list(targets)
        self.marked = [target for target in listed if isinstance(target, Target)]
        if self.marked and len(self.marked) < len(listed):
            raise DataError("targets mixes names and marked targets; give one kind")
        self.finder = None if self.marked else TargetFinder(listed)  # type: ignore[arg-type]
        self.names = tuple(t.name for t in self.marked) if self.finder is None else self.finder.names
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise DataError(f"the target {twice!r} is given twice: give it once, with all its mentions")
        self.implied, self.looked_for = implied, looked_for or not implied

    def find(self, text: str) -> Sequence[Target]:
        """Return the targets with their mentions in a text."""
        if self.finder is None:
            ordered_mentions(text, self.marked)  # refuses those that are not in the text
            return self.marked
        found = self.finder.find(text) if self.looked_for else ()
        return all_targets(self.names, found, implied=True) if self.implied else found


def _strongest(read: Sequence[Passage], answers: Sequence[PassageAnswer]) -> dict[str, NDArray[np.float32]]:
    """Return each target's probabilities, (A, labels): by aspect, from the passage least likely to be silent on it."""
    best: dict[str, NDArray[np.float32]] = {}
    for passage, answer in zip(read, answers, strict=True):
        for slot, name in enumerate(passage.targets):
            new = answer.probabilities[slot]
            best[name] = keep_strongest(best[name], new) if name in best else new
    return best


def _unknown_aspect(aspect: str, known: Sequence[str]) -> str:
    near = get_close_matches(aspect.lower(), known, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return (
        f"the model does not know the aspect '{aspect}'{hint}; it knows: {', '.join(known)}; "
        f"`{DEFAULT}`, the model in the box, takes any words"
    )


def paired(
    texts: Iterable[str], finders: Iterator[RequestedTargets], aspects: Iterable[tuple[str, ...]]
) -> Iterator[tuple[str, RequestedTargets, tuple[str, ...]]]:
    """Yield each text with its finder and its aspects; refuse what is no text, and lists of different lengths."""
    rest, own_aspects = iter(finders), iter(aspects)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise DataError(f"text {number} is of type {type(text).__name__}; expected a string")
        finder, wanted = next(rest, None), next(own_aspects, None)
        if finder is None or wanted is None:
            what = "targets" if finder is None else "aspects"
            raise DataError(f"there are {what} for {number - 1} texts and more texts; give each text its own")
        yield text, finder, wanted
    for what, given in (("targets", rest), ("aspects", own_aspects)):
        if not isinstance(given, repeat) and next(given, None) is not None:
            raise DataError(f"there are {what} for more texts than were given; give each text its own")


def load(name: str | Path | None = None, *, threads: int = 0, precision: PrecisionChoice = "auto") -> Predictor:
    """Load a model: the one in the box, another of the package by name, a folder, or one of the hub.

    `threads` is how many cores one call may use; 0 means all. `precision` "auto" is "int8" where the model was trained
    for it, and "float32" otherwise.
    """
    return Predictor(open_folder(name), threads=threads, precision=precision)
