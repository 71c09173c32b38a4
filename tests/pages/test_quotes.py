"""The sentences behind a number."""

from pathlib import Path

import scored_tables as made
from tabsa.inference.predictor import load
from tabsa.pages.counting import summarise
from tabsa.pages.quotes import quoted_sentence
from tabsa.scoring import Layout, Request, score


def test_the_sentence_that_names_the_target() -> None:
    text = "It rained. Brixton was fine, and Brixton's food too! Camden was not."
    sentence, mentions = quoted_sentence(text, "Brixton")
    assert sentence == "Brixton was fine, and Brixton's food too!"
    assert [sentence[start:end] for start, end in mentions] == ["Brixton", "Brixton"]
    assert quoted_sentence(text, "Camden") == ("Camden was not.", ((0, 6),))
    assert quoted_sentence(text, "Leeds") == ("It rained.", ())
    assert quoted_sentence(text, "") == ("It rained.", ())
    assert quoted_sentence("", "Leeds") == ("", ())
    assert quoted_sentence(text, "\u200b") == ("It rained.", ())  # a name that no eye sees


def test_the_sentence_that_is_said_to_carry_it_goes_first() -> None:
    sentence, mentions = quoted_sentence("Camden is here. It is dear.", "Camden", "It is dear.")
    assert (sentence, mentions) == ("It is dear.", ())


def test_a_very_long_sentence_is_cut_around_the_target() -> None:
    text = "so " * 500 + "Camden" + " on" * 500
    sentence, mentions = quoted_sentence(text, "Camden")
    assert len(sentence) <= 402
    assert sentence.startswith("…")
    assert sentence.endswith("…")
    ((start, end),) = mentions
    assert sentence[start:end] == "Camden"
    assert quoted_sentence("line\nbreaks  and   spaces", "")[0] == "line breaks and spaces"


def test_the_surest_are_kept_each_once(tmp_path: Path) -> None:
    texts = made.answered(4, 300)
    summary = summarise(made.wide(tmp_path / "t.jsonl", texts), quotes=3)
    for (target, aspect), cell in summary.cells.items():
        for polarity in summary.polarities:
            sure = sorted(
                (
                    sure
                    for one in texts
                    if one.said[target, aspect][0] == polarity
                    for sure in [one.said[target, aspect][1]]
                ),
                reverse=True,
            )
            told = [one for one in cell.quotes if one.polarity == polarity]
            assert [one.probability for one in told] == sure[:3]
            for one in told:
                (source,) = [text for text in texts if text.id == one.id]
                assert one.date == source.date
                assert one.sentence == f"We saw {target} and its price."
                assert one.sentence[slice(*one.mentions[0])] == target


def test_the_same_words_count_once_and_the_surer_stays(tmp_path: Path) -> None:
    first = {"target": "x", "aspect": "y", "polarity": "positive"}
    rows = [
        {"id": str(n), "text": "the very same", **first, "confidence": sure} for n, sure in enumerate((0.5, 0.9, 0.7))
    ]
    (told,) = summarise(made.write(tmp_path / "t.csv", rows)).cell("x", "y").quotes
    assert (told.id, told.probability) == ("1", 0.9)


def test_without_probabilities_short_texts_go_first(tmp_path: Path) -> None:
    rows = [{"text": "x " * n, "x/y": "negative"} for n in (9, 3, 5)]
    told = summarise(made.write(tmp_path / "t.csv", rows), quotes=2).cell("x", "y").quotes
    assert [(one.probability, len(one.sentence)) for one in told] == [(None, 5), (None, 9)]


def test_a_column_of_evidence_is_shown(tmp_path: Path) -> None:
    rows = [
        {
            "text": "Camden. It is dear.",
            "target": "Camden",
            "aspect": "price",
            "polarity": "negative",
            "confidence": 0.9,
            "evidence": "It is dear.",
        }
    ]
    (told,) = summarise(made.write(tmp_path / "t.csv", rows)).cell("Camden", "price").quotes
    assert told.sentence == "It is dear."
    wide = [{"text": "Camden. It is dear.", "Camden/price": "negative", "Camden/price/evidence": "It is dear."}]
    (told,) = summarise(made.write(tmp_path / "w.csv", wide)).cell("Camden", "price").quotes
    assert told.sentence == "It is dear."


def test_a_very_long_text_does_not_fill_the_memory(tmp_path: Path) -> None:
    rows = [{"text": "so " * 30_000 + "Camden is fine.", "Camden/price": "positive"}]
    summary = summarise(made.write(tmp_path / "t.csv", rows))
    (told,) = summary.cell("Camden", "price").quotes
    assert told.sentence.endswith("Camden is fine.")
    (held,) = summary.cell("Camden", "price").collected._best.values()
    assert len(held[0].text) <= 4000


def test_the_sentences_of_score_are_those_of_the_report(tmp_path: Path) -> None:
    source, scored = tmp_path / "in.csv", tmp_path / "scored.csv"
    source.write_text("id,text\n1,The Pixel 9 is in my bag. It costs a fortune. I bought it in May.\n", "utf-8")
    request = Request(targets={"Pixel 9": ()}, aspects=["price"], layout=Layout.LONG, evidence=True)
    score(source, scored, load(), request)
    (telling,) = summarise(scored).cell("Pixel 9", "price").quotes
    assert (telling.polarity, telling.sentence) == ("negative", "It costs a fortune.")
