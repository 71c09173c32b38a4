"""Rows of every format, encoding, separator and line end, and rows that cannot be read."""

import csv
import io
import json
import random
import tracemalloc
from itertools import product
from pathlib import Path

import pytest

from table_rows import text_rows, write_rows
from tabsa.errors import DataError, DataWarning
from tabsa.tables.fields import guess_text_column, require_columns
from tabsa.tables.reading import BadRow, Row, read_good_rows, read_rows

WESTERN = "Café déçu, naïve; œuvre – “très” l’été… 12,50 € Straße | Århus\tñandú don't 'so'"
WIDE = "Żółć łąka, кафе; 日本 – “ok” 😀 ½"
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def read(path: Path) -> tuple[list[list[str]], str]:
    """The header and the rows, and what was guessed of the file."""
    notes: list[str] = []
    rows = list(read_rows(path, on_guess=notes.append))
    assert all(isinstance(row, Row) for row in rows), [row for row in rows if isinstance(row, BadRow)][:3]
    return [list(rows[0].values), *([str(value) for value in row.values.values()] for row in rows)], "".join(notes)


def numbered(path: Path) -> list[tuple[int, object]]:
    """Each row's number, with its values or with what was wrong."""
    return [
        (row.number, row.values if isinstance(row, Row) else str(row.error).removeprefix(f"{path} "))
        for row in read_rows(path, on_guess=lambda _: None)
    ]


def cell(draw: random.Random, pool: str, ends: str) -> str:
    """Words, with now and then a quote, a separator or a line end inside."""
    words = [draw.choice(pool.split()) for _ in range(draw.randint(0, 9))]
    if words and draw.random() < 0.3:
        words.insert(draw.randrange(len(words)), draw.choice(['"', '""', ",", ";", ends, "3,5", " ", "a|b"]))
    return " ".join(words)


def written(rows: list[list[str]], separator: str, ends: str, quoting: int) -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator=ends, quoting=quoting).writerows(rows)
    return stream.getvalue()


@pytest.mark.parametrize(("encoding", "separator"), list(product(["utf-8", "utf-8-sig", "cp1252"], NAMES)))
def test_random_tables_come_back(tmp_path, encoding, separator):
    draw = random.Random(f"{encoding} {separator}")
    for number in range(24):
        name = draw.choice(["my.csv", "my.tsv"])
        pool = WESTERN if encoding == "cp1252" else WESTERN + " " + WIDE
        ends = draw.choice(["\n", "\r\n", "\r"])
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        header = ["id", "text", *draw.sample(["stars", "Datum, Zeit", "größe", 'a "b"', "x y"], draw.randint(0, 3))]
        rows = [[str(n), *(cell(draw, pool, ends) for _ in header[1:])] for n in range(draw.choice([1, 3, 40, 900]))]
        rows[0][1] += " é"  # so that no file is ASCII
        path = put(tmp_path / f"{number}{name}", written([header, *rows], separator, ends, quoting).encode(encoding))
        back, note = read(path)
        assert back == [header, *rows]
        words = ["Windows-1252"] if encoding == "cp1252" else []
        words += [f"separated by {NAMES[separator]}"] if separator != ("," if ".csv" in name else "\t") else []
        assert note == (f"{path}: read as {', '.join(words)}" if words else "")


def test_of_two_separators_that_fit_it_is_that_of_the_name(tmp_path):
    path = put(tmp_path / "my.csv", b"id;text,more\n1;good, cheap\n2;bad, dear\n")
    assert read(path)[0][0] == ["id;text", "more"]
    put(path, b"id;text;stars\n" + b"1;a, b, c;3,5\n" * 8 + b"2;too;many;fields\n3;one\n")
    assert numbered(path)[0] == (2, {"id": "1", "text": "a, b, c", "stars": "3,5"})
    assert [number for number, row in numbered(path) if isinstance(row, str)] == [10, 11]


def test_a_few_bad_rows_are_not_windows(tmp_path):
    rows = [f"{n},schön und größer\n".encode() for n in range(50)]
    path = put(tmp_path / "my.csv", b"id,text\n" + b"".join(rows) + "x,schön\n".encode("cp1252") + rows[0])
    bad = [(number, row) for number, row in numbered(path) if isinstance(row, str)]
    assert bad == [(52, "row 52 is not UTF-8 text; save it as UTF-8")]
    put(path, b"id,text\n" + "1,schön\n".encode("cp1252"))
    with pytest.warns(DataWarning, match=r"my\.csv: read as Windows-1252$"):
        assert next(read_good_rows(path)).values["text"] == "schön"


