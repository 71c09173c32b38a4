"""The page of a report: what it says, that it needs nothing else, and that no text breaks out of its place."""

import base64
import hashlib
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scored_tables as made
from seen_page import Page
from tabsa.errors import OutputError
from tabsa.pages.counting import summarise
from tabsa.pages.report_page import report_page
from tabsa.pages.summary import Summary
from tabsa.pages.tally import difference


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    path = made.wide(tmp_path_factory.mktemp("report") / "t.csv", made.answered(11, 300))
    made.rejects(path, ["no text in 'text'", "no text in 'text'", "row 4 has 3 fields; the header has 2"])
    return summarise(path, title="Reviews")


def test_it_needs_nothing_else_and_no_other_script_can_run(summary: Summary) -> None:
    source = report_page(summary, "r.csv")
    page = Page(source)
    assert not re.search(r"https?:|url\(|@import|innerHTML|\beval\(", source)
    assert not [e for e in page.elements if e[0] in ("link", "img", "iframe", "object")]
    assert not [a for _, a, _ in page.elements if "src" in a or any(name.startswith("on") for name in a)]
    assert all(a["href"].startswith("#") for a, _ in page.all("a"))
    ((attributes, script),) = page.all("script")
    assert attributes == {"type": "module"}
    policy = next(a["content"] for _, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_links_lead_to_parts_of_the_page(summary: Summary) -> None:
    page = Page(report_page(summary))
    identifiers = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    assert {a["href"][1:] for a, _ in page.all("a")} <= set(identifiers)
    assert [a["id"] for a, _ in page.all("section")] == ["judged", "time", "compared", "sentences", "silent"]
    skip, _ = page.all("a")[0]
    assert skip == {"class": "skip", "href": "#judged"}


def test_tables_and_drawings_can_be_heard(summary: Summary) -> None:
    page = Page(report_page(summary))
    assert len(page.all("caption")) == len(page.all("table")) == 3 + 6  # six pairs of targets
    assert all(a["scope"] in ("col", "row") for a, _ in page.all("th"))
    drawn = page.all("svg")
    assert len(drawn) > 1 + len(made.TARGETS) + len(made.ASPECTS)  # and many of single cells
    for attributes, _ in drawn:
        title, told = attributes["aria-labelledby"].split()
        assert page.all("title", id=title)[0][1].endswith("over time")
        assert re.search(r"2024-\d\d: \d+% of \d+|too few", page.all("desc", id=told)[0][1])
    for wanted in ("color-scheme: light dark", "@media print", "print-color-adjust: exact", "max-width: 40rem"):
        assert wanted in report_page(summary)


def cell_texts(source: str) -> dict[tuple[str, str], str]:
    """What each cell of the heat map says to the ear, by its headings."""
    table = source.split('<table class="heat"')[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)[1:]
    found = {}
    for row in re.findall(r"<tr[^>]*><th scope=.row.>.*?</tr>", table, re.S):
        name = re.sub("<.*?>", "", re.search(r"<th scope=.row.>(.*?)</th>", row)[1])
        for head, heard in zip(heads, re.findall(r'class="unseen">(.*?)<', row), strict=True):
            found[name, head] = heard
    return found


def test_every_cell_says_its_numbers(summary: Summary) -> None:
    shown = cell_texts(report_page(summary))
    for (target, aspect), cell in summary.cells.items():
        assert shown[target, aspect] == cell.tally.spoken()
    assert shown["all targets", "all aspects"] == summary.total.spoken()


def test_few_are_only_counted_and_many_are_deeper(tmp_path: Path) -> None:
    rows = [{"text": "a", "Few/x": p, "Many/x": p, "Some/x": p} for p in ("positive", "positive", "negative")]
    rows += [{"text": "a", "Few/x": "none", "Many/x": p, "Some/x": p} for p in ("positive", "positive", "negative") * 6]
    rows += [{"text": "a", "Few/x": "none", "Many/x": p, "Some/x": "none"} for p in ("positive", "positive") * 90]
    source = report_page(summarise(made.write(tmp_path / "t.csv", rows)))
    looks = dict(re.findall(r'<td class="(\w+) " style="--s:([\d.]+)"', source))
    assert set(looks) == {"positive", "unclear", "few"}
    assert float(looks["unclear"]) == float(looks["few"]) == 0 < float(looks["positive"])
    assert '<span class="positive">▲ 2</span> <span class="negative">▼ 1</span>' in source
    assert "14 of 21</small>" in source
    assert "2 positive, 1 negative; too few to generalise" in source


def test_the_lead_claims_no_more_than_the_numbers_hold(tmp_path: Path) -> None:
    def lead(good: int, bad: int, other: tuple[int, int]) -> str:
        rows = [{"text": "a", "x/y": p, "z/y": "none"} for p in ["positive"] * good + ["negative"] * bad]
        rows += [{"text": "a", "x/y": "none", "z/y": p} for p in ["positive"] * other[0] + ["negative"] * other[1]]
        return " ".join(summarise(made.write(tmp_path / "t.csv", rows)).sentences())

    assert "No target is surely seen better" in lead(6, 4, (5, 5))
    sure = lead(90, 10, (20, 80))
    assert "Strongest: x on y: 90 of 100 positive; z on y: 80 of 100 negative." in sure
    assert "Seen best is x (90 of 100 positive), worst z (80 of 100 negative)." in sure
    assert "(31% to 83%): few, so that little is sure." in lead(3, 2, (3, 2))
    assert "Of those that take a side, all 3 negative: too few to generalise." in lead(0, 1, (0, 2))
    assert lead(0, 0, (0, 1)).startswith("1 of 1 texts holds 1 opinion of z on 1 aspect. ")


def test_among_very_many_the_luckiest_is_not_called_the_best(tmp_path: Path) -> None:
    chosen = random.Random(3)
    rows = [
        {
            "text": "a",
            "target": f"t{n % 300}",
            "aspect": f"a{n % 7}",
            "polarity": chosen.choice(("positive", "negative")),
        }
        for n in range(9000)
    ]
    summary = summarise(made.write(tmp_path / "t.csv", rows))
    assert any(tally.verdict != "unclear" for tally in summary.target_totals.values())  # one by one, some stand out
    lead = " ".join(summary.sentences())
    assert "No target is surely seen better than another." in lead
    assert "Strongest" not in lead


def test_every_two_targets_are_compared(summary: Summary) -> None:
    tables = re.findall(r'<table class="contrast">(.*?)</table>', report_page(summary), re.S)
    pairs = list(itertools.combinations(summary.targets, 2))
    for (first, second), table in zip(pairs, tables, strict=True):
        assert f"{first} and {second}: positive" in table
        for aspect in summary.aspects:
            row = next(row for row in re.findall(r"<tr>.*?</tr>", table, re.S) if f">{aspect}<" in row)
            apart, low, high = difference(summary.cell(first, aspect).tally, summary.cell(second, aspect).tally)
            shown = [re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.S)]
            numbers = [float(n.replace("−", "-")) for n in re.findall(r"[+−]?\d+\.\d", shown[2])]
            assert numbers == pytest.approx([100 * apart, 100 * low, 100 * high], abs=0.051)
            assert shown[3] == ("cannot tell" if low <= 0 <= high else first if apart > 0 else second)


