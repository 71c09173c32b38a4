"""Which words carry an answer: against readings of texts that were cut by hand."""

import subprocess
import sys

import pytest

import tabsa
from open_model import open_model  # noqa: F401
from tabsa.errors import DataError
from tabsa.evidence.occlusion import OccludedQuestion, _parts, _without, occlusion, occlusions, with_evidence
from tabsa.schema import Dataset, Example, Opinion, Span, Target

LABELS = ("none", "positive", "negative")


def words(text: str, weights) -> list[str]:
    return [text[span.start : span.end] for span, _ in weights]


@pytest.mark.parametrize("label", LABELS)
def test_weights_are_what_is_lost_without_each_word(tiny_model, label):
    model = tabsa.load(tiny_model)
    text = "the price is not cheap, Camden is far but safe"
    weights = occlusion(model, text, "Camden", "price", label)
    assert words(text, weights) == ["the", "price", "is", "not", "cheap", "is", "far", "but", "safe"]
    cut = [
        "price is not cheap, Camden is far but safe",
        "the is not cheap, Camden is far but safe",
        "the price not cheap, Camden is far but safe",
        "the price is cheap, Camden is far but safe",
        "the price is not , Camden is far but safe",
        "the price is not cheap, Camden far but safe",
        "the price is not cheap, Camden is but safe",
        "the price is not cheap, Camden is far safe",
        "the price is not cheap, Camden is far but ",
    ]
    (whole,) = model.predict(text, ["Camden"], ["price"]).opinions
    for (_, weight), left in zip(weights, cut, strict=True):
        (opinion,) = model.predict(left, ["Camden"], ["price"]).opinions
        assert weight == pytest.approx(whole.probabilities[label] - opinion.probabilities[label], abs=1e-6)


def test_a_model_with_open_aspects_is_asked_too(open_model):  # noqa: F811
    model = tabsa.load(open_model)
    text = "Camden has good food"
    weights = occlusion(model, text, "Camden", "food", "positive")
    found = {text[span.start : span.end]: weight for span, weight in weights}
    # Without `food` it is silent, without `good` neutral; the engine gives what is not said 0.1 / 4.
    assert found == pytest.approx({"has": 0, "good": 0.9 - 0.025, "food": 0.9 - 0.025})


def test_mentions_stay_and_move(tiny_model):
    model = tabsa.load(tiny_model)
    text = "cheap Camden and cheap Leith"
    camden, leith = Target("Camden", (Span(6, 12),)), Target("Leith", (Span(23, 28),))
    weights = occlusion(model, text, camden, "price", "positive", targets=(camden, leith))
    assert words(text, weights) == ["cheap", "and", "cheap"]
    whole = {(o.target, o.aspect): o for o in model.predict(text, [camden, leith], ["price"]).opinions}
    left = model.predict("Camden and cheap Leith", ["Camden", "Leith"], ["price"]).opinions[0]
    expected = whole["Camden", "price"].probabilities["positive"] - left.probabilities["positive"]
    assert weights[0][1] == pytest.approx(expected, abs=1e-6)
    assert _without(text, [camden, leith], Span(0, 5)) == (
        "Camden and cheap Leith",
        [Target("Camden", (Span(0, 6),)), Target("Leith", (Span(17, 22),))],
    )


@pytest.mark.parametrize(
    ("text", "word", "left"),
    [
        ("a b c", "b", "a c"),
        ("a b c", "a", "b c"),
        ("a b c", "c", "a b "),
        ("(b) c", "b", "() c"),
        ("a-b c", "b", "a- c"),
        ("b", "b", ""),
        ("é b\nc", "b", "é c"),
    ],
)
def test_one_space_goes_with_a_word(text, word, left):
    start = text.index(word)
    target = Target("c", (Span(text.index("c"), text.index("c") + 1),)) if "c" in text and word != "c" else Target("c")
    cut, (moved,) = _without(text, [target], Span(start, start + len(word)))
    assert cut == left
    assert all(cut[s.start : s.end] == "c" for s in moved.mentions)


