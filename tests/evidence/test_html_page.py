import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prediction_factory import FOUND, TEXT, made_up
from seen_page import Page
from tabsa.evidence import html_page
from tabsa.evidence.bands import lines
from tabsa.evidence.html import _WIDTH
from tabsa.inference.results import Evidence, SentenceAnswer, WordWeight
from tabsa.schema import Span
from tabsa.text import split_sentences
from tabsa.text.words import word_spans


def test_the_page_needs_nothing_else():
    source = html_page([made_up()])
    page = Page(source)
    assert not re.search(r"https?:|//|url\(|@import", source.replace("<!doctype html>", ""))
    assert not [e for e in page.elements if e[0] in ("script", "link", "img", "iframe", "object")]
    assert not [a for _, a, _ in page.elements if set(a) & {"src", "href", "onclick", "onload"}]
    policy = next(a["content"] for name, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_it_suits_light_dark_and_paper():
    source = html_page([made_up()])
    assert "prefers-color-scheme: dark" in source
    assert "@media print" in source
    assert "print-color-adjust: exact" in source


def test_a_script_in_a_text_is_text():
    text = "Camden <script>alert('x')</script> & \"Croydon\" </td></table>"
    source = html_page([made_up(text=text)], title="<script>alert(2)</script>")
    assert "<script" not in source
    page = Page(source)
    assert page.all("blockquote")[0][1] == text
    assert page.all("title")[0][1] == "<script>alert(2)</script>"


def test_names_of_targets_and_aspects_are_escaped():
    page = html_page([made_up(text="<i>Camden</i> is dear", targets=["<i>Camden</i>", '"onclick="x'], found={})])
    assert "<i>" not in page
    assert not [a for _, a, _ in Page(page).elements if "onclick" in a]


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.text(min_size=1, max_size=12).filter(lambda name: name.strip() and name.isprintable()))
def test_any_text_makes_a_sound_page(text, name):
    source = html_page([made_up(text=f"{text} Camden {name}", targets=["Camden"])])
    page = Page(source)
    assert "Camden" in page.all("blockquote")[0][1]
    source.encode("utf-8", "replace")


def test_opinions_stand_in_a_table_of_targets_by_aspects():
    page = Page(html_page([made_up()]))
    columns = [text for _, text in page.all("th", scope="col")][:4]
    assert columns == ["target", "general", "price", "safety"]
    assert [text.split() for _, text in page.all("td", class_="positive")] == [["▲", "positive", "85%"]]
    assert [text.split() for _, text in page.all("td", class_="negative")] == [["▼", "negative", "85%"]] * 2
    assert len(page.all("td", class_="silent")) == 3


def test_every_gate_is_there_as_a_shade_and_as_text():
    prediction = made_up()
    (passage,) = prediction.passages
    page = Page(html_page([prediction]))
    shades = [(a["style"], text, a["title"]) for a, text in page.all("td") if "style" in a]
    assert len(shades) == len(passage.tokens) * (3 + 2 * 3)  # opinions, directions by chains
    values = [*np.concatenate([passage.gates[0].T, passage.gates[1].T]).ravel()]
    for value, (style, text, title) in zip(values, shades[3 * len(passage.tokens) :], strict=True):
        assert style == f"--g:{value:.3f}"
        assert text == f"{value:.2f}".removeprefix("0")
        assert title.endswith(f": {value:.2f}")
    words = [(a["style"], text) for a, text in page.all("th", scope="col") if "style" in a]
    means = passage.gates.mean((0, 2))
    assert words == [
        (f"--g:{mean:.3f}", f"{token.text} {f'{mean:.2f}'.removeprefix('0')}")
        for token, mean in zip(passage.tokens, means, strict=True)
    ]


def test_long_passages_go_on_in_the_next_table():
    prediction = made_up(text=f"Camden is {'very ' * 30}dear.", targets=["Camden"], found={})
    (passage,) = prediction.passages
    parts = lines(passage.tokens, _WIDTH)
    assert len(parts) > 1
    shades = [a["style"] for a, _ in Page(html_page([prediction])).all("td") if "style" in a]
    single = np.concatenate([passage.gates[0].T, passage.gates[1].T])  # (directions by chains, tokens)
    assert shades == [f"--g:{value:.3f}" for part in parts for row in single for value in row[part]]


def test_directions_are_told_to_those_who_do_not_see_arrows():
    page = Page(html_page([made_up()]))
    rows = [a["title"] for a, _ in page.all("th", scope="row") if "title" in a]
    assert rows[3:] == [
        f"{way} {chain}" for way in ("forward", "backward") for chain in ("Camden", "Croydon", "free 1")
    ]


