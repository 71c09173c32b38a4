"""Figure 2: how far gates open at each word of the paper's sentence, and how that falls with distance from a target.

A gate here is a mean over the chains. A word's distance is counted in words from the nearest mention of any target that
the sentence is read for; 0 is the mention itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tabsa.encoding.arrays import Encoded
from tabsa.errors import DataError
from tabsa.models.base import Model
from tabsa.training.run_config import RunConfig
from tabsa.training.word_data import Prepared
from tabsa.training.word_training import build_model, read
from tabsa_repro.paper import FIGURE2_GATES, FIGURE2_WORDS, SENTENCE
from tabsa_repro.seed_runs import probabilities

NEAR: Final = range(1, 4)  # distances that count as beside a mention, and from FAR on as far from it
FAR: Final = 10
_ENOUGH: Final = 20  # words by which the sentence is known where texts are cut short


def measure(
    config: RunConfig, prepared: Prepared, seeds: Sequence[int], weights: Mapping[str, Tensor], device: str
) -> dict[str, Any]:
    """The gates of trained seeds over the test split, as plain data."""
    test = prepared.test
    if test is None or not prepared.words:
        raise DataError("the prepared data has no test split or no words; prepare it again")
    model = build_model(config, prepared, seeds)
    model.load_state_dict(dict(weights))
    model = model.to(device)
    gates = _gates(model, test)
    gates = np.concatenate([gates, gates.mean(1, keepdims=True)], axis=1)
    apart = distances(np.isin(test.tokens, prepared.targets), test.lengths)  # (N, T)
    words = np.bincount(apart[apart >= 0])
    means = np.array([[_by_distance(part, apart) for part in of_seed] for of_seed in gates])  # (S, parts, distances)
    row = sentence_row(prepared)
    directions = ("forward", "backward") if config.model.directions == "both" else (config.model.directions,)
    names = (*directions, "mean")
    return {
        "sentence": _over_seeds(names, gates[:, :, row, : test.lengths[row]]),
        "opinions": _opinions(
            prepared, test.labels[row, 0], probabilities(config, model, prepared.dev, test)[1][:, test.groups[row, 0]]
        ),
        "gate_distance": {"words": words.tolist(), **_over_seeds(names, means)},
        "far_over_near": _far_over_near(means[:, -1], words),
    }


def _gates(model: Model, data: Encoded) -> NDArray[np.float64]:
    """Means over the chains, (S, directions, N, T)."""
    result: NDArray[np.float64] | None = None
    for rows, answer in read(model, data):
        if answer.gates is None:
            raise DataError("Figure 2 is about gates, and the system has none")
        of_batch = answer.gates.double().mean(-1).cpu().numpy()  # (S, directions, B, words of the longest)
        if result is None:
            result = np.zeros((*of_batch.shape[:2], *data.tokens.shape))
        result[:, :, rows, : of_batch.shape[-1]] = of_batch
    return np.zeros((len(model.seeds), 1, *data.tokens.shape)) if result is None else result


def _by_distance(gates: NDArray[np.float64], apart: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean gate at each distance; `gates` and `apart` (N, T)."""
    known = apart >= 0
    total = np.bincount(apart[known], gates[known]).astype(np.float64)
    return total / np.maximum(np.bincount(apart[known]), 1)


def distances(targets: NDArray[np.bool_], lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """The distance of each word from the nearest mention, `targets` (N, T); -1 after the end, and without a mention."""
    size = targets.shape[1]
    places = np.arange(size)
    apart = np.abs(places[:, None] - places)  # (T, T)
    nearest = np.where(targets[:, None], apart, size).min(-1)  # (N, T)
    there = (places < lengths[:, None]) & (nearest < size)
    return np.where(there, nearest, -1)


def sentence_row(prepared: Prepared) -> int:
    """The row of the test split that is the paper's sentence."""
    rows = {word: row for row, word in enumerate(prepared.words)}
    wanted = [rows.get(word, -1) for word in SENTENCE]
    if prepared.test is not None:
        for number, (tokens, length) in enumerate(zip(prepared.test.tokens, prepared.test.lengths, strict=True)):
            if length >= min(len(wanted), _ENOUGH) and tokens[:length].tolist() == wanted[:length]:
                return number
    raise DataError("the test split does not have the sentence of Figure 2; it is one of Sentihood's")


def _over_seeds(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, Any]:
    """Means over seeds, the deviation of the last, and every seed's: `values` (S, names, numbers)."""
    deviation = values[:, -1].std(0, ddof=1) if len(values) > 1 else np.zeros(values.shape[-1])
    return {
        **{name: _rounded(values[:, n].mean(0)) for n, name in enumerate(names)},
        "sd": _rounded(deviation),
        "runs": [{name: _rounded(of_seed[n]) for n, name in enumerate(names)} for of_seed in values],
    }


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 5) for value in values]


def _far_over_near(means: NDArray[np.float64], words: NDArray[np.int64]) -> dict[str, Any]:
    """The mean gate far from any mention as a share of that beside one: `means` (S, distances)."""
    near, far = (
        (means[:, where] * words[where]).sum(1) / max(1, words[where].sum())
        for where in (slice(NEAR.start, NEAR.stop), slice(FAR, None))
    )
    shares = far / np.maximum(near, 1e-12)
    return {
        "near": round(float(near.mean()), 5),
        "far": round(float(far.mean()), 5),
        "share": round(float(shares.mean()), 5),
        "sd": round(float(shares.std(ddof=1)), 5) if len(shares) > 1 else None,
        "runs": _rounded(shares),
    }


def _opinions(prepared: Prepared, gold: NDArray[np.int8], of_seeds: NDArray[np.float64]) -> dict[str, Any]:
    """The opinions on the sentence's target: each label's mean probability, and how many seeds choose it."""
    opinions = {}
    for aspect, label, shares in zip(prepared.aspects, gold, of_seeds.swapaxes(0, 1), strict=True):
        votes = np.bincount(shares.argmax(-1), minlength=len(prepared.labels))
        opinions[aspect] = {
            "gold": prepared.labels[label],
            "probabilities": dict(zip(prepared.labels, _rounded(shares.mean(0)), strict=True)),
            "votes": dict(zip(prepared.labels, votes.tolist(), strict=True)),
        }
    return opinions


def published() -> dict[str, list[float | None]]:
    """The paper's gates at each word of `SENTENCE`: parts of a word share its gate, and words that it cut have none."""
    values: dict[str, list[float | None]] = {}
    for system, gates in FIGURE2_GATES.items():
        found: list[float | None] = [gates[0]]  # the target
        read = iter(SENTENCE[1:])
        for word, gate in zip(FIGURE2_WORDS[1:], gates[1:], strict=True):
            so_far = ""
            while so_far != word:
                so_far += next(read)
                found.append(gate)
        values[system] = found + [None] * (len(SENTENCE) - len(found))
    return values
