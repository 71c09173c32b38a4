import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader_factory import WORDS, piece_reader, tokeniser
from tabsa.encoding.pieces import NO_SLOT, PieceReader
from tabsa.errors import ModelError
from tabsa.schema import Span, Target
from tabsa.text.targets import TargetFinder

READER = piece_reader()
NAMES = {number: piece for piece, number in tokeniser().get_vocab().items()}


def spelt(pieces):
    return " ".join(NAMES[piece.id] for piece in pieces)


def cut(text, targets=(), longest=64, reader=READER):
    return list(reader.cut(text, targets, longest=longest))


def found(text, *names):
    return TargetFinder(names).find(text)


def test_mentions_are_placeholders_in_the_order_of_first_mention():
    text = "Camden is dear, Hull is not; Camden!"
    (passage,) = cut(text, (*found(text, "Hull"), *found(text, "Camden")))
    assert spelt(passage.pieces) == "entity ##1 is dear , entity ##2 is not ; entity ##1 !"
    assert [piece.slot for piece in passage.pieces] == [0, 0, -1, -1, -1, 1, 1, -1, -1, -1, 0, 0, -1]
    assert passage.targets == ("Camden", "Hull")
    assert (passage.start, passage.end) == (0, len(text))
    assert " ".join(token.text for token in passage.tokens) == "Camden is dear , Hull is not ; Camden !"
    assert [token.target for token in passage.tokens] == [0, None, None, None, 1, None, None, None, 0, None]
    assert all(text[token.start : token.end] == token.text for token in passage.tokens)
    assert passage.gates is None


def test_a_mention_inside_another_is_none():
    text = "north hull road is dear"
    long, short = Target("north hull road", (Span(0, 15),)), Target("hull", (Span(6, 10),))
    for targets in ((long, short), (short, long)):
        (passage,) = cut(text, targets)
        assert spelt(passage.pieces) == "entity ##1 is dear"
        assert passage.targets == ("north hull road",)
    assert cut(text, (long, Target("road is", (Span(11, 18),))))[0].targets == ("north hull road",)


def test_an_implied_target_comes_last_and_an_absent_one_not_at_all():
    text = "Hull is dear"
    hull, absent = found(text, "Hull")[0], Target("Camden")
    implied = Target("", implied=True)
    (passage,) = cut(text, (implied, absent, hull))
    assert passage.targets == ("Hull", "")
    assert spelt(passage.pieces) == "entity ##1 is dear"
    (passage,) = cut(text, (implied,))
    assert passage.targets == ("",)
    assert spelt(passage.pieces) == "hull is dear"
    assert cut(text, (absent,)) == cut(text) == []
    (passage,) = cut(text, (dataclasses.replace(hull, implied=True),))  # it is named after all
    assert passage.targets == ("Hull",)
    assert passage.pieces[0].slot == 0


@pytest.mark.parametrize("text", ["", "  ", "\n\t", "​"])
def test_a_text_without_pieces_is_not_read(text):
    assert cut(text, (Target("", implied=True),)) == []


WORD = st.sampled_from([*WORDS, "Zürich", "中文好", "Ünknöwn", "👍", "1999", "x.", "didn't", "(so)", "-", "ﬁne"])


