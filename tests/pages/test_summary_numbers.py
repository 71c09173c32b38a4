"""The numbers of a summary, against a plain count."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

import scored_tables as made
from tabsa.errors import DataError, DataNotFoundError
from tabsa.inference.predictor import load
from tabsa.pages.counting import summarise
from tabsa.pages.scored_files import ColumnNames
from tabsa.pages.summary import Summary
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import score_table

ANSWER = {"text": "a", "target": "x", "aspect": "y", "polarity": "positive"}


def counts(summary: Summary) -> dict[tuple[str, str], Counter[str]]:
    return {pair: +Counter(cell.tally.counts) for pair, cell in summary.cells.items()}


def same(summary: Summary, texts: list[made.Answered], *, none: bool = True) -> None:
    """Check that every number is that of a plain count."""
    expected = made.counted(texts)
    if not none:
        expected = {pair: Counter({p: n for p, n in c.items() if p != "none"}) for pair, c in expected.items()}
    assert {p: c for p, c in counts(summary).items() if c} == {p: c for p, c in expected.items() if +c}
    opined = [one for one in texts if any(polarity != "none" for polarity, _ in one.said.values())]
    assert (summary.texts_with_opinion, summary.texts) == (len(opined), len(texts) if none else len(opined))
    by_target = Counter(dict.fromkeys(summary.targets, 0))
    for (target, _), found in expected.items():
        by_target[target] += sum(n for p, n in found.items() if p != "none")
    assert summary.total.n == by_target.total()
    assert {t: tally.n for t, tally in summary.target_totals.items()} == by_target
    assert [by_target[target] for target in summary.targets] == sorted(by_target.values(), reverse=True)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet"])
def test_every_layout_and_format_gives_the_same(tmp_path: Path, name: str) -> None:
    texts = made.answered(1)
    long, wide, own = (summarise(write(tmp_path / name, texts)) for write in (made.long, made.wide, made.own))
    few = summarise(made.long(tmp_path / name, texts, every=False))
    same(few, texts, none=False)
    assert (long.layout, wide.layout, own.layout) == ("long", "wide", "wide, a row's own targets")
    assert (long.has_silent, wide.has_silent, few.has_silent) == (True, True, False)
    plain = [{k: v for k, v in one.to_dict().items() if k not in ("layout", "rows")} for one in (long, wide, own)]
    for one, found in zip((long, wide, own), plain, strict=True):
        same(one, texts)
        found["cells"].sort(key=lambda cell: (cell["target"], cell["aspect"]))
        assert json.loads(json.dumps(found, allow_nan=False)) == plain[0]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_score_writes(tmp_path: Path, tiny_model: Path, layout: Layout, name: str) -> None:
    model = load(tiny_model, threads=1)
    texts = ["Camden is nice but dear, and Brixton awful.", "Brixton is safe. Very cheap.", "nothing", "Camden"]
    lines = [json.dumps({"id": n, "posted": f"2024-0{n + 1}-01", "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, '{"id": 9}']), "utf-8")
    request = Request(targets={"Camden": (), "Brixton": ()}, layout=layout, every=True, probabilities=True)
    score_table(tmp_path / "in.jsonl", tmp_path / name, model, request)
    summary = summarise(tmp_path / name)
    expected: dict[tuple[str, str], Counter[str]] = {}
    for text in texts:
        for opinion in model.predict(text, ["Camden", "Brixton"]).opinions:
            expected.setdefault((opinion.target, opinion.aspect), Counter())[opinion.polarity] += 1
    assert counts(summary) == expected
    assert (summary.texts, summary.rejected, dict(summary.reasons)) == (4, 1, {"no text in 'text'": 1})
    assert summary.columns == {"text": "text", "id": "id", "date": "posted"}


def test_many_tables_are_one(tmp_path: Path) -> None:
    texts = made.answered(3)
    folder = tmp_path / "scored"
    (folder / "deep").mkdir(parents=True)
    made.long(folder / "a.csv", texts[:20])
    made.long(folder / "deep" / "b.jsonl", texts[20:])
    (folder / "_summary.json").write_text("{}")
    (folder / "_parts.jsonl").write_text('{"part": 1}\n')
    made.rejects(folder / "a.csv", ["row 3 has 2 fields; the header has 3", "row 9 has 4 fields; the header has 3"])
    summary = summarise(folder)
    same(summary, texts)
    assert summary.files == ("a.csv", "b.jsonl")
    assert summary.reasons == {"has N fields; the header has N": 2}
    assert {one.file for cell in summary.cells.values() for one in cell.quotes} == {"a.csv", "b.jsonl"}
    made.long(folder / "c.csv", texts[:20])
    assert summarise(folder).texts == len(texts) + 20  # the same id in two tables is two texts


def test_texts_are_told_apart_wherever_their_rows_stand(tmp_path: Path) -> None:
    texts = made.answered(2)
    path = made.long(tmp_path / "t.jsonl", texts)
    path.write_text("\n".join(sorted(path.read_text("utf-8").splitlines(), key=lambda line: line[::-1])), "utf-8")
    same(summarise(path), texts)
    rows = [ANSWER | {"id": i, "text": text} for i, text in (("a", "one"), ("a", "two"), ("a", "two"), ("b", "two"))]
    assert summarise(made.write(tmp_path / "t.csv", rows)).texts == 3
    assert summarise(made.write(tmp_path / "u.csv", [row | {"id": None} for row in rows])).texts == 2


def test_what_no_score_wrote_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("id,text,target,aspect,polarity\n")
    made.write(tmp_path / "plain.csv", [{"id": 1, "text": "a", "stars": 4}])
    for name, error, words in (
        ("plain.csv", DataError, "holds no answers, only 'id', 'text', 'stars'; expected a table that `tabsa score`"),
        ("empty.csv", DataError, "holds no rows"),
        ("nope.csv", DataNotFoundError, r"no file .*nope\.csv"),
    ):
        with pytest.raises(error, match=words):
            summarise(tmp_path / name)
    with pytest.raises(DataError, match=r"has no column 'txt' \(did you mean 'text'"):
        summarise(tmp_path / "plain.csv", columns=ColumnNames(text="txt"))


def test_the_table_of_numbers_holds_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabsa.pages.counting._PROGRESS_EVERY", 40)
    texts, seen = made.answered(12, 100), []
    summary = summarise(made.wide(tmp_path / "t.csv", texts), on_progress=seen.append)
    assert seen == [40, 80]
    rows = list(csv.DictReader(summary.write_csv(tmp_path / "r.csv").open(encoding="utf-8", newline="")))
    expected = made.counted(texts)
    assert [(r["target"], r["aspect"]) for r in rows] == [(t, a) for t in summary.targets for a in summary.aspects]
    for row in rows:
        pair = row["target"], row["aspect"]
        tally = summary.cells[pair].tally
        assert {name: int(row[name]) for name in made.LABELS} == {name: expected[pair][name] for name in made.LABELS}
        figures = (float(row[name]) for name in ("opinions", "share_positive", "low", "high"))
        assert [*figures] == pytest.approx([tally.n, tally.share, *tally.interval], abs=1e-6)
        assert row["verdict"] == tally.verdict
