"""The page of a report: what it says."""

import itertools
import random
import re
from pathlib import Path

import pytest

import scored_tables as made
from seen_page import Page
from tabsa.pages.counting import summarise
from tabsa.pages.report_page import report_page
from tabsa.pages.summary import Summary
from tabsa.pages.tally import difference


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    path = made.wide(tmp_path_factory.mktemp("report") / "t.csv", made.answered(11, 300))
    made.rejects(path, ["no text in 'text'", "no text in 'text'", "row 4 has 3 fields; the header has 2"])
    return summarise(path, title="Reviews")


def test_every_cell_says_its_numbers(summary: Summary) -> None:
    table = report_page(summary).split('<table class="heat"')[1].split("</table>")[0]
    rows = [[summary.target_totals[t], *(summary.cell(t, a).tally for a in summary.aspects)] for t in summary.targets]
    rows.append([summary.total, *summary.aspect_totals.values()])
    assert re.findall(r'class="unseen">(.*?)<', table) == [tally.spoken() for row in rows for tally in row]


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
    assert "Strongest: all together on y: 20 of 22 negative; z on y: 11 of 12 negative." in lead(1, 9, (1, 11))
    assert "(31% to 83%): few, so that little is sure." in lead(3, 2, (3, 2))
    assert "Of those that take a side, all 3 negative: too few to generalise." in lead(0, 1, (0, 2))
    assert lead(0, 0, (0, 1)).startswith("1 of 1 texts holds 1 opinion of z on 1 aspect. ")


def test_among_very_many_the_luckiest_is_not_called_the_best(tmp_path: Path) -> None:
    chosen = random.Random(3)
    sides = [chosen.choice(("positive", "negative")) for _ in range(9000)]
    rows = [{"text": "a", "target": f"t{n % 300}", "aspect": f"a{n % 7}", "polarity": p} for n, p in enumerate(sides)]
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
    assert {int(re.search(r"(\d+)%", text)[1]) for text in outlined} <= set(range(40, 56))
    assert f"unsure{sum(cell.unsure for cell in summary.cells.values())}" in page.all("dl", class_="counts")[0][1]


def test_what_is_silent_and_rejected(summary: Summary, tmp_path: Path) -> None:
    ((_, words),) = Page(report_page(summary)).all("section", id="silent")
    assert f"{summary.texts - summary.texts_with_opinion} of {summary.texts} texts have no opinion" in words
    assert "3 rows could not be scored" in words
    assert "no text in 'text'2" in words.replace("\n", "")
    unknown = report_page(summarise(made.long(tmp_path / "t.csv", made.answered(1), every=False)))
    assert "Texts without an opinion are not in this table" in unknown
    assert "No row was rejected" in unknown


def test_many_targets_and_aspects_are_cut_to_the_most_spoken_of(tmp_path: Path) -> None:
    pairs = [(f"place {t}", f"aspect {a}") for t in range(60) for a in range(50) if (t + a) % 7 == 0 or t < 5]
    rows = [{"text": target, "target": target, "aspect": a, "polarity": "positive"} for target, a in pairs]
    summary = summarise(made.write(tmp_path / "t.csv", rows))
    source = report_page(summary, "numbers.csv")
    assert "30 targets and 30 aspects more are in numbers.csv" in source
    assert 0 < source.count('<a href="#c') <= 600
    assert len(summary.write_csv(tmp_path / "numbers.csv").read_text().splitlines()) == len(rows) + 1


def test_nothing_at_all_is_said(tmp_path: Path) -> None:
    summary = summarise(made.write(tmp_path / "t.csv", [{"text": "a", "x/y": "none", "x/z": "none"}]))
    page = Page(report_page(summary))
    assert "No text has an opinion." in page.all("section", id="judged")[0][1]
    assert [a["id"] for a, _ in page.all("section")] == ["judged", "silent"]
    assert summary.sentences() == ["None of 1 text has an opinion on these aspects."]