def test_the_sentences_behind_every_cell(summary: Summary) -> None:
    page = Page(report_page(summary))
    quotes = [quote.sentence for cell in summary.cells.values() for quote in cell.quotes]
    assert sorted(text for _, text in page.all("blockquote")) == sorted(quotes)
    assert page.all("p", id="matches")[0][1] == f"{len(quotes)} sentences"
    outlined = [text for a, text in page.all("span") if "unsure" in a.get("class", "").split()]
    assert outlined
    assert all(int(re.search(r"(\d+)%", text)[1]) <= 55 for text in outlined)
    unsure = sum(cell.unsure for cell in summary.cells.values())
    assert f"{unsure}" in page.all("dl", class_="counts")[0][1]


def test_what_is_silent_and_rejected(summary: Summary) -> None:
    page = Page(report_page(summary))
    ((_, told),) = page.all("section", id="silent")
    assert f"{summary.texts - summary.texts_with_opinion} of {summary.texts} texts have no opinion" in told
    assert "3 rows could not be scored" in told
    assert "no text in 'text'2" in told.replace("\n", "")


def test_a_long_table_cannot_tell_who_was_silent(tmp_path: Path) -> None:
    summary = summarise(made.long(tmp_path / "t.csv", made.answered(1), every=False))
    assert "Texts without an opinion are not in this table" in report_page(summary)
    assert "No row was rejected" in report_page(summary)


