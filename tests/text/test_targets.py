"""Finding targets in raw text, and the examples of docs/text.md."""

import doctest
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.errors import DataError
from tabsa.schema import Span, Target
from tabsa.text.targets import TargetFinder, all_targets
from tabsa.text.tokens import tokenise_marked

PAGE = Path(__file__).parents[2] / "docs" / "text.md"


def found(names: Iterable[str] | Mapping[str, Iterable[str]], text: str) -> dict[str, list[str]]:
    return {t.name: [text[start:end] for start, end in t.mentions] for t in TargetFinder(names).find(text)}


@pytest.mark.parametrize(
    ("name", "text", "mentions"),
    [
        ("Camden", "camden, CAMDEN (Camden) 'Camden'. Camden", ["camden", "CAMDEN", "Camden", "Camden", "Camden"]),
        ("Camden", "Camdenish Uncamden camden1 camden_x", []),
        ("Camden", "Camden's Camden’s Camdens' #camden @camden", ["Camden", "Camden", "Camdens", "camden", "camden"]),
        ("Camden", "two Camdens, CAMDENS", ["Camdens", "CAMDENS"]),
        ("Starbucks", "the Starbuckses of Starbucks'", ["Starbuckses", "Starbucks"]),
        ("Camden", "Camden-based, non-Camden, Camden–Brixton, Camden/Soho", ["Camden"] * 4),
        ("Camden Town", "Camden\n  Town camden-town CamdenTown", ["Camden\n  Town", "camden-town"]),
        ("Camden Town", "Camden\u00a0Town camden,town camden - town", ["Camden\u00a0Town"]),
        ("Stoke-on-Trent", "Stoke on Trent, stoke–on‑trent, stoke - on - trent", ["Stoke on Trent", "stoke–on‑trent"]),
        ("Hotel Harlow", "Hotel Harlow. The Harlow, harlow, a Mr Harlow, Harlow Road", ["Hotel Harlow", "Harlow"]),
        ("Hotel Harlow", "The Harlow", []),
        ("Zürich", "Zurich ZÜRICH Zu\u0308rich's zürichs", ["Zurich", "ZÜRICH", "Zu\u0308rich", "zürichs"]),
        ("Straße", "İı STRASSE, straße!", ["STRASSE", "straße"]),
        ("İzmir", "ßß izmir, IZMIR, İZMİR", ["izmir", "IZMIR", "İZMİR"]),
        ("Cam\u00adden", "Camden \u200bcam\u200bden\u200b.", ["Camden", "cam\u200bden"]),
        ("Москва", "МОСКВА и Москва-река, Москвабад", ["МОСКВА", "Москва"]),
        ("Κόσμος", "ΚΟΣΜΟΣ", ["ΚΟΣΜΟΣ"]),
        ("東京", "私は東京が好き。東京!", ["東京", "東京"]),
        ("がん", "か\u3099ん", ["か\u3099ん"]),
        (
            "서울",
            "서울은 " + unicodedata.normalize("NFD", "서울") + " 서우",
            ["서울", "\u1109\u1165\u110b\u116e\u11af"],
        ),
        ("กรุงเทพ", "ฉันรักกรุงเทพมาก", ["กรุงเทพ"]),
        ("القاهرة", "في القَاهِرَة، نعم", ["القَاهِرَة"]),
        ("C++", "I like C++, c++11 and C+", ["C++", "c++"]),
        (
            "St. John's",
            "St. John's, St. John’s, st.  john's church, st John's",
            ["St. John's", "St. John’s", "st.  john's", "John"],
        ),
        ("Yahoo!", "Yahoo!, yahoo!!! Yahoo yahoo", ["Yahoo!", "yahoo!", "Yahoo"]),
        ("(x|y)*[z]", "what (X|Y)*[Z] is", ["(X|Y)*[Z]"]),
        ("  Camden ", " camden ", ["camden"]),
        ("Camden", "", []),
        ("a\x00b", "A\x00B \ud800", ["A\x00B"]),
    ],
)
def test_mentions_of_one_name(name: str, text: str, mentions: list[str]) -> None:
    assert found([name], text) == ({name: mentions} if mentions else {})


