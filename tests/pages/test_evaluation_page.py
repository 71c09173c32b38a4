"""The report as a page: what is in it, that it needs nothing else, and that no text in it is more than text."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scored_data import DATA, GOLD, many, one_hot, own_aspects
from seen_page import Page
from tabsa.errors import OutputError
from tabsa.evaluation.report import Report, evaluate
from tabsa.pages.evaluation_page import evaluation_page, write_evaluation
from tabsa.schema import Dataset, Example, Opinion, Span, Target


@pytest.fixture(scope="module")
def report() -> Report:
    dataset, probabilities = many([1, 2, 3, 1] * 20)
    marks = [{"kind": "plain", "domain": "pubs"}, {"kind": "irony", "domain": "pubs"}]
    examples = [replace(example, tags=marks[number % 2]) for number, example in enumerate(dataset.examples)]
    return evaluate(replace(dataset, examples=tuple(examples)), probabilities, bootstrap=100, model="mine")


def table(page: Page, caption: str) -> str:
    """All that a table says."""
    return next(text for attributes, text in page.all("table") if caption in text)


def cells(source: str, heading: str) -> list[str]:
    """The texts of the row with that heading, the first there is."""
    row = next(
        row for row in re.findall(r"<tr>(.*?)</tr>", source, re.S) if re.search(rf"<th scope=.row.>.*?{heading}", row)
    )
    return [re.sub(r"<.*?>", " ", cell).split()[0] for cell in re.findall(r"<td.*?</td>", row, re.S)]


# ---- the page itself


def test_it_needs_nothing_else(report: Report) -> None:
    source = evaluation_page(report, report)
    page = Page(source)
    assert not re.search(r"https?:|//|url\(|@import", source.replace("<!doctype html>", ""))
    assert not [e for e in page.elements if e[0] in ("script", "link", "img", "iframe", "object")]
    assert not [a for _, a, _ in page.elements if set(a) & {"src", "onclick", "onload"}]
    policy = next(a["content"] for _, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_the_title_names_the_file_and_not_its_folder(report: Report) -> None:
    titles = {
        ("mine", "everyday", "test-unseen"): "mine on everyday test-unseen",
        ("mine", "/home/ann/secret/reviews.csv", "all"): "mine on reviews.csv",
        ("", "reviews.csv", "dev"): "reviews.csv dev",
    }
    for (model, data, split), title in titles.items():
        source = evaluation_page(replace(report, model=model, data=data, split=split))
        assert Page(source).all("h1")[0][1] == title
        assert "secret" not in source


def test_links_lead_to_parts_of_the_page(report: Report) -> None:
    page = Page(evaluation_page(report))
    links = [attributes["href"] for attributes, _ in page.all("a")]
    parts = [f"#{attributes['id']}" for attributes, _ in page.all("section")]
    assert links == parts
    names = ["figures", "confusion", "polarities", "aspects", "by-kind", "by-domain", "reliability", "mistakes"]
    assert [name.removeprefix("#") for name in parts] == names


def test_it_suits_light_dark_paper_and_phones(report: Report) -> None:
    source = evaluation_page(report)
    for wanted in ("color-scheme: light dark", "@media print", "print-color-adjust: exact", "max-width: 40rem"):
        assert wanted in source


def test_tables_and_pictures_can_be_heard(report: Report) -> None:
    page = Page(evaluation_page(report, report))
    tables = page.all("table")
    assert len(page.all("caption")) == len(tables) >= 6
    assert all(attributes["scope"] in ("col", "row") for attributes, _ in page.all("th"))
    drawn = page.all("svg")
    assert len(drawn) == 2
    for attributes, _ in drawn:
        assert attributes["role"] == "img"
        title, told = attributes["aria-labelledby"].split()
        assert page.all("title", id=title)[0][1]
        assert "right of" in page.all("desc", id=told)[0][1]
    identifiers = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))


# ---- what it says


def test_figures_with_their_intervals(report: Report) -> None:
    source = evaluation_page(report)
    low, high = report.intervals["questions"]["opinion_f1"]
    figure = report.questions["opinion_f1"]
    shown = f'<p class="value">{100 * figure:.1f}</p><span class="interval">{100 * low:.1f} to {100 * high:.1f}</span>'
    assert shown in source
    strict = f"{100 * report.sun['strict_accuracy']:.1f}"
    assert cells(source, "strict accuracy")[0] == strict
    words = {text for _, text in Page(source).all("dl")}
    assert f"opinions{report.counts['opinions']:,}" in words.pop()


def test_confusion_polarities_aspects_and_kinds(report: Report) -> None:
    source = evaluation_page(report)
    page = Page(source)
    negative = report.confusion["negative"]
    shown = next(
        row for row in re.findall(r"<tr>.*?</tr>", table_of(source, "grid confusion"), re.S) if "tag negative" in row
    )
    assert [int(n) for n in re.findall(r"<b>(\d+)</b>", shown)] == list(negative.values())
    assert f"{100 * report.labels['positive'].f1:.1f}" in table(page, "Questions, and figures in %")
    price = report.aspects["price"]
    assert cells(source, "price")[:3] == [*map(str, price.support.values()), f"{100 * price.precision:.1f}"]
    irony = report.tags["kind"]["irony"]
    assert cells(source, "irony")[:4] == [
        str(irony.texts), str(irony.questions), str(irony.opinions), f"{100 * irony.opinion_f1:.1f}"
    ]  # fmt: skip


def table_of(source: str, kind: str) -> str:
    return source.split(f'<table class="{kind}">')[1].split("</table>")[0]


def test_the_worst_mistakes_are_listed_with_their_words(report: Report) -> None:
    text = "Camden's <b>rent</b> & rates are not dear"
    target = Target("Camden", (Span(0, 6),))
    example = Example("7", text, (target,), (Opinion("Camden", "price", "positive"),), tags={"kind": "negation"})
    data = Dataset("mine", "all", ("price",), ("none", "positive", "negative"), [example])
    found = evaluate(data, np.array([[[0.05, 0.15, 0.8]]]), bootstrap=0)
    dear, negation, word = (Span(text.index(w), text.index(w) + len(w)) for w in ("dear", "not", "rates"))
    error = replace(found.errors[0], evidence=((word, 0.001), (negation, -0.3), (dear, 0.7)))
    page = Page(evaluation_page(replace(found, errors=(error,))))
    ((_, quoted),) = page.all("blockquote")
    assert quoted == text
    assert page.all("mark") == [({}, "Camden")]
    (item,) = [text for a, text in page.all("li") if a.get("class") == "negative"]
    assert [(t, a["style"], a["title"]) for a, t in page.all("span", class_="for")] == [
        ("dear", "--w:0.700", "+70 points")
    ]
    assert [(t, a["title"]) for a, t in page.all("span", class_="against")] == [("not", "-30 points")]
    assert "Carried by dear\xa0(70); against it speaks not\xa0(30)." in item
    assert "negative 80%" in item
    assert "7 · negation" in item


def test_without_evidence_no_words_are_shaded(report: Report) -> None:
    page = Page(evaluation_page(report))
    assert not page.all("span", class_="for")
    assert "Carried by" not in evaluation_page(report)


def test_fifty_mistakes_at_most(report: Report) -> None:
    assert len(report.errors) > 50
    page = Page(evaluation_page(report))
    assert len(page.all("blockquote")) == 50
    assert f"{len(report.errors)} of {report.counts['rows']} questions are answered wrongly" in evaluation_page(report)


def test_two_models_side_by_side(report: Report) -> None:
    worse = evaluate(
        report.answers.dataset, np.roll(report.answers.probabilities, 1, -1), bootstrap=100, model="<other>"
    )
    source = evaluation_page(report, worse)
    page = Page(source)
    assert "mine against <other>" in table(page, "against")
    one = report.compare(worse, bootstrap=100).figures["sun"]["strict_accuracy"]
    first, second, apart, better, p = cells(table_of(source, "compared"), "strict accuracy, sun")
    assert (first, second) == (f"{100 * one.first:.1f}", f"{100 * one.second:.1f}")
    assert apart.replace("−", "-") == f"{100 * one.difference:+.1f}"
    assert (better, p) == (f"{100 * one.better:.1f}%", f"{one.p:.3f}".removeprefix("0"))


# ---- odd data


def test_a_script_in_a_text_is_text() -> None:
    bad = "<script>alert('x')</script> & \"</table>"
    labels = ("none", "<b>good</b>", '" onclick="x')
    example = Example(
        bad,
        f"Camden {bad}",
        (Target(bad, (Span(0, 6),)),),
        (Opinion(bad, bad, labels[1]),),
        tags={"kind": bad, "domain": bad},
    )
    data = Dataset(bad, bad, (bad,), labels, [example])
    wrong = evaluate(data, np.array([[[0.1, 0.2, 0.7]]]), model=bad)
    wrong = replace(wrong, errors=tuple(replace(e, evidence=((Span(7, 20), 0.5),)) for e in wrong.errors))
    source = evaluation_page(wrong, evaluate(data, np.array([[[0.1, 0.8, 0.1]]]), model=bad))
    assert "<script" not in source
    assert "<b>good" not in source
    page = Page(source)
    assert page.all("blockquote")[0][1] == example.text
    assert page.all("title")[0][1] == wrong.title
    assert "<script>" in wrong.title
    assert not [a for _, a, _ in page.elements if "onclick" in a]


@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=12))
def test_any_text_makes_a_well_formed_page(text: str, name: str) -> None:
    example = Example(
        name, text, (Target(name, implied=True),), (Opinion(name, name, "positive"),), tags={"kind": name}
    )
    data = Dataset(name, "all", (name,), ("none", "positive", "negative"), [example])
    found = evaluate(data, np.array([[[0.9, 0.05, 0.05]]]), bootstrap=2, model=name)
    found = replace(found, errors=tuple(replace(e, evidence=((Span(0, len(text)), 0.3),)) for e in found.errors))
    Page(evaluation_page(found))


def test_no_mistakes_at_all() -> None:
    page = Page(evaluation_page(evaluate(DATA, one_hot(GOLD))))
    assert "Every answer is right." in page.all("section", id="mistakes")[0][1]
    assert not page.all("blockquote")


@pytest.mark.parametrize("labels", [("none", "positive"), ("none", "positive", "negative")])
def test_data_with_one_label_only(labels: tuple[str, ...]) -> None:
    example = Example("1", "fine", (Target("it", implied=True),), (Opinion("it", "price", "positive"),))
    data = Dataset("mine", "all", ("price",), labels, [example] * 5)
    for row in ([0.1] + [0.9 / (len(labels) - 1)] * (len(labels) - 1), [1.0] + [0.0] * (len(labels) - 1)):
        source = evaluation_page(evaluate(data, np.array([[row]] * 5)))
        assert "nan" not in source.lower().replace("nance", "")
        Page(source)


def test_data_where_nothing_is_judged() -> None:
    silent = replace(DATA, examples=DATA.examples[1:2])
    source = evaluation_page(evaluate(silent, one_hot([[0, 1]])))
    assert ">nan" not in source.lower()
    assert len(Page(source).all("svg")) == 1  # of no opinion's polarity can anything be said


def test_tiny_data_says_that_it_is() -> None:
    dataset, probabilities = many([1, 1, 2, 1, 1])
    found = evaluate(dataset, probabilities)
    ((_, note),) = Page(evaluation_page(found)).all("p", class_="warning")
    assert note == f"{found.counts['opinions']} opinions: too few to tell models apart by a few points"


def test_very_many_aspects_are_cut_to_the_commonest() -> None:
    dataset, probabilities = own_aspects(1, 60, 80)
    found = evaluate(dataset, probabilities, bootstrap=0)
    page = Page(evaluation_page(found))
    assert f"The 30 of {len(found.aspects)} aspects with most opinions" in table(page, "aspects with most")


def test_a_very_long_text_is_cut_after_its_target() -> None:
    text = "so " * 2000 + "Camden" + " on" * 2000
    start = text.index("Camden")
    example = Example(
        "1", text, (Target("Camden", (Span(start, start + 6),)),), (Opinion("Camden", "price", "positive"),)
    )
    found = evaluate(Dataset("mine", "all", ("price",), DATA.labels, [example]), np.array([[[0.9, 0.05, 0.05]]]))
    ((_, quoted),) = Page(evaluation_page(found)).all("blockquote")
    assert "Camden" in quoted
    assert quoted.endswith("…")
    assert len(quoted) < 6500


def test_without_a_bootstrap_there_are_no_intervals() -> None:
    dataset, probabilities = many([1, 2, 2])
    first = evaluate(dataset, probabilities, bootstrap=0)
    source = evaluation_page(first, first)
    assert 'class="interval"' not in source
    assert "nothing is known of chance" in source
    Page(source)


# ---- learning


HISTORY = [
    {"epoch": 0, "loss": None, "dev_loss": 0.9, "opinion_f1": 0.4},
    {"epoch": 1, "loss": 0.8, "dev_loss": 0.7, "opinion_f1": 0.5},
    {"epoch": 2, "loss": 0.5, "dev_loss": 0.75, "opinion_f1": None},
]


def test_how_training_went(report: Report) -> None:
    source = evaluation_page(replace(report, history=HISTORY))
    assert cells(source, "base") == ["–", "0.9", "40.0", "–", "–", "–"]
    assert cells(source.split('id="history"')[1], "2") == ["0.5", "0.75", "–", "–", "–", "–"]


@pytest.mark.parametrize(
    "history",
    [
        [],
        [{}],
        [{"epoch": None, "loss": 1}],
        [{"epoch": True, "loss": 10**400}],
        [7, None],
    ],
)
def test_a_history_without_epochs_is_left_out(report: Report, history: list) -> None:
    assert "history" not in [a["id"] for a, _ in Page(evaluation_page(replace(report, history=history))).all("section")]


def test_what_is_no_number_is_a_dash(report: Report) -> None:
    history = [{"epoch": 1, "loss": math.nan, "dev_loss": 10**400, "opinion_f1": "high"}]
    page = Page(evaluation_page(replace(report, history=history)))
    assert "1––––––" in page.all("section", id="history")[0][1]


# ---- the file


def test_it_is_written_whole_or_not_at_all(report: Report, tmp_path) -> None:
    path = write_evaluation(report, tmp_path / "new" / "r.html")
    assert path.read_text("utf-8") == evaluation_page(report)
    assert [p.name for p in path.parent.iterdir()] == ["r.html"]
    with pytest.raises(OutputError, match=r"expected a name that ends in \.html"):
        write_evaluation(report, tmp_path / "r.pdf")
