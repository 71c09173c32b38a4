"""The linear model run on passages: from its own arrays, with NumPy alone."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tabsa.folder import ModelFolder
from tabsa.linear import LinearModel, Tagger, read_model, tagger_for
from tabsa.predictor.engine import Read
from tabsa.predictor.result import Passage
from tabsa.schema import Example, Span, Target


class LinearEngine:
    """Runs one `lr`; safe to use from several threads.

    A model whose features are tags too needs NLTK and its tagger's data, which are looked for at the first reading.
    """

    at_once = sys.maxsize  # it knows the target asked about, and any others
    attention = None  # it has no chains

    def __init__(self, folder: ModelFolder) -> None:
        self.folder = folder

    @cached_property
    def model(self) -> LinearModel:
        """The regressions; they cut no passage short, because passages are cut already."""
        return replace(read_model(self.folder), max_length=0)

    @cached_property
    def tagger(self) -> Tagger | None:
        """The tagger that the model needs; None where it reads words only."""
        return tagger_for(self.model.config)

    def read_passages(self, passages: Sequence[tuple[str, Passage]], *, gates: bool = False) -> list[Read]:  # noqa: ARG002
        """Read passages, each with the text that it is a part of; a linear model has no gates to give."""
        if not passages:
            return []
        examples = [_example(str(number), *pair) for number, pair in enumerate(passages)]
        probabilities = self.model.predict(examples, self.tagger).astype(np.float32)
        ends = np.cumsum([len(example.targets) for example in examples])
        return [Read(part, None) for part in np.split(probabilities, ends[:-1])]


def _example(number: str, text: str, passage: Passage) -> Example:
    """The passage as a text of its own."""
    mentions: list[list[Span]] = [[] for _ in passage.targets]
    for token in passage.tokens:
        if token.target is not None:
            mentions[token.target].append(Span(token.start - passage.start, token.end - passage.start))
    targets = [Target(name, tuple(spans)) for name, spans in zip(passage.targets, mentions, strict=True)]
    return Example(number, text[passage.start : passage.end], tuple(targets))