@given(
    st.lists(st.tuples(WORD, st.sampled_from([None, None, None, 0, 1, 2])), max_size=60),
    st.integers(16, 30),
    st.booleans(),
)
def test_every_text_is_read_whole_in_passages_that_fit(words, longest, implied):
    text, mentions = "", [[], [], []]
    for word, target in words:
        if target is not None:
            mentions[target].append(Span(len(text), len(text) + len(word)))
        text += word + " "
    targets = [Target(f"t{number}", tuple(spans)) for number, spans in enumerate(mentions)]
    targets += [Target("it", implied=True)] if implied else []
    whole = READER.pieces(text, targets, {number: number for number in range(3)})
    passages = cut(text, targets, longest)
    expected = {piece[1:3] for piece in whole}
    read = {piece[1:3] for passage in passages for piece in passage.pieces}
    assert read <= expected
    if implied:  # every passage is read for it
        assert read == expected
    else:  # one without a mention is left out
        assert {piece[1:3] for piece in whole if piece.slot != NO_SLOT} <= read
    spans = {span for own in mentions for span in own}
    for passage in passages:
        assert 0 < len(passage.pieces) <= longest - 2
        assert (passage.start, passage.end) == (passage.pieces[0].start, passage.pieces[-1].end)
        # no cut inside a mention or, with words this short, a word
        assert passage.start == 0 or text[passage.start - 1] == " "
        assert text[passage.end] == " "
        present = [targets[int(name[1:])] for name in passage.targets if name != "it"]
        assert ("it" in passage.targets) == implied
        for slot, target in enumerate(present):
            own = [piece for piece in passage.pieces if piece.slot == slot]
            ids = READER.placeholder(slot)
            assert [piece.id for piece in own] == [*ids] * (len(own) // len(ids))
            assert {piece[1:3] for piece in own} == {
                s for s in target.mentions if passage.start <= s.start < passage.end
            }
        assert {piece.slot for piece in passage.pieces} - {NO_SLOT} == set(range(len(present)))
        firsts = [min(piece.start for piece in passage.pieces if piece.slot == slot) for slot in range(len(present))]
        assert firsts == sorted(firsts)
        ordinary = [piece for piece in passage.pieces if piece.slot == NO_SLOT]
        assert [*ordinary] == [p for p in whole if p.slot == NO_SLOT and passage.start <= p.start < passage.end]
        assert not any(start <= piece.start < end for piece in ordinary for start, end in spans)
        assert [token.start for token in passage.tokens if token.target is None] == [piece.start for piece in ordinary]


@pytest.mark.parametrize("text", ["中文好" * 100, "a" * 100 + "." * 200, "http://" + "/a-b" * 70, "x" * 90 + "y" * 250])
def test_a_long_run_without_spaces_is_cut_into_few_passages(text):
    for longest in (12, 30):
        passages = cut(f"dear {text} cheap", (Target("it", implied=True),), longest)
        whole = READER.pieces(f"dear {text} cheap", (), {})
        assert {piece for passage in passages for piece in passage.pieces} == {*whole}
        assert len(passages) <= 2 + 2 * len(whole) // (longest - 2)
        assert all(len(passage.pieces) <= longest - 2 for passage in passages)


def test_no_mention_is_cut_in_a_run_without_spaces():
    text = "中文好" * 40
    spans = tuple(Span(start, start + 3) for start in range(2, 110, 7))
    for longest in range(8, 20):
        passages = cut(text, (Target("好中文", spans),), longest)
        assert {piece[1:3] for p in passages for piece in p.pieces if piece.slot == 0} == {*spans}
        for passage in passages:
            own = [piece for piece in passage.pieces if piece.slot == 0]
            assert all(own[n][1:] == own[n + 1][1:] for n in range(0, len(own), 2))


def test_renumbering_makes_no_passage_too_long():
    """`entity10` is longer than `entity1`: a text's last targets may come first in a passage, and the other way."""
    names = [f"place{letter}" for letter in "abcdefghijklmn"]
    text = " ".join([*names, *names[::-1], *names])
    targets = found(text, *names)
    for longest in (20, 31, 40, 47):
        passages = cut(text, targets, longest)
        assert all(len(passage.pieces) <= longest - 2 for passage in passages)
        read = {(piece.start, piece.end) for passage in passages for piece in passage.pieces}
        assert read == {span for target in targets for span in target.mentions}
        for passage in passages:
            assert len(passage.tokens) == len({piece[1:] for piece in passage.pieces})


@pytest.mark.parametrize("longest", [0, 1, 2, 3, 4])
def test_a_hardly_possible_limit_ends(longest):
    assert cut("Hull is dear and far", (Target("Hull", (Span(0, 4),)), Target("it", implied=True)), longest)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"model": {}}', b"\xff\xfe"])
def test_what_is_no_tokeniser_is_refused_in_one_line(content, tmp_path):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        PieceReader.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
