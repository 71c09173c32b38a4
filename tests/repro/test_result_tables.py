import json
import runpy
import sys
from pathlib import Path

import pytest

from result_factory import made_up
from tabsa.errors import OutputError
from tabsa.evaluation.published import PUBLISHED
from tabsa_repro.drawing import write_pictures
from tabsa_repro.paper import FIGURE3
from tabsa_repro.tables import markdown, percent, table_of

ROOT = Path(__file__).parents[2]


def test_table_1_has_ours_above_the_papers():
    records = made_up("table1")
    header, *rows = table_of("table1", records)
    assert len(rows) == 4 * (len(PUBLISHED) + 1)
    assert all(len(row) == len(header) == 7 for row in rows)
    sun, ma, paper, difference = rows[-4:]
    assert [row[0] for row in rows[-8::4]] == ["delayed-entnet", "delayed-entnet-taught"]
    assert (sun[1], ma[1], paper[1], difference[1]) == ("sun", "ma", "paper", "diff.")
    assert paper[2:] == ["73.5", "78.5", "94.4", "91.0", "94.8"]
    mean = records[-1]["mean"]["test"]["sun"]["macro_f1"]
    deviation = records[-1]["sd"]["test"]["sun"]["macro_f1"]
    assert sun[3] == f"{100 * mean:.1f} ± {100 * deviation:.1f}"
    assert difference[3] == f"{100 * (mean - 0.785):+.1f}"
    assert ma[4:] == ["", "", ""]  # the same in both families
    assert rows[0][:3] == ["lr", "sun", percent(records[0]["mean"]["test"]["sun"]["strict_accuracy"])]  # no spread
    assert rows[2][2] == rows[3][2] == "–"  # not published


def test_the_difference_is_the_better_familys():
    (record,) = [record for record in made_up("table1") if record["system"] == "entnet"]
    record["mean"]["test"]["ma"]["strict_accuracy"] = 0.9
    assert table_of("table1", [record])[-1][2] == f"{100 * (0.9 - 0.663):+.1f}"


def test_an_undefined_figure_is_a_dash():
    record = made_up("table1")[-1]
    for family in ("sun", "ma"):
        for what in ("mean", "sd"):
            record[what]["test"][family]["sentiment_auc"] = None
    sun, _, _, difference = table_of("table1", [record])[1:]
    assert sun[-1] == difference[-1] == "–"


def test_ablations_are_told_in_words_or_by_name():
    records = made_up("ablations")
    rows, named = table_of("ablations", records), table_of("ablations", records, names=True)
    assert [row[0] for row in rows[1::2]] == [record["change"] for record in records]
    assert [row[0] for row in named[1::2]] == [record["system"] for record in records]
    assert "(" not in rows[1][-1]
    assert rows[3][-1].endswith("(+1.0)")


def test_figure_3_has_the_papers_f1():
    _, *rows = table_of("figure3", made_up("figure3"))
    assert [row[0] for row in rows[::3]] == [str(chains) for chains in FIGURE3]
    assert rows[2][1:4] == ["paper", "–", "76.6 ± 0.4"]


def test_markdown():
    assert markdown([["a", "b"], ["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_figure_3_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    png, svg = write_pictures("figure3", made_up("figure3"), tmp_path)
    assert png.stat().st_size > 10_000
    first = svg.read_bytes()
    assert b"<svg" in first
    write_pictures("figure3", made_up("figure3"), tmp_path)
    assert svg.read_bytes() == first
    assert write_pictures("table1", made_up("table1"), tmp_path) == []


def test_drawing_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OutputError, match=r"pip install 'tabsa\[plot\]'"):
        write_pictures("figure3", made_up("figure3"), tmp_path)


# ---- the pages


@pytest.fixture
def script():
    return runpy.run_path(str(ROOT / "repro" / "figures.py"))


def test_pages_are_written_from_results(script, tmp_path):
    for experiment in ("table1", "ablations", "figure3"):
        (tmp_path / f"{experiment}.json").write_text(json.dumps(made_up(experiment)))
    share = {"near": 0.3, "far": 0.15, "share": 0.5, "sd": 0.02}
    systems = [{"system": "entnet", "gates": {"far_over_near": share}}]
    (tmp_path / "figure2.json").write_text(json.dumps({"systems": systems}))
    names = ("table1", "table1-short", "ablations", "figure3", "figure2")
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name} -->\nold\n<!-- end -->\n" for name in names))
    made = script["filled"](page, tmp_path)
    assert "old" not in made
    for experiment in ("table1", "ablations", "figure3"):
        assert markdown(table_of(experiment, made_up(experiment))) in made
    assert "| *published* | 73.5 | 78.5 | 94.4 | 91.0 | 94.8 |" in made
    assert "| entnet | 0.300 | 0.150 | 50.0% ± 2.0 |" in made
    page.write_text(made)
    assert script["filled"](page, tmp_path) == made


def test_pages_keep_their_words_until_there_are_results(script, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- table1 -->\nNot run yet.\n<!-- end -->\n")
    assert script["filled"](page, tmp_path) == page.read_text()


@pytest.mark.parametrize("experiment", ["table1", "ablations", "figure3", "figure2"])
def test_the_results_that_are_there_are_on_the_page(experiment):
    assert (ROOT / "repro" / "results" / f"{experiment}.json").exists()
    block = (ROOT / "repro" / "README.md").read_text(encoding="utf-8").partition(f"<!-- {experiment} -->\n")[2]
    assert block.startswith("| ")
