"""Tokens: parity with NLTK, the differences that are kept on purpose, marked targets, and what holds for any text."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer

from tabsa.errors import DataError
from tabsa.schema import Span, Target
from tabsa.text.sentences import split_sentences
from tabsa.text.targets import TargetFinder
from tabsa.text.tokens import MARKS, Token, tokenise, tokenise_marked, word_spans

NLTK = NLTKWordTokenizer()

# The documented differences that generated text can meet, each as the rewriting of a sentence that makes NLTK give our
# tokens. The first two keep its length.
DIFFERENCES = {
    "curly apostrophe": (r"(?<=\w)’(?=\w)", "'"),
    "line break": (r"\s", " "),
    "symbols": (r"…+|[£€]", r" \g<0> "),
    "repeated commas": (r"[:,](?=[:,])", r"\g<0> "),
    "clitic before a closing quote": (r"(?i)('[smd])'(?=\s|$|[][(){}<>*»”’\"…£€]|--)", r"\1 '"),
    "spaced quote after the full stop": (r"""(?<=[^.])\.(?=[])}>"'»”’\s]*\s["'][])}>"'»”’\s]*$)""", " . "),
}


def words(text: str) -> list[str]:
    return [token.text for token in tokenise(text)]


def nltk_spans(text: str) -> list[tuple[int, int]]:
    """The spans of NLTK's tokens, sentence by sentence, with its quote marks mapped back to those of the text."""
    spans = []
    for start, end in split_sentences(text):
        sentence = text[start:end]
        for name in ("curly apostrophe", "line break"):
            sentence = re.sub(*DIFFERENCES[name], sentence)
        rewritten = sentence
        for pattern, replacement in DIFFERENCES.values():
            rewritten = re.sub(pattern, replacement, rewritten)
        at = 0
        for token in NLTK.tokenize(rewritten):
            at += len(sentence[at:]) - len(sentence[at:].lstrip())
            forms = (token, '"', "''", "``") if token in ("``", "''") else (token,)
            form = next(form for form in forms if sentence.startswith(form, at))
            spans.append((start + at, start + at + len(form)))
            at += len(form)
        assert not sentence[at:].strip()
    return spans


def assert_like_nltk(text: str) -> None:
    expected = nltk_spans(text)
    assert words(text) == [text[start:end] for start, end in expected]
    assert [(token.start, token.end) for token in tokenise(text)] == expected


# --- parity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "  And LOCATION1 is ten mins direct on the tube to LOCATION2:  ",
        "LOCATION1~ cute villagey area, where it's £££ (but safe) - 3,000 pcm/flat",
        "i can't, I won't, they'll, we've, you're, I'm, she'd've and the dogs' CAN'T IT'S WE'LL",
        "move to zone 1-2, e.g. St. Giles,LOCATION1... or N14. Tel: 0208 292 9222. (11) L.A.",
        "these areas are quite 'green and nice', despite what 've been in the '60s",
        "PS SUM IT: don't read the '10's' reviews, try it to judge the '10's'.",
        "That place was awesome,,,  sally !",
        "\"Quoted.\" ``old'' “new.” ‘single’ «guillemets» ```odd```` ''' '''' x''s",
        "It's 3:30; 20% @home #tag *star* a&b <b> [x] {y} $3.88",
        "cannot gonna wanna gimme lemme gotta 'tis 'twas d'ye more'n CANNOT Wanna. wanna! x-cannot-y cannot's",
        "dash—dash – dash -- a---b---- well.. wait.... x.y . . .",
        "n't N'T don'T DON't I'Ll 're' 's' ''tis x's's we've'",
        "",
        " \n ",
        ".",
    ],
)
def test_like_nltk_on_a_sample(text: str) -> None:
    assert_like_nltk(text)


PIECES = """
    word Great Camden cannot gonna wanna gimme lemme gotta 'tis 'twas d'ye more'n CANNOT Wanna 's 'm 'd 'll 're 've n't
    'S 'M 'D 'LL 'RE 'VE N'T 'Ll 'n 't can't it's I'd dogs' don’t it’s O’Brien n’t s t n $3.88 £5 €9 3,000 3:30 20% St.
    e.g. U.S. x.y . .. ... .... … ' '' ''' " ` `` ``` ‘ ’ “ ” « » „ ( ) [ ] { } < > - -- --- – — ― / & % $ @ # * ? ! ;
    : , ,, _ + = ~ |
"""
PIECE_TEXTS = st.lists(
    st.tuples(st.sampled_from(PIECES.split()), st.sampled_from(["", " ", "  ", "\n"])).map("".join), max_size=8
).map("".join)
CHARACTER_TEXTS = st.text(st.sampled_from("aAstmdnl''''’\"`.,:;-–()[]<?!*&$/02    \n“”‘«…"), max_size=12)
UNLIKE_TIS = re.compile(r"(?i)(cannot|gimme|gonna|gotta|lemme|d['’]ye|more['’]n)['’]t(is|was)\b")


