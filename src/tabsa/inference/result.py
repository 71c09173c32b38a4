"""What a prediction is: plain data, with what it takes to show it."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding import Passage
from tabsa.errors import DataError
from tabsa.inference.evidence import Evidence
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Polarity, Span, Target
from tabsa.text import split_sentences

_IT = "it"  # what a text is about, where nobody gives it a name
_COLOURS = {POSITIVE: "#1a7f37", NEGATIVE: "#cf222e", NEUTRAL: "#57606a", MIXED: "#8250df"}


@dataclass(frozen=True, slots=True)
class PredictedOpinion:
    """The likeliest polarity of one target-aspect pair, and the probability of each."""

    target: str
    aspect: str
    polarity: Polarity
    probabilities: dict[str, float]

    @property
    def confidence(self) -> float:
        """The probability of the polarity given."""
        return self.probabilities[self.polarity]


class Explain(Protocol):
    """Says what carries an answer of a prediction."""

    def __call__(
        self,
        prediction: "Prediction",
        target: str,
        aspect: str,
        polarity: Polarity | None,
        among: Sequence[Polarity] | None,
        words: bool,
    ) -> Evidence:
        """The evidence of one answer."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Every asked target-aspect pair of one text, `none` included."""

    text: str
    opinions: tuple[PredictedOpinion, ...]
    passages: tuple[Passage, ...] = ()
    attention: NDArray[np.float32] | None = None  # of each target slot and aspect over the chains, (K, aspects, n)
    aspects: tuple[str, ...] = ()  # the aspects of `attention`
    tied: int = 0  # how many chains belong to a target: the first ones, in the order of `Passage.targets`
    explain: Explain | None = field(default=None, repr=False, compare=False)  # how the model that gave it explains

    def mentions(self) -> tuple[Target, ...]:
        """The targets that the text mentions, in the order of the question, with where; known after `predict`."""
        spans: dict[str, set[Span]] = {}
        for passage in self.passages:
            for token in passage.tokens:
                if token.target is not None:
                    spans.setdefault(passage.targets[token.target], set()).add(Span(token.start, token.end))
        return tuple(Target(name, tuple(sorted(spans[name]))) for name in self.targets() if name in spans)

    def targets(self) -> tuple[str, ...]:
        """The targets of the question, in its order."""
        return tuple(dict.fromkeys(opinion.target for opinion in self.opinions))

    def unmentioned(self) -> tuple[str, ...]:
        """The targets of the question that nothing was read for, neither named nor implied; known after `predict`."""
        if not self.aspects:
            return ()
        read = {name for passage in self.passages for name in passage.targets}
        return tuple(name for name in self.targets() if name not in read)

    def unread(self, target: str) -> tuple[Span, ...]:
        """The sentences that were not read for a target of the question: nothing is known of them, not silence."""
        read = [passage for passage in self.passages if target in passage.targets]
        return tuple(
            span
            for span in split_sentences(self.text)
            if not any(passage.start < span.end and span.start < passage.end for passage in read)
        )

    def evidence(
        self,
        target: str,
        aspect: str,
        polarity: Polarity | None = None,
        *,
        among: Sequence[Polarity] | None = None,
        words: bool = True,
    ) -> Evidence:
        """The words, phrases and sentences that carry the answer on a target's aspect, measured on the model.

        It takes at most as long as ten readings of the text.

        Args:
            target: one of the question's; "" is what the text is about and does not name.
            aspect: one of the question's.
            polarity: what would carry this answer, where it is not the one given.
            among: the only labels there are, `none` first; what the model says of others goes to these, as where data
                without them is evaluated.
            words: weigh the words, too; without, the sentences cost one reading.

        Raises:
            DataError: it was not asked, or the prediction is one of many that were made without `explain`.
        """
        if self.explain is None:
            raise DataError("this prediction does not know its model; make it with `predict`, or with explain=True")
        return self.explain(self, target, aspect, polarity, among, words)

    def found(self) -> list[PredictedOpinion]:
        """The opinions that are not `none`."""
        return [opinion for opinion in self.opinions if opinion.polarity != NONE]

    def to_dict(self, *, evidence: bool = False) -> dict[str, Any]:
        """What `tabsa predict --json` prints; a target without a name is null.

        With `evidence`, each opinion that is not `none` has what carries it (`Evidence.to_dict`).
        """
        return {"text": self.text, "opinions": [self._told(opinion, evidence) for opinion in self.opinions]}

    def _told(self, opinion: PredictedOpinion, evidence: bool) -> dict[str, Any]:
        told = {
            "target": None if opinion.target == UNNAMED else opinion.target,
            "aspect": opinion.aspect,
            "polarity": opinion.polarity,
            "probabilities": opinion.probabilities,
        }
        if evidence and opinion.polarity != NONE:
            carried = self.evidence(opinion.target, opinion.aspect).to_dict()
            told["evidence"] = {key: carried[key] for key in ("words", "phrases", "sentences", "unread")}
        return told

    def for_people(self) -> "Prediction":
        """The same with a word for the target that has no name: "it"."""
        if UNNAMED not in self.targets():
            return self

        def word(name: str) -> str:
            return _IT if name == UNNAMED else name

        opinions = tuple(replace(opinion, target=word(opinion.target)) for opinion in self.opinions)
        passages = (replace(passage, targets=tuple(map(word, passage.targets))) for passage in self.passages)
        return replace(self, opinions=opinions, passages=tuple(passages))

    def _repr_html_(self) -> str:
        """A table of the opinions found, for notebooks."""
        rows = "".join(
            f"<tr><td>{html.escape(o.target)}</td><td>{html.escape(o.aspect)}</td>"
            f'<td style="color:{_COLOURS.get(o.polarity, "inherit")}">{html.escape(o.polarity)}</td>'
            f"<td>{o.confidence:.0%}</td></tr>"
            for o in self.for_people().found()
        )
        head = "<tr><th>target</th><th>aspect</th><th>polarity</th><th>confidence</th></tr>"
        table = f"<table>{head}{rows}</table>" if rows else "<p><em>no opinion found</em></p>"
        return f"<div><p>{html.escape(self.text)}</p>{table}</div>"
