"""Predictions as a page: opinions, what carries them, gates."""

from dataclasses import replace

import numpy as np
import pytest

from prediction_factory import FOUND, TEXT, made_up
from seen_page import Page
from tabsa.inference.results import Evidence, SentenceAnswer, WordWeight
from tabsa.pages.evidence_page import evidence_page
from tabsa.schema import Span
from tabsa.text.sentences import split_sentences
from tabsa.text.tokens import word_spans


def test_opinions_stand_in_a_table_of_targets_by_aspects():
    prediction = made_up()
    page = Page(evidence_page([prediction]))
    columns = [text for _, text in page.all("th", scope="col")][:4]
    assert columns == ["target", "general", "price", "safety"]
    assert [text.split() for _, text in page.all("td", class_="positive")] == [["▲", "positive", "85%"]]
    assert [text.split() for _, text in page.all("td", class_="negative")] == [["▼", "negative", "85%"]] * 2
    assert len(page.all("td", class_="silent")) == 3
    assert [text for _, text in page.all("mark")] == ["Camden", "Croydon"]
    assert page.all("blockquote")[0][1] == TEXT
    table = page.all("table")[-1][1]
    assert (table.count("Camden"), table.count("0.850"), table.count("0.895")) == (3, 3, 3)


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (made_up(found={}), "no opinion found"),
        (made_up(targets=["Oslo"]), "not mentioned in the text"),
        (made_up(targets=["Oslo"]), "No words are shaded: nothing was read"),
        (made_up(found=dict(list(FOUND.items())[:1])), "No opinion on general, price."),
        (made_up(targets=[]), "nothing was read"),
    ],
)
def test_what_is_not_there_is_in_words(prediction, message):
    assert message in evidence_page([prediction])


def shades(page: Page) -> dict[str, list[tuple[str, str, str]]]:
    """The shades under each label, in the order of the words."""
    found, label = {}, ""
    for name, attributes, text in page.elements:
        if name == "dt":
            label = text
        elif attributes.get("class") == "gate":
            found.setdefault(label, []).append((text, attributes["style"], attributes["title"]))
    return found


def test_every_gate_is_there_as_a_shade_and_as_text():
    prediction = made_up()
    (passage,) = prediction.passages
    found = shades(Page(evidence_page([prediction])))
    attention, gates = prediction.attention, passage.gates
    expected = {
        "mean of all": gates.mean((0, 2)),
        "price: Camden": gates.mean(0) @ attention[0, 1],
        "safety: Camden": gates.mean(0) @ attention[0, 2],
        "general: Croydon": gates.mean(0) @ attention[1, 0],
    } | {
        f"{sign} {name}": gates[direction, :, chain]
        for direction, sign in enumerate("→←")
        for chain, name in enumerate(("Camden", "Croydon", "free 1"))
    }
    assert list(found) == list(expected)
    words = [token.text for token in passage.tokens]
    for label, values in expected.items():
        assert found[label] == [(w, f"--w:{v:.3f}", f"{v:.2f}") for w, v in zip(words, np.asarray(values), strict=True)]


def test_a_long_text_has_its_passages_and_several_texts_are_numbered():
    text = TEXT + " It rained." * 12 + " Croydon is dear. Camden is not."
    prediction = made_up(text=text, max_length=20)
    source = evidence_page([prediction, made_up(found={})])
    page = Page(source)
    for passage in prediction.passages:
        assert f"Read for {', '.join(passage.targets)}" in source
        assert text[passage.start : passage.end] in [shown for _, shown in page.all("dd")]
    assert [text for _, text in page.all("h2")] == ["Text 1 of 2", "Text 2 of 2"]


def explained():
    """A prediction whose evidence is made up."""
    text, weights = "Camden is not <b>safe</b>. It is dear.", {"not": 0.3, "safe": 0.5, "dear": -0.2}
    prediction = made_up(text=text, targets=["Camden"], found={("Camden", "safety"): "negative"}, directions=0)
    words = tuple(WordWeight(span, weights.get(text[slice(*span)], 0.0)) for span in word_spans(text, [Span(0, 6)]))
    first, second = split_sentences(text)
    own = {"none": 0.1, "positive": 0.1, "negative": 0.8}
    sentences = (SentenceAnswer(first, "negative", own, 0.6), SentenceAnswer(second, "none", {"none": 0.9}, 0.1))

    def explain(prediction, target, aspect, polarity, among, words_too):
        return Evidence(text, target, aspect, "negative", 0.85, words, sentences, (second,))

    return replace(prediction, explain=explain)


def test_words_phrases_and_sentences_that_carry_it():
    source = evidence_page([explained()])
    page = Page(source)
    assert {text: a["style"] for a, text in page.all("span", class_="for")} == {"not": "--w:0.300", "safe": "--w:0.500"}
    assert [(text, a["title"]) for a, text in page.all("span", class_="against")] == [("dear", "-20 points")]
    assert page.all("p", class_="carried")[0][1] == "Camden is not <b>safe</b>. It is dear."
    assert [text for _, text in page.all("q")] == ["not <b>safe"]
    items = [" ".join(text.split()) for _, text in page.all("li")][-2:]
    assert items == ["Camden is not <b>safe</b>. ▼ negative 80%", "It is dear. silent by itself"]
    assert "One sentence was not read for Camden" in source
    assert [text for _, text in page.all("h3")] == ["What carries each answer"]