def test_mentions_are_marked():
    page = Page(html_page([made_up()]))
    assert [text for _, text in page.all("mark")] == ["Camden", "Croydon"]
    assert page.all("blockquote")[0][1] == TEXT


def test_all_probabilities_are_there():
    page = Page(html_page([made_up()]))
    ((_, details),) = page.all("details")
    assert details.count("Camden") == 3
    assert (details.count("0.850"), details.count("0.895")) == (3, 3)


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (made_up(found={}), "no opinion found"),
        (made_up(targets=["Oslo"]), "not mentioned in the text"),
        (made_up(targets=["Oslo"]), "No words are shaded: nothing was read"),
        (made_up(found=dict(list(FOUND.items())[:1])), "No opinion on general, price."),
    ],
)
def test_what_is_not_there_is_said(prediction, message):
    assert message in html_page([prediction])


def test_a_long_text_has_a_figure_for_each_passage():
    text = TEXT + " It rained." * 12 + " Croydon is dear. Camden is not."
    page = Page(html_page([made_up(text=text, max_length=20)]))
    captions = [re.fullmatch(r"Characters (\d+) to (\d+), read for (.*)", text) for _, text in page.all("figcaption")]
    shown = [text[int(caption[1]) : int(caption[2])] for caption in captions]
    assert shown[0].startswith("Camden is safe")
    assert shown[1].endswith("It rained. Croydon is dear. Camden is not.")
    assert [caption[3] for caption in captions] == ["Camden, Croydon", "Croydon, Camden"]


def test_several_texts_are_numbered():
    page = Page(html_page([made_up(), made_up(found={})]))
    assert [text for _, text in page.all("h2")] == ["Text 1 of 2", "Text 2 of 2"]
    identifiers = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers)) == 2


# ---- evidence


def explained(text: str = "Camden is not <b>safe</b>. It is dear.", **changes):
    """A prediction whose evidence is made up: each word weighs what is given."""
    prediction = made_up(text=text, targets=["Camden"], found={("Camden", "safety"): "negative"}, directions=0)
    weights = {"not": 0.3, "safe": 0.5, "dear": -0.2} | changes
    words = tuple(WordWeight(span, weights.get(text[slice(*span)], 0.0)) for span in word_spans(text, [Span(0, 6)]))
    first, second = split_sentences(text)
    own = {"none": 0.1, "positive": 0.1, "negative": 0.8}
    sentences = (SentenceAnswer(first, "negative", own, 0.6), SentenceAnswer(second, "none", {"none": 0.9}, 0.1))

    def explain(prediction, target, aspect, polarity, among, words_too):
        return Evidence(text, target, aspect, "negative", 0.85, words, sentences, (second,))

    return replace(prediction, explain=explain)


def test_words_are_shaded_by_what_they_carry():
    page = Page(html_page([explained()]))
    shades = {text: a["style"] for a, text in page.all("span", class_="for")}
    assert shades == {"not": "--w:0.300", "safe": "--w:0.500"}
    assert [text for _, text in page.all("span", class_="against")] == ["dear"]
    assert [a["title"] for a, _ in page.all("span", class_="against")] == ["-20 points"]
    (shown,) = page.all("p", class_="carried")
    assert shown[1] == "Camden is not <b>safe</b>. It is dear."
    assert [text for _, text in page.all("q")] == ["not <b>safe"]


def test_sentences_that_carry_it_have_answers_of_their_own():
    page = Page(html_page([explained()]))
    items = [" ".join(text.split()) for _, text in page.all("li")][-2:]
    assert items == ["Camden is not <b>safe</b>. ▼ negative 80%", "It is dear. silent by itself"]
    assert "One sentence was not read for Camden" in html_page([explained()])


def test_evidence_and_gates_stand_apart():
    gated = replace(made_up(), explain=explained().explain)
    headings = [text for _, text in Page(html_page([gated])).all("h3")]
    assert headings == ["What carries each answer", "What the memory kept"]
    assert "<h3>What the memory kept" not in html_page([explained()])
    assert "<h3>What carries" not in html_page([made_up()])


def test_evidence_is_escaped():
    source = html_page([explained(text="Camden <script>x</script> is bad. And </q> dear.")])
    assert "<script" not in source
    assert Page(source).all("p", class_="carried")[0][1] == "Camden <script>x</script> is bad. And </q> dear."
