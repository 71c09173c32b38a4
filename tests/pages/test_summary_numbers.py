"""The numbers of a summary, against a plain count."""

import csv
import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

import scored_tables as made
from tabsa.errors import DataError, DataNotFoundError
from tabsa.inference.predictor import load
from tabsa.pages.counting import summarise
from tabsa.pages.scored_files import ColumnNames
from tabsa.pages.summary import Summary
from tabsa.scoring import Layout, Request, score


def same(summary: Summary, texts: list[made.Answered], *, none: bool = True) -> None:
    """Whether every number is that of a plain count."""
    expected = made.counted(texts)
    found = {pair: Counter(cell.tally.counts) for pair, cell in summary.cells.items()}
    if not none:
        expected = {pair: Counter({p: n for p, n in c.items() if p != "none"}) for pair, c in expected.items()}
    assert {pair: +counts for pair, counts in found.items() if +counts} == {p: c for p, c in expected.items() if +c}
    opined = [one for one in texts if any(polarity != "none" for polarity, _ in one.said.values())]
    assert summary.texts_with_opinion == len(opined)
    assert summary.texts == (len(texts) if none else len(opined))
    assert summary.total.n == sum(n for c in expected.values() for p, n in c.items() if p != "none")
    by_target = Counter(dict.fromkeys(summary.targets, 0))
    for (target, _), counts in expected.items():
        by_target[target] += sum(n for p, n in counts.items() if p != "none")
    assert {t: tally.n for t, tally in summary.target_totals.items()} == by_target
    assert [by_target[target] for target in summary.targets] == sorted(by_target.values(), reverse=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.jsonl", "t.parquet"])
def test_every_layout_and_format_gives_the_same(tmp_path: Path, seed: int, name: str) -> None:
    texts = made.answered(seed)
    long = summarise(made.long(tmp_path / name, texts))
    same(long, texts)
    wide = summarise(made.wide(tmp_path / name, texts))
    same(wide, texts)
    own = summarise(made.own(tmp_path / name, texts))
    same(own, texts)
    few = summarise(made.long(tmp_path / name, texts, every=False))
    same(few, texts, none=False)
    assert (long.layout, wide.layout, own.layout) == ("long", "wide", "wide, a row's own targets")
    assert (long.has_silent, wide.has_silent, few.has_silent) == (True, True, False)
    plain = long.to_dict()
    for other in (wide, own):
        assert {k: v for k, v in other.to_dict().items() if k not in ("layout", "rows", "cells")} == {
            k: v for k, v in plain.items() if k not in ("layout", "rows", "cells")
        }
        key = lambda cell: (cell["target"], cell["aspect"])  # noqa: E731
        assert sorted(other.to_dict()["cells"], key=key) == sorted(plain["cells"], key=key)


@pytest.mark.parametrize("prefix", ["tabsa/", "my_"])
def test_a_prefix_is_told_or_found(tmp_path: Path, prefix: str) -> None:
    texts = made.answered(5)
    same(summarise(made.long(tmp_path / "l.csv", texts, prefix=prefix)), texts)
    wide = made.wide(tmp_path / "w.csv", texts, prefix=prefix)
    same(summarise(wide, columns=ColumnNames(prefix=prefix)), texts)
    if prefix == "tabsa/":  # where all targets begin alike up to a stroke, it is none of their names
        same(summarise(wide), texts)


def test_two_sets_of_answers_in_one_table(tmp_path: Path) -> None:
    row = {"text": "a", "target": "x", "aspect": "y", "polarity": "positive"}
    row |= {f"my_{name}": value for name, value in row.items() if name != "text"}
    path = made.write(tmp_path / "t.csv", [row | {"confidence": 1, "my_confidence": 1}])
    with pytest.raises(DataError, match="more than one column of answers: 'polarity', 'my_polarity'") as error:
        summarise(path)
    assert error.value.code == "two_answers"
    assert summarise(path, columns=ColumnNames(prefix="my_")).total.n == 1
    # The input's labels have no confidence; what `score` added has.
    path = made.write(tmp_path / "u.csv", [row | {"my_confidence": 0.5, "my_polarity": "negative"}])
    assert summarise(path).total.negative == 1


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_what_score_writes(tmp_path: Path, tiny_model: Path, layout: Layout, name: str) -> None:
    model = load(tiny_model, threads=1)
    texts = ["Camden is nice but dear, and Brixton awful.", "Brixton is safe. Very cheap.", "nothing", "Camden"]
    lines = [json.dumps({"id": n, "posted": f"2024-0{n + 1}-01", "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, '{"id": 9}']), "utf-8")
    request = Request(targets={"Camden": (), "Brixton": ()}, layout=layout, every=True, probabilities=True)
    score(tmp_path / "in.jsonl", tmp_path / name, model, request)
    summary = summarise(tmp_path / name)
    expected: dict[tuple[str, str], Counter[str]] = {}
    for text in texts:
        for opinion in model.predict(text, ["Camden", "Brixton"]).opinions:
            expected.setdefault((opinion.target, opinion.aspect), Counter())[opinion.polarity] += 1
    assert {pair: +Counter(cell.tally.counts) for pair, cell in summary.cells.items()} == expected
    assert (summary.texts, summary.rejected, dict(summary.reasons)) == (4, 1, {"no text in 'text'": 1})
    assert summary.columns == {"text": "text", "id": "id", "date": "posted"}
    assert summary.times is not None
    assert summary.times.starts[0] == date(2024, 1, 1)


def test_own_targets_and_no_target_at_all(tmp_path: Path, tiny_model: Path) -> None:
    model = load(tiny_model, threads=1)
    rows: list[dict[str, object]] = [
        {"text": "Camden is nice but dear, and Brixton awful.", "who": "Camden;Brixton"},
        {"text": "Brixton is safe. Very cheap.", "who": "Brixton"},
    ]
    made.write(tmp_path / "in.csv", rows)
    counts = []
    for layout in Layout:
        request = Request(target_column="who", layout=layout, every=True)
        score(tmp_path / "in.csv", tmp_path / f"{layout}.csv", model, request)
        summary = summarise(tmp_path / f"{layout}.csv")
        counts.append({pair: +Counter(cell.tally.counts) for pair, cell in summary.cells.items()})
    assert counts[0] == counts[1]
    assert {target for target, _ in counts[0]} == {"Camden", "Brixton"}
    for layout in Layout:
        out = tmp_path / f"unnamed-{layout}.csv"
        score(tmp_path / "in.csv", out, model, Request(targets={}, implied=True, layout=layout, text_column="text"))
        assert summarise(out).targets == ("",)
        assert summarise(out).to_dict()["targets"] == [None]


def test_a_cell_with_several_answers_needs_to_know_whose(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", [{"text": "a", "price": "positive;negative"}])
    with pytest.raises(DataError, match="no column tells whose they are") as error:
        summarise(path)
    assert error.value.code == "whose_answers"
    path = made.write(tmp_path / "t.csv", [{"text": "a b", "x": "u;v", "y": "p;q", "price": "positive;negative"}])
    with pytest.raises(DataError, match="no column tells"):
        summarise(path)
    assert summarise(path, columns=ColumnNames(target="y")).targets == ("p", "q")


def test_rows_of_a_text_need_not_stand_together(tmp_path: Path) -> None:
    texts = made.answered(2)
    path = made.long(tmp_path / "t.jsonl", texts)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(sorted(lines, key=lambda line: line[::-1])), "utf-8")
    same(summarise(path), texts)


def test_many_tables_are_one(tmp_path: Path) -> None:
    texts = made.answered(3)
    folder = tmp_path / "scored"
    (folder / "deep").mkdir(parents=True)
    made.long(folder / "a.csv", texts[:20])
    made.long(folder / "deep" / "b.jsonl", texts[20:])
    (folder / "_summary.json").write_text("{}")
    (folder / "_parts.jsonl").write_text('{"part": 1}\n')
    made.rejects(folder / "a.csv", ["row 3 has 2 fields; the header has 3", "row 9 has 4 fields; the header has 3"])
    for source in (folder, folder / "**" / "*.*"):
        summary = summarise(source)
        same(summary, texts)
        assert summary.files == ("a.csv", "b.jsonl")
        assert summary.reasons == {"has N fields; the header has N": 2}
        assert {one.file for cell in summary.cells.values() for one in cell.quotes} == {"a.csv", "b.jsonl"}
    assert summarise(folder / "a.csv").texts == 20


def test_texts_are_told_apart_where_ids_repeat_or_are_not_there(tmp_path: Path) -> None:
    answer = {"target": "x", "aspect": "y", "polarity": "positive"}
    pairs = [("a", "one"), ("a", "two"), ("a", "two"), ("b", "two")]
    rows = [{"id": identity, "text": text, **answer} for identity, text in pairs]
    assert summarise(made.write(tmp_path / "t.csv", rows)).texts == 3
    without = [{"text": text, **answer} for _, text in pairs]
    assert summarise(made.write(tmp_path / "u.csv", without)).texts == 2


def test_the_same_id_in_two_tables_is_two_texts(tmp_path: Path) -> None:
    texts = made.answered(3, 10)
    made.long(tmp_path / "a.csv", texts)
    made.long(tmp_path / "b.csv", texts)
    assert summarise(tmp_path).texts == 20


def test_what_no_score_wrote_is_one_clear_line(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", [{"id": 1, "text": "a", "stars": 4}])
    with pytest.raises(DataError, match="holds no answers, only 'id', 'text', 'stars'; expected a table that") as error:
        summarise(path)
    assert error.value.code == "not_scored"
    with pytest.raises(DataNotFoundError, match=r"no file .*nope\.csv"):
        summarise(tmp_path / "nope.csv")
    (tmp_path / "empty.csv").write_text("id,text,target,aspect,polarity\n")
    with pytest.raises(DataError, match="holds no rows"):
        summarise(tmp_path / "empty.csv")
    with pytest.raises(DataError, match=r"unknown column of .*'txt'; did you mean 'text'"):
        summarise(made.long(tmp_path / "l.csv", made.answered(0)), columns=ColumnNames(text="txt"))
    with pytest.raises(DataNotFoundError, match="no table in"):
        summarise(tmp_path / "*.parquet")


def test_silence_is_told_where_the_table_tells_it(tmp_path: Path) -> None:
    texts = made.answered(1, targets=made.TARGETS[:2])
    quiet = [
        made.Answered(
            one.id,
            one.date,
            one.text,
            one.said
            | {("Nowhere", aspect): ("none", 1.0) for aspect in made.ASPECTS}
            | {("Camden", "wifi"): ("none", 1.0)},
        )
        for one in texts
    ]
    summary = summarise(made.long(tmp_path / "t.jsonl", quiet))
    assert summary.silent_targets == ("Nowhere",)
    assert summary.silent_aspects == ("wifi",)
    silent = summary.to_dict()["silent"]
    assert silent["texts"] == summary.texts - summary.texts_with_opinion
    few = summarise(made.long(tmp_path / "u.jsonl", quiet, every=False))
    assert few.to_dict()["silent"] == {"texts": None, "targets": [], "aspects": []}


def test_polarities_of_ones_own(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "target": "x", "aspect": "y", "polarity": p, "confidence": 0.9} for p in ("good", "bad", "none")
    ]
    summary = summarise(made.write(tmp_path / "t.csv", rows))
    assert summary.polarities == ("positive", "negative", "bad", "good")
    assert summary.cell("x", "y").tally.n == 2
    assert summary.cell("x", "y").tally.share is None
    assert summary.cell("x", "y").tally.verdict == "unclear"


def test_progress_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabsa.pages.counting._PROGRESS_EVERY", 10)
    seen: list[int] = []
    summarise(made.wide(tmp_path / "t.csv", made.answered(0, 35)), on_progress=seen.append)
    assert seen == [10, 20, 30]


def test_json_can_be_written(tmp_path: Path) -> None:
    summary = summarise(made.wide(tmp_path / "t.csv", made.answered(0)))
    assert json.loads(json.dumps(summary.to_dict(), allow_nan=False)) == summary.to_dict()


def test_the_table_holds_every_cell(tmp_path: Path) -> None:
    texts = made.answered(12, 100)
    summary = summarise(made.wide(tmp_path / "t.csv", texts))
    summary.write_csv(tmp_path / "r.csv")
    rows = list(csv.DictReader((tmp_path / "r.csv").open(encoding="utf-8", newline="")))
    counts = made.counted(texts)
    assert {(row["target"], row["aspect"]) for row in rows} == set(counts)
    for row in rows:
        expected = counts[row["target"], row["aspect"]]
        assert {label: int(row[label]) for label in made.LABELS} == {label: expected[label] for label in made.LABELS}
        tally = summary.cell(row["target"], row["aspect"]).tally
        assert int(row["opinions"]) == tally.n
        assert float(row["share_positive"]) == pytest.approx(tally.share, abs=1e-6)
        assert (float(row["low"]), float(row["high"])) == pytest.approx(tally.interval, abs=1e-6)
        assert row["verdict"] == tally.verdict


def test_a_polarity_that_is_called_as_a_column(tmp_path: Path) -> None:
    row = {"text": "a", "target": "x", "aspect": "y", "polarity": "net", "confidence": 0.9}
    summary = summarise(made.write(tmp_path / "t.csv", [row]))
    summary.write_csv(tmp_path / "r.csv")
    (found,) = csv.DictReader((tmp_path / "r.csv").open(encoding="utf-8", newline=""))
    assert (found["polarity net"], found["net"], found["share_positive"]) == ("1", "0.0", "")
