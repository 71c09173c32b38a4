"""Reading on after a row that cannot be read."""

import gzip
from pathlib import Path

import pytest

from tabsa.errors import DataError
from tabsa.tables.rows import BadRow, Row, every_row, typed_rows


def read(path: Path, content: bytes) -> list[tuple[int, object]]:
    """Each row's number, with its values or with what was wrong."""
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return [
        (row.number, row.values if isinstance(row, Row) else str(row.error).removeprefix(f"{path} "))
        for row in every_row(path)
    ]


@pytest.mark.parametrize("name", ["my.csv", "my.csv.gz"])
def test_bad_rows_of_a_csv_keep_their_places(tmp_path, name):
    rows = read(
        tmp_path / name,
        b'\xef\xbb\xbfid,text\n1,good\n2,too,many\n3\n\n5,caf\xe9\n6,caf\xc3\xa9\n7,"a" b\n8,"a ""b""\nc"\n',
    )
    advice = 'put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
    assert rows == [
        (2, {"id": "1", "text": "good"}),
        (3, "row 3 has 3 fields; the header has 2"),
        (4, "row 4 has 1 fields; the header has 2"),
        (6, "row 6 is not UTF-8 text; save it as UTF-8"),
        (7, {"id": "6", "text": "café"}),
        (8, f"line 8: ',' expected after '\"'; {advice}"),
        (9, {"id": "8", "text": 'a "b"\nc'}),
    ]


@pytest.mark.parametrize("tail", [b"", b'9,"closed"\n'])
def test_an_open_quote_costs_only_its_own_line(tmp_path, tail):
    rows = read(tmp_path / "my.csv", b'id,text\n1,"open\n' + b"".join(b"%d,x\n" % n for n in range(2, 500)) + tail)
    bad = [number for number, values in rows if isinstance(values, str)]
    assert bad == [2]
    assert [values["id"] for _, values in rows[1:499]] == [str(n) for n in range(2, 500)]
    assert len(rows) == 499 + bool(tail)


def test_the_content_of_a_bad_row_is_what_there_is_of_it(tmp_path):
    path = tmp_path / "my.csv"
    path.write_bytes(b'id,text\n1,a,b\n2,"open\n3,c\n')
    assert [row.content for row in every_row(path) if isinstance(row, BadRow)] == [["1", "a", "b"], '2,"open\n']


def test_bad_lines_of_json_keep_their_places(tmp_path):
    content = b'{"text": "a"}\n{"text": \n\n[1]\n{"text": "caf\xe9"}\n{"text": "b"}'
    rows = read(tmp_path / "my.jsonl", content)
    assert rows[0] == (1, {"text": "a"})
    assert [number for number, _ in rows] == [1, 2, 4, 5, 6]
    assert rows[1][1].startswith("line 2 is not JSON: Expecting value")
    assert rows[2][1] == "line 4 is not a JSON object; write one JSON object a line"
    assert rows[3][1] == "line 5 is not UTF-8 text; save it as UTF-8"
    assert rows[4] == (6, {"text": "b"})


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"caf\x81,text\n1,a\n", "is not UTF-8 text (in its header)"),
        (b'"id" x,text\n1,a\n', "line 1: ',' expected"),
        (b"\0\0id,text\n1,a\n", "is not text (it holds zero bytes)"),
    ],
)
def test_a_header_that_cannot_be_read_ends_the_reading(tmp_path, content, line):
    with pytest.raises(DataError, match=r"my\.csv") as caught:
        read(tmp_path / "my.csv", content)
    assert line in str(caught.value)


def test_an_open_file_shows_how_far_it_was_read(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("text\n" + "some text\n" * 100_000)
    with path.open("rb") as file:
        rows = every_row(path, file)
        places = [file.tell() for number, _ in enumerate(rows) if number % 20_000 == 0]
    assert places == sorted(set(places))
    assert 0 < places[0] < places[-1] <= path.stat().st_size


def test_the_strict_reader_stops_at_the_first_bad_row(tmp_path):
    path = tmp_path / "my.csv"
    path.write_bytes(b"id,text\n1,a\n2\n3,c\n")
    rows = typed_rows(path)
    assert next(rows).values == {"id": "1", "text": "a"}
    with pytest.raises(DataError, match="row 3 has 1 fields"):
        next(rows)
