"""SemEval-2014 task 4, restaurants, by aspect category (Pontiki et al., 2014).

A sentence is about one restaurant, which it rarely names: the only target is implied. The public files are a training
and a test set; "dev" is a tenth of the training set, held out here in a way that is the same everywhere.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from tabsa.datasets.choices import choose_aspects
from tabsa.datasets.locate import find
from tabsa.datasets.merging import Merger
from tabsa.datasets.splits import share
from tabsa.errors import DataError
from tabsa.files import reason
from tabsa.schema import NEGATIVE, NONE, POSITIVE, Dataset, Example, Opinion, Target

SPLITS = ("train", "dev", "train+dev", "test")
ASPECTS = ("food", "service", "price", "ambience", "anecdotes/miscellaneous")
CONFLICT = "conflict"
LABELS = (NONE, POSITIVE, NEGATIVE, "neutral", CONFLICT)
TARGET = "restaurant"
_DEV_SHARE = 0.1


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """One split, read in one of two ways.

    Args:
        name: "semeval2014" keeps the four polarities of the data. "semeval2014-3way" leaves out the opinions whose
            polarity is conflict, so that positive, negative and neutral remain.
        split: one of `SPLITS`; "train+dev" is the whole training set.
        data_dir: the first folder to look in for the folder semeval2014.
        aspects: some of `ASPECTS`; by default all five.
    """
    chosen = choose_aspects(aspects, known=ASPECTS, default=ASPECTS)
    labels = tuple(label for label in LABELS if name == "semeval2014" or label != CONFLICT)
    path = find(f"semeval2014/Restaurants_{'Test_Gold' if split == 'test' else 'Train'}.xml", data_dir)
    merger = Merger()
    seen: set[str] = set()
    examples = []
    for number, sentence in enumerate(_sentences(path), start=1):
        where = f"{path} sentence {number}"
        identifier, text = _identified(sentence, where)
        if identifier in seen:
            raise DataError(f"{where} has the id {identifier!r} of an earlier sentence; ids are unique in a file")
        seen.add(identifier)
        opinions = [opinion for opinion in _opinions(sentence, where) if opinion.aspect in chosen]
        if _belongs(text, split):
            kept = tuple(opinion for opinion in merger.merge(opinions) if opinion.polarity in labels)
            examples.append(Example(identifier, text, (Target(TARGET, implied=True),), kept))
    merger.warn(f"{name} {split}")
    return Dataset(name, split, chosen, labels, tuple(examples))


def _belongs(text: str, split: str) -> bool:
    return split in ("test", "train+dev") or (share(text) < _DEV_SHARE) == (split == "dev")


class _Builder(ET.TreeBuilder):
    """Refuses a document type, through which a small file can expand into gigabytes."""

    def doctype(self, *_: object) -> None:
        """Called by the parser before it reads anything the declaration defines."""
        raise DataError("it declares a document type (DOCTYPE), which a data file needs not and which can be unsafe")


def _sentences(path: Path) -> list[ET.Element]:
    parser = ET.XMLParser(target=_Builder())  # noqa: S314 (the builder refuses what makes XML unsafe)
    try:
        parser.feed(path.read_bytes())
        root = parser.close()
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    except DataError as e:
        raise DataError(f"cannot use {path}: {e}") from e
    except (ET.ParseError, ValueError, LookupError) as e:  # the last two: an encoding that is unknown
        raise DataError(f"{path} is not XML: {e}") from e
    if root.tag != "sentences" or not len(root):
        raise DataError(f"{path} is not a list of <sentence>s in <sentences>; expected a SemEval-2014 file")
    return list(root)


def _identified(sentence: ET.Element, where: str) -> tuple[str, str]:
    identifier, text = sentence.get("id"), sentence.findtext("text")
    if not identifier or not text:
        raise DataError(f"{where} lacks its {'text' if identifier else 'id'}; expected a SemEval-2014 sentence")
    return identifier, text


def _opinions(sentence: ET.Element, where: str) -> list[Opinion]:
    categories = sentence.find("aspectCategories")
    if categories is None:
        raise DataError(f"{where} has no <aspectCategories>; expected the restaurant file with gold categories")
    opinions = []
    for category in categories:
        opinion = Opinion(TARGET, category.get("category", ""), category.get("polarity", ""))
        if opinion.aspect not in ASPECTS:
            raise DataError(f"{where} has the category {opinion.aspect!r}; expected one of {', '.join(ASPECTS)}")
        if opinion.polarity not in LABELS[1:]:
            raise DataError(f"{where} has the polarity {opinion.polarity!r}; expected one of {', '.join(LABELS[1:])}")
        opinions.append(opinion)
    return opinions
