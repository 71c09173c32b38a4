"""Concepts: words and phrases of which something is known, such as how pleasant they are, as a vector each.

    table = load_concepts("senticnet/senticnet4.tsv")      # or load_concepts(): the lexicon in the package
    rows = table.match(["a", "lot", "of", "fun"])          # the row of each word's concept, 0 where it has none
    table.matrix[rows]

A source of concepts is a table of tab-separated columns, named in its first line: `concept` (words joined with _) and
numbers, which make the vector. SenticNet has this form.

`lexicon.tsv` is the package's own: some 900 words and phrases that people judge places, food and service by, with
SenticNet's four affective dimensions and a polarity as its writer felt them. Nothing in it was copied or measured.
It lets everything run without other data; it is no substitute for a real resource.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.vectors import VectorSource
from tabsa.errors import DataError
from tabsa.files import read_text, sha256
from tabsa.text.tokens import cache_short

LEXICON: Final = Path(__file__).parent / "lexicon.tsv"
_NAME: Final = "concept"
_TEXT: Final = re.compile(r"mood\d*|polarity_label|semantics\d+")  # SenticNet's columns that are no numbers


@dataclass(frozen=True, eq=False)
class ConceptTable:
    """Concepts, words joined with _, and a vector each. Row 0 is no concept: its name is empty and its vector 0."""

    names: tuple[str, ...]
    matrix: NDArray[np.float32]  # (concepts + 1, e)
    source: VectorSource | None = None

    def __post_init__(self) -> None:
        if len(self.names) != len(self.matrix) or self.names[:1] != ("",) or self.matrix[:1].any():
            raise ValueError("a table of concepts needs one vector a name, and an empty name with the vector 0 first")

    def __len__(self) -> int:
        return len(self.names) - 1

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each concept."""
        return {name: row for row, name in enumerate(self.names) if row}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The beginnings of concepts of several words, up to any of their joints."""
        return frozenset(name[:end] for name in self.names for end, letter in enumerate(name) if letter == "_")

    def match(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of the concept that each word is part of, 0 where it is part of none.

        From left to right, the longest phrase that is a concept is taken, and all its words get its row. A word
        counts in its own form before any form it may be an inflection of.
        """
        rows = np.zeros(len(words), np.int32)
        start = 0
        while start < len(words):
            length, row = self._longest(words, start)
            rows[start : start + length] = row
            start += max(1, length)
        return rows

    def _longest(self, words: Sequence[str], start: int) -> tuple[int, int]:
        """Return the length and the row of the longest concept that begins at `start`; (0, 0) where there is none."""
        found = (0, 0)
        open_phrases = [""]
        for end in range(start, len(words)):
            of_word = forms(words[end])
            phrases = [f"{phrase}_{form}" if phrase else form for phrase in open_phrases for form in of_word]
            row = next((self.index[phrase] for phrase in phrases if phrase in self.index), 0)
            if row:
                found = (end + 1 - start, row)
            open_phrases = [phrase for phrase in phrases if phrase in self.beginnings]
            if not open_phrases:
                break
        return found


def load_concepts(file: str = "", data_dir: Path | None = None) -> ConceptTable:
    """Load the table in `file`, a path of its own or below a data folder; empty: the package's lexicon."""
    from tabsa.datasets.locate import find  # for training; a model folder brings its concepts with it

    return read_concepts(LEXICON if not file else path if (path := Path(file)).is_file() else find(file, data_dir))


