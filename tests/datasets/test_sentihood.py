"""Sentihood: the published counts from either file set, and one clear line for a file that is not as expected."""

import json
import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tabsa.datasets.loading import load
from tabsa.datasets.sentihood import ALL_ASPECTS, BENCHMARK_ASPECTS, SPLITS
from tabsa.errors import DataError, DataNotFoundError, DataWarning
from tabsa.schema import Opinion, Span, Target

# split: sentences, two targets, groups, groups with no opinion, rows positive / negative / none
COUNTS = {
    "train": (2977, 775, 3752, 1748, 1626, 834, 12548),
    "dev": (747, 190, 937, 429, 406, 204, 3138),
    "test": (1491, 388, 1879, 900, 810, 406, 6300),
}


def judged(aspect="price", sentiment="Positive", target="LOCATION1"):
    return {"target_entity": target, "aspect": aspect, "sentiment": sentiment}


def sentence(text="LOCATION1 is nice", opinions=(), number=1):
    return {"id": number, "text": text, "opinions": list(opinions)}


def write(folder: Path, content: object, name="sentihood", split="dev") -> Path:
    path = folder / name / f"sentihood-{split}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def load_one(folder: Path, record: object, **options):
    write(folder, [record])
    return load("sentihood", "dev", data_dir=folder, **options).examples[0]


@pytest.mark.data
@pytest.mark.parametrize("name", ["sentihood", "sentihood-original"])
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.filterwarnings("ignore::tabsa.errors.DataWarning")
def test_the_benchmark_has_its_published_counts(data_dir, name, split):
    dataset = load(name, split, data_dir=data_dir)
    groups = list(dataset.groups())
    rows = Counter(example.polarity(target.name, aspect) for example, target in groups for aspect in dataset.aspects)
    silent = sum(all(opinion.target != target.name for opinion in example.opinions) for example, target in groups)
    two = sum(len(example.targets) == 2 for example in dataset.examples)
    labels = (rows["positive"], rows["negative"], rows["none"])
    assert (len(dataset.examples), two, len(groups), silent, *labels) == COUNTS[split]
    assert dataset.aspects == ("general", "price", "safety", "transit-location")
    assert dataset.labels == ("none", "positive", "negative")


@pytest.mark.data
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("aspects", [None, "all"])
@pytest.mark.filterwarnings("ignore::tabsa.errors.DataWarning")
def test_both_file_sets_give_the_same_examples(data_dir, split, aspects):
    mended = load("sentihood", split, data_dir=data_dir, aspects=aspects)
    original = load("sentihood-original", split, data_dir=data_dir, aspects=aspects)
    assert mended.examples == original.examples


@pytest.mark.data
@pytest.mark.parametrize(
    ("split", "dropped"),
    [
        ("train", "5 repeated opinions"),
        ("dev", "1 repeated and 1 conflicting opinion"),
        ("test", "2 repeated opinions"),
    ],
)
def test_one_warning_counts_what_the_original_files_repeat(data_dir, split, dropped):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load("sentihood", split, data_dir=data_dir)
    with pytest.warns(DataWarning) as caught:
        load("sentihood-original", split, data_dir=data_dir)
    assert [str(warning.message) for warning in caught] == [f"sentihood-original {split}: dropped {dropped}"]


@pytest.mark.data
@pytest.mark.parametrize("split", SPLITS)
def test_mentions_cover_every_location_of_the_raw_file_and_nothing_else(data_dir, split):
    raw = json.loads((data_dir / "sentihood" / f"sentihood-{split}.json").read_text(encoding="utf-8"))
    dataset = load("sentihood", split, data_dir=data_dir)
    for record, example in zip(raw, dataset.examples, strict=True):
        assert example.text == record["text"]
        assert example.id == str(record["id"])
        spans = sorted(span for target in example.targets for span in target.mentions)
        assert [example.text[span.start : span.end] for span in spans] == re.findall("LOCATION[12]", record["text"])
        for target in example.targets:
            assert {example.text[span.start : span.end] for span in target.mentions} == {target.name}


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("  LOCATION1 is dear", [(2, 11)], None),
        ("in LOCATION2e, not LOCATION1the", [(19, 28)], [(3, 12)]),
        ("LOCATION1/LOCATION2", [(0, 9)], [(10, 19)]),
        ("LOCATION1LOCATION1", [(0, 9), (9, 18)], None),
        ("wLOCATION1dential OLOCATION1Station", [(1, 10), (19, 28)], None),
        ("relaxedLOCATION1socially", [(7, 16)], None),
        ("good locations near location1", [], None),
        ("only LOCATION2", [], [(5, 14)]),
    ],
)
def test_targets_are_found_as_substrings(tmp_path, text, first, second):
    example = load_one(tmp_path, sentence(text))
    expected = [Target("LOCATION1", tuple(Span(*span) for span in first), implied=not first)]
    if second:
        expected.append(Target("LOCATION2", tuple(Span(*span) for span in second)))
    assert example.text == text
    assert example.targets == tuple(expected)


