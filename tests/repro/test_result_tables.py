"""Results as rows and pictures, ours beside the published ones, and the pages that are written from them."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from result_factory import made_up
from tabsa.errors import OutputError
from tabsa_repro.paper import FIGURE3
from tabsa_repro.paper_figures import write_pictures
from tabsa_repro.paper_tables import markdown, percent, table_of
from tabsa_repro.published import PUBLISHED

ROOT = Path(__file__).parents[2]


def test_table_1_has_ours_above_the_papers():
    records = made_up("table1")
    header, *rows = table_of("table1", records)
    assert len(rows) == 4 * (len(PUBLISHED) + 2)
    assert all(len(row) == len(header) == 7 for row in rows)
    sun, ma, paper, difference = rows[-4:]
    assert [row[0] for row in rows[-12::4]] == ["delayed-entnet", "delayed-entnet-paper", "delayed-entnet-taught"]
    assert (sun[1], ma[1], paper[1], difference[1]) == ("sun", "ma", "paper", "diff.")
    assert paper[2:] == ["73.5", "78.5", "94.4", "91.0", "94.8"]
    mean, deviation = (records[-1][what]["test"]["sun"]["macro_f1"] for what in ("mean", "sd"))
    assert sun[3] == f"{100 * mean:.1f} ± {100 * deviation:.1f}"
    assert difference[3] == f"{100 * (mean - 0.785):+.1f}"
    assert ma[4:] == ["", "", ""]  # the same in both families
    assert rows[0][:3] == ["lr", "sun", percent(records[0]["mean"]["test"]["sun"]["strict_accuracy"])]  # no spread
    assert rows[2][2] == rows[3][2] == "–"  # not published
    (entnet,) = [record for record in records if record["system"] == "entnet"]
    entnet["mean"]["test"]["ma"]["strict_accuracy"] = 0.9  # the difference is the better family's
    assert table_of("table1", [entnet])[-1][2] == f"{100 * (0.9 - 0.663):+.1f}"
    for family in ("sun", "ma"):
        for what in ("mean", "sd"):
            entnet[what]["test"][family]["sentiment_auc"] = None
    sun, _, _, difference = table_of("table1", [entnet])[1:]
    assert sun[-1] == difference[-1] == "–"  # not defined


def test_ablations_and_figure_3():
    records = made_up("ablations")
    rows, named = table_of("ablations", records), table_of("ablations", records, names=True)
    assert [row[0] for row in rows[1::2]] == [record["change"] for record in records]
    assert [row[0] for row in named[1::2]] == [record["system"] for record in records]
    assert "(" not in rows[1][-1]
    assert rows[3][-1].endswith("(+1.0)")
    _, *rows = table_of("figure3", made_up("figure3"))
    assert [row[0] for row in rows[::3]] == [str(chains) for chains in FIGURE3]
    assert rows[2][1:4] == ["paper", "–", "76.6 ± 0.4"]
    assert markdown([["a", "b|c"], ["1", "2"]]) == "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |"


def test_figure_3_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    png, svg = write_pictures("figure3", made_up("figure3"), tmp_path)
    assert png.stat().st_size > 10_000
    first = svg.read_bytes()
    assert b"<svg" in first
    write_pictures("figure3", made_up("figure3"), tmp_path)
    assert svg.read_bytes() == first
    assert write_pictures("table1", made_up("table1"), tmp_path) == []
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OutputError, match=r"pip install 'tabsa\[plot\]'"):
        write_pictures("figure3", made_up("figure3"), tmp_path)


def test_pages_are_written_from_results(tmp_path):
    script = runpy.run_path(str(ROOT / "repro" / "figures.py"))
    page = tmp_path / "page.md"
    page.write_text("<!-- table1 -->\nNot run yet.\n<!-- end -->\n")
    assert script["filled"](page, tmp_path) == page.read_text()  # until there are results
    for experiment in ("table1", "ablations", "figure3"):
        (tmp_path / f"{experiment}.json").write_text(json.dumps(made_up(experiment)))
    share = {"near": 0.3, "far": 0.15, "share": 0.5, "sd": 0.02}
    systems = [{"system": "entnet", "gates": {"far_over_near": share}}]
    (tmp_path / "figure2.json").write_text(json.dumps({"systems": systems}))
    names = ("table1", "table1-short", "ablations", "figure3", "figure2")
    page.write_text("".join(f"<!-- {name} -->\nold\n<!-- end -->\n" for name in names))
    made = script["filled"](page, tmp_path)
    assert "old" not in made
    for experiment in ("table1", "ablations", "figure3"):
        assert markdown(table_of(experiment, made_up(experiment))) in made
    assert "| *published* | 73.5 | 78.5 | 94.4 | 91.0 | 94.8 |" in made
    assert "| entnet | 0.300 | 0.150 | 50.0% ± 2.0 |" in made
    page.write_text(made)
    assert script["filled"](page, tmp_path) == made