def read_concepts(path: Path) -> ConceptTable:
    """Read the table in a file; a mistake in it is one line that names the row, the header being row 1."""
    text = read_text(path).replace("\r\n", "\n").rstrip("\n")
    header, *lines = (line.split("\t") for line in text.split("\n"))
    numbers = [n for n, column in enumerate(header) if column != _NAME and not _TEXT.fullmatch(column)]
    if header.count(_NAME) != 1 or not numbers:
        raise DataError(f"{path}: expected tab-separated columns, named in the first line: '{_NAME}', and numbers")
    found: dict[str, list[float]] = {}
    for row, fields in enumerate(lines, start=2):
        try:
            concept = "_".join(fields[header.index(_NAME)].lower().replace("_", " ").split())
            vector = [float(fields[n]) for n in numbers]
        except (IndexError, ValueError) as e:
            raise DataError(f"{path}, row {row}: {e}; expected a concept and {len(numbers)} numbers") from e
        if not concept or concept in found:
            raise DataError(f"{path}, row {row}: '{concept}'; expected each concept once")
        found[concept] = vector
    matrix = np.array([[0.0] * len(numbers), *found.values()], np.float16)  # rounded to what a model folder stores
    if not np.isfinite(matrix).all():
        raise DataError(f"{path}: expected numbers below 65,504")
    return ConceptTable(("", *found), matrix.astype(np.float32), VectorSource(path.name, sha256(path)))


# A word may be looked up by what it may be an inflection of: English, by rule. A rule may give a form that is no word,
# which does no harm; a form that is another word does (`evening` is no form of `even`): the commonest are listed.
_SHORTEST: Final = 3  # letters of a stem: `red` is no past of `r`
_OTHER_WORDS: Final = (
    "news always perhaps towards does this thus plus bus gas during evening morning wedding something nothing number "
    "corner dinner summer letter latter matter offer tower shower flower counter order paper super former interest "
    "forest honest modest harvest rather either sever hundred need indeed"
)
_NOT_INFLECTED: Final = frozenset(_OTHER_WORDS.split())
# A lemma and its forms, which no rule finds.
_IRREGULAR_FORMS: Final = """
    bad worse worst; begin began begun; break broke broken; bring brought; build built; buy bought; catch caught;
    child children; choose chose chosen; come came; do did done does; drink drank drunk; drive drove driven;
    eat ate eaten; fall fell fallen; far further farther furthest; feel felt; fight fought; find found; foot feet;
    forget forgot forgotten; get got gotten; give gave given; go went gone; good better best; grow grew grown;
    have had has; hear heard; keep kept; know knew known; leave left; lose lost; make made; man men; mean meant;
    meet met; mouse mice; pay paid; person people; see saw seen; sell sold; shoot shot; sleep slept;
    speak spoke spoken; spend spent; steal stole stolen; take took taken; teach taught; tell told; thief thieves;
    think thought; wear wore worn; win won; woman women; write wrote written; be am is are was were been being;
    not n't
"""
_LEMMAS: Final = {
    form: lemma for lemma, *inflected in (entry.split() for entry in _IRREGULAR_FORMS.split(";")) for form in inflected
}


@cache_short(entries=1 << 15, longest=40)
def forms(word: str) -> tuple[str, ...]:
    """Return the forms of a word in lower case, itself first: `cheaper` -> cheaper, cheape, cheap, ..."""
    found = [word]
    if "-" in word.strip("-"):
        found += [word.replace("-", "_"), word.replace("-", "")]
    if word in _LEMMAS:
        found.append(_LEMMAS[word])
    elif word.isalpha() and word not in _NOT_INFLECTED:
        found += [stem for stem in _stems(word) if len(stem) >= _SHORTEST]
    return tuple(dict.fromkeys(found))


def _stems(word: str) -> Iterator[str]:
    """Yield what the word may be a plural, a past, a participle or a comparative of, the likeliest first."""
    for ending, put in (("ies", "y"), ("ied", "y"), ("ier", "y"), ("iest", "y"), ("ves", "f"), ("ves", "fe")):
        if word.endswith(ending):
            yield word.removesuffix(ending) + put
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word.removesuffix("s")
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            yield word.removesuffix("es")
    for ending in ("ed", "ing", "er", "est"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            yield stem + "e"  # rated: rate, not rat
            if stem[-1:] == stem[-2:-1] and stem[-1:] not in "aeiou":
                yield stem[:-1]  # bigger: big
            yield stem
