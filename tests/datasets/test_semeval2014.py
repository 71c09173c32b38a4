"""SemEval-2014 restaurants: counts taken from the raw files without a parser, the held-out dev split, unsafe XML."""

from collections import Counter
from pathlib import Path

import pytest

from tabsa.datasets.loading import load
from tabsa.errors import DataError
from tabsa.schema import Opinion

quiet = pytest.mark.filterwarnings("ignore::tabsa.errors.DataWarning")


def category(aspect="food", polarity="positive"):
    return f'<aspectCategory category="{aspect}" polarity="{polarity}"/>'


def sentence(*categories: str, number=1, text="Good pies."):
    return (
        f'<sentence id="{number}"><text>{text}</text>'
        f"<aspectCategories>{''.join(categories)}</aspectCategories></sentence>"
    )


def put(folder: Path, *sentences: str, file="Restaurants_Test_Gold.xml") -> Path:
    path = folder / "semeval2014" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<sentences>{''.join(sentences)}</sentences>", encoding="utf-8")
    return path


@pytest.mark.data
@quiet
@pytest.mark.parametrize(
    ("split", "sentences", "counts"),
    [
        ("train", 2733, {"positive": 1967, "negative": 754, "neutral": 445, "conflict": 173}),
        ("dev", 311, {"positive": 209, "negative": 85, "neutral": 56, "conflict": 23}),
        ("test", 800, {"positive": 657, "negative": 222, "neutral": 94, "conflict": 52}),
    ],
)
def test_counts(data_dir, split, sentences, counts):
    four, three = (load(name, split, data_dir=data_dir) for name in ("semeval2014", "semeval2014-3way"))
    assert len(four.examples) == sentences
    assert four.labels == ("none", "positive", "negative", "neutral", "conflict")
    assert Counter(opinion.polarity for example in four.examples for opinion in example.opinions) == counts
    assert three.labels == ("none", "positive", "negative", "neutral")
    del counts["conflict"]
    assert Counter(opinion.polarity for example in three.examples for opinion in example.opinions) == counts
    assert [example.id for example in three.examples] == [example.id for example in four.examples]


def test_a_handwritten_file(tmp_path):
    first = sentence(category(), category("price", "conflict"), text="Pies &amp; caf&#233; ")
    put(tmp_path, first, sentence(number=2))
    dataset = load("semeval2014", "test", data_dir=tmp_path)
    assert dataset.aspects == ("food", "service", "price", "ambience", "anecdotes/miscellaneous")
    assert dataset.examples[0].text == "Pies & café "
    both = (Opinion("restaurant", "food", "positive"), Opinion("restaurant", "price", "conflict"))
    assert [example.opinions for example in dataset.examples] == [both, ()]
    three = load("semeval2014-3way", "test", data_dir=tmp_path, aspects=["price", "food"])
    assert (three.aspects, three.examples[0].opinions) == (("price", "food"), both[:1])


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 30))  # would expand without end


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "{path} is not XML: no element found"),
        (f'<!DOCTYPE s [<!ENTITY e0 "ha">{BOMB}]><sentences>&e29;</sentences>', "{path} is not XML: "),
        ("<sentences/>", "{path} is not a list of <sentence>s in <sentences>"),
        ("<sentences><sentence id='1'/></sentences>", "{path} sentence 1 is none of the restaurants of SemEval-2014"),
        ("<sentences><sentence id='1'><text>a</text></sentence></sentences>", "sentence 1 is none of the restaurants"),
        (f"<sentences>{sentence(category('parking'))}</sentences>", "sentence 1 is none of the restaurants"),
        (f"<sentences>{sentence(category('food', 'none'))}</sentences>", "sentence 1 is none of the restaurants"),
    ],
)
def test_a_malformed_file_is_one_clear_line(tmp_path, content, line):
    path = put(tmp_path)
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError) as caught:
        load("semeval2014", "test", data_dir=tmp_path)
    assert line.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)
