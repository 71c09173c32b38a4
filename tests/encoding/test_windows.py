"""Long texts in windows of whole sentences, each behind the sentence that says whom it is about."""

import numpy as np
import pytest

from reader_factory import WORDS, piece_reader
from tabsa.encoding.pieces import NO_SLOT, sentence_windows
from tabsa.text.sentences import split_sentences
from tabsa.text.targets import TargetFinder

READER = piece_reader()
PLAIN = [word for word in WORDS if word.isalpha() and word != "entity"]


def document(seed: int, sentences: int = 12, names: tuple[str, ...] = ("Camden", "Hull")) -> str:
    """Sentences of one to twelve words, some of which name somebody."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(sentences):
        words = [str(word) for word in rng.choice(PLAIN, rng.integers(1, 13))]
        if rng.random() < 0.3:
            words[rng.integers(len(words))] = str(rng.choice(names))
        made.append(" ".join(words).capitalize() + ".")
    return " ".join(made)


def pieces_of(text: str, *names: str):
    targets = TargetFinder(names).find(text)
    return READER.pieces(text, targets, {number: number for number in range(len(targets))}, widest=True)


def mentioned(pieces) -> set[int]:
    return {piece.slot for piece in pieces if piece.slot != NO_SLOT}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("window", [1, 12, 200])
@pytest.mark.parametrize("names", [("Camden", "Hull"), ("Camden", "Hull", "Leith", "York", "Bath")], ids=len)
def test_windows_are_whole_sentences_behind_those_that_name_somebody(seed, window, names):
    text = document(seed, names=names)
    pieces = pieces_of(text, *names)
    found = list(sentence_windows(text, pieces, window=window, longest=60))
    assert [piece for _, own in found for piece in own] == pieces
    sentences = [tuple(p for p in pieces if span.start <= p.start < span.end) for span in split_sentences(text)]
    starts = {sentence[0] for sentence in sentences}
    assert all(own[0] in starts for _, own in found)
    for number, (before, own) in enumerate(found):
        inside = [sentence for sentence in sentences if set(sentence) <= set(own)]
        assert len(own) <= window or len(inside) == 1
        if number + 1 < len(found):  # the next sentence would not have fitted
            following = next(sentence for sentence in sentences if sentence[0] == found[number + 1].own[0])
            assert len(own) + len(following) > window
        earlier = [sentence for sentence in sentences if sentence[0].start < own[0].start and mentioned(sentence)]
        slots = {slot for sentence in earlier for slot in mentioned(sentence)}
        if len(mentioned(pieces)) > 3:  # the last sentence of all, if it is about somebody else
            slots &= mentioned(earlier[-1]) if earlier else set()
        needed = {slot: [s for s in earlier if slot in mentioned(s)][-1] for slot in slots - mentioned(own)}
        wanted = sorted(set(needed.values()), key=lambda sentence: sentence[0].start)
        while wanted and sum(map(len, wanted)) + len(own) > 60:
            wanted = wanted[1:]
        assert before == tuple(piece for sentence in wanted for piece in sentence)


def test_a_sentence_that_is_too_long_is_cut():
    text = "Camden is " + "good and " * 40 + "dear. It is bad."
    found = list(sentence_windows(text, pieces_of(text, "Camden"), window=10, longest=30))
    assert max(len(before) + len(own) for before, own in found) <= 30
    assert {piece for _, own in found for piece in own} == set(pieces_of(text, "Camden"))


def test_what_it_means_is_read_for_whom_it_is_about():
    text = (
        "Camden is dear. "
        + "The food is good and the staff is nice. " * 3
        + "It is not cheap. Hull is bad. It is good."
    )
    targets = TargetFinder(["Camden", "Hull"]).find(text)
    short = list(READER.cut(text, targets, longest=60, windows=(200, 12)))
    assert len(short) == 1  # the text is read whole
    passages = list(READER.cut(text, targets, longest=60, windows=(20, 12)))
    read = {text[passage.start : passage.end]: passage.targets for passage in passages}
    assert read == {
        "Camden is dear.": ("Camden",),
        "The food is good and the staff is nice.": ("Camden",),
        "It is not cheap. Hull is bad.": ("Camden", "Hull"),
        "It is good.": ("Camden", "Hull"),
    }
    last = passages[-1]
    assert "".join(token.text for token in last.tokens) == "Camdenisdear.Hullisbad.Itisgood."
    assert [piece.slot for piece in last.pieces][:2] == [0, 0]
