"""What comes out of a table: formats, layouts, and the rows that cannot be scored."""

import datetime
import json
import re
from pathlib import Path

import pytest

from table_rows import text_rows, write_rows
from tabsa.errors import ConfigError, DataError, DataNotFoundError, DataWarning, OutputError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.request import Layout, Request, read_targets
from tabsa.scoring.single import score_table

TEXTS = [
    "Camden is nice but dear, and Brixton awful.",
    "Brixton is safe.\nVery safe, and cheap.",
    'My nan said "not Camden".',
    "Nothing about any place.",
]
BOTH = {"Camden": ("NW1",), "Brixton": ()}


@pytest.fixture(scope="module")
def model(predictor) -> Predictor:
    return predictor


def records() -> list[dict[str, object]]:
    return [{"id": f"c{n}", "likes": n, "text": text} for n, text in enumerate(TEXTS, start=1)]


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def run(folder: Path, model: Predictor, rows, *, out="out.jsonl", name="in.jsonl", **request) -> list[dict]:
    """The rows that come out for these that go in: records, or the bytes of a file."""
    source = folder / name
    if isinstance(rows, bytes):
        source.write_bytes(rows)
    else:
        write_rows(source, rows)
    if "target_column" not in request:
        request.setdefault("targets", BOTH)
    score_table(source, folder / out, model, Request(**request), overwrite=True)
    return lines(folder / out) if out.endswith(".jsonl") else list(text_rows(folder / out))


def rejects(folder: Path) -> list[tuple[int, str]]:
    return [(line["row"], line["reason"]) for line in lines(folder / "out.jsonl.rejects.jsonl")]


# Formats

NAMES = ["t.csv", "t.tsv", "t.jsonl", "t.parquet"]


@pytest.mark.parametrize("out", NAMES)
@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.jsonl", "in.parquet"])
def test_every_format_goes_into_every_other(tmp_path, model, name, out):
    expected = run(tmp_path, model, records())
    run(tmp_path, model, records(), name=name, out=f"all/{out}", chunk=2)
    found = list(text_rows(tmp_path / "all" / out))
    assert found == [{key: str(value) for key, value in row.items()} for row in expected]
    assert [path.name for path in (tmp_path / "all").iterdir()] == [out]


def test_parquet_keeps_the_types_of_parquet(tmp_path, model):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "text": pyarrow.array(TEXTS, pyarrow.large_string()),
            "when": pyarrow.array([datetime.datetime(2024, 1, n, tzinfo=datetime.UTC) for n in (1, 2, 3, 4)]),
            "small": pyarrow.array([1, None, 3, 4], pyarrow.int8()),
            "kind": pyarrow.array(["a", "b", "a", "a"]).dictionary_encode(),
            "tags": pyarrow.array([["x"], [], None, ["y", "z"]]),
        }
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    score_table(
        tmp_path / "in.parquet", tmp_path / "out.parquet", model, Request(targets=BOTH, probabilities=True, chunk=3)
    )
    result = parquet.read_table(tmp_path / "out.parquet")
    assert [result.schema.field(name).type for name in ("text", "when", "small", "tags")] == [
        table.schema.field(name).type for name in ("text", "when", "small", "tags")
    ]
    assert result.select(table.column_names).to_pylist() == table.to_pylist()
    assert result.schema.field("Camden/price").type == pyarrow.string()
    assert result.schema.field("Camden/price/positive").type == pyarrow.float64()


def test_json_goes_through_as_it_is_and_has_no_nan(tmp_path, model):
    content = b'{"text": "Camden", "a": {"b": [1, null]}, "c": NaN}\n{"text": "Camden", "d": "\\ud83d\\ude00"}\n'
    first, second = run(tmp_path, model, content)
    assert (first["a"], first["c"]) == ({"b": [1, None]}, None)
    assert "a" not in second
    assert second["d"] == "😀"


# Layouts


def test_wide_has_what_the_predictor_says(tmp_path, model):
    found = run(tmp_path, model, records(), probabilities=True)
    for row, record in zip(found, records(), strict=True):
        assert {key: row[key] for key in record} == record
        opinions = model.predict(record["text"], BOTH).opinions
        assert len(row) == len(record) + 4 * len(opinions)
        for opinion in opinions:
            name = f"{opinion.target}/{opinion.aspect}"
            assert row[name] == opinion.polarity
            shares = {label: row[f"{name}/{label}"] for label in model.labels}
            assert shares == pytest.approx(opinion.probabilities, abs=1e-5)
    assert {value for key, value in found[3].items() if key.count("/") == 1} == {"none"}
    assert found[3]["Camden/price/none"] == 1


