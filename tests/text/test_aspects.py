from pathlib import Path

import pytest

from tabsa.datasets.sentihood import ALL_ASPECTS
from tabsa.errors import DataError
from tabsa.text.aspects import EVERYDAY, LISTS, aspects_in, clean_aspects, named_aspects, read_aspects

# ---- wordings


def test_white_space_is_made_plain_and_duplicates_go() -> None:
    given = ["  battery   life ", "price", "battery\tlife", "Price", "ease\nof use"]
    assert clean_aspects(given) == ("battery life", "price", "Price", "ease of use")


@pytest.mark.parametrize("aspect", ["prix", "価格", "سرعت\u200cبالا", "5G", "food/drinks", "a" * 100, "😀 mood"])
def test_any_words_are_an_aspect(aspect: str) -> None:
    assert clean_aspects([aspect]) == (aspect,)


@pytest.mark.parametrize(
    ("aspects", "message"),
    [
        ([], "no aspect is asked for"),
        (["price", ""], "the aspect '' has no word in it"),
        ([" \t\n"], "has no word in it"),
        (["--"], "has no word in it"),
        (["a" * 101], "has 101 characters; expected at most 100"),
        ([3], "an aspect is of type int; expected words"),
        ([None], "of type NoneType"),
        ([["price"]], "of type list"),
        (["pri\x00ce"], "control character"),
        (["price \ud800"], "half a character"),
    ],
)
def test_what_is_no_aspect_is_one_clear_line(aspects: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        clean_aspects(aspects)
    assert "\n" not in str(error.value)


# ---- lists by name


def test_the_lists_are_short_and_of_fit_wordings() -> None:
    assert list(LISTS) == ["everyday", "places", "restaurants", "hotels", "phones", "laptops"]
    for aspects in LISTS.values():
        assert 8 <= len(aspects) <= 12
        assert clean_aspects(aspects) == aspects
    assert named_aspects("everyday") == EVERYDAY
    assert {"overall", "price", "quality", "service"} <= set(EVERYDAY)


def test_places_are_sentihoods_twelve() -> None:
    assert named_aspects("places") == ALL_ASPECTS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resturants", "did you mean 'restaurants'?"),
        ("zzz", "; expected one of everyday, places, "),
        ("Places", "'places'"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        named_aspects(name)
    assert f"unknown list of aspects '{name}'" in str(error.value)
    assert message in str(error.value)


# ---- files, and what a person writes


def test_a_file_has_an_aspect_a_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(
        "\ufeff# what matters\nbattery  life  # the most\n\nC# support\n  price\nprice\r\nfood, drinks\n".encode()
    )
    assert read_aspects(path) == aspects_in(str(path)) == ("battery life", "C# support", "price", "food, drinks")


@pytest.mark.parametrize(
    ("content", "message"), [("# none\n\n", "names no aspect"), ("price\n!!\n", "has no word in it")]
)
def test_a_bad_file_is_told_by_its_name(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message) as error:
        read_aspects(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("written", "aspects"),
    [
        ("places", ALL_ASPECTS),
        (" everyday ", EVERYDAY),
        ("price", ("price",)),
        ("price, battery life,price,", ("price", "battery life")),
        ("places, parking", ("places", "parking")),
        ("food/drinks", ("food/drinks",)),
        ("x" * 90, ("x" * 90,)),
    ],
)
def test_what_is_written_is_a_list_or_wordings(written: str, aspects: tuple[str, ...]) -> None:
    assert aspects_in(written) == aspects


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("hotel", "no list of aspects 'hotel'; did you mean 'hotels'?"),
        ("Everyday", "did you mean 'everyday'?"),
        ("mine.txt", "no file mine.txt"),
        (" , ", "no aspect is asked for"),
        ("price, " + "y" * 5000, "5,000 characters"),
    ],
)
def test_slips_are_refused(written: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        aspects_in(written)
    assert message in str(error.value)


def test_the_page_on_using_a_model_has_the_lists() -> None:
    page = (Path(__file__).parents[2] / "docs" / "using.md").read_text("utf-8")
    for name, aspects in LISTS.items():
        assert f"| `{name}` | {', '.join(aspects)} |" in page