def test_bad_rows_of_a_csv_keep_their_places(tmp_path):
    path = put(
        tmp_path / "my.csv",
        b'\xef\xbb\xbfid,text\n1,good\n2,too,many\n3\n\n5,caf\xe9\n6,caf\xc3\xa9\n7,"a" b\n8,"a ""b""\nc"\n',
    )
    advice = 'put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
    assert numbered(path) == [
        (2, {"id": "1", "text": "good"}),
        (3, "row 3 has 3 fields; the header has 2"),
        (4, "row 4 has 1 fields; the header has 2"),
        (6, "row 6 is not UTF-8 text; save it as UTF-8"),
        (7, {"id": "6", "text": "café"}),
        (8, f"row 8: ',' expected after '\"'; {advice}"),
        (9, {"id": "8", "text": 'a "b"\nc'}),
    ]
    with pytest.raises(DataError, match="row 3 has 3 fields"):
        list(read_good_rows(path))


@pytest.mark.parametrize("tail", [b"", b'9,"closed"\n'])
def test_an_open_quote_costs_only_its_own_line(tmp_path, tail):
    rest = b"".join(b"%d,x\n" % n for n in range(2, 500))
    path = put(tmp_path / "my.csv", b'id,text\n1,"open\n' + rest + tail)
    rows = list(read_rows(path))
    assert [(row.number, row.content) for row in rows if isinstance(row, BadRow)] == [(2, '1,"open\n')]
    assert [row.values["id"] for row in rows[1:499]] == [str(n) for n in range(2, 500)]
    assert len(rows) == 499 + bool(tail)


def test_bad_lines_of_json_keep_their_places(tmp_path):
    path = put(tmp_path / "my.jsonl", b'{"text": "a"}\n{"text": \n\n[1]\n{"text": "caf\xe9"}\n{"text": "b"}')
    rows = numbered(path)
    assert (rows[0], rows[4]) == ((1, {"text": "a"}), (6, {"text": "b"}))
    assert rows[1][1].startswith("line 2 is not JSON: Expecting value")
    assert rows[2] == (4, "line 4 is not a JSON object in UTF-8; write one a line")
    assert rows[3] == (5, "line 5 is not a JSON object in UTF-8; write one a line")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"caf\x81,text\n1,a\n", "row 1 is not Windows-1252 text; save it as UTF-8"),
        (b'"id" x,text\n1,a\n', "row 1: ',' expected"),
        (b"a, a \n1,2\n", "has more than one column 'a'"),
        *(
            (start, "is not text, but another kind of file; save it as CSV UTF-8, a workbook as .xlsx")
            for start in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF-1.7", b"\x1f\x8b\x08", b"\xff\xfei\0")
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path, content, line):
    path = put(tmp_path / "my.csv", content)
    with pytest.raises(DataError) as caught:
        list(read_rows(path, on_guess=lambda _: None))
    assert str(caught.value).startswith(f"{path} {line}")


@pytest.mark.parametrize("name", ["my.csv", "my.jsonl", "my.parquet"])
def test_every_format_gives_the_same_text(tmp_path, name):
    records = [{"n": 1, "x": 0.5, "note": None, "text": "a"}, {"n": 2, "x": 2.0, "note": "b", "text": 'c "d"\ne'}]
    path = write_rows(tmp_path / name, records)
    assert list(text_rows(path)) == [
        {"n": "1", "x": "0.5", "note": "", "text": "a"},
        {"n": "2", "x": "2.0", "note": "b", "text": 'c "d"\ne'},
    ]
    with path.open("rb") as stream:  # the same of a file that is open, whose name is only a name
        rows = read_rows(Path("elsewhere") / name, stream)
        assert next(rows).values["text"] == "a"
        assert 0 < stream.tell() <= path.stat().st_size


@pytest.mark.parametrize("name", ["my.csv", "my.jsonl"])
def test_reading_takes_constant_memory(tmp_path, name):
    lines = (f"{n},{'text ' * 20}" if name == "my.csv" else json.dumps({"n": n, "t": "x " * 50}) for n in range(50_000))
    path = put(tmp_path / name, ("id,text\n" * (name == "my.csv") + "\n".join(lines)).encode())
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_rows(path)) == 50_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000  # a block of the file, and no more


@pytest.mark.parametrize(
    ("row", "taken", "column"),
    [
        ({"nr": "1", "Comment": "Not cheap but nice"}, (), "Comment"),
        ({"title": "So very nice", "text": "ok"}, (), "text"),
        ({"title": "So nice", "Text": "ok"}, (), "Text"),
        ({"url": "https://example.org/a-very-long-address-of-a-page", "review": "all is well"}, (), "review"),
        ({"place": "The old town of Hull", "review": "nice enough"}, ("place",), "review"),
        ({"stars": 4, "review": "nice"}, (), "review"),
        ({"a": "x", "b": "y"}, (), None),
        ({"stars": 4}, (), None),
    ],
)
def test_the_column_of_texts_is_guessed(row, taken, column):
    assert guess_text_column([row, row], taken) == column


def test_columns_that_are_missing_are_reported_together():
    require_columns("my.csv", ["a", "b"], ["a", None])
    with pytest.raises(DataError) as error:
        require_columns("my.csv", ["id", "Likes"], ["likes ", "x", "id", "x"])
    assert str(error.value) == "my.csv has no columns 'likes ' (did you mean 'Likes'?), 'x'; it has id, Likes"