@pytest.mark.parametrize("targets", [{"targets": BOTH}, {"target_column": "who"}])
def test_texts_are_read_for_what_they_do_not_name_where_it_is_implied(tmp_path, model, targets):
    rows = [record | {"who": "Camden;Brixton"} for record in records()]
    asked = BOTH if "targets" in targets else list(BOTH)
    options = {"layout": Layout.LONG, "every": True, "text_column": "text", **targets}
    for implied in (False, True):
        found = run(tmp_path, model, rows, implied=implied, **options)
        expected = [o for text in TEXTS for o in model.predict(text, asked, implied=implied).opinions]
        assert [(row["target"], row["aspect"], row["polarity"]) for row in found] == [
            (opinion.target, opinion.aspect, opinion.polarity) for opinion in expected
        ]
        for row, opinion in zip(found, expected, strict=True):
            assert row["probabilities"] == pytest.approx(opinion.probabilities, abs=1e-5)
        assert any(row["probabilities"]["none"] == 1 for row in found) != implied


def test_long_has_a_row_for_each_opinion(tmp_path, model):
    found = run(tmp_path, model, records(), layout=Layout.LONG, aspects=["transit-location", "general"])
    expected = [
        (*record.values(), opinion.target, opinion.aspect, opinion.polarity)
        for record in records()
        for opinion in model.predict(record["text"], BOTH, ["transit-location", "general"]).found()
    ]
    assert [tuple(row.values())[:6] for row in found] == expected
    assert len(expected) > 3
    assert list(found[0]) == ["id", "likes", "text", "target", "aspect", "polarity", "confidence", "probabilities"]
    for row in found:
        assert row["confidence"] == row["probabilities"][row["polarity"]]
        assert sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("out", NAMES)
def test_long_has_every_pair_on_request_beside_the_columns_of_the_input(tmp_path, model, out):
    run(tmp_path, model, records(), out=out, layout=Layout.LONG, every=True)
    found = [tuple(row.values())[:5] for row in text_rows(tmp_path / out)]
    pairs = [(name, aspect) for name in BOTH for aspect in model.aspects]
    assert found == [(*map(str, record.values()), *pair) for record in records() for pair in pairs]


def test_long_tables_have_a_column_a_label_and_the_row_where_there_is_no_id(tmp_path, model):
    rows = [{"review": record["text"]} for record in records()]
    found = run(tmp_path, model, rows, name="in.csv", out="out.csv", layout=Layout.LONG)
    assert list(found[0]) == [
        *("row", "review", "target", "aspect", "polarity", "confidence"),
        *("probability_none", "probability_positive", "probability_negative"),
    ]
    assert {row["row"] for row in found} <= {"2", "3", "4"}
    assert found[0]["row"] == "2"


def test_a_column_of_targets_that_is_called_target_gives_way(tmp_path, model):
    rows = [{"text": TEXTS[0], "target": "Camden;Brixton"}]
    found = run(tmp_path, model, rows, target_column="target", layout=Layout.LONG, every=True, aspects=["price"])
    assert [row["target"] for row in found] == ["Camden", "Brixton"]


def test_rows_may_have_their_own_targets(tmp_path, model):
    own = ["Camden", "Camden; Brixton;", '["Camden"]', "Leeds"]
    rows = [record | {"about": value} for record, value in zip(records(), own, strict=True)]
    rows.append(rows[0] | {"about": ["Brixton", "Camden"]})
    found = run(tmp_path, model, rows, target_column="about", probabilities=True)
    assert list(found[0])[4:8] == ["general", "general/none", "general/positive", "general/negative"]
    camden, brixton = ({o.aspect: o for o in model.predict(TEXTS[0], [n]).opinions} for n in ("Camden", "Brixton"))
    both = model.predict(TEXTS[0], ["Brixton", "Camden"]).opinions
    assert found[0]["general"] == camden["general"].polarity
    assert found[0]["general/none"] == pytest.approx(camden["general"].probabilities["none"], abs=1e-5)
    assert found[1]["price"].split(";")[0] == "none"  # Camden is not in that text
    assert len(found[1]["price/none"].split(";")) == 2
    assert [found[3][aspect] for aspect in model.aspects] == ["none"] * 4
    assert found[4]["general"] == ";".join(o.polarity for o in both if o.aspect == "general")
    assert brixton["general"].polarity  # asked alone, it is another question


