"""The project's own corpus: that every row is right, that splits are apart, and how it loads."""

import hashlib
import json
import runpy
from collections import Counter
from pathlib import Path

import pytest

from tabsa.datasets.loading import load
from tabsa.errors import DataError, DataNotFoundError
from tabsa.schema import UNNAMED

FOLDER = Path(__file__).parents[2] / "repro" / "everyday"


@pytest.fixture(scope="module")
def check():
    return runpy.run_path(str(FOLDER / "check.py"))


@pytest.fixture(scope="module")
def rows(check):
    return {split: check["read"](split) for split in check["SPLITS"]}


def test_nothing_is_wrong_with_any_row(check, rows):
    everything = [row for own in rows.values() for row in own]
    assert [(row["id"], mistake) for row in everything for mistake in check["mistakes"](row)] == []
    assert len({row["id"] for row in everything}) == len(everything) >= 8000
    assert check["near_duplicates"](check["once"](rows)) == []


def test_whole_domains_are_held_out(rows):
    domains = {split: Counter(row["domain"] for row in own) for split, own in rows.items()}
    assert len({*domains["train"], *domains["dev"], *domains["test"]}) >= 40
    assert len(domains["train"]) >= 30
    for split in ("dev", "test"):
        assert len(set(domains[split]) - set(domains["train"])) >= 5
    assert not (set(domains["dev"]) & set(domains["test"])) - set(domains["train"])


def test_the_datasheet_has_the_figures_that_are_counted(check, rows):
    stats = check["statistics"](rows)
    assert json.loads((FOLDER / "stats.json").read_text("utf-8")) == json.loads(json.dumps(stats))
    page = (FOLDER / "README.md").read_text("utf-8")
    assert check["with_tables"](page, stats, check["once"](rows)) == page, "stale: repro/everyday/check.py --write"
    assert stats["wording_auc"] <= check["MOST_AUC"], "wordings tell labels"


def test_real_texts_are_joined_with_their_labels(tmp_path):
    (tmp_path / "everyday").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "real").mkdir()
    lines = [{"id": "a-1", "text": "The lamp is dear."}, {"id": "a-2", "text": "It &amp; the shade<br />broke."}]
    (tmp_path / "open" / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "real" / "rented.csv").write_text('id,review_text\n9,"No. A dress, lovely. Yes."\n')

    def label(key, file, split, text, span=None):
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        own = {"id": key, "key": key, "file": file, "split": split, "sha256": digest, "span": span, "targets": [None]}
        opinion = {"target": None, "aspect": "price", "polarity": "mixed"}
        return {**own, "aspects": ["price", "looks"], "opinions": [opinion]}

    labels = [
        label("a-1+a-2", "open/a.jsonl", "test", "The lamp is dear. It & the shade broke."),
        label("0", "real/rented.csv", "dev", "A dress, lovely.", [4, 20]),
        label("a-1", "open/a.jsonl", "train", "The lamp is dear."),
    ]
    file = tmp_path / "everyday" / "real.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in labels))
    assert load("real", "test", data_dir=tmp_path).examples[0].text == "The lamp is dear. It & the shade broke."
    assert load("real", "dev", data_dir=tmp_path).examples[0].text == "A dress, lovely."
    with pytest.raises(DataError, match=r"unknown split of real 'dev-seen'; .*expected one of train, dev, test"):
        load("real", "dev-seen", data_dir=tmp_path)
    file.write_text(json.dumps({**labels[2], "sha256": "0"}))
    with pytest.raises(DataError, match="is not the text that was labelled as a-1"):
        load("real", "train", data_dir=tmp_path)


def test_it_loads_by_name():
    train = load("everyday", "train")
    assert train.labels == ("none", "positive", "negative", "neutral", "mixed")
    assert all(3 <= len(example.aspects or ()) <= 20 for example in train.examples)
    assert {example.tags["kind"] for example in train.examples} >= {"sarcasm", "plain fact"}
    for example in train.examples:
        for target in example.targets:
            assert target.implied == (target.name == UNNAMED) == (not target.mentions)
    questions = Counter(polarity for *_, polarity in train.questions())
    assert 0.6 < questions["none"] / sum(questions.values()) < 0.8


def test_seen_and_unseen_domains_make_a_split():
    for part in ("dev", "test"):
        ids = {
            split: {e.id for e in load("everyday", split).examples}
            for split in (part, f"{part}-seen", f"{part}-unseen")
        }
        assert ids[f"{part}-seen"] | ids[f"{part}-unseen"] == ids[part]
        assert not ids[f"{part}-seen"] & ids[f"{part}-unseen"]


@pytest.mark.data
def test_the_open_sets(data_dir):
    try:
        dataset = load("open", "semeval2016-laptops-train", data_dir=data_dir)
    except DataNotFoundError as e:
        pytest.skip(str(e))
    opinions = Counter(opinion.polarity for example in dataset.examples for opinion in example.opinions)
    assert len(dataset.examples) == 2493
    assert len(dataset.aspects) == 81
    assert {example.targets[0].name for example in dataset.examples} == {UNNAMED}
    assert opinions["mixed"] <= 3
    news = load("open", "newsmtsc-train", data_dir=data_dir)
    # Of 915: some name one target inside another.
    assert sum(len(example.targets) > 1 for example in news.examples) == 864
