"""SemEval-2014 task 4, restaurants, by aspect category (Pontiki et al., 2014).

A sentence is about one restaurant, which it rarely names: the only target is implied. The public files are a training
and a test set; "dev" is a tenth of the training set, held out here in a way that is the same everywhere.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tabsa.datasets.locate import find
from tabsa.datasets.selection import Merger, choose_aspects, share
from tabsa.errors import DataError
from tabsa.schema import NEGATIVE, NEUTRAL, NONE, POSITIVE, Dataset, Example, Opinion, Target

SPLITS: Final = ("train", "dev", "train+dev", "test")
ASPECTS: Final = ("food", "service", "price", "ambience", "anecdotes/miscellaneous")
LABELS: Final = (NONE, POSITIVE, NEGATIVE, NEUTRAL, "conflict")
TARGET: Final = "restaurant"
_DEV_SHARE: Final = 0.1


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one split: of "semeval2014" with its four polarities, of "semeval2014-3way" without `conflict`."""
    chosen = choose_aspects(aspects, known=ASPECTS, default=ASPECTS)
    labels = LABELS if name == "semeval2014" else LABELS[:-1]
    path = find(f"semeval2014/Restaurants_{'Test_Gold' if split == 'test' else 'Train'}.xml", data_dir)
    merger = Merger()
    examples = []
    for number, sentence in enumerate(_sentences(path), start=1):
        identifier, text = sentence.get("id"), sentence.findtext("text")
        categories = sentence.iterfind("aspectCategories/aspectCategory")
        found = [Opinion(TARGET, one.get("category", ""), one.get("polarity", "")) for one in categories]
        wrong = any(one.aspect not in ASPECTS or one.polarity not in LABELS[1:] for one in found)
        if not identifier or not text or sentence.find("aspectCategories") is None or wrong:
            raise DataError(f"{path} sentence {number} is none of the restaurants of SemEval-2014 with gold categories")
        opinions = [opinion for opinion in found if opinion.aspect in chosen]
        if split in ("test", "train+dev") or (share(text) < _DEV_SHARE) == (split == "dev"):
            merged = tuple(opinion for opinion in merger.merge(opinions) if opinion.polarity in labels)
            examples.append(Example(identifier, text, (Target(TARGET, implied=True),), merged))
    merger.warn(f"{name} {split}")
    return Dataset(name, split, chosen, labels, tuple(examples))


def _sentences(path: Path) -> list[ET.Element]:
    try:
        root = ET.fromstring(path.read_bytes())  # noqa: S314 (expat 2.4 refuses what expands without end)
    except (OSError, ET.ParseError, ValueError, LookupError) as e:  # the last two: an encoding that is unknown
        raise DataError(f"{path} is not XML: {e}") from e
    if root.tag != "sentences" or not len(root):
        raise DataError(f"{path} is not a list of <sentence>s in <sentences>; expected a SemEval-2014 file")
    return list(root)