def test_the_longest_name_wins_and_order_is_that_of_the_names() -> None:
    names = ["Town Hall", "Camden", "Camden Town", "Brixton", "Soho"]
    text = "Brixton, Camden Town Hall, Camden and Camden Town"
    assert found(names, text) == {"Camden": ["Camden"], "Camden Town": ["Camden Town"] * 2, "Brixton": ["Brixton"]}
    assert list(found(names, text)) == ["Camden", "Camden Town", "Brixton"]
    assert found(["New York Times", "York"], "New York Post") == {"York": ["York"]}


def test_aliases_are_mentions_of_the_name() -> None:
    names = {"London": ["the big smoke", "LDN", "london"], "Tube": ["Underground"]}
    assert found(names, "LDN, the Big Smoke or London") == {"London": ["LDN", "the Big Smoke", "London"]}
    assert TargetFinder(names).names == ("London", "Tube")


def test_a_name_goes_before_the_plural_of_another() -> None:
    for names in (["Camdens", "Camden"], ["Camden", "Camdens"]):
        assert found(names, "Camdens Camden") == {"Camden": ["Camden"], "Camdens": ["Camdens"]}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Camden", " "], "the name ' ' of a target is empty"),
        (["\u200b"], "is empty: give it at least one visible character"),
        (["Zürich", "ZURICH"], "'ZURICH' stands for two targets, 'Zürich' and 'ZURICH': give each its own names"),
        (["Camden", "Camden"], "'Camden' stands for two targets, 'Camden' and 'Camden'"),
        ("Camden", "names must be a list of strings, not one string: give ['Camden']"),
    ],
)
def test_impossible_names(names: list[str], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        TargetFinder(names)


NAMES = ["Camden", "Camden Town", "Zürich", "C++", "St. John's", "Stoke-on-Trent", "東京", "Town", "The Ritz", "İle"]
PIECES = """
    Camden camdens Town TOWNS Zu\u0308rich zurich C++ c + St. John's st. john’s Stoke on - – Trent 東 京 都 the Ritz
    Ritzes ile İLE ß 's ’s . , \u200b \u0301 x Camden-based
"""
TEXTS = st.lists(st.sampled_from([*PIECES.split(), " ", " ", " ", "\n"])).map("".join) | st.text(st.characters())


def folded(text: str) -> str:
    text = unicodedata.normalize("NFD", text.replace("\u200b", "")).casefold()
    text = "".join(c for c in unicodedata.normalize("NFD", text) if not "\u0300" <= c <= "\u036f")
    return re.sub(r"\s+|(?<=\w)[-–](?=\w)", " ", text).replace("’", "'")


@given(TEXTS)
def test_mentions_fold_to_their_name(text: str) -> None:
    targets = TargetFinder(NAMES).find(text)
    assert [target.name for target in targets] == [n for n in NAMES if any(n == t.name for t in targets)]
    for target in targets:
        forms = {folded(target.name) + ending for ending in ("", "s", "es")}
        assert target.mentions
        assert {folded(text[start:end]) for start, end in target.mentions} <= forms
    tokens = tokenise_marked(text, targets)  # which also checks that mentions do not overlap
    assert sum(token.target is not None for token in tokens) == sum(len(target.mentions) for target in targets)


PLAIN = [
    *["camden", "town", "hall", "Town", "camdens", "towns", "halls", "xtown", "-", ",", ".", "'s", "x"],
    *["\n", " ", " "],
]


@given(st.lists(st.sampled_from(PLAIN)).map("".join))
def test_like_an_alternation_of_the_names(text: str) -> None:
    names = ["camden", "camden town", "town hall", "hall", "new"]
    patterns = [re.escape(name).replace(r"\ ", r"(?:\s+|-)") + "s?" for name in sorted(names, key=len, reverse=True)]
    alternation = re.compile(rf"(?i)(?<!\w)(?:{'|'.join(patterns)})(?!\w)")
    spans = sorted(span for target in TargetFinder(names).find(text) for span in target.mentions)
    assert spans == [match.span() for match in alternation.finditer(text)]


@pytest.mark.parametrize("implied", [False, True])
def test_every_name_is_a_target_and_only_the_others_are_implied(implied: bool) -> None:
    names = ("Soho", "Camden", "Leeds")
    finder = TargetFinder(names)
    found = finder.find("Camden is dear")
    soho, leeds = (Target(name, implied=implied) for name in ("Soho", "Leeds"))
    assert all_targets(names, found, implied=implied) == (soho, Target("Camden", (Span(0, 6),)), leeds)


def test_the_examples_of_the_page() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, PAGE.name, 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.failed == 0
    assert result.attempted >= 10
