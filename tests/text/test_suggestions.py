"""Names that may be targets."""

import pytest

from tabsa.text.suggestions import suggest


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Camden is lovely but far too dear; Brixton is cheaper.", ["Camden", "Brixton"]),
        ("We love Camden Town and the Bank of England.", ["Camden Town", "Bank of England"]),
        ("Great place! Rent is high. I like it, but Peckham?", ["Peckham"]),
        ("The area near Stoke Newington isn't bad. Brixton's ok.", ["Stoke Newington", "Brixton"]),
        ("St. John's Wood is posh, King's Cross too.", ["St. John's Wood", "King's Cross"]),
        ("“Soho is fun,” she said.", ["Soho"]),
        ("The Pixel 9 takes wonderful photos, the Galaxy S24 does not.", ["Pixel 9", "Galaxy S24"]),
        ("Pixel 9a costs less than the iPhone 15 Pro Max.", ["Pixel 9a", "iPhone 15 Pro Max"]),
        (
            "I flew in a Boeing 737-800, then drove a Model S and a Renault 5.",
            ["Boeing 737-800", "Model S", "Renault 5"],
        ),
        ("We left Camden 20 years ago and saw Brixton 3 times, or Peckham 2 or 3.", ["Camden", "Brixton", "Peckham"]),
        ("Top 10 for shopping. Mostly I like Leith. Only Camden I avoid.", ["Leith", "Camden"]),
        ("Lovely. Quiet streets everywhere.", []),
        ("I LOVE CAMDEN", []),
        ("all in lower case, camden too", []),
        ("", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert [name for name, _ in suggest(text)] == names


def test_the_start_of_a_sentence_counts_where_the_text_has_the_name_elsewhere() -> None:
    text = "Peckham? Never. My aunt lives in Peckham. Avoid this."
    assert suggest(text) == [("Peckham", [(0, 7), (33, 40)])]


def test_there_is_an_end_to_it() -> None:
    text = " and ".join(f"in Place{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200))
    assert len(suggest(text)) == 50
