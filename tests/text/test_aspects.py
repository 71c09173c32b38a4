"""Aspects in people's words, by name, and in files."""

from pathlib import Path

import pytest

from tabsa.datasets.sentihood import ALL_ASPECTS
from tabsa.errors import DataError
from tabsa.text.aspects import LISTS, aspects_in, clean_aspects, overlap_note, rivals


def test_any_words_are_an_aspect() -> None:
    words = ("prix", "価格", "سرعت\u200cبالا", "5G", "food/drinks", "a" * 100, "😀 mood")
    assert clean_aspects([*words, *(f" {one}\t" for one in words)]) == words


@pytest.mark.parametrize(
    ("aspects", "message"),
    [
        ([], "no aspect is asked for"),
        (["price", ""], "the aspect '' has no word in it"),
        (["a" * 101], "too long; expected at most 100"),
        ([3], "an aspect is of type int; expected words"),
        (["pri\x00ce"], "control character"),
    ],
)
def test_what_is_no_aspect_is_one_clear_line(aspects: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        clean_aspects(aspects)
    assert "\n" not in str(error.value)


def test_the_lists_are_short_and_of_fit_wordings() -> None:
    assert list(LISTS) == ["everyday", "places", "restaurants", "hotels", "phones", "laptops"]
    page = (Path(__file__).parents[2] / "docs" / "using.md").read_text("utf-8")
    for name, aspects in LISTS.items():
        assert 8 <= len(aspects) <= 12
        assert clean_aspects(aspects) == aspects
        assert f"| `{name}` | {', '.join(aspects)} |" in page
    assert LISTS["places"] == ALL_ASPECTS


def test_a_file_has_an_aspect_a_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    written = "\ufeff# what matters\nbattery  life  # the most\n\nC# support\n  price\nprice\r\nfood, drinks\n"
    path.write_bytes(written.encode())
    assert aspects_in(str(path)) == ("battery life", "C# support", "price", "food, drinks")
    path.write_text("# none\n\n", "utf-8")
    with pytest.raises(DataError, match="no aspect is asked for"):
        aspects_in(str(path))


@pytest.mark.parametrize(
    ("written", "aspects"),
    [
        ("places", ALL_ASPECTS),
        ("price, battery life,price,", ("price", "battery life")),
        ("places, parking", ("places", "parking")),
        ("food/drinks", ("food/drinks",)),
    ],
)
def test_what_is_written_is_a_list_or_wordings(written: str, aspects: tuple[str, ...]) -> None:
    assert aspects_in(written) == aspects


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("hotel", "no list of aspects 'hotel'; did you mean 'hotels'?"),
        ("mine.txt", "no file mine.txt"),
        ("price, " + "y" * 5000, "too long; expected at most 100"),
    ],
)
def test_slips_are_refused(written: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        aspects_in(written)
    assert message in str(error.value)


def test_aspects_that_share_words_are_told_and_exclude_each_other() -> None:
    shoes = ("appearance form", "appearance material", "comfort", "price of parts")
    assert rivals(shoes) == (frozenset({1}), frozenset({0}), frozenset(), frozenset())
    assert rivals(("complaint", "praise", "question")) == (frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1}))
    assert "2 of 4 aspects share words ('appearance form', 'appearance material')" in overlap_note(shoes)
    assert overlap_note((*shoes, "colour")) == ""
    assert not any(map(overlap_note, LISTS.values()))
