"""The fitted regressions as plain arrays: probabilities from n-grams, and to and from a model folder.

For a target with the feature values x, an aspect's regression gives each label a logit w . x + b, and the labels'
probabilities are the softmax of the logits. `none_bias` is added to every logit of `none`. It moves the border between
`none` and the rest, and nothing else: within an aspect it keeps the order of targets by P(none), and of every target
it keeps the ratio of the polarities, so neither of the AUCs nor the sentiment accuracy depends on it.
"""

import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, Precision, write_folder
from tabsa.config import build
from tabsa.datasets.locate import find
from tabsa.encoding.answers import AspectsOfEach, Engine, PassageAnswer, aspect_columns, softmax
from tabsa.encoding.passages import Passage
from tabsa.encoding.passages import passages as cut_passages
from tabsa.errors import DataError, DataNotFoundError, ModelError, TabsaError
from tabsa.files import read_text
from tabsa.models.linear.linear_features import KIND, FeatureSpace, LRConfig, SparseRows, Tagger, passage_ngrams
from tabsa.models.onnx.session import shares
from tabsa.schema import Target


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
        shape, features = (len(self.aspects), len(self.labels)), len(self.space.ngrams)
        sizes = [(self.space.scale, (features,)), (self.weights, (features, *shape)), (self.intercepts, shape)]
        for array, size in sizes:
            if array.shape != size:
                raise ValueError(f"an array of shape {array.shape} is there for one of {size}")

    @property
    def config(self) -> LRConfig:
        """The options it was made with."""
        return self.space.config

    def logits(self, rows: SparseRows) -> NDArray[np.float64]:
        """Compute the logits of encoded targets, `none_bias` included: (N, A, L)."""
        result = np.empty((len(rows.starts) - 1, *self.intercepts.shape))
        for row, start, end in zip(result, rows.starts, rows.starts[1:], strict=False):
            row[:] = np.tensordot(rows.values[start:end], self.weights[rows.columns[start:end]], 1)
        result += self.intercepts
        result[..., 0] += self.none_bias
        return result

    def predict(self, passages: Iterable[Passage], tagger: Tagger | None = None) -> NDArray[np.float64]:
        """Compute the probabilities for every target of every passage, in order: (targets, A, L)."""
        groups = (ngrams for passage in passages for ngrams in passage_ngrams(passage, self.config, tagger))
        return softmax(self.logits(self.space.encode(groups)))


def write_model(
    path: Path, model: LinearModel, metrics: Mapping[str, Any], card: str, *, implied: bool = False, named: bool = True
) -> ModelFolder:
    """Write a model folder; `implied` and `named` are as in `ModelConfig`."""
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
    return write_folder(path, config, arrays, None, metrics, card)


def read_model(folder: ModelFolder) -> LinearModel:
    """Read the model of a folder that `write_model` wrote."""
    config, arrays = folder.config, folder.weights
    try:
        ngrams = arrays["ngrams"].tobytes().decode("utf-8", "surrogatepass")
        options = build(LRConfig, config.model, "model.")
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


_FILE: Final = "nltk_data/taggers/averaged_perceptron_tagger_eng/averaged_perceptron_tagger_eng.{}.json"


def tagger_for(config: LRConfig, data_dir: Path | None = None) -> Tagger | None:
    """Load NLTK's English tagger from a data folder; None for a model that reads words only."""
    if not config.pos_ngrams:
        return None
    try:
        from nltk.tag.perceptron import PerceptronTagger
    except ImportError as e:
        raise TabsaError("part-of-speech tags need NLTK: pip install nltk", code="no_tagger") from e
    try:
        # Read here and handed over, because NLTK refuses to open files outside its own folders.
        tagger = PerceptronTagger.decode_json_obj([_read(part, data_dir) for part in ("weights", "tagdict", "classes")])
    except DataNotFoundError as e:
        raise DataNotFoundError(str(e), code="no_tagger") from e
    return lambda words: [tag for _, tag in tagger.tag(list(words))]


def _read(part: str, data_dir: Path | None) -> Any:
    path = find(_FILE.format(part), data_dir)
    try:
        return json.loads(read_text(path))
    except ValueError as e:
        raise DataError(f"{path} is not valid JSON: {e}; fetch it again with `tabsa data fetch nltk-tagger`") from e


class LinearEngine(Engine):
    """Runs one `lr`; safe to use from several threads. A tagger is looked for at the first reading."""

    at_once = sys.maxsize  # it knows the question's target, and any others

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:  # noqa: ARG002
        self.folder = folder

    @cached_property
    def model(self) -> LinearModel:
        """The regressions."""
        return read_model(self.folder)

    @cached_property
    def tagger(self) -> Tagger | None:
        """The tagger that the model needs; None where it reads words only."""
        return tagger_for(self.model.config)

    def cut(self, text: str, targets: Sequence[Target]) -> Iterator[Passage]:
        """Passages of at most the words that the model was trained with; it knows any number of targets."""
        return cut_passages(text, targets, at_once=self.at_once, max_length=self.folder.config.max_length)

    def read_passages(
        self,
        passages: Sequence[Passage],
        aspects: AspectsOfEach = None,
        *,
        gates: bool = False,  # noqa: ARG002
    ) -> list[PassageAnswer]:
        """Read passages; a linear model has no gates to give."""
        if not passages:
            return []
        columns = aspect_columns(self.folder.config.aspects, len(passages), aspects)
        answers = self.model.predict(passages, self.tagger).astype(np.float32)
        probabilities = shares(answers, answers.shape, self.folder.path)
        ends = np.cumsum([len(passage.targets) for passage in passages])
        parts = zip(np.split(probabilities, ends[:-1]), columns, strict=True)
        return [PassageAnswer(part[:, own], None) for part, own in parts]
