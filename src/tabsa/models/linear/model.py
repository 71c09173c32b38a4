"""The fitted regressions as plain arrays: probabilities from n-grams, and to and from a model folder.

For a target with the feature values x, an aspect's regression gives each label a logit w . x + b, and the labels'
probabilities are the softmax of the logits. `none_bias` is added to every logit of `none`. It moves the border between
`none` and the rest, and nothing else: within an aspect it keeps the order of targets by P(none), and of every target
it keeps the ratio of the polarities, so neither of the AUCs nor the sentiment accuracy depends on it.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint import ModelConfig, ModelFolder, write_folder
from tabsa.config import build_saved
from tabsa.embeddings.vectors import WordVectors
from tabsa.encoding.passages import Passage
from tabsa.errors import ModelError
from tabsa.models.linear.config import KIND, LRConfig
from tabsa.models.linear.features import FeatureSpace, SparseRows, passage_ngrams, row_sums
from tabsa.models.linear.tagging import Tagger

_BLOCK: Final = 1024  # targets scored at a time: what is held grows with a block, not with the data


@dataclass(frozen=True, eq=False)
class LinearModel:
    """One regression an aspect, over a shared feature space; F features, A aspects, L labels."""

    space: FeatureSpace
    weights: NDArray[np.float32]  # (F, A, L)
    intercepts: NDArray[np.float32]  # (A, L)
    aspects: tuple[str, ...]
    labels: tuple[str, ...]
    max_length: int = 0
    none_bias: float = 0.0

    def __post_init__(self) -> None:
        shape = (len(self.aspects), len(self.labels))
        if self.weights.shape != (len(self.space.ngrams), *shape) or self.intercepts.shape != shape:
            raise ValueError(f"weights {self.weights.shape} and intercepts {self.intercepts.shape} do not fit")
        for array in (self.space.scale, self.weights, self.intercepts, self.none_bias):
            if not np.isfinite(array).all():
                raise ValueError("a number is not finite")

    @property
    def config(self) -> LRConfig:
        """The options it was made with."""
        return self.space.config

    def logits(self, rows: SparseRows) -> NDArray[np.float64]:
        """The logits of encoded targets, `none_bias` included: (N, A, L)."""
        result = np.empty((len(rows.starts) - 1, *self.intercepts.shape))
        for begin in range(0, len(result), _BLOCK):
            starts = rows.starts[begin : begin + _BLOCK + 1]
            part = slice(starts[0], starts[-1])
            terms = self.weights[rows.columns[part]] * rows.values[part, None, None]
            result[begin : begin + _BLOCK] = row_sums(terms, starts - starts[0])
        result += self.intercepts
        result[..., 0] += self.none_bias
        return result

    def predict(self, passages: Iterable[Passage], tagger: Tagger | None = None) -> NDArray[np.float64]:
        """The probabilities for every target of every passage, in order: (targets, A, L).

        `tagger` is what `tagger_for` gives for this model's `config`.
        """
        groups = (ngrams for passage in passages for ngrams in passage_ngrams(passage, self.config, tagger))
        return softmax(self.logits(self.space.encode(groups)))


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def write_model(
    path: Path, model: LinearModel, metrics: Mapping[str, Any], card: str, *, implied: bool = False, named: bool = True
) -> ModelFolder:
    """Write a model folder; it needs no word vectors, so that file is there and empty.

    `implied` and `named` are as in `ModelConfig`.
    """
    config = ModelConfig(
        kind=KIND,
        model=dataclasses.asdict(model.config),
        aspects=model.aspects,
        labels=model.labels,
        targets=1,  # a text is read anew for each target, however many it has
        max_length=model.max_length,
        implied=implied,
        named=named,
    )
    arrays: dict[str, NDArray[Any]] = {
        "ngrams": np.frombuffer("\n".join(model.space.ngrams).encode("utf-8", "surrogatepass"), np.uint8),
        "scale": model.space.scale,
        "weights": model.weights,
        "intercepts": model.intercepts,
        "none_bias": np.array([model.none_bias]),
    }
    nothing = WordVectors((), np.zeros((0, 1), np.float32), 0.0)
    return write_folder(path, config, arrays, nothing, metrics, card)


def read_model(folder: ModelFolder) -> LinearModel:
    """The model of a folder that `write_model` wrote."""
    config, arrays = folder.config, folder.weights
    if config.kind != KIND:
        raise ModelError(f"{folder.path} holds a '{config.kind}'; expected '{KIND}'")
    try:
        ngrams = arrays["ngrams"].tobytes().decode("utf-8", "surrogatepass")
        options = build_saved(LRConfig, config.model, "model.")
        return LinearModel(
            FeatureSpace(tuple(ngrams.split("\n")) if ngrams else (), arrays["scale"], options),
            arrays["weights"],
            arrays["intercepts"],
            config.aspects,
            config.labels,
            config.max_length,
            float(arrays["none_bias"][0]),
        )
    except (KeyError, ValueError, IndexError) as e:
        raise ModelError(f"{folder.path / 'weights.safetensors'} does not hold a '{KIND}' ({e})") from e
