"""An evaluation as a page: what is in it."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from scored_data import DATA, many, one_hot
from seen_page import Page
from tabsa.evaluation.report import Report, evaluate
from tabsa.pages.evaluation_page import evaluation_page
from tabsa.schema import Dataset, Example, Opinion, Span, Target


@pytest.fixture(scope="module")
def report() -> Report:
    dataset, probabilities = many([1, 2, 3, 1] * 20)
    return evaluate(dataset, probabilities, bootstrap=100, model="mine")


def cells(source: str, part: str, heading: str) -> list[str]:
    """The first words of each cell of a row, by the part of the page and the heading of the row."""
    rows = re.findall(r"<tr>(.*?)</tr>", source.split(f'<section id="{part}"')[1].split("</section>")[0], re.S)
    row = next(row for row in rows if re.search(rf"<th scope=.row.>.*?{heading}", row))
    return [re.sub(r"<.*?>", " ", cell).split()[0] for cell in re.findall(r"<td.*?</td>", row, re.S)]


def percents(*shares: float) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]


def test_the_title_names_the_file_and_not_its_folder(report: Report) -> None:
    source = evaluation_page(replace(report, data="/home/ann/secret/reviews.csv", split="all"))
    assert Page(source).all("h1")[0][1] == "mine on reviews.csv"
    assert "secret" not in source


def test_figures_and_their_parts(report: Report) -> None:
    source = evaluation_page(report)
    figure, low, high = percents(report.questions["opinion_f1"], *report.intervals["questions"]["opinion_f1"])
    assert f'<p class="value">{figure}</p><span class="interval">{low} to {high}</span>' in source
    assert cells(source, "figures", "strict accuracy")[:1] == percents(report.sun["strict_accuracy"])
    assert cells(source, "confusion", "tag negative")[:-1] == [*map(str, report.confusion["negative"].values())]
    assert cells(source, "polarities", "tag positive")[-1:] == percents(report.labels["positive"].f1)
    price = report.aspects["price"]
    assert cells(source, "aspects", "price")[:3] == [*map(str, price.support.values()), *percents(price.precision)]
    assert f"opinions{report.counts['opinions']:,}" in Page(source).all("dl")[0][1]
    assert [text.count("right of") for _, text in Page(source).all("desc")] == [
        len(report.reliability[name].bins) for name in ("presence", "polarity")
    ]


def test_two_models_side_by_side(report: Report) -> None:
    shifted = np.roll(report.answers.probabilities, 1, -1)
    worse = evaluate(report.answers.dataset, shifted, bootstrap=100, model="<other>")
    source = evaluation_page(report, worse)
    assert any("mine against <other>" in text for _, text in Page(source).all("caption"))
    one = report.compare(worse, bootstrap=100).figures["sun"]["strict_accuracy"]
    *figures, better, p = cells(source, "against", "strict accuracy, sun")
    expected = [*percents(one.first, one.second), f"{100 * one.difference:+.1f}".replace("-", "−")]
    assert (figures, better, p) == (expected, f"{100 * one.better:.1f}%", f"{one.p:.3f}".removeprefix("0"))


def test_without_a_bootstrap_there_are_no_intervals() -> None:
    dataset, probabilities = many([1, 2, 2])
    first = evaluate(dataset, probabilities, bootstrap=0)
    source = evaluation_page(first, first)
    assert 'class="interval"' not in source
    assert "nothing is known of chance" in source


def one_mistake(text: str) -> Report:
    start = text.index("Camden")
    target, opinion = Target("Camden", (Span(start, start + 6),)), Opinion("Camden", "price", "positive")
    example = Example("7", text, (target,), (opinion,), tags={"kind": "negation"})
    return evaluate(Dataset("mine", "all", ("price",), DATA.labels, [example]), np.array([[[0.05, 0.15, 0.8]]]))


def test_the_worst_mistakes_are_listed_with_their_words() -> None:
    text = "Camden's <b>rent</b> & rates are not dear"
    found = one_mistake(text)
    dear, negation, word = (Span(text.index(w), text.index(w) + len(w)) for w in ("dear", "not", "rates"))
    error = replace(found.errors[0], evidence=((word, 0.001), (negation, -0.3), (dear, 0.7)))
    page = Page(evaluation_page(replace(found, errors=(error,))))
    assert [quoted for _, quoted in page.all("blockquote")] == [text]
    assert page.all("mark") == [({}, "Camden")]
    ((shade, carrying),) = page.all("span", class_="for")
    assert (carrying, shade["style"], shade["title"]) == ("dear", "--w:0.700", "+70 points")
    assert [(t, a["title"]) for a, t in page.all("span", class_="against")] == [("not", "-30 points")]
    (item,) = [text for a, text in page.all("li") if a.get("class") == "negative"]
    for words in ("Carried by dear\xa0(70); against it speaks not\xa0(30).", "negative 80%", "7 · negation"):
        assert words in item


def test_fifty_mistakes_at_most_and_no_words_without_evidence(report: Report) -> None:
    assert len(report.errors) > 50
    source = evaluation_page(report)
    page = Page(source)
    assert len(page.all("blockquote")) == 50
    assert f"{len(report.errors)} of {report.counts['rows']} questions are answered wrongly" in source
    assert not page.all("span", class_="for")
    assert "Carried by" not in source


def test_data_where_nothing_is_judged() -> None:
    silent = replace(DATA, examples=DATA.examples[1:2])
    source = evaluation_page(evaluate(silent, one_hot([[0, 1]])))
    assert ">nan" not in source.lower()
    assert len(Page(source).all("svg")) == 1  # of no opinion's polarity can anything be said


def test_how_training_went(report: Report) -> None:
    odd = [{}, {"epoch": None, "loss": 1}, {"epoch": True}, 7, None]
    history = [
        *odd,
        {"epoch": 0, "loss": None, "dev_loss": 0.9, "opinion_f1": 0.4},
        {"epoch": 2, "loss": 0.5, "dev_loss": 0.75, "opinion_f1": None},
        {"epoch": 3, "loss": math.nan, "dev_loss": 10**400, "opinion_f1": "high"},
    ]
    source = evaluation_page(replace(report, history=history))
    assert cells(source, "history", "base") == ["–", "0.9", "40.0", "–", "–", "–"]
    assert cells(source, "history", "2") == ["0.5", "0.75", "–", "–", "–", "–"]
    assert cells(source, "history", "3") == ["–"] * 6
    assert '<section id="history"' not in evaluation_page(replace(report, history=odd))
