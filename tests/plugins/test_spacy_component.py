"""The component `tabsa` in real pipelines of spaCy, against the Predictor."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tabsa.errors import DataError
from tabsa.inference.predictor import load

pytest.importorskip("spacy", reason="needs spaCy: pip install 'tabsa[spacy]'")

import spacy

from tabsa.plugins.spacy import OpinionComponent

TEXTS = ["Camden has good food. NW1 is lovely!", "Nobody is here.", "Bad price in Hull, great food in Hull."]
ASPECTS = ["food", "price"]
NAMES = {"Camden": ["NW1"], "Hull": []}


def pipeline(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("tabsa", config={"model": str(model), "aspects": ASPECTS} | config)
    return nlp


def said(doc):
    return [(o["target"], o["aspect"], o["polarity"], o["confidence"]) for o in doc._.opinions]


def expected(model, text, names=NAMES, every=False, **options):
    prediction = load(model).predict(text, names, ASPECTS, **options)
    opinions = prediction.opinions if every else prediction.found()
    return [(o.target or None, o.aspect, o.polarity, o.confidence) for o in opinions]


@pytest.mark.parametrize("names", [NAMES, ["Camden", "Hull"]])
def test_names_are_looked_for(open_model, names):
    nlp = pipeline(open_model, names=names)
    docs = list(nlp.pipe(TEXTS, batch_size=2))
    assert [said(doc) for doc in docs] == [expected(open_model, text, names) for text in TEXTS]
    assert [said(nlp(text)) for text in TEXTS] == [said(doc) for doc in docs]
    assert said(docs[0])[0][:3] == ("Camden", "food", "positive")
    assert docs[1]._.opinions == []


def test_each_mention_of_an_opinion_is_a_span(open_model):
    doc = pipeline(open_model, names=NAMES)(TEXTS[0])
    assert doc._.opinions[0]["mentions"] == [[0, 6], [22, 25]]
    spans = [(span.text, span.label_, span.kb_id_, span.id_) for span in doc.spans["tabsa"]]
    assert spans[:2] == [("Camden", "positive", "food", "Camden"), ("NW1", "positive", "food", "Camden")]
    assert len(spans) == 2 * len(doc._.opinions)


def test_entities_are_judged_by_their_labels_and_ids(open_model):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "GPE", "pattern": "Camden"},
            {"label": "GPE", "pattern": "NW1", "id": "Camden"},
            {"label": "CITY", "pattern": "Hull"},
        ]
    )
    nlp.add_pipe("tabsa", config={"model": str(open_model), "aspects": ASPECTS})
    docs = list(nlp.pipe(TEXTS))
    assert said(docs[0]) == expected(open_model, TEXTS[0], {"Camden": ["NW1"]})
    assert docs[0]._.opinions[0]["mentions"] == [[0, 6], [22, 25]]
    assert said(docs[2]) == []  # no label that is judged
    nlp.replace_pipe("tabsa", "tabsa", config={"model": str(open_model), "aspects": ASPECTS, "ent_labels": ["CITY"]})
    assert said(nlp(TEXTS[2])) == expected(open_model, TEXTS[2], ["Hull"])


def test_what_a_text_does_not_name(open_model):
    nlp = pipeline(open_model, implied=True, every=True)
    doc = nlp("good food")
    assert said(doc) == expected(open_model, "good food", None, every=True, implied=True)
    assert {opinion["target"] for opinion in doc._.opinions} == {None}
    assert list(doc.spans["tabsa"]) == []
    named = pipeline(open_model, names=["Leeds"], implied=True)("good food")
    assert said(named) == expected(open_model, "good food", ["Leeds"], implied=True)


def test_a_saved_pipeline_brings_its_model(tiny_model, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("tabsa", config={"model": str(tiny_model), "names": NAMES, "every": True, "evidence": True})
    doc = nlp(TEXTS[0])
    assert doc.spans["tabsa_evidence"] is not None
    nlp.to_disk(tmp_path / "pipeline")
    nlp.to_disk(tmp_path / "pipeline")  # over itself
    (tmp_path / "elsewhere").mkdir()
    moved = (tmp_path / "pipeline").rename(tmp_path / "elsewhere" / "moved")
    again = spacy.load(moved, config={"components.tabsa.model": "gone"})
    assert again.config["components"]["tabsa"]["names"] == NAMES
    assert again(TEXTS[0])._.opinions == doc._.opinions
    assert Path(again.get_pipe("tabsa").predictor.folder.path).is_relative_to(moved)
    copy = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert copy._.opinions == doc._.opinions
    assert [span.label_ for span in copy.spans["tabsa"]] == [span.label_ for span in doc.spans["tabsa"]]


def test_several_processes(tiny_model):
    """The model is loaded anew in each: threads do not go along with a fork."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tabsa", config={"model": str(tiny_model), "names": NAMES, "every": True})
    alone = [doc._.opinions for doc in nlp.pipe(TEXTS)]
    assert [doc._.opinions for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == alone


def test_spacy_finds_the_component_by_itself():
    (found,) = entry_points(group="spacy_factories", name="tabsa")
    assert found.load() is OpinionComponent
    assert spacy.blank("de").has_factory("tabsa")


def test_what_is_wrong_is_said(open_model):
    with pytest.raises(ValueError, match="names"):
        pipeline(open_model, names=3)
    with pytest.raises(DataError, match="name"):
        pipeline(open_model, names=[" "])
