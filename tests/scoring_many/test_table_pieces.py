"""Rows on their way to workers: cut, carried and put together again, they are the table's."""

import gzip
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tabsa.inference.predictor import load
from tabsa.scoring import Request
from tabsa.scoring.many.parts import Part, find_parts, piece_name, piece_number
from tabsa.scoring.many.pieces import ReadPlan, TablePiece, read_pieces, schema_of, unpack
from tabsa.scoring.scorer import Scorer
from tabsa.tables.rows import Row, every_row

ODD = 'id,text\n007,"Camden\nis nice"\n8,Brixton,far\n9,"open\n10,Camden\n' + "".join(
    f"{n},Camden {n}\n" for n in range(11, 40)
)


def part_of(path: Path) -> Part:
    return find_parts(path, path.parent / "out", "parquet")[0]


def pieces_of(path: Path, rows: int, done: frozenset[int] = frozenset()) -> list[TablePiece]:
    return list(read_pieces(ReadPlan(part_of(path), rows, 4, done)))


def rows_in(pieces: list[TablePiece]) -> list[tuple]:
    ordered = sorted((piece for piece in pieces if piece.number >= 0), key=lambda piece: piece.number)
    return [plain(row) for piece in ordered for row in unpack(piece.rows, Path(piece.source))]


def plain(row) -> tuple:
    return (row.number, row.values) if isinstance(row, Row) else (row.number, str(row.error), row.content)


@pytest.mark.parametrize("rows", [4, 8, 64])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ODD.encode()),
        ("b.csv", b"id;text\n1;caf\xe9 Camden\n2;\xfcber Brixton\n"),  # Windows-1252, and semicolons
        ("c.tsv", "id\ttext\n1\tCamden\n".encode("utf-16")),
        (
            "d.jsonl.gz",
            gzip.compress(b'{"text": "Camden", "n": [1, {"a": null}]}\nnot JSON\n\n{"text": "\\ud800"}\n' * 9, mtime=0),
        ),
        ("e.csv", b"id,text\n"),
    ],
)
def test_the_rows_are_the_tables(tmp_path, name, content, rows):
    path = tmp_path / name
    path.write_bytes(content)
    pieces = pieces_of(path, rows)
    assert rows_in(pieces) == [plain(row) for row in every_row(path, on_guess=lambda _: None)]
    assert (pieces[-1].number, pieces[-1].total, pieces[-1].why) == (-1, len(pieces) - 1, "")
    assert sum(piece.bytes for piece in pieces) == len(content)


def test_pieces_that_are_done_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text(ODD)
    pieces = pieces_of(tmp_path / "a.csv", 8, frozenset({0, 2}))
    assert [piece.number for piece in pieces] == [1, 3, 4, -1]
    assert pieces[-1].total == 5


def test_a_table_that_breaks_off_says_so_after_what_could_be_read(tmp_path):
    lines = "".join(f'{{"text": "Camden {n} {hash(n * 7.1)}"}}\n' for n in range(2000)).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines)[:-9])
    pieces = pieces_of(tmp_path / "a.jsonl.gz", 64)
    assert pieces[-1].why.endswith(
        "is not a whole gzip file: Compressed file ended before the end-of-stream marker was reached"
    )
    assert len(pieces) > 1
    assert pieces_of(tmp_path / "a.jsonl.gz", 64)[0] == pieces[0]


@pytest.mark.parametrize("group", [5, 16, 1000])
def test_parquet_is_cut_whatever_its_row_groups(tmp_path, group):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "text": [f"Camden {n}" for n in range(50)],
            "at": [datetime(2024, 1, 1 + n % 28) for n in range(50)],
            "kind": pyarrow.array([("a", "b")[n % 2] for n in range(50)]).dictionary_encode(),
        }
    )
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path, row_group_size=group)
    pieces = pieces_of(path, 8)
    assert rows_in(pieces) == [plain(row) for row in every_row(path)]
    assert [piece.total for piece in pieces if piece.number < 0] == [7]
    assert schema_of(pieces[0].head, path).field("at").type == table.schema.field("at").type
    assert sorted(piece.number for piece in pieces_of(path, 8, frozenset({3, 6}))) == [-1, 0, 1, 2, 4, 5]


def test_a_file_that_is_no_parquet_is_told_of(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    (only,) = pieces_of(tmp_path / "a.parquet", 8)
    assert "cannot read" in only.why


def test_a_head_tells_what_the_first_chunk_tells(tmp_path, tiny_model):
    """Columns that come later, and types that change, as the first chunk of the table has them and none after it."""
    rows = [{"text": "Camden"}, {"text": None, "n": 1}, {"m": "x", "text": "Brixton"}, {"n": 2.5, "text": "a"}]
    rows += [{"late": True, "text": "b"}] * 9
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = load(tiny_model, threads=1)
    pytest.importorskip("pyarrow")
    for suffix in (".csv", ".parquet"):
        whole, by_head = (Scorer(path, suffix, model, Request(targets={"Camden": ()})) for _ in range(2))
        whole.settle(list(every_row(path))[:4])
        head = unpack(pieces_of(path, 8)[1].head, path)
        by_head.settle(head)
        chunk = list(every_row(path))
        assert len(head) < 5
        assert by_head.score(chunk, first=True) == whole.score(chunk, first=True)


def test_names_of_pieces():
    assert piece_name("sub/b.2024.csv.gz", 12) == "sub/b.2024-00012.csv.gz"
    assert piece_name("b.parquet", 123456) == "b-123456.parquet"
    assert piece_number("sub/b.2024-00012.csv.gz") == 12
    assert piece_number("sub/b-2024.csv") is None


def test_parts_are_larger_where_there_is_more_to_do(tiny_model, tmp_path):
    from tabsa.scoring import request_identity
    from tabsa.scoring.many import Job
    from tabsa.scoring.many.cluster import RayEngine

    model = load(tiny_model, threads=1)
    request = Request(targets={"Camden": ()})
    job = Job(request, request_identity(model, request))
    engine = RayEngine(job, model, tmp_path, "parquet")
    part = Part("a.csv", "a.csv", "out/a.csv", 0, 0)
    sizes = [engine.part_rows([replace(part, bytes=size)]) for size in (1000, 10**8, 10**9, 10**12)]
    assert sizes == [1024, 1024, 4096, 16384]
