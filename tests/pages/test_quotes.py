"""The sentences behind a number."""

from pathlib import Path

import pytest

import scored_tables as made
from tabsa.pages.counting import summarise
from tabsa.pages.quotes import Quote, quoted_sentence

TEXT = "It rained. Brixton was fine, and Brixton's food too! Camden was not."


@pytest.mark.parametrize(
    ("text", "target", "sentence", "mentions"),
    [
        (TEXT, "Brixton", "Brixton was fine, and Brixton's food too!", ((0, 7), (22, 29))),
        (TEXT, "Camden", "Camden was not.", ((0, 6),)),
        (TEXT, "Leeds", "It rained.", ()),
        (TEXT, "", "It rained.", ()),
        (TEXT, "\u200b", "It rained.", ()),  # a name that no eye sees
        ("", "Leeds", "", ()),
        ("line\nbreaks  and   spaces", "", "line breaks and spaces", ()),
    ],
)
def test_the_sentence_that_names_the_target(text: str, target: str, sentence: str, mentions: tuple) -> None:
    assert quoted_sentence(text, target) == (sentence, mentions)


def test_the_sentence_that_is_given_as_evidence_goes_first() -> None:
    assert quoted_sentence("Camden is here. It is dear.", "Camden", "It is dear.") == ("It is dear.", ())


def test_a_very_long_sentence_is_cut_around_the_target() -> None:
    sentence, ((start, end),) = quoted_sentence("so " * 500 + "Camden" + " on" * 500, "Camden")
    assert len(sentence) <= 402
    assert (sentence[0], sentence[start:end], sentence[-1]) == ("…", "Camden", "…")


def quotes_of(path: Path, rows: list[dict[str, object]], most: int = 5) -> tuple[Quote, ...]:
    return summarise(made.write(path, rows), quotes=most).cell("Camden", "price").quotes


def test_the_surest_are_selected_each_once(tmp_path: Path) -> None:
    texts = made.answered(4, 300)
    summary = summarise(made.wide(tmp_path / "t.jsonl", texts), quotes=3)
    for pair, cell in summary.cells.items():
        for polarity in summary.polarities:
            sure = sorted((one.said[pair][1] for one in texts if one.said[pair][0] == polarity), reverse=True)
            found = [one for one in cell.quotes if one.polarity == polarity]
            assert [one.probability for one in found] == sure[:3]
            for one in found:
                (source,) = [text for text in texts if text.id == one.id]
                assert one.date == source.date
                assert one.sentence == f"We saw {pair[0]} and its price."
                assert one.sentence[slice(*one.mentions[0])] == pair[0]


def test_the_same_words_count_once_and_the_surer_stays(tmp_path: Path) -> None:
    first = {"text": "the same", "target": "Camden", "aspect": "price", "polarity": "positive"}
    rows = [{"id": str(n), **first, "confidence": sure} for n, sure in enumerate((0.5, 0.9, 0.7))]
    (quote,) = quotes_of(tmp_path / "t.csv", rows)
    assert (quote.id, quote.probability) == ("1", 0.9)


def test_a_column_of_evidence_is_shown(tmp_path: Path) -> None:
    text = {"text": "Camden. It is dear."}
    long = {"target": "Camden", "aspect": "price", "polarity": "negative", "evidence": "It is dear."}
    for answer in (long, {"Camden/price": "negative", "Camden/price/evidence": "It is dear."}):
        (quote,) = quotes_of(tmp_path / "t.csv", [text | answer])
        assert quote.sentence == "It is dear."
