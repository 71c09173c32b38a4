"""Part-of-speech tags from NLTK's averaged-perceptron tagger, whose data lies below a data folder."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from tabsa.datasets.locate import find
from tabsa.errors import DataError, DataNotFoundError, TabsaError
from tabsa.files import read_text
from tabsa.models.linear.config import LRConfig

Tagger: TypeAlias = Callable[[Sequence[str]], list[str]]
"""Gives the tag of each token of a text."""

_FILE: Final = "nltk_data/taggers/averaged_perceptron_tagger_eng/averaged_perceptron_tagger_eng.{}.json"
_PARTS: Final = ("weights", "tagdict", "classes")


def tagger_for(config: LRConfig, data_dir: Path | None = None) -> Tagger | None:
    """The tagger that a model needs; None where it reads words only."""
    return load_tagger(data_dir) if config.pos_ngrams else None


def load_tagger(data_dir: Path | None = None) -> Tagger:
    """NLTK's English tagger, from where data is looked for or else from NLTK's own folders."""
    try:
        from nltk.tag.perceptron import PerceptronTagger
    except ImportError as e:
        raise TabsaError("part-of-speech tags need NLTK: pip install nltk", code="no_tagger") from e
    try:
        # Read here and handed over, because NLTK refuses to open files outside its own folders.
        tagger = PerceptronTagger.decode_json_obj([_read(part, data_dir) for part in _PARTS])
    except DataNotFoundError as absent:
        try:
            tagger = PerceptronTagger()
        except LookupError:
            raise DataNotFoundError(str(absent), code="no_tagger") from absent
    return lambda words: [tag for _, tag in tagger.tag(list(words))]


def _read(part: str, data_dir: Path | None) -> Any:
    path = find(_FILE.format(part), data_dir)
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as e:
        raise DataError(f"{path} is not valid JSON: {e}; fetch it again with `tabsa data fetch nltk-tagger`") from e