def test_an_unnamed_target_and_a_text_of_one_word(tiny_model):
    model = tabsa.load(tiny_model)
    for text in ("cheap", "cheap!", "😀 cheap", "", "..."):
        weights = occlusion(model, text, Target("", implied=True), "price", "positive")
        assert len(weights) == sum(word in text for word in ("cheap", "😀"))
    named = occlusion(model, "cheap and far", "Camden", "price", "positive")  # not mentioned: what the text is about
    implied = occlusion(model, "cheap and far", Target("Camden", implied=True), "price", "positive")
    assert named == implied
    assert any(weight for _, weight in named)


def test_a_long_text_is_cut_in_runs_of_words_that_hold_no_mention():
    text = "one Camden " + " ".join(f"word{number}" for number in range(500))
    question = OccludedQuestion(text, (Target("Camden", (Span(4, 10),)),), "Camden", "price", "positive")
    spans = list(_parts(question))
    assert len(spans) <= 128
    assert spans[0] == Span(0, 3)
    covered = " ".join(text[span.start : span.end] for span in spans)
    assert covered.split() == [word for word in text.split() if word != "Camden"]


def test_many_answers_at_once_are_those_one_by_one(tiny_model):
    model = tabsa.load(tiny_model)
    target = Target("Camden", (Span(0, 6),))
    asked = [
        OccludedQuestion(text, (target,), "Camden", aspect, label)
        for text in ("Camden is cheap", "Camden is not far and safe")
        for aspect in ("price", "safety")
        for label in LABELS
    ]
    together = occlusions(model, asked, LABELS)
    for question, weights in zip(asked, together, strict=True):
        alone = occlusion(model, question.text, target, question.aspect, question.label)
        assert [span for span, _ in weights] == [span for span, _ in alone]
        assert [w for _, w in weights] == pytest.approx([w for _, w in alone], abs=1e-6)


def test_what_the_model_does_not_know(tiny_model):
    model = tabsa.load(tiny_model)
    with pytest.raises(DataError, match="does not know the label 'lovely'"):
        occlusion(model, "Camden is cheap", "Camden", "price", "lovely")
    with pytest.raises(DataError, match="does not know"):
        occlusion(model, "Camden is cheap", "Camden", "noise", "positive")


# ---- of a report


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
    report = tabsa.evaluate(model, data, bootstrap=0, evidence=4)
    assert report.to_dict() == plain.to_dict()
    assert len(report.errors) == len(plain.errors) > 4
    explained = [error for error in report.errors if error.evidence]
    assert len(explained) == 4
    for error in explained:
        weights = occlusion(model, error.text, error.target, error.aspect, error.said)
        assert [span for span, _ in error.evidence] == [span for span, _ in weights]
        assert [w for _, w in error.evidence] == pytest.approx([w for _, w in weights], abs=1e-6)
        assert "Camden" not in words(error.text, error.evidence)
    assert all(error.evidence for error in with_evidence(plain, model).errors[:50])


def test_labels_that_the_data_lacks_are_treated_as_in_the_figures(open_model):  # noqa: F811
    """Where data has no `neutral`, what is neutral is `none`: so is what its words carry."""
    text = "Camden has food"
    example = Example("1", text, (Target("Camden", (Span(0, 6),)),), (Opinion("Camden", "food", "positive"),))
    report = tabsa.evaluate(tabsa.load(open_model), Dataset("mine", "all", ("food",), LABELS, [example]), evidence=5)
    (error,) = report.errors
    assert (error.said, error.probability) == ("none", pytest.approx(0.925))  # none and neutral
    assert dict(error.evidence)[Span(11, 15)] == pytest.approx(0, abs=1e-6)  # silent without it, and just as sure


def test_a_flawless_report_is_left_as_it_is(open_model):  # noqa: F811
    example = Example("1", "Camden", (Target("Camden", (Span(0, 6),)),))
    data = Dataset("mine", "all", ("food",), LABELS, [example])
    assert tabsa.evaluate(tabsa.load(open_model), data, bootstrap=0, evidence=5).errors == ()


def test_no_pytorch_is_needed(tiny_model):
    code = (
        "import sys; [sys.modules.__setitem__(name, None) for name in ('torch', 'onnx', 'sklearn', 'matplotlib')]; "
        "import tabsa; from tabsa.evidence.occlusion import occlusion; "
        f"print(len(occlusion(tabsa.load({str(tiny_model)!r}), 'Camden is cheap', 'Camden', 'price', 'positive')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "2\n"
