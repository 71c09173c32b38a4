"""The interface of a model that reads passages; answers: several to one, for fewer labels, calibrated."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.passages import Passage
from tabsa.schema import NEUTRAL, Span, Target

AspectsOfEach: TypeAlias = Sequence[Sequence[str]] | None  # of each passage; None: the model's own, for all


class PassageAnswer(NamedTuple):
    """The answers to the questions about one passage."""

    probabilities: NDArray[np.float32]  # of the passage's targets and the requested aspects, (K, A, labels)
    gates: NDArray[np.float32] | None  # (directions, tokens, chains), where they were requested and the model has them


class OpenedPassage(Protocol):
    """A passage that was read once, parts of which can be masked from its questions."""

    @property
    def spans(self) -> Sequence[Span]:
        """The places of its parts in the text, in order."""

    @property
    def slots(self) -> Sequence[int | None]:
        """For each part the slot of the target that it mentions."""

    def ask(self, slot: int, aspect: str, visible: NDArray[np.bool_], /) -> NDArray[np.float32]:
        """Return the probabilities where the parts of each row are visible, (M, parts) -> (M, labels)."""


class Engine(Protocol):
    """A model that can be run on passages."""

    at_once: int  # targets that one passage may be read for

    @property
    def attention(self) -> NDArray[np.float32] | None:
        """The share of each chain in each question of the model's own, (K, A, n), where the model has chains."""
        return None

    def cut(self, text: str, targets: Sequence[Target]) -> Iterable[Passage]:
        """Cut a text into what is read at once, each with its targets."""

    def read_passages(
        self, passages: Sequence[Passage], aspects: AspectsOfEach = None, *, gates: bool = False
    ) -> list[PassageAnswer]:
        """Answer questions about passages that `cut` gave, read together, in order."""

    def opened(self, passage: Passage) -> OpenedPassage | None:  # noqa: ARG002
        """Open a passage that `cut` gave for questions with parts masked; None where a model cannot."""
        return None


def aspect_columns(own: Sequence[str], count: int, aspects: AspectsOfEach) -> list[list[int]]:
    """Return for each of `count` passages where its aspects stand among a model's `own`."""
    place = {aspect: column for column, aspect in enumerate(own)}
    return [[place[aspect] for aspect in listed] for listed in ([own] * count if aspects is None else aspects)]


def keep_strongest(best: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Return of two answers, (..., A, labels), for each aspect the one with less of `none`, the first label."""
    return np.where(new[..., :1] < best[..., :1], new, best)


def strongest_of(numbers: NDArray[Any], count: int, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return the strongest answer to each of `count` questions, of any number of answers to each.

    `probabilities` is (..., R, A, labels), and `numbers`, (R,), says whose each answer is. One without is silent.
    """
    result = np.zeros((*probabilities.shape[:-3], count, *probabilities.shape[-2:]))
    result[..., 0] = 1
    found, first = np.unique(numbers, return_index=True)
    result[..., found, :, :] = probabilities[..., first, :, :]
    for again in np.setdiff1d(np.arange(len(numbers)), first).tolist():
        number = numbers[again]
        result[..., number, :, :] = keep_strongest(result[..., number, :, :], probabilities[..., again, :, :])
    return result


def restrict_labels(
    probabilities: NDArray[Any], labels: tuple[str, ...], present: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return probabilities of `labels`, (..., labels), for data that has only those `present`, `none` first.

    Neutral counts as `none` there. Other labels' shares go to the polarities, in proportion: the text does judge.
    """
    result: NDArray[np.float64] = np.asarray(probabilities[..., [labels.index(label) for label in present]], np.float64)
    if NEUTRAL in labels and NEUTRAL not in present:
        result[..., 0] += probabilities[..., labels.index(NEUTRAL)]
    opinions = result[..., 1:].sum(-1, keepdims=True)
    rest = 1 - result[..., :1]
    result[..., 1:] *= np.where(opinions > 0, rest / np.maximum(opinions, 1e-30), 0)
    result /= np.maximum(result.sum(-1, keepdims=True), 1e-30)
    return result


def exclusive_answers(probabilities: NDArray[Any], rivals: Sequence[Collection[int]]) -> NDArray[Any]:
    """Return answers, (A, labels), in which no aspect is judged beside a likelier one of its `rivals`.

    As in non-maximum suppression, the likeliest of those judged comes first. What one loses is not all of its presence:
    it is left with its share of the odds beside the other's, which is less than a half.
    """
    presence, judged = 1 - probabilities[:, 0], probabilities.argmax(-1) > 0
    odds = presence / np.maximum(probabilities[:, 0], 1e-9)
    result, accepted = probabilities.copy(), set[int]()
    for number in np.argsort(-presence, kind="stable").tolist():
        if judged[number] and (above := [odds[other] for other in accepted.intersection(rivals[number])]):
            rest = odds[number] / (1 + odds[number] + max(above))
            result[number, 1:] *= rest / presence[number]
            result[number, 0] = 1 - rest
        elif judged[number]:
            accepted.add(number)
    return result


def among_labels(probabilities: NDArray[Any], labels: tuple[str, ...], present: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the same with all `labels` in their places, those not `present` with a share of 0."""
    result = np.zeros(probabilities.shape)
    result[..., [labels.index(label) for label in present]] = restrict_labels(probabilities, labels, present)
    return result


@dataclass(frozen=True)
class PresenceCalibration:
    """The calibration of a reader's answers; `none` is the first label.

    log-odds of an opinion / presence_temperature + presence_bias; of polarities, logits / polarity_temperature.
    """

    presence_temperature: float = 1.0
    presence_bias: float = 0.0
    polarity_temperature: float = 1.0

    def apply(self, probabilities: NDArray[Any]) -> NDArray[Any]:
        """Return calibrated probabilities, (..., labels)."""
        logs = np.log(np.maximum(probabilities, 1e-30))
        odds = presence_log_odds(probabilities) / self.presence_temperature + self.presence_bias
        polarities = softmax(logs[..., 1:] / self.polarity_temperature)
        # Both shares from the odds: of a likely opinion, 1 - presence would have few digits left.
        none, presence = (1 / (1 + np.exp(np.clip(way * odds, -80, 80))) for way in (1, -1))
        return np.concatenate([none, presence * polarities], axis=-1)


def presence_log_odds(probabilities: NDArray[Any]) -> NDArray[Any]:
    """Return the log-odds of an opinion against none, (..., 1)."""
    none, some = probabilities[..., :1], probabilities[..., 1:].sum(-1, keepdims=True)
    return np.asarray(np.log(np.maximum(some, 1e-30)) - np.log(np.maximum(none, 1e-30)))


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return the probabilities of logits, over the last dimension."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))
