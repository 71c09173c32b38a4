from pathlib import Path

import pytest

import tabsa
from tabsa.datasets import load
from tabsa.datasets.sentihood import ALL_ASPECTS

REVIEWS = Path(tabsa.__file__).parent / "datasets" / "files" / "demo.jsonl"


@pytest.fixture
def reviews():
    return load(str(REVIEWS), "all").examples


def test_the_demo_prints_every_review_and_writes_a_page(command_line, tiny_model, tmp_path, reviews):
    path = tmp_path / "look" / "demo.html"
    code, stdout, stderr = command_line("demo", "--model", tiny_model, "--out", path)
    assert (code, stderr) == (0, "")
    printed, page = " ".join(stdout.split()), path.read_text("utf-8")
    for review in reviews:
        assert review.text in printed
        assert review.id in printed
    assert page.count("<article") == len(reviews)
    assert page.count("<mark") == sum(len(target.mentions) for review in reviews for target in review.targets)
    assert max(map(len, stdout.splitlines()[:-1])) <= 80
    assert stdout.endswith(f"{path}\n")


def test_another_kind_of_page_is_refused_first(command_line, tmp_path):
    code, stdout, stderr = command_line("demo", "--model", "no-such", "--out", tmp_path / "demo.txt")
    assert (code, stdout) == (1, "")
    assert "ends in .html" in stderr


def test_the_reviews_show_what_the_task_is(reviews):
    assert len(reviews) == 8
    assert {len(review.targets) for review in reviews} == {1, 2}
    assert sum(not review.opinions for review in reviews) == 1
    assert all(target.mentions for review in reviews for target in review.targets)
    assert {opinion.aspect for review in reviews for opinion in review.opinions} == set(ALL_ASPECTS)
    assert max(len(review.text.split()) for review in reviews) > 50  # one is read in passages
