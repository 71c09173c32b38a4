"""Texts cut into passages, and runs of letters of which not all is read."""

import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.encoding.passages import LONGEST_RUN, passages, shorten_runs
from tabsa.encoding.pieces import PieceReader
from tabsa.errors import DataWarning
from tabsa.schema import Span, Target
from tabsa.text.targets import TargetFinder
from tabsa.text.tokens import Token, tokenise
from tabsa.text.wordpieces import WordPieces


def cut(text, *names, at_once=2, max_length=8):
    return list(passages(text, TargetFinder(names).find(text), at_once=at_once, max_length=max_length))


def shown(text, found):
    return [text[passage.start : passage.end] for passage in found]


def test_a_text_without_sentences_is_cut_all_the_same(monkeypatch):
    monkeypatch.setattr(sys.modules["tabsa.encoding.passages"], "_LONGEST", 10)
    text = "word " * 25 + "Camden " + "word " * 9
    found = cut(text, "Camden")
    assert [len(passage.tokens) for passage in found] == [10]
    assert "Camden" in shown(text, found)[0]
    assert [len(passage.tokens) for passage in cut(text, "Camden", max_length=0)] == [10]


@given(
    st.lists(
        st.sampled_from(["Camden", "Leith", "Oslo", "is", "dear", ".", "!", "\n\n", "東京", "’s", "…"]), max_size=40
    ),
    st.integers(1, 3),
    st.integers(0, 12),
)
def test_every_mention_is_asked_about_once_and_offsets_are_the_texts(words, at_once, max_length):
    text = " ".join(words)
    targets = TargetFinder(["Camden", "Leith", "Oslo", "東京"]).find(text)
    found = list(passages(text, targets, at_once=at_once, max_length=max_length))
    mentions = sorted((span, target.name) for target in targets for span in target.mentions)
    replaced = []
    for passage in found:
        assert 1 <= len(passage.targets) <= at_once
        for token in passage.tokens:
            assert text[token.start : token.end] == token.text
            if token.target is not None:
                replaced.append((Span(token.start, token.end), passage.targets[token.target]))
    assert sorted(replaced) == mentions


def test_an_implied_target_is_read_for_in_every_passage_after_those_mentioned():
    text = "Camden is dear. I left it. It rained all the time there. Nobody asked."
    implied = Target("the town", implied=True)
    found = list(passages(text, (implied, *TargetFinder(["Camden"]).find(text)), at_once=2, max_length=8))
    assert [passage.targets for passage in found] == [("Camden", "the town"), ("the town",), ("the town",)]
    one_by_one = list(passages(text, (implied, *TargetFinder(["Camden"]).find(text)), at_once=1, max_length=8))
    assert [passage.targets for passage in one_by_one] == [("Camden",), ("the town",), ("the town",), ("the town",)]
    assert one_by_one[1].tokens[0].target is None


HAN = "我非常喜欢这个地方但是房租太贵了"


def pieces() -> PieceReader:
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "entity": 3, "##1": 4} | {c: 5 + n for n, c in enumerate(HAN)}
    return PieceReader(WordPieces(vocabulary, "[UNK]", (1, 2)))


def test_a_run_is_read_around_its_mentions_and_from_its_start() -> None:
    text = HAN * 200
    items = [Token(letter, n, n + 1, 0 if n == 2000 else None) for n, letter in enumerate(text)]
    with pytest.warns(DataWarning, match="more than 500 letters"):
        retained = shorten_runs(text, items, lambda item: item.target is not None)
    starts = [item.start for item in retained]
    assert len(retained) == LONGEST_RUN
    assert starts == [*range(LONGEST_RUN - 65), *range(2000 - 32, 2000 + 33)]


@pytest.mark.parametrize("mark", ["，", "。", " ", ", "])
def test_what_people_write_is_read_whole(mark: str) -> None:
    text = mark.join([HAN] * 200)
    items = tokenise(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(shorten_runs(text, items, lambda _: False)) == items


@pytest.mark.parametrize("count", [9_990, 39_960])
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
