"""The rows of every format, with their values as text."""

import csv
import gzip
import io
import json
import tracemalloc
from pathlib import Path

import pytest

from table_rows import text_rows


def write(path: Path, records: list[dict[str, object]]) -> Path:
    if path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(records), path)
        return path
    stream = io.StringIO()
    if path.suffix == ".csv":
        csv.writer(stream).writerows([list(records[0]), *(record.values() for record in records)])
    else:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    content = stream.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["my.csv", "my.jsonl", "my.parquet"])
def test_every_format_gives_the_same_text(tmp_path, name):
    records = [{"n": 1, "x": 0.5, "note": None, "text": "a"}, {"n": 2, "x": 2.0, "note": "b", "text": 'c "d"\ne'}]
    assert list(text_rows(write(tmp_path / name, records))) == [
        {"n": "1", "x": "0.5", "note": "", "text": "a"},
        {"n": "2", "x": "2.0", "note": "b", "text": 'c "d"\ne'},
    ]


def test_what_is_not_text_is_written_as_json(tmp_path):
    path = tmp_path / "my.jsonl"
    path.write_text('{"a": [1, "é"], "b": {"c": null}, "d": true, "e": NaN}', encoding="utf-8")
    assert list(text_rows(path)) == [{"a": '[1, "é"]', "b": '{"c": null}', "d": "true", "e": ""}]


@pytest.mark.parametrize("name", ["my.csv", "my.jsonl.gz"])
def test_reading_takes_constant_memory(tmp_path, name):
    count = 50_000
    path = write(tmp_path / name, [{"id": str(n), "text": "text " * 20} for n in range(count)])
    tracemalloc.start()
    try:
        assert sum(1 for _ in text_rows(path)) == count
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 500_000