@pytest.mark.parametrize(
    ("limit", "rows", "options", "sizes"),
    [
        ("_CHUNK_CHARACTERS", [{"text": "Camden " * 10}] * 5, {}, [2, 4, 5]),
        ("_CHUNK_CELLS", records(), {}, [4]),
        ("_CHUNK_CELLS", records(), {"probabilities": True}, [3, 4]),
        ("_CHUNK_CELLS", records(), {"layout": Layout.LONG}, [4]),
    ],
)
def test_long_texts_and_a_very_wide_output_end_a_chunk_early(tmp_path, model, monkeypatch, limit, rows, options, sizes):
    monkeypatch.setattr(f"tabsa.scoring.scorer.{limit}", 100)
    source, seen = write_rows(tmp_path / "in.jsonl", rows), []
    request = Request(targets=BOTH, **options)
    score_table(source, tmp_path / "o.csv", model, request, on_progress=lambda p: seen.append(p.counts.rows))
    assert seen == sizes


# Columns


def test_the_text_column_is_guessed_and_named(tmp_path, model):
    for rows in ([{"review": TEXTS[0], "stars": 4}], [{"id": "a", "title": "Home", "review": TEXTS[0]}]):
        with pytest.warns(DataWarning, match=r"in\.jsonl: texts are taken from the column 'review'$") as warned:
            assert run(tmp_path, model, rows)[0]["Camden/general"] != "none"
        assert len(warned) == 1
    rows = [{"title": "a", "review": "nice"}]
    with pytest.raises(DataError, match=r"in\.jsonl has no column 'text', only: title, review") as error:
        run(tmp_path, model, rows)
    assert error.value.code == "no_text_column"
    assert (
        run(tmp_path, model, [{"title": TEXTS[0], "review": "x"}], text_column="title")[0]["Camden/general"] != "none"
    )


def test_a_column_that_exists_already_is_one_clear_line_or_gives_way(tmp_path, model):
    with pytest.raises(DataError, match="the output would have two columns 'Camden/price'") as error:
        run(tmp_path, model, [{"text": TEXTS[0], "Camden/price": "5"}])
    assert error.value.code == "column_taken"
    for taken in ("target", "polarity", "confidence"):
        own = [{"text": TEXTS[0], taken: "x", "stars": 3}]
        with pytest.warns(DataWarning, match=f"the table's own '{taken}' left out"):
            rows = run(tmp_path, model, own, layout=Layout.LONG)
        assert rows
        assert all(row[taken] != "x" and row["stars"] == 3 for row in rows)
    with pytest.raises(DataError, match="two columns 'target'"):  # it is the text
        run(tmp_path, model, [{"target": TEXTS[0]}], layout=Layout.LONG)


def test_a_later_row_with_a_new_column(tmp_path, model):
    rows = [{"text": TEXTS[0]}, {"text": TEXTS[0], "x": 1}, {"text": TEXTS[0], "Camden/price": 1}]
    assert [row.get("x") for row in run(tmp_path, model, rows, chunk=1)] == [None, 1]
    assert rejects(tmp_path) == [(3, "the row has a column 'Camden/price', which the first rows have not")]
    run(tmp_path, model, rows, out="out.csv", chunk=1)
    assert [line["row"] for line in lines(tmp_path / "out.csv.rejects.jsonl")] == [2, 3]


# Rejects


def test_bad_rows_are_rejected_and_the_rest_goes_through(tmp_path, model):
    content = b'id,text\n1,Camden\n2,\n3,caf\x81\n4,a,b\n5, \n6,"Brixton"\n7,"open\n8,last\n'
    found = run(tmp_path, model, content, name="in.csv")
    assert [row["id"] for row in found] == ["1", "6", "8"]
    assert [(row, reason.split(";")[0]) for row, reason in rejects(tmp_path)] == [
        (3, "no text in 'text'"),
        (4, "row 4 is not Windows-1252 text"),
        (5, "row 5 has 3 fields"),
        (6, "no text in 'text'"),
        (8, "row 8: unexpected end of data"),
    ]
    contents = [line["content"] for line in lines(tmp_path / "out.jsonl.rejects.jsonl")]
    assert contents == [
        {"id": "2", "text": ""},
        ["3", "caf\udc81"],
        ["4", "a", "b"],
        {"id": "5", "text": " "},
        '7,"open\n',
    ]


