"""The linear model run on passages: from its own arrays, with NumPy alone."""

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from tabsa.checkpoint import ModelFolder, Precision
from tabsa.encoding.answers import PassageAnswer, aspect_columns
from tabsa.encoding.passages import Passage
from tabsa.encoding.passages import passages as cut_passages
from tabsa.errors import ModelError
from tabsa.models.linear.model import LinearModel, read_model
from tabsa.models.linear.tagging import Tagger, tagger_for
from tabsa.models.onnx.session import shares
from tabsa.schema import Target


class LinearEngine:
    """Runs one `lr`; safe to use from several threads.

    A model whose features are tags too needs NLTK and its tagger's data, which are looked for at the first reading.
    """

    at_once = sys.maxsize  # it knows the target asked about, and any others
    attention = None  # it has no chains

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:  # noqa: ARG002
        if precision != "float32":
            raise ModelError(f"{folder.path} holds an '{folder.config.kind}', which has no precision but float32")
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
        aspects: Sequence[str] | None = None,
        *,
        aspects_of_each: Sequence[Sequence[str]] | None = None,
        gates: bool = False,  # noqa: ARG002
    ) -> list[PassageAnswer]:
        """Read passages; a linear model has no gates to give."""
        if not passages:
            return []
        columns = aspect_columns(self.folder.config.aspects, len(passages), aspects, aspects_of_each)
        said = self.model.predict(passages, self.tagger).astype(np.float32)
        probabilities = shares(said, said.shape, self.folder.path)
        ends = np.cumsum([len(passage.targets) for passage in passages])
        parts = zip(np.split(probabilities, ends[:-1]), columns, strict=True)
        return [PassageAnswer(part[:, own], None) for part, own in parts]

    def opened(self, passage: Passage) -> None:  # noqa: ARG002
        """None: a word that is not to be heard has to be left out of the reading."""
        return
