"""The models in the box: they are there, they are small, and they get plain sentences right."""

from pathlib import Path

import pytest

import tabsa
from tabsa.datasets.loading import load
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import PredictedOpinion, Prediction
from tabsa.schema import NONE, Target
from tabsa.text.aspects import EVERYDAY

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tabsa.__file__).parent
SENTENCES = ROOT / "repro" / "box" / "sentences.jsonl"
FIVE = ("none", "positive", "negative", "neutral", "mixed")


@pytest.fixture(scope="module")
def reader() -> Predictor:
    return tabsa.load(threads=1)


@pytest.fixture(scope="module")
def places() -> Predictor:
    return tabsa.load("places", threads=1)


def found(prediction: Prediction) -> dict[tuple[str, str], str]:
    return {(o.target, o.aspect): o.polarity for o in prediction.opinions if o.polarity != NONE}


def probabilities(opinion: PredictedOpinion) -> dict[str, float]:
    return dict(opinion.probabilities)


def differences(one: list[Prediction], other: list[Prediction]) -> list[float]:
    return [
        abs(share - b.probabilities[label])
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x.opinions, y.opinions, strict=True)
        for label, share in a.probabilities.items()
    ]


def test_the_reader_asks_everyday_aspects_unless_told(reader: Predictor) -> None:
    assert reader.aspects == EVERYDAY
    assert reader.labels == FIVE
    result = reader.predict("Leith is cheap but far from the centre.", ["Leith"])
    assert [opinion.aspect for opinion in result.opinions] == list(EVERYDAY)
    assert found(result).items() >= {("Leith", "price"): "positive", ("Leith", "location"): "negative"}.items()


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("The Pixel 9 lasts for days, but who can afford it?", "Pixel 9", "+battery life, -price,  camera"),
        (
            "Northgate Homes mended the boiler the same day, but the rent goes up every single year.",
            "Northgate Homes",
            "+repairs, -rent,  communication",
        ),
        ("Peckham isn't dangerous at all, and it is not expensive either.", "Peckham", "+safety, +price,  nightlife"),
        ("The Nokia comes in black and weighs 180 grams.", "Nokia", "=weight,  price"),
        ("My sister works at Boots.", "Boots", " overall,  service,  price"),
    ],
)
def test_the_reader_answers_any_aspects_of_any_domain(reader: Predictor, text: str, target: str, expected: str) -> None:
    polarities = {"+": "positive", "-": "negative", "=": "neutral", " ": NONE}
    judged = [(aspect[1:], polarities[aspect[0]]) for aspect in expected.split(", ")]
    result = reader.predict(text, [target], [aspect for aspect, _ in judged])
    assert [(opinion.aspect, opinion.polarity) for opinion in result.opinions] == judged


def test_the_wording_of_an_aspect_does_not_change_its_answer(reader: Predictor) -> None:
    examples = [one for one in load("everyday", "dev-new").examples if one.aspects][:20]
    for form in ("the {}", "how good the {} is", "its {}", "How good the {} was"):
        for example in examples:
            plain = tuple(aspect for aspect in example.aspects or () if not aspect.startswith(("how ", "the ", "its ")))
            worded = [form.format(aspect) for aspect in plain]
            pairs = zip(
                *(reader.predict(example.text, example.targets, own).opinions for own in (plain, worded)), strict=True
            )
            assert all(one.probabilities == other.probabilities for one, other in pairs)


def test_the_reader_tells_two_targets_apart(reader: Predictor) -> None:
    result = reader.predict("Leith is cheap but Morningside is expensive.", ["Leith", "Morningside"], ["price"])
    assert [(o.target, o.polarity) for o in result.opinions] == [("Leith", "positive"), ("Morningside", "negative")]
    text = "EasyJet was on time and the crew were cheerful, but Wizz lost my bag."
    result = reader.predict(text, ["EasyJet", "Wizz"], ["staff", "luggage"])
    assert found(result) == {("EasyJet", "staff"): "positive", ("Wizz", "luggage"): "negative"}


def test_the_reader_is_asked_about_a_thing_that_is_not_named(reader: Predictor) -> None:
    aspects = ["staff", "food", "billing", "location"]
    result = reader.predict("Lovely staff, awful food, and they charged us twice.", [Target("", implied=True)], aspects)
    assert [opinion.polarity for opinion in result.opinions] == ["positive", "negative", "negative", NONE]


DEMO = PACKAGE / "datasets" / "files" / "demo.jsonl"


def test_the_reader_answers_the_demo_at_both_precisions(reader: Predictor) -> None:
    examples = [one for one in load(str(DEMO), "all").examples if one.tags.get("kind") != "hard"]
    precise = tabsa.load(threads=1, precision="float32")
    assert precise.precision == "float32"
    answers = [
        list(
            model.predict_many(
                [example.text for example in examples],
                targets_of_each=[example.targets for example in examples],
                aspects_of_each=[example.aspects for example in examples],
            )
        )
        for model in (reader, precise)
    ]
    for said in answers:
        wrong = [
            set(found(prediction).items()) ^ {((o.target, o.aspect), o.polarity) for o in example.opinions}
            for example, prediction in zip(examples, said, strict=True)
        ]
        assert sum(map(len, wrong)) <= 2, wrong  # of the sofa, and `tabsa demo` marks them as mistakes
    apart = differences(*answers)
    assert sum(apart) / len(apart) < 0.01, "run `tabsa export` on it again, at both precisions"
    assert max(apart) < 0.15


def test_places_knows_the_twelve_aspects_of_sentihood(places: Predictor) -> None:
    from tabsa.datasets.sentihood import ALL_ASPECTS

    assert set(places.aspects) == set(ALL_ASPECTS)
    assert places.labels == ("none", "positive", "negative")


@pytest.mark.parametrize(("name", "megabytes"), [("reader", 32), ("places", 20)])
def test_a_model_in_the_box_is_small(request: pytest.FixtureRequest, name: str, megabytes: int) -> None:
    files = request.getfixturevalue(name).folder.path.iterdir()
    assert sum(path.stat().st_size for path in files) <= megabytes * 1e6


@pytest.mark.parametrize("kind", ["plain", "no opinion"])
def test_sentences_written_for_places(places: Predictor, kind: str) -> None:
    examples = [e for e in load(str(SENTENCES), "all").examples if e.id.endswith(kind)]
    assert len(examples) >= 5
    for example in examples:
        result = places.predict(example.text, [target.name for target in example.targets])
        assert found(result) == {(o.target, o.aspect): o.polarity for o in example.opinions}, example.text