def test_opinions_off_the_benchmark_are_left_out_unless_asked_for(tmp_path):
    record = sentence(opinions=[judged("nightlife"), judged("price", "Negative")])
    assert load_one(tmp_path, record).opinions == (Opinion("LOCATION1", "price", "negative"),)
    both = (Opinion("LOCATION1", "nightlife", "positive"), Opinion("LOCATION1", "price", "negative"))
    for every in ("all", ("all",), ALL_ASPECTS):
        assert load_one(tmp_path, record, aspects=every).opinions == both
    dataset = load("sentihood", "dev", data_dir=tmp_path, aspects=["quiet", "nightlife", "quiet"])
    assert dataset.aspects == ("quiet", "nightlife")
    assert dataset.examples[0].opinions == both[:1]


def test_there_are_twelve_aspects_and_the_benchmark_has_the_first_four():
    assert len(set(ALL_ASPECTS)) == 12
    assert ALL_ASPECTS[:4] == BENCHMARK_ASPECTS


def test_an_unknown_aspect_is_refused_with_the_nearest_one(tmp_path):
    with pytest.raises(DataError, match=r"unknown aspect 'saftey'; did you mean 'safety'\? expected one of general"):
        load("sentihood", "dev", data_dir=tmp_path, aspects=["saftey"])
    with pytest.raises(DataError, match="no aspect is asked for"):
        load("sentihood", "dev", data_dir=tmp_path, aspects=[])


def test_the_later_of_two_conflicting_opinions_is_kept(tmp_path):
    opinions = [judged("safety", "Negative"), judged("price"), judged("safety"), judged("price")]
    with pytest.warns(DataWarning, match="^sentihood dev: dropped 1 repeated and 1 conflicting opinion$"):
        example = load_one(tmp_path, sentence(opinions=opinions))
    assert example.opinions == (
        Opinion("LOCATION1", "safety", "positive"),
        Opinion("LOCATION1", "price", "positive"),
    )


def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes('[{"text": "café"}]'.encode("latin-1"))
    with pytest.raises(DataError, match="is not UTF-8 text"):
        load("sentihood", "dev", data_dir=tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match=r"cannot read .*sentihood-dev\.json: Is a directory"):
        load("sentihood", "dev", data_dir=tmp_path)


def test_a_file_that_may_not_be_read_is_one_clear_line(tmp_path, monkeypatch):
    def denied(_):
        raise PermissionError(13, "Permission denied")

    write(tmp_path, [sentence()])
    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(DataError, match=r"cannot read .*sentihood-dev\.json: Permission denied$"):
        load("sentihood", "dev", data_dir=tmp_path)


def test_an_absent_file_set_names_the_command_that_gets_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABSA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataNotFoundError, match="`tabsa data fetch sentihood-original`"):
        load("sentihood-original", "dev")


def test_an_unknown_split_or_dataset_is_refused_with_the_nearest_one(tmp_path):
    with pytest.raises(DataError, match=r"unknown split of sentihood 'tests'; did you mean 'test'\?"):
        load("sentihood", "tests", data_dir=tmp_path)
    with pytest.raises(DataError, match=r"unknown dataset 'Sentihod'; did you mean 'sentihood'\? .* or the path of"):
        load("Sentihod", "test", data_dir=tmp_path)
