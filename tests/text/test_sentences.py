"""Where sentences end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.text.sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "One ends. | Another starts.",
        "Really?! | Yes! | Fine… | Go on.",
        "all in lower case. | as reviewers write! | and more? | yes",
        'He said "it is safe." | Then he left.',
        "(It is cheap.) | And near.",
        'It is cheap. | "And near," she said.',
        "It is cheap. | (And near.) | [And calm.] | 'And old.'",
        "We came in 2008. | LOCATION1 was rough.",
        "¡Es barato! | ¿Y seguro? | Sí.",
        "यह सस्ता है। | पास भी है।",
        "هل هو رخيص؟ | نعم.",
        "Great! | 😀 Will be back.",
        "It opens at 9 a.m. | The bar is next door.",
        "I live on Elm St. | It is quiet.",
        "I like grade A. | It is best.",
        "Stop . . . | Then go.",
    ],
)
def test_ends(text: str) -> None:
    assert sentences(text.replace(" | ", " ")) == text.split(" | ")


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith and Mrs. Jones met Dr. No.",
        "It is near St. Paul's, No. 10 Elm Rd. and 5th Ave. by bus.",
        "Some areas, e.g. Camden, i.e. the centre, are approx. 20 mins. away, min. 15 min. by tube.",
        "Brixton vs. Camden: pubs, bars, etc. are the same.",
        "From 9 a.m. to 5 p.m. weekdays, in the U.K. and the U.S. alike.",
        "J. K. Rowling and J. R. R. Tolkien lived there.",
        "well... it is cheap… and calm.. mostly",
        'She asked "is it safe?" and "why (really!) not."',
        "Yahoo!Answers and node.js are one word each.",
        "One line\nand the next of the same sentence.",
        'A last quote after a space. "',
    ],
)
def test_does_not_end(text: str) -> None:
    assert sentences(text) == [text]


def test_east_asian_stops_need_no_space_and_blank_lines_end_a_sentence() -> None:
    assert sentences("这里很便宜。很安全！「好吗？」好。") == ["这里很便宜。", "很安全！", "「好吗？」", "好。"]
    assert sentences("Pros\n\ncheap, central \r\n \r\n Cons\u2029noisy") == ["Pros", "cheap, central", "Cons", "noisy"]
    assert split_sentences("  Hi.  You \n") == [(2, 5), (7, 10)]
    assert split_sentences(" \n ") == split_sentences("") == []


@given(st.text(st.characters()) | st.text(st.sampled_from("aA1.!?…。\"')(\n  St")))
def test_every_visible_character_is_in_one_sentence(text: str) -> None:
    spans = split_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    parts = sentences(text)
    assert all(part == part.strip() for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