def test_bad_values_are_rejected(tmp_path, model):
    content = b"""\
{"text": "Camden", "about": "Camden"}
{"text": 5, "about": "Camden"}
{"about": "Camden"}
{"text": "Camden", "about": " ; "}
{"text": "Camden", "about": null}
{"text": "Camden", "about": 7}
{"text": "Camden", "about": "[1"}
{"text": "Camden", "about": "Camden;CAMDEN"}
{"text": "Camden \\ud800", "about": "Camden"}
{"text": "Camden", "about": "Camden", "more": ["\\udc80"]}
{"text": "Camden", "about": ["Camden", "Camden"]}
"""
    assert len(run(tmp_path, model, content, target_column="about")) == 2
    assert [(row, re.split("[:;]", reason)[0]) for row, reason in rejects(tmp_path)] == [
        (2, "'text' is not text"),
        (3, "no text in 'text'"),
        (4, "no target in 'about'"),
        (5, "no target in 'about'"),
        (6, "'about' is neither a name nor a list of names"),
        (7, "'about' is not JSON"),
        (8, "'CAMDEN' stands for two targets, 'Camden' and 'CAMDEN'"),
        (9, "half a character (a lone surrogate) is in the row"),
        (10, "half a character (a lone surrogate) is in the row"),
    ]


def test_a_text_too_long_to_read_is_rejected(tmp_path, model):
    assert len(run(tmp_path, model, [{"text": "Camden"}, {"text": "Camden " * 3}], longest_text=20)) == 1
    assert rejects(tmp_path) == [(2, "the text is longer than 20 characters")]


