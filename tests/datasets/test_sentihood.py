"""Sentihood: the published counts from either file set, and one clear line for a file that is not as expected."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tabsa.datasets.loading import load
from tabsa.datasets.sentihood import ALL_ASPECTS, SPLITS
from tabsa.errors import DataError, DataNotFoundError, DataWarning
from tabsa.schema import Opinion, Span, Target

# split: sentences, two targets, groups, those with no opinion, rows positive, negative, none; dropped of the original
COUNTS = {
    "train": (2977, 775, 3752, 1748, 1626, 834, 12548, 5),
    "dev": (747, 190, 937, 429, 406, 204, 3138, 2),
    "test": (1491, 388, 1879, 900, 810, 406, 6300, 2),
}


def judged(aspect="price", sentiment="Positive", target="LOCATION1"):
    return {"target_entity": target, "aspect": aspect, "sentiment": sentiment}


def sentence(text="LOCATION1 is nice", opinions=()):
    return {"id": 1, "text": text, "opinions": list(opinions)}


def put(folder: Path, content: object) -> Path:
    path = folder / "sentihood" / "sentihood-dev.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def load_one(folder: Path, record: object, **options):
    put(folder, [record])
    return load("sentihood", "dev", data_dir=folder, **options).examples[0]


@pytest.mark.data
@pytest.mark.parametrize("split", SPLITS)
def test_both_file_sets_have_the_published_counts(data_dir, split):
    dataset = load("sentihood", split, data_dir=data_dir)
    groups = list(dataset.groups())
    rows = Counter(example.polarity(target.name, aspect) for example, target in groups for aspect in dataset.aspects)
    silent = sum(all(opinion.target != target.name for opinion in example.opinions) for example, target in groups)
    two = sum(len(example.targets) == 2 for example in dataset.examples)
    labels = (rows["positive"], rows["negative"], rows["none"])
    assert (len(dataset.examples), two, len(groups), silent, *labels) == COUNTS[split][:-1]
    assert dataset.aspects == ("general", "price", "safety", "transit-location")
    assert dataset.labels == ("none", "positive", "negative")
    with pytest.warns(DataWarning) as caught:
        original = load("sentihood-original", split, data_dir=data_dir)
    assert original.examples == dataset.examples
    dropped = f"dropped {COUNTS[split][-1]} repeated or conflicting opinions"
    assert [str(warning.message) for warning in caught] == [f"sentihood-original {split}: {dropped}"]


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("in LOCATION2e, not LOCATION1the", [(19, 28)], [(3, 12)]),
        ("LOCATION1/LOCATION2", [(0, 9)], [(10, 19)]),
        ("LOCATION1LOCATION1", [(0, 9), (9, 18)], None),
        ("good locations near location1", [], None),
        ("only LOCATION2", [], [(5, 14)]),
    ],
)
def test_targets_are_found_as_substrings(tmp_path, text, first, second):
    expected = [Target("LOCATION1", tuple(Span(*span) for span in first), implied=not first)]
    if second:
        expected.append(Target("LOCATION2", tuple(Span(*span) for span in second)))
    assert load_one(tmp_path, sentence(text)).targets == tuple(expected)


def test_opinions_off_the_benchmark_are_left_out_unless_wanted(tmp_path):
    record = sentence(opinions=[judged("nightlife"), judged("price", "Negative")])
    assert load_one(tmp_path, record).opinions == (Opinion("LOCATION1", "price", "negative"),)
    both = (Opinion("LOCATION1", "nightlife", "positive"), Opinion("LOCATION1", "price", "negative"))
    for every in ("all", ("all",), ALL_ASPECTS):
        assert load_one(tmp_path, record, aspects=every).opinions == both
    dataset = load("sentihood", "dev", data_dir=tmp_path, aspects=["quiet", "nightlife", "quiet"])
    assert dataset.aspects == ("quiet", "nightlife")
    assert dataset.examples[0].opinions == both[:1]
    with pytest.raises(DataError, match=r"unknown aspect 'saftey'; did you mean 'safety'\? expected one of general"):
        load("sentihood", "dev", data_dir=tmp_path, aspects=["saftey"])
    with pytest.raises(DataError, match="no aspect is asked for"):
        load("sentihood", "dev", data_dir=tmp_path, aspects=[])


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "{path} is not JSON: Expecting value: line 1 column 1"),
        ("[" * 100_000, "{path} is not JSON: maximum recursion depth"),
        ([sentence(), 5], "{path} record 2 is 5; expected an object"),
        ([{"id": 1, "opinions": []}], "{path} record 1 has no 'text'; it has 'id', 'opinions'"),
        ([{**sentence(), "id": True}], "{path} record 1: 'id' is True; expected a number"),
        ([sentence(opinions=[judged(target="LOCATION2")])], "opinion 1 is 'positive' on 'price' of 'LOCATION2'"),
        ([sentence(opinions=[judged(sentiment="Neutral")])], "opinion 1 is 'neutral' on 'price' of 'LOCATION1'"),
    ],
)
def test_a_malformed_file_is_one_clear_line(tmp_path, content, line):
    path = put(tmp_path, content)
    with pytest.raises(DataError) as caught:
        load("sentihood", "dev", data_dir=tmp_path)
    assert line.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABSA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataNotFoundError, match="`tabsa data fetch sentihood-original`"):
        load("sentihood-original", "dev")
    with pytest.raises(DataError, match=r"unknown split of sentihood 'tests'; did you mean 'test'\?"):
        load("sentihood", "tests")
    with pytest.raises(DataError, match=r"unknown dataset 'Sentihod'; did you mean 'sentihood'\? .* or the path of"):
        load("Sentihod", "test")
