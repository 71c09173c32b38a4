"""Of letters without a space or a mark between them, so many are read."""

import warnings

import pytest

from tabsa.encoding.passages import LONGEST_RUN, passages, shorten_runs
from tabsa.encoding.pieces import PieceReader
from tabsa.errors import DataWarning
from tabsa.schema import Target
from tabsa.text.targets import TargetFinder
from tabsa.text.tokens import Token, tokenise
from tabsa.text.wordpieces import WordPieces

HAN = "我非常喜欢这个地方但是房租太贵了"


def pieces() -> PieceReader:
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "entity": 3, "##1": 4} | {c: 5 + n for n, c in enumerate(HAN)}
    return PieceReader(WordPieces(vocabulary, "[UNK]", (1, 2)))


def test_a_run_is_read_around_its_mentions_and_from_its_start() -> None:
    text = HAN * 200
    items = [Token(letter, n, n + 1, 0 if n == 2000 else None) for n, letter in enumerate(text)]
    with pytest.warns(DataWarning, match="more than 500 letters"):
        kept = shorten_runs(text, items, lambda item: item.target is not None)
    starts = [item.start for item in kept]
    assert len(kept) == LONGEST_RUN
    assert starts == [*range(LONGEST_RUN - 65), *range(2000 - 32, 2000 + 33)]


@pytest.mark.parametrize("mark", ["，", "。", " ", ", "])
def test_what_people_write_is_read_whole(mark: str) -> None:
    text = mark.join([HAN] * 200)
    items = tokenise(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(shorten_runs(text, items, lambda _: False)) == items


@pytest.mark.parametrize("count", [9_990, 99_900])
def test_what_is_read_does_not_grow_with_a_run(count: int) -> None:
    """Counted in words and word pieces, which are what takes time."""
    text = (HAN * count)[:count]
    for targets in ((Target("伦敦", implied=True),), TargetFinder(["我"]).find(text)):
        with pytest.warns(DataWarning):
            words = list(passages(text, targets, at_once=2, max_length=50))
        with pytest.warns(DataWarning):
            read = list(pieces().cut(text, targets, longest=512, windows=(160, 80)))
        assert 0 < sum(passage.size for passage in words) <= LONGEST_RUN
        assert 0 < sum(passage.size for passage in read) <= 1.5 * LONGEST_RUN
