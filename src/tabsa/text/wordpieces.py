"""BERT's word pieces (Devlin et al., 2019) with offsets, from a `tokenizer.json`.

Our own, because the library for it brings 30 MB of others along, takes half a second to import, and reads a literal
`[SEP]` of a text as the mark that it is for models. It gives the library's pieces, but for such marks and for
characters that are newer than the library's tables, which it drops and which are unknown here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from unicodedata import category, normalize

from tabsa.errors import ModelError
from tabsa.files import read_text
from tabsa.text.tokens import cache_short

_ASCII: Final = re.compile(r"[0-9A-Za-z]+|[!-/:-@\[-`{-~]")  # words and marks of plain text
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARK: Final = re.compile(r"[!-/:-@\[-`{-~]")
_UNSPACED: Final = (  # Chinese characters, each a word
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_CACHED: Final = 20_000  # words
_MOST: Final = 1 << 31  # pieces of a vocabulary


class WordPiece(NamedTuple):
    """A piece's number, and where it stands in the text."""

    id: int
    start: int
    end: int


class WordPieces:
    """Cuts texts into word pieces; safe to use from several threads."""

    def __init__(
        self, vocabulary: Mapping[str, int], unknown: str, around: tuple[int, int], longest: int = 100
    ) -> None:
        self.vocabulary, self.around, self.longest = dict(vocabulary), around, longest
        self.unknown = self.vocabulary[unknown]
        self._pieces = cache_short(_CACHED, longest=24)(self._split)

    @classmethod
    def read(cls, path: Path) -> "WordPieces":
        """Read a `tokenizer.json`; a one-line ModelError where it is no uncased WordPiece."""
        try:
            return cls.of(json.loads(read_text(path, ModelError)))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as e:
            raise ModelError(f"{path} does not describe word pieces ({type(e).__name__}: {e})") from e

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "WordPieces":
        """Return those that the content of a `tokenizer.json` describes."""
        model, normalizer = values["model"], values.get("normalizer") or {}
        plain = model["type"] == "WordPiece" and normalizer.get("type") == "BertNormalizer" and normalizer["lowercase"]
        if not plain or (model.get("continuing_subword_prefix", "##") != "##"):
            raise ValueError("expected an uncased WordPiece, as BERT's and MPNet's are")
        vocabulary = {str(piece): int(number) for piece, number in model["vocab"].items()}
        for added in values.get("added_tokens") or ():
            vocabulary.setdefault(str(added["content"]), int(added["id"]))
        if not all(0 <= number < _MOST for number in vocabulary.values()):
            raise ValueError(f"a piece's number is not from 0 to {_MOST:,}")
        around = values["post_processor"]
        if around["type"] == "TemplateProcessing":
            special = [part["SpecialToken"]["id"] for part in around["single"] if "SpecialToken" in part]
        else:
            special = [around["cls"][0], around["sep"][0]]
        pair = [vocabulary[str(piece)] for piece in special]
        if len(pair) != 2:
            raise ValueError(f"it puts {len(pair)} pieces around a text; expected two")
        return cls(vocabulary, str(model["unk_token"]), (pair[0], pair[1]), int(model["max_input_chars_per_word"]))

    def cut(self, text: str) -> list[WordPiece]:
        """Return a text's pieces, without those around it."""
        pieces: list[WordPiece] = []
        if text.isascii() and not _CONTROL.search(text):
            for match in _ASCII.finditer(text):
                start = match.start()
                pieces += [WordPiece(n, start + a, start + b) for n, a, b in self._pieces(match[0].lower())]
            return pieces
        for word, places in _words(text):
            pieces += [WordPiece(n, places[a], places[b - 1] + 1) for n, a, b in self._pieces(word)]
        return pieces

    def _split(self, word: str) -> list[tuple[int, int, int]]:
        """Take the longest piece there is, then the longest after it, ...; unknown as a whole where there is none."""
        pieces: list[tuple[int, int, int]] = []
        start = 0
        while start < len(word) <= self.longest:
            prefix = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if prefix + word[start:end] in self.vocabulary)
            end = next(ends, None)
            if end is None:
                return [(self.unknown, 0, len(word))]
            pieces.append((self.vocabulary[prefix + word[start:end]], start, end))
            start = end
        return pieces or [(self.unknown, 0, len(word))]


def _words(text: str) -> Iterator[tuple[str, list[int]]]:
    """Cut any text into words as they are looked up, each with the place in the text of each of its characters."""
    word: list[str] = []
    places: list[int] = []
    for place, original in enumerate(text):
        for character, apart in _normal(original):
            if apart or character == " ":
                if word:
                    yield "".join(word), places
                word, places = [], []
                if character != " ":
                    yield character, [place]
            else:
                word.append(character)
                places.append(place)
    if word:
        yield "".join(word), places


@lru_cache(maxsize=4096)
def _normal(original: str) -> tuple[tuple[str, bool], ...]:
    """Drop a character's accents and case, and say whether it stands for itself; white space is a space."""
    if original in "\t\n\r" or category(original) == "Zs":
        return ((" ", True),)
    if original == "\ufffd" or category(original).startswith("C"):
        return ()
    unspaced = any(low <= ord(original) <= high for low, high in _UNSPACED)
    plain = (character for character in normalize("NFD", original) if category(character) != "Mn")
    return tuple(
        (lower, unspaced or bool(_MARK.match(lower)) or category(lower).startswith("P"))
        for character in plain
        for lower in character.lower()
    )