@given(PIECE_TEXTS | CHARACTER_TEXTS)
def test_like_nltk_on_generated_text(text: str) -> None:
    assume(not UNLIKE_TIS.search(text))  # a documented difference, below
    assert_like_nltk(text)


# --- differences ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don’t it’s O’Brien WE’LL café’s", "do n’t it ’s O’Brien WE ’LL café ’s"),
        ("‘hi’ the dogs’ bowl", "‘ hi ’ the dogs ’ bowl"),
        ("wait…what £5 €9 great😀😀", "wait … what £ 5 € 9 great 😀 😀"),
        ("👍🏽ok 👨‍👩‍👧! 🇬🇧🇫🇷 ❤️", "👍🏽 ok 👨‍👩‍👧 ! 🇬🇧 🇫🇷 ❤️"),
        ("¿Es barato? ¡Sí!", "¿ Es barato ? ¡ Sí !"),
        ("رخيص، نعم؟", "رخيص ، نعم ؟"),
        ("東京は安い。ＯＫ！", "東 京 は 安 い 。 ＯＫ ！"),
        ("か\u3099", "か\u3099"),
        ("서울은 좋다.", "서울은 좋다 ."),
        ("'it's'", "' it 's '"),
        ('the end. "', 'the end . "'),
        ("cannot'tis", "can not 'tis"),
        ("Это дёшево, да?", "Это дёшево , да ?"),
        ("nai\u0308ve zero\u200bwidth.", "nai\u0308ve zero\u200bwidth ."),
        ("St. Mary's is near. It is 3.5 miles. Nice", "St. Mary 's is near . It is 3.5 miles . Nice"),
    ],
)
def test_differences_from_nltk_and_other_scripts(text: str, expected: str) -> None:
    assert words(text) == expected.split()


# --- any text -------------------------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters()) | PIECE_TEXTS | CHARACTER_TEXTS


def assert_faithful(text: str, tokens: Sequence[Token]) -> None:
    assert all(token.text == text[token.start : token.end] and token.text for token in tokens)
    assert all(a.end <= b.start for a, b in pairwise(tokens))
    assert "".join("".join(token.text for token in tokens).split()) == "".join(text.split())


@given(ANY_TEXT)
def test_no_character_is_lost_moved_or_repeated(text: str) -> None:
    tokens = tokenise(text)
    assert_faithful(text, tokens)
    assert all(not any(map(str.isspace, token.text)) and token.target is None for token in tokens)


def test_marks_are_all_combining_characters() -> None:
    marks = re.compile(f"[{MARKS}]")
    characters = [chr(code) for code in range(0x10000)]
    assert all(marks.match(c) for c in characters if unicodedata.category(c).startswith("M"))
    assert not any(marks.match(c) for c in characters if c.isascii() or c.isspace() or "กขค我あ".find(c) >= 0)


def test_long_runs_take_linear_time() -> None:
    for piece in ("'", ".", ". ", "!", "a'", "(.", "\n", "x.)", "e.g. ", "’a", "-", "👨\u200d", ",", 'x. "', "1. "):
        text = piece * 5_000 + "x"
        assert_faithful(text, tokenise(text))  # a quadratic scan would take minutes


# --- marked targets -------------------------------------------------------------------------------------------------


def marked(text: str, *names: str) -> list[str]:
    """The tokens of a text, mentions in angle brackets; a mention is every occurrence of the name."""
    targets = [Target(name, tuple(Span(*m.span()) for m in re.finditer(re.escape(name), text))) for name in names]
    tokens = tokenise_marked(text, targets)
    assert_faithful(text, tokens)
    return [token.text if token.target is None else f"<{names[token.target]}>" for token in tokens]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LOCATION2e", "<LOCATION2> e"),
        ("LOCATION1/LOCATION2", "<LOCATION1> / <LOCATION2>"),
        ("LOCATION1LOCATION1", "<LOCATION1> <LOCATION1>"),
        ("wLOCATION1dential", "w <LOCATION1> dential"),
        ("andLOCATION2 (LOCATION1)", "and <LOCATION2> ( <LOCATION1> )"),
        ("LOCATION1's LOCATION1’s LOCATION1'S'", "<LOCATION1> 's <LOCATION1> ’s <LOCATION1> 'S '"),
        ("in LOCATION1, St. Mary's", "in <LOCATION1> , St. Mary 's"),
        ("St. LOCATION1 is near.", "St. <LOCATION1> is near ."),
        ("\"LOCATION1\" 'LOCATION1' “LOCATION1”", "\" <LOCATION1> \" ' <LOCATION1> ' “ <LOCATION1> ”"),
        ("LOCATION1.", "<LOCATION1> ."),
        ("It's LOCATION1. LOCATION2 is", "It 's <LOCATION1> . <LOCATION2> is"),
        ("LOCATION1... LOCATION2!", "<LOCATION1> ... <LOCATION2> !"),
        ("LOCATION1-based, non-LOCATION1", "<LOCATION1> - based , non - <LOCATION1>"),
        ("a/LOCATION1/b good.LOCATION1.It", "a / <LOCATION1> / b good . <LOCATION1> . It"),
        ("St.LOCATION1 e.g.LOCATION1", "St. <LOCATION1> e.g. <LOCATION1>"),
        ("p=LOCATION1%20london", "p = <LOCATION1> % 20london"),
        ("cannot/LOCATION1 LOCATION1,LOCATION2", "can not / <LOCATION1> <LOCATION1> , <LOCATION2>"),
        ("$LOCATION1 3,LOCATION1:30 LOCATION1--x", "$ <LOCATION1> 3 , <LOCATION1> : 30 <LOCATION1> -- x"),
        ('He said "go." LOCATION1 is', 'He said " go . " <LOCATION1> is'),
    ],
)
def test_mentions_are_tokens_and_the_rest_does_not_change(text: str, expected: str) -> None:
    assert marked(text, "LOCATION1", "LOCATION2") == expected.split()