@pytest.mark.parametrize("escaped", [True, False])
def test_formulas_are_escaped_on_request(tmp_path, model, escaped):
    rows = [{"id": "=1+2", "text": "Camden", "n": "-3"}]
    (row,) = run(tmp_path, model, rows, out="out.csv", escape_formulas=escaped)
    assert (row["id"], row["n"]) == ("'=1+2" if escaped else "=1+2", "-3")


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.jsonl"])
def test_where_every_row_is_rejected_there_is_no_output(tmp_path, model, out):
    source = tmp_path / "in.csv"
    source.write_text("text,x\n,1\n1\n")
    message = f"all 2 rows were rejected, the first: row 2: no text in 'text'; see .*{out}.rejects.jsonl"
    with pytest.raises(DataError, match=message):
        score_table(source, tmp_path / out, model, Request(targets=BOTH, chunk=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", f"{out}.rejects.jsonl"]


@pytest.mark.parametrize("content", ["", "text\n", "\n\n"])
def test_no_rows_are_one_clear_line(tmp_path, model, content):
    with pytest.raises(DataError, match=r"in\.csv holds no rows; expected at least one text"):
        run(tmp_path, model, content.encode(), name="in.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("out", ["out.csv", "out.jsonl", "out.parquet"])
def test_no_opinion_is_an_empty_table(tmp_path, model, out):
    assert run(tmp_path, model, [{"text": "nothing"}], out=out, layout=Layout.LONG) == []


# Files


def test_files_that_cannot_be_used_are_one_clear_line(tmp_path, model):
    source, request = write_rows(tmp_path / "in.csv", records()), Request(targets=BOTH)
    for error, match, arguments in [
        (DataNotFoundError, r"no file .*no\.csv", (tmp_path / "no.csv", tmp_path / "o.csv")),
        (DataError, "cannot tell the format of .*in.txt", (tmp_path / "in.txt", tmp_path / "o.csv")),
        (DataError, "in.xls by its name; .* save a spreadsheet as .xlsx", (tmp_path / "in.xls", tmp_path / "o.csv")),
        (DataError, "cannot tell the format of .*o.xlsx", (source, tmp_path / "o.xlsx")),
        (DataError, "cannot tell the format of .*o.txt", (source, tmp_path / "o.txt")),
        (OutputError, "in.csv is the input", (source, tmp_path / "x" / ".." / "in.csv")),
        (OutputError, "cannot write", (source, source / "o.csv")),
    ]:
        with pytest.raises(error, match=match):
            score_table(*arguments, model, request)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder; expected the name of a file"):
        score_table(source, tmp_path / "folder.csv", model, request)
    with pytest.raises(DataError, match="is a folder; expected a file"):
        score_table(tmp_path / "folder.csv", tmp_path / "o.csv", model, request)
    rejected = (source.rename(tmp_path / "o.csv.rejects.jsonl"), tmp_path / "o.csv")
    with pytest.raises(OutputError, match="is the input"):
        score_table(*rejected, model, request)


def test_an_output_that_is_there_is_not_touched_unless_told(tmp_path, model):
    source, out = write_rows(tmp_path / "in.csv", records()), tmp_path / "out.csv"
    out.write_text("precious")
    (tmp_path / "out.csv.rejects.jsonl").write_text("of the past")
    with pytest.raises(OutputError, match=r"out\.csv exists$") as error:
        score_table(source, out, model, Request(targets=BOTH))
    assert error.value.code == "output_exists"
    assert out.read_text() == "precious"
    score_table(source, out, model, Request(targets=BOTH), overwrite=True)
    assert out.read_text().startswith("id,likes,text")
    assert not (tmp_path / "out.csv.rejects.jsonl").exists()


# What is asked


def test_a_targets_file_has_names_aliases_and_comments(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text(
        "\ufeff# a comment\nCamden, Camden Town , NW1  # another\n\n#and another\nC#\n"
        "Washington, D.C.\tDC\t\nRoom #5,,\n",
        "utf-8",
    )
    assert read_targets(path) == {
        "Camden": ("Camden Town", "NW1"),
        "C#": (),
        "Washington, D.C.": ("DC",),
        "Room #5": (),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# nothing\n", "names no target; expected one name a line"),
        ("a\nb\na\n", "line 3: the target 'a' is given twice"),
    ],
)
def test_a_wrong_targets_file_is_one_clear_line(tmp_path, content, message):
    path = tmp_path / "places.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_targets(path)


def test_a_request_makes_sense(tmp_path, model):
    nobody = {"targets": {}, "implied": False}
    for options in ({}, {"targets": BOTH, "target_column": "x"}, nobody, {"targets": BOTH, "chunk": 0}):
        with pytest.raises(ConfigError):
            Request(**options)
    with pytest.raises(ConfigError, match="no target is named; name at least one"):  # the model was not trained for it
        run(tmp_path, model, records(), targets={})


EVIDENCE_ROWS = [
    {"id": "a", "text": "The Pixel 9 costs a fortune. It takes lovely photos. I bought it in May."},
    {"id": "b", "text": "The Pixel 9 is cheap."},
    {"id": "c", "text": "Nothing to say."},
]
CARRYING = {
    ("a", "price"): ("negative", "The Pixel 9 costs a fortune."),
    ("a", "camera"): ("positive", "It takes lovely photos."),
    ("b", "price"): ("positive", "The Pixel 9 is cheap."),
}


@pytest.mark.parametrize("layout", Layout)
def test_the_sentence_that_carries_an_opinion_stands_beside_it(tmp_path, layout):
    model, aspects = load(), ["price", "camera"]
    options = {"targets": {"Pixel 9": ()}, "aspects": aspects, "layout": layout, "every": True}
    rows = run(tmp_path, model, EVIDENCE_ROWS, evidence=True, **options)
    if layout is Layout.LONG:
        found = {(row["id"], row["aspect"]): (row["polarity"], row["evidence"]) for row in rows}
    else:
        columns = [(row["id"], aspect, row, f"Pixel 9/{aspect}") for row in rows for aspect in aspects]
        found = {(number, aspect): (row[name], row[f"{name}/evidence"]) for number, aspect, row, name in columns}
    assert found == {(row["id"], aspect): ("none", "") for row in EVIDENCE_ROWS for aspect in aspects} | CARRYING
    without = run(tmp_path, model, EVIDENCE_ROWS, **options)
    assert without == [{k: v for k, v in row.items() if not k.endswith("evidence")} for row in rows]


def test_what_makes_a_table_doubtful_is_said_at_once(tmp_path, model):
    rows = [{"text": "Camden Town is a nice place."}] * 2 + [{"text": "Camden ist sehr schön und nicht teuer."}]
    with pytest.warns(DataWarning) as warned:
        run(tmp_path, model, rows, targets={"Camden": (), "Camden Town": ()})
    told = [str(one.message) for one in warned]
    assert sum("'Camden' is part of 'Camden Town'" in line for line in told) == 1
    assert sum("of the first 3 texts, 1 repeated" in line for line in told) == 1
