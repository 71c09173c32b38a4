"""What a model says of passages, and of a text that was read in several."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.passages import Passage
from tabsa.schema import Span, Target


class PassageAnswer(NamedTuple):
    """What a model says of one passage."""

    probabilities: NDArray[np.float32]  # of the passage's targets and the aspects asked, (K, A, labels)
    gates: NDArray[np.float32] | None  # (directions, tokens, chains), where they were asked for and the model has them


class OpenedPassage(Protocol):
    """A passage that was read once, whose questions may be kept from hearing some of it."""

    @property
    def spans(self) -> Sequence[Span]:
        """Where in the text each of its parts stands, in order."""

    @property
    def slots(self) -> Sequence[int | None]:
        """For each part the slot of the target that it mentions."""

    def ask(self, slot: int, aspect: str, heard: NDArray[np.bool_]) -> NDArray[np.float32]:
        """What is said where the question hears the parts of each row of `heard`, (M, parts) -> (M, labels)."""


class Engine(Protocol):
    """What runs a model on passages."""

    at_once: int  # targets that one passage may be read for

    @property
    def attention(self) -> NDArray[np.float32] | None:
        """The share of each chain in each question of the model's own, (K, A, n), where the model has chains."""

    def cut(self, text: str, targets: Sequence[Target]) -> Iterable[Passage]:
        """What is read of a text at once, and for whom."""

    def read_passages(
        self,
        passages: Sequence[Passage],
        aspects: Sequence[str] | None = None,
        *,
        aspects_of_each: Sequence[Sequence[str]] | None = None,
        gates: bool = False,
    ) -> list[PassageAnswer]:
        """What is said of some aspects, or of the model's own, in passages that `cut` gave; answers are in order.

        `aspects_of_each` gives each passage its own; they are read together all the same.
        """

    def opened(self, passage: Passage) -> OpenedPassage | None:
        """A passage that `cut` gave, ready to be asked with parts out of hearing; None where a model cannot."""


def aspect_columns(
    own: Sequence[str], count: int, aspects: Sequence[str] | None, of_each: Sequence[Sequence[str]] | None
) -> list[list[int]]:
    """For each of `count` passages, where the aspects asked of it stand among a model's `own`."""
    if of_each is None:
        same = [own.index(aspect) for aspect in (own if aspects is None else aspects)]
        return [same] * count
    place = {aspect: column for column, aspect in enumerate(own)}
    return [[place[aspect] for aspect in asked] for asked in of_each]


def keep_strongest(best: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Of two answers about the same targets, (..., A, labels), for each aspect the one less likely to be silent on it.

    `none` is the first label. Of equally silent ones the first is kept.
    """
    return np.where(new[..., :1] < best[..., :1], new, best)


def restrict_labels(probabilities: NDArray[Any], labels: tuple[str, ...], kept: tuple[str, ...]) -> NDArray[np.float64]:
    """Probabilities of `labels`, (..., labels), for data that has only those `kept`, whose first is `none`.

    What is neutral counts as `none` there: the text judges nothing. Other labels' shares go to the polarities, in
    proportion, because the text does judge.
    """
    places = [labels.index(label) for label in kept]
    result: NDArray[np.float64] = np.asarray(probabilities[..., places], np.float64)
    for place, label in enumerate(labels):
        if label == "neutral" and label not in kept:
            result[..., 0] += probabilities[..., place]
    opinions = result[..., 1:].sum(-1, keepdims=True)
    rest = 1 - result[..., :1]
    result[..., 1:] *= np.where(opinions > 0, rest / np.maximum(opinions, 1e-30), 0)
    result /= np.maximum(result.sum(-1, keepdims=True), 1e-30)
    return result


@dataclass(frozen=True)
class PresenceCalibration:
    """What makes a reader's answers calibrated; `none` is the first label.

    log-odds of an opinion / presence_temperature + presence_bias; of polarities, logits / polarity_temperature.
    """

    presence_temperature: float = 1.0
    presence_bias: float = 0.0
    polarity_temperature: float = 1.0

    def apply(self, probabilities: NDArray[Any]) -> NDArray[Any]:
        """The probabilities as they should be, (..., labels)."""
        logs = np.log(np.maximum(probabilities, 1e-30))
        odds = presence_log_odds(probabilities) / self.presence_temperature + self.presence_bias
        polarities = softmax(logs[..., 1:] / self.polarity_temperature)
        # Both shares from the odds: of a likely opinion, 1 - presence would have few digits left.
        none, presence = (1 / (1 + np.exp(np.clip(way * odds, -80, 80))) for way in (1, -1))
        return np.concatenate([none, presence * polarities], axis=-1)


def presence_log_odds(probabilities: NDArray[Any]) -> NDArray[Any]:
    """Of an opinion against none, (..., 1)."""
    none, some = probabilities[..., :1], probabilities[..., 1:].sum(-1, keepdims=True)
    return np.asarray(np.log(np.maximum(some, 1e-30)) - np.log(np.maximum(none, 1e-30)))


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """The probabilities of logits, over the last dimension."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))