def test_a_name_of_several_words_is_one_token() -> None:
    text = "I like Camden  Town’s pubs and 東京都."
    tokens = tokenise_marked(text, TargetFinder(["Camden Town", "東京"]).find(text))
    assert [token.text for token in tokens if token.target is not None] == ["Camden  Town", "東京"]
    assert [token.text for token in tokens[3:]] == ["’s", "pubs", "and", "東京", "都", "."]
    assert [token.word for token in tokenise("CAMDEN Isn’t")] == ["camden", "is", "n't"]


@pytest.mark.parametrize(
    ("mentions", "message"),
    [
        ([Span(0, 3), Span(2, 5)], "mention 2-5 of 'x' overlaps another mention: keep one of the two"),
        ([Span(4, 9)], "mention 4-9 of 'x' is not in the text: expected 0 <= start < end <= 6, its length"),
        ([Span(-1, 2)], "mention -1-2 of 'x' is not in the text"),
        ([Span(0, 4), Span(3, 1)], "mention 3-1 of 'x' is not in the text"),
    ],
)
def test_impossible_mentions(mentions: list[Span], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        tokenise_marked("abcdef", [Target("x", tuple(mentions))])


@st.composite
def texts_with_targets(draw: st.DrawFn) -> tuple[str, list[Target]]:
    text = draw(ANY_TEXT)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = [Span(a, b) for a, b in pairwise(cuts) if draw(st.booleans())]
    owners = [draw(st.integers(0, 2)) for _ in spans]
    pairs = list(zip(spans, owners, strict=True))
    return text, [Target(str(i), tuple(span for span, owner in pairs if owner == i)) for i in range(3)]


@given(texts_with_targets())
def test_each_mention_is_one_token_and_nothing_is_lost(case: tuple[str, list[Target]]) -> None:
    text, targets = case
    tokens = tokenise_marked(text, targets)
    assert_faithful(text, tokens)
    found = {(token.start, token.end, token.target) for token in tokens if token.target is not None}
    assert found == {(*span, index) for index, target in enumerate(targets) for span in target.mentions}


@given(PIECE_TEXTS)
def test_marking_a_plain_word_does_not_change_its_neighbours(text: str) -> None:
    plain = [token for token in tokenise(text) if token.text == "Camden"]
    target = Target("Camden", tuple(Span(token.start, token.end) for token in plain))
    assert [token.text for token in tokenise_marked(text, [target])] == words(text)


# --- words of evidence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't think it's over-priced.", ["I", "don't", "think", "it's", "over-priced"]),
        ("7.5/10; £5.99, 1,000 of 100%!", ["7.5/10", "£", "5.99", "1,000", "of", "100"]),
        ("Love it 😍👍🏽 👨‍👩‍👧", ["Love", "it", "😍", "👍🏽", "👨‍👩‍👧"]),
        ("很好吃，服务差。", ["很", "好", "吃", "服", "务", "差"]),
        ("a <b>safe</b> | x + y ~ = ^ `z`", ["a", "b", "safe", "b", "x", "y", "z"]),
        ("_really_ ok_then — … “fine” ‘ok’ … !!!", ["_really_", "ok_then", "fine", "ok"]),
        ("Überraschend gut, ça va, नमस्ते", ["Überraschend", "gut", "ça", "va", "नमस्ते"]),
        ("", []),
    ],
)
def test_words_of_evidence(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == expected


def test_mentions_and_what_hangs_on_them_carry_no_evidence() -> None:
    text = "Camden's bars and Leith’s pubs, not Leithing"
    spans = word_spans(text, [Span(18, 23), Span(0, 6)])
    assert [text[start:end] for start, end in spans] == ["bars", "and", "pubs", "not", "Leithing"]


@given(st.text(max_size=80))
def test_words_of_evidence_are_in_order_and_hold_no_space(text: str) -> None:
    spans = word_spans(text)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(text[start:end].split() == [text[start:end]] for start, end in spans)
