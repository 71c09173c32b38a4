"""What is remembered of words has a limit in bytes."""

import tracemalloc

from tabsa.embeddings.vectors import hashed_vectors
from tabsa.embeddings.word_forms import forms
from tabsa.encoding.pieces import PieceReader
from tabsa.models.onnx import word_engine as engine
from tabsa.pages.dates import parse_date
from tabsa.scoring.targets import OwnTargets
from tabsa.text import TargetFinder
from tabsa.text.caching import remember_short
from tabsa.text.wordpieces import WordPieces


def test_only_short_words_are_remembered() -> None:
    asked = []

    @remember_short(entries=2, longest=3)
    def length(word: str) -> int:
        asked.append(word)
        return len(word)

    assert [length(word) for word in ("abc", "abc", "abcd", "abcd")] == [3, 3, 4, 4]
    assert asked == ["abc", "abcd", "abcd"]


def test_long_words_leave_nothing_behind() -> None:
    """Five words of 100,000 letters each, to everything that remembers words."""
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}
    pieces = WordPieces(vocabulary, "[UNK]", (1, 2))
    reader, words = PieceReader(pieces), engine._Words(hashed_vectors(["a"], 4))
    finder, own = TargetFinder(["Camden"]), OwnTargets("x")

    def use(number: int) -> None:
        word = f"é{number}" + "à" * 100_000
        finder.find(word)
        pieces.cut(word)
        reader.words(word)
        forms(word)
        words.vectors([[word]])
        parse_date(word)
        own.of({"x": word}, "nobody")

    use(0)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(1, 6):
        use(number)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 300_000  # five of them are 1 MB
