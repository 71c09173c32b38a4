"""Which words carry an answer: against readings of texts that were cut by hand."""

from dataclasses import replace

import pytest

import tabsa
from open_model import open_model  # noqa: F401
from tabsa.errors import DataError
from tabsa.inference.explaining import MOST_PARTS
from tabsa.inference.results import Evidence, WordWeight
from tabsa.pages.evaluation_page import explain_mistakes
from tabsa.schema import Dataset, Example, Opinion, Span, Target
from tabsa.text.sentences import split_sentences

LABELS = ("none", "positive", "negative")


def words(text: str, weights) -> list[str]:
    return [text[span.start : span.end] for span, _ in weights]


@pytest.mark.parametrize("label", LABELS)
def test_weights_are_what_is_lost_without_each_word(tiny_model, label):
    model = tabsa.load(tiny_model)
    text = "the price is not cheap, Camden is far but safe"
    evidence = model.predict(text, ["Camden"], ["price"]).evidence("Camden", "price", label)
    every = ["the", "price", "is", "not", "cheap", "is", "far", "but", "safe"]
    if label == "none":  # only what comes nearest to an opinion
        assert set(words(text, evidence.words)) <= {"price", "not", "cheap", "far", "safe"}
        assert all(weight < 0 for _, weight in evidence.words)
    else:
        assert words(text, evidence.words) == every
    (whole,) = model.predict(text, ["Camden"], ["price"]).opinions
    assert evidence.probability == pytest.approx(whole.probabilities[label])
    for span, weight in evidence.words:
        (opinion,) = model.predict(text[: span.start] + text[span.end :], ["Camden"], ["price"]).opinions
        assert weight == pytest.approx(whole.probabilities[label] - opinion.probabilities[label], abs=1e-6)


def test_a_long_text_is_cut_in_runs_of_words_that_hold_no_mention(open_model):  # noqa: F811
    text = "one Camden " + " ".join(f"word{number}" for number in range(45))
    evidence = tabsa.load(open_model).predict(text, ["Camden"], ["price"]).evidence("Camden", "price", "positive")
    assert len(evidence.words) <= MOST_PARTS + 1
    assert evidence.words[0].span == Span(0, 3)
    covered = " ".join(words(text, evidence.words))
    assert covered.split() == [word for word in text.split() if word != "Camden"]


def test_the_answer_of_a_long_text_is_explained_where_it_was_given(open_model):  # noqa: F811
    model = tabsa.load(open_model)
    filler = "Camden " + "so " * 45 + "it is. "
    text = filler + "Camden has good food. " + filler + "Nothing else is known."
    prediction = model.predict(text, ["Camden", "Leith"], ["food"])
    assert prediction.opinions[0].polarity == "positive"
    evidence = prediction.evidence("Camden", "food")
    assert evidence.quotes() == ("good food",)
    (sentence,) = evidence.sentences
    assert text[sentence.span.start : sentence.span.end] == "Camden has good food."
    assert sentence.polarity == "positive"
    assert evidence.unread == prediction.unread("Camden")
    assert [text[a:b] for a, b in evidence.unread] == ["Nothing else is known."]
    nobody = prediction.evidence("Leith", "food")
    assert (nobody.polarity, nobody.words, nobody.sentences) == ("none", (), ())
    assert nobody.unread == tuple(split_sentences(text))


def test_what_was_not_asked_is_not_explained(tiny_model):
    model = tabsa.load(tiny_model)
    prediction = model.predict("Camden is cheap", ["Camden"], ["price"])
    with pytest.raises(DataError, match="does not know the label 'lovely'"):
        prediction.evidence("Camden", "price", "lovely")
    with pytest.raises(DataError, match="nothing was asked of 'Camden' on 'safety'"):
        prediction.evidence("Camden", "safety")
    (plain,) = model.predict_many(["Camden is cheap"], ["Camden"])
    with pytest.raises(DataError, match="explain=True"):
        plain.evidence("Camden", "price")


def evidence_of(*weights: tuple[str, float], polarity: str = "positive") -> Evidence:
    text, spans = " ".join(word for word, _ in weights), []
    for word, weight in weights:
        start = spans[-1].span.end + 1 if spans else 0
        spans.append(WordWeight(Span(start, start + len(word)), weight))
    return Evidence(text, "it", "price", polarity, 0.9, tuple(spans), (), ())


def test_neighbours_that_both_carry_are_one_phrase():
    evidence = evidence_of(("really", 0.2), ("good", 0.5), ("value", 0.4), ("but", -0.1), ("dear", 0.3))
    assert evidence.quotes() == ("really good value", "dear")
    assert [round(phrase.weight, 6) for phrase in evidence.phrases()] == [0.9, 0.3]  # of 1.1: no more than the answer
    light = evidence_of(("quite", 0.2), ("good", 0.3))
    assert [round(phrase.weight, 6) for phrase in light.phrases()] == [0.5]
    assert evidence.quotes(1) == ("really good value",)
    assert evidence_of(("good.", 0.5), ("Cheap", 0.4)).quotes() == ("good. Cheap",)  # the mark is in the word here
    two = evidence_of(("good", 0.5), ("Cheap", 0.4))
    assert replace(two, text="good.Cheap").quotes() == ("good", "Cheap")


def test_a_light_word_between_two_that_carry_is_part_of_their_phrase():
    assert evidence_of(("costs", 0.6), ("a", 0.01), ("fortune", 0.3), ("x", 0.0)).quotes() == ("costs a fortune",)
    assert evidence_of(("good", 0.6), ("is", -0.2), ("fine", 0.3)).quotes() == ("good", "fine")


@pytest.fixture
def data() -> Dataset:
    examples = []
    for number in range(12):
        text = f"Camden is {'cheap' if number % 2 else 'dear'} and {'safe' if number % 3 else 'far'} number {number}"
        opinions = (Opinion("Camden", "price", "positive" if number % 2 else "negative"),) if number % 5 else ()
        examples.append(Example(str(number), text, (Target("Camden", (Span(0, 6),)),), opinions))
    return Dataset("mine", "all", ("price", "safety"), LABELS, examples)


def test_the_worst_mistakes_get_evidence_and_nothing_else_changes(tiny_model, data):
    model = tabsa.load(tiny_model)
    plain = tabsa.evaluate(model, data, bootstrap=0)
    report = explain_mistakes(plain, model, 4)
    assert report.to_dict() == plain.to_dict()
    assert len(report.errors) == len(plain.errors) > 4
    explained = [error for error in report.errors if error.evidence]
    assert len(explained) == 4
    for error in explained:
        evidence = model.predict(error.text, ["Camden"], [error.aspect]).evidence(
            "Camden", error.aspect, error.predicted
        )
        assert [span for span, _ in error.evidence] == [span for span, _ in evidence.words]
        assert [w for _, w in error.evidence] == pytest.approx([w for _, w in evidence.words], abs=1e-6)
        assert "Camden" not in words(error.text, error.evidence)
    assert all(error.evidence for error in explain_mistakes(plain, model).errors[:50])
