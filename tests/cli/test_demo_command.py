from pathlib import Path

import pytest

import tabsa
from tabsa.datasets.loading import load
from tabsa.datasets.sentihood import ALL_ASPECTS

FILES = Path(tabsa.__file__).parent / "datasets" / "files"


@pytest.fixture
def reviews():
    """What a model with open aspects reads."""
    return load(str(FILES / "demo.jsonl"), "all").examples


@pytest.fixture
def of_places():
    """What another reads."""
    return load(str(FILES / "demo-places.jsonl"), "all").examples


def shown(reviews, stdout, page):
    printed = " ".join(stdout.split())
    for review in reviews:
        assert review.text in printed
        assert review.id in printed
    assert page.count("<article") == len(reviews)
    assert page.count("<mark") == sum(len(target.mentions) for review in reviews for target in review.targets)
    assert max(map(len, stdout.splitlines()[:-1])) <= 80


def test_the_demo_prints_every_review_and_writes_a_page(command_line, tiny_model, tmp_path, of_places):
    path = tmp_path / "look" / "demo.html"
    code, stdout, stderr = command_line("demo", "--model", tiny_model, "--out", path)
    assert (code, stderr) == (0, "")
    shown(of_places, stdout, path.read_text("utf-8"))
    assert stdout.endswith(f"the words that mattered: {path}\n")


def test_the_demo_of_the_model_in_the_box(command_line, tmp_path, reviews):
    path = tmp_path / "demo.html"
    code, stdout, stderr = command_line("demo", "--out", path)
    assert (code, stderr) == (0, "")
    page = path.read_text("utf-8")
    shown(reviews, stdout, page)
    for sign in ("▲ positive", "▼ negative", "○ neutral", "◆ mixed"):
        assert sign in stdout
    assert page.count("<h3>What carries each answer</h3>") == sum(bool(review.opinions) for review in reviews)
    assert "<h3>What the memory kept" not in page


def test_another_kind_of_page_is_refused_first(command_line, tmp_path):
    code, stdout, stderr = command_line("demo", "--model", "no-such", "--out", tmp_path / "demo.txt")
    assert (code, stdout) == (1, "")
    assert "ends in .html" in stderr


def test_the_reviews_show_what_the_task_is(reviews):
    assert {len(review.targets) for review in reviews} == {1, 2}
    assert sum(not review.opinions for review in reviews) == 1
    assert all(target.mentions for review in reviews for target in review.targets)
    polarities = {opinion.polarity for review in reviews for opinion in review.opinions}
    assert polarities == {"positive", "negative", "neutral", "mixed"}
    assert sum(review.aspects is None for review in reviews) == 2  # asked what is asked by default
    assert max(len(review.text.split()) for review in reviews) > 50


def test_the_reviews_of_places_show_what_the_task_is(of_places):
    assert len(of_places) == 8
    assert {len(review.targets) for review in of_places} == {1, 2}
    assert sum(not review.opinions for review in of_places) == 1
    assert all(target.mentions for review in of_places for target in review.targets)
    assert {opinion.aspect for review in of_places for opinion in review.opinions} == set(ALL_ASPECTS)
    assert max(len(review.text.split()) for review in of_places) > 50  # one is read in passages
