"""The model in the box: it is there, it is small, and it gets plain sentences right."""

from pathlib import Path

import pytest

import tabsa
from tabsa.datasets import load
from tabsa.schema import NONE

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def model():
    return tabsa.load(threads=1)


def test_it_weighs_at_most_20_megabytes(model):
    assert sum(path.stat().st_size for path in model.folder.path.iterdir()) <= 20_000_000


def test_it_knows_the_twelve_aspects_of_sentihood(model):
    from tabsa.datasets.sentihood import ALL_ASPECTS

    assert set(model.aspects) == set(ALL_ASPECTS)
    assert model.labels == ("none", "positive", "negative")


@pytest.mark.parametrize("kind", ["plain", "no opinion"])
def test_sentences_written_for_it(model, kind):
    examples = [e for e in load(str(ROOT / "repro" / "box" / "sentences.jsonl"), "all").examples if e.id.endswith(kind)]
    assert len(examples) >= 5
    for example in examples:
        result = model.predict(example.text, [target.name for target in example.targets])
        found = {(o.target, o.aspect): o.polarity for o in result.opinions if o.polarity != NONE}
        assert found == {(o.target, o.aspect): o.polarity for o in example.opinions}, example.text


def test_it_tells_two_targets_apart(model):
    result = model.predict("Leith is cheap but Morningside is expensive.", ["Leith", "Morningside"], ["price"])
    assert [(o.target, o.polarity) for o in result.opinions] == [("Leith", "positive"), ("Morningside", "negative")]


def test_probabilities_are_probabilities(model):
    result = model.predict("Camden is fun, but Croydon is a bore.", {"Camden": ["NW1"], "Croydon": []})
    assert len(result.opinions) == 2 * 12
    for opinion in result.opinions:
        assert sum(opinion.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert opinion.confidence == max(opinion.probabilities.values())


def test_its_int8_graph_was_made_of_the_same_weights(model):
    texts = [e.text for e in load(str(ROOT / "repro" / "box" / "sentences.jsonl"), "all").examples]
    targets = [["Camden", "Leith", "Brixton"]] * len(texts)
    small = tabsa.load(threads=1, precision="int8")
    both = zip(*(m.predict_many(texts, targets_of_each=targets) for m in (model, small)), strict=True)
    differences = [
        abs(one.probabilities[label] - other.probabilities[label])
        for a, b in both
        for one, other in zip(a.opinions, b.opinions, strict=True)
        for label in model.labels
    ]
    assert sum(differences) / len(differences) < 0.005, "run `tabsa export` on it again, with --precision int8"
