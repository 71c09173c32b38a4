"""SemEval-2014 restaurants: counts taken from the raw files without a parser, the held-out dev split, unsafe XML."""

import html
import re
from collections import Counter
from pathlib import Path

import pytest

from tabsa.datasets.loading import load
from tabsa.errors import DataError, DataWarning
from tabsa.schema import Opinion, Target

FILES = {"train+dev": "Restaurants_Train.xml", "test": "Restaurants_Test_Gold.xml"}
quiet = pytest.mark.filterwarnings("ignore::tabsa.errors.DataWarning")


def category(aspect="food", polarity="positive"):
    return f'<aspectCategory category="{aspect}" polarity="{polarity}"/>'


def sentence(*categories: str, number=1, text="Good pies."):
    return (
        f'<sentence id="{number}"><text>{text}</text>'
        f"<aspectCategories>{''.join(categories)}</aspectCategories></sentence>"
    )


def write(folder: Path, *sentences: str, file="Restaurants_Test_Gold.xml") -> Path:
    path = folder / "semeval2014" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<sentences>{''.join(sentences)}</sentences>", encoding="utf-8")
    return path


def opinions_by_pattern(path: Path) -> dict[str, tuple[str, set[tuple[str, str]]]]:
    """The file read with patterns rather than an XML parser: id -> text, (category, polarity) pairs."""
    raw = path.read_text(encoding="utf-8")
    sentences = {}
    for identifier, body in re.findall(r'<sentence id="([^"]*)">(.*?)</sentence>', raw, flags=re.DOTALL):
        text = re.findall(r"<text>(.*?)</text>", body)[0]
        pairs = re.findall(r'category="([^"]*)"\s+polarity="([^"]*)"', body)
        sentences[identifier] = html.unescape(text), set(pairs)
    return sentences


@pytest.mark.data
@quiet
@pytest.mark.parametrize("split", FILES)
def test_examples_are_those_that_patterns_find_in_the_raw_file(data_dir, split):
    dataset = load("semeval2014", split, data_dir=data_dir)
    read = {
        example.id: (example.text, {(opinion.aspect, opinion.polarity) for opinion in example.opinions})
        for example in dataset.examples
    }
    assert read == opinions_by_pattern(data_dir / "semeval2014" / FILES[split])
    assert all(example.targets == (Target("restaurant", implied=True),) for example in dataset.examples)


@pytest.mark.data
@quiet
@pytest.mark.parametrize(
    ("split", "sentences", "positive", "negative", "neutral", "conflict"),
    [
        ("train", 2733, 1967, 754, 445, 173),
        ("dev", 311, 209, 85, 56, 23),
        ("train+dev", 3044, 2176, 839, 501, 196),
        ("test", 800, 657, 222, 94, 52),
    ],
)
def test_counts(data_dir, split, sentences, positive, negative, neutral, conflict):
    counts = {"positive": positive, "negative": negative, "neutral": neutral, "conflict": conflict}
    four = load("semeval2014", split, data_dir=data_dir)
    assert len(four.examples) == sentences
    assert four.labels == ("none", "positive", "negative", "neutral", "conflict")
    assert Counter(opinion.polarity for example in four.examples for opinion in example.opinions) == counts
    three = load("semeval2014-3way", split, data_dir=data_dir)
    assert three.labels == ("none", "positive", "negative", "neutral")
    del counts["conflict"]
    assert Counter(opinion.polarity for example in three.examples for opinion in example.opinions) == counts
    assert [example.id for example in three.examples] == [example.id for example in four.examples]


@pytest.mark.data
@quiet
def test_train_and_dev_have_no_text_in_common_and_make_the_whole(data_dir):
    train, dev, whole = (
        load("semeval2014", split, data_dir=data_dir).examples for split in ("train", "dev", "train+dev")
    )
    assert not {example.text for example in train} & {example.text for example in dev}
    assert {*train, *dev} == {*whole}
    assert len(train) + len(dev) == len(whole)


@pytest.mark.data
def test_the_repeated_opinions_of_the_training_file_are_counted(data_dir):
    with pytest.warns(DataWarning, match=r"^semeval2014 train\+dev: dropped 2 repeated opinions$"):
        load("semeval2014", "train+dev", data_dir=data_dir)


def test_a_handwritten_file(tmp_path):
    write(
        tmp_path, sentence(category(), category("price", "conflict"), text="Pies &amp; caf&#233; "), sentence(number=2)
    )
    dataset = load("semeval2014", "test", data_dir=tmp_path)
    assert dataset.aspects == ("food", "service", "price", "ambience", "anecdotes/miscellaneous")
    first, second = dataset.examples
    assert first.text == "Pies & café "
    assert first.opinions == (
        Opinion("restaurant", "food", "positive"),
        Opinion("restaurant", "price", "conflict"),
    )
    assert second.opinions == ()
    three = load("semeval2014-3way", "test", data_dir=tmp_path, aspects=["price", "food"])
    assert three.aspects == ("price", "food")
    assert three.examples[0].opinions == (Opinion("restaurant", "food", "positive"),)


def test_dev_depends_on_the_text_alone(tmp_path):
    texts = [f"Pie number {number}." for number in range(300)]
    held_out = []
    for some in (texts, texts[100:]):
        sentences = [sentence(number=number, text=text) for number, text in enumerate(some)]
        write(tmp_path, *sentences, file="Restaurants_Train.xml")
        held_out.append([example.text for example in load("semeval2014", "dev", data_dir=tmp_path).examples])
    assert 10 < len(held_out[0]) < 60
    assert held_out[1] == [text for text in held_out[0] if text in texts[100:]]


def test_a_folder_in_the_files_place_is_one_clear_line(tmp_path):
    write(tmp_path).unlink()
    (tmp_path / "semeval2014" / "Restaurants_Test_Gold.xml").mkdir()
    with pytest.raises(DataError, match=r"cannot read .*\.xml: Is a directory"):
        load("semeval2014", "test", data_dir=tmp_path)