BAD = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \"</table>"


def test_a_script_in_a_text_is_text(tmp_path: Path) -> None:
    rows = [
        {"id": BAD, "date": "2024-01-01", "text": f"{BAD} {name}", "target": name, "aspect": BAD, "polarity": polarity}
        for name in (BAD, "x")
        for polarity in ("positive", '" onclick="x', BAD)
    ]
    path = made.write(tmp_path / "t.jsonl", rows)
    made.rejects(path, [BAD])
    source = report_page(summarise(path, title=BAD), BAD)
    page = Page(source)
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert not [a for _, a, _ in page.elements if any(name.startswith("on") for name in a)]
    assert page.all("h1")[0][1] == BAD
    assert any("<img src=x" in text for _, text in page.all("blockquote"))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=20), st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
def test_any_text_makes_a_well_formed_page(tmp_path: Path, name: str, text: str) -> None:
    answer = {"target": name, "aspect": name, "polarity": "positive", "confidence": 0.5}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"text": text, **answer}), "utf-8")
    if not name.strip() or not name.isprintable():
        return
    page = Page(report_page(summarise(path, title=name)))
    assert page.all("h1")[0][1] == name


def test_many_targets_and_aspects_are_cut_to_the_most_spoken_of(tmp_path: Path) -> None:
    rows = [
        {
            "text": f"place {t}",
            "target": f"place {t}",
            "aspect": f"aspect {a}",
            "polarity": "positive",
            "confidence": 0.9,
        }
        for t in range(60)
        for a in range(50)
        if (t + a) % 7 == 0 or t < 5
    ]
    summary = summarise(made.write(tmp_path / "t.csv", rows))
    source = report_page(summary, "numbers.csv")
    assert "30 targets and 30 aspects more are in numbers.csv" in source
    page = Page(source)
    assert len(page.all("bdi")) < 3000
    assert source.count('<a href="#c') <= 600
    summary.write_csv(tmp_path / "numbers.csv")
    assert len((tmp_path / "numbers.csv").read_text().splitlines()) == len(rows) + 1


def test_nothing_at_all_is_said(tmp_path: Path) -> None:
    summary = summarise(made.write(tmp_path / "t.csv", [{"text": "a", "x/y": "none", "x/z": "none"}]))
    page = Page(report_page(summary))
    assert "No text has an opinion." in page.all("section", id="judged")[0][1]
    assert [a["id"] for a, _ in page.all("section")] == ["judged", "silent"]
    assert summary.sentences() == ["None of 1 text has an opinion on these aspects."]


def test_only_opinions_without_a_side(tmp_path: Path) -> None:
    rows = [{"text": "x is there.", "date": "2024-01-01", "x/y": "neutral"} for _ in range(3)]
    source = report_page(summarise(made.write(tmp_path / "t.csv", rows)))
    assert "3 without a side" in source
    Page(source)


def test_files_are_written_whole_or_not_at_all(summary: Summary, tmp_path: Path) -> None:
    path = summary.write_html(tmp_path / "new" / "r.html", numbers="r.csv")
    assert path.read_text("utf-8") == report_page(summary, "r.csv")
    assert [p.name for p in path.parent.iterdir()] == ["r.html"]
    with pytest.raises(OutputError, match=r"expected a name that ends in \.html"):
        summary.write_html(tmp_path / "r.pdf")
    (tmp_path / "d.html").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        summary.write_html(tmp_path / "d.html")
