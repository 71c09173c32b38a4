"""A reader's evidence, against questions and readings made one at a time, and its vectors of texts."""

import numpy as np
import pytest

import tabsa
from reader_factory import WORDS
from reader_folder import ASPECTS, small_reader, write_reader
from tabsa.checkpoint.model_folder import read_folder
from tabsa.inference.explaining import _FUNCTION_WORDS, MOST_READINGS
from tabsa.inference.predictor import Predictor
from tabsa.inference.suggesting import _vectors
from tabsa.text.sentences import split_sentences


@pytest.fixture(scope="module", params=[{"late_interaction": 2}, {"late_interaction": 1}], ids=str)
def reader(request, tmp_path_factory):
    folder = write_reader(tmp_path_factory.mktemp("reader"), small_reader(**request.param), "int8")
    return Predictor(read_folder(folder.path), precision="float32")


def made_text(seed: int, count: int = 12) -> str:
    rng = np.random.default_rng(seed)
    chosen = [str(word) for word in rng.choice([word for word in WORDS if word.isalpha()], count)]
    return "Camden " + " ".join(chosen)


@pytest.mark.parametrize("seed", range(2))
def test_a_word_weighs_what_is_measured_of_it(reader, seed):
    """Hidden, alone, and for the first few left out of the text: one at a time, from the definitions."""
    text = made_text(seed)
    prediction = reader.predict(text, ["Camden"], [ASPECTS[0]])
    label = reader.labels[1]
    evidence = prediction.evidence("Camden", ASPECTS[0], label)
    (passage,) = prediction.passages
    opened = reader.engine.opened(passage)

    def probability(visible):
        return float(opened.ask(0, ASPECTS[0], np.array([visible, visible]))[0, 1])

    pieces = len(passage.pieces)
    own = [
        [piece.start >= span.start and piece.end <= span.end and piece.slot < 0 for piece in passage.pieces]
        for span, _ in evidence.words
    ]
    names = [not any(row[place] for row in own) for place in range(pieces)]
    whole, nothing = probability([True] * pieces), probability(names)
    cheap = [
        (
            (whole - probability([not inside for inside in row]))
            + (probability([inside or name for inside, name in zip(row, names, strict=True)]) - nothing)
        )
        / 2
        for row in own
    ]
    content = [text[span.start : span.end].lower() not in _FUNCTION_WORDS for span, _ in evidence.words]
    again = sorted(range(len(cheap)), key=lambda number: (not content[number], -cheap[number]))[:MOST_READINGS]
    for number, (span, weight) in enumerate(evidence.words):
        expected = cheap[number] / 2
        if number in again:
            (without,) = reader.predict(text[: span.start] + text[span.end :], ["Camden"], [ASPECTS[0]]).opinions
            expected += (prediction.opinions[0].probabilities[label] - without.probabilities[label]) / 2
        assert weight == pytest.approx(expected, abs=2e-6)


def test_each_sentence_has_an_answer_of_its_own(reader):
    text = ". ".join(made_text(seed, 5).removeprefix("Camden " if seed else "").capitalize() for seed in range(3)) + "."
    spans = split_sentences(text)
    assert len(spans) == 3
    prediction = reader.predict(text, ["Camden"], [ASPECTS[0]])
    evidence = prediction.evidence("Camden", ASPECTS[0], reader.labels[1])
    (passage,) = prediction.passages
    opened = reader.engine.opened(passage)
    assert evidence.sentences
    weights = [sentence.weight for sentence in evidence.sentences]
    assert weights == sorted(weights, reverse=True)
    for sentence in evidence.sentences:
        assert sentence.span in spans
        word = [any(c.isalnum() for c in text[piece.start : piece.end]) for piece in passage.pieces]
        visible = [
            piece.slot >= 0 or not is_word or sentence.span.start <= piece.start < sentence.span.end
            for piece, is_word in zip(passage.pieces, word, strict=True)
        ]
        said = opened.ask(0, ASPECTS[0], np.array([visible, visible]))[0]
        assert [sentence.probabilities[label] for label in reader.labels] == pytest.approx(said.tolist(), abs=1e-6)
        assert sentence.polarity == reader.labels[int(said.argmax())]


def test_the_model_in_the_box_finds_what_decides():
    model = tabsa.load()
    text = "The Galaxy S24 costs a fortune. It has nothing to do with me. Croydon is not safe at night."
    prediction = model.predict(text, ["Galaxy S24", "Croydon"], ["price", "safety"])
    price = prediction.evidence("Galaxy S24", "price")
    assert (price.polarity, price.quotes()[0]) == ("negative", "costs a fortune")
    assert text[slice(*price.sentences[0].span)] == "The Galaxy S24 costs a fortune."
    safety = prediction.evidence("Croydon", "safety")
    assert (safety.polarity, safety.quotes()[0]) == ("negative", "not safe")
    silent = prediction.evidence("Croydon", "price")
    assert silent.quotes() == ()
    near = [text[slice(*span)] for span, _ in sorted(silent.words, key=lambda word: word.weight)]
    assert (near[0], {"to", "is", "at"} & {*near}) == ("costs", set())
    assert [text[slice(*one.span)] for one in silent.sentences] == ["Croydon is not safe at night."]


def test_a_reader_tells_texts_apart_by_what_they_say() -> None:
    given = [
        "The Pixel costs more than I can afford.",
        "My phone was far beyond what anybody would pay.",
        "The Pixel takes blurry photos at night.",
        "Its pictures in the dark are out of focus.",
        "The Pixel needs a charger by noon.",
        "I had to plug it in three times today.",
    ]
    vectors = _vectors(given, tabsa.load("reader", threads=1))
    near = (vectors @ vectors.T - 2 * np.eye(len(given))).argmax(1)
    assert (near == [1, 0, 3, 2, 5, 4]).sum() >= 5
