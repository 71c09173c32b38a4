"""Which tables a job has, and where their results go."""

from pathlib import Path

import pytest

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError
from tabsa.scoring.many import find_parts, is_many


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "in"
    for name in ("b.csv", "A.JSONL.GZ", "sub/c.tsv", "sub/deep/d.parquet", "notes.txt", "b.csv.rejects.jsonl"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x" * len(name))
    for name in ("_parts.jsonl", ".hidden.csv", "_old/e.csv"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    return root


def names(source: Path, out: Path, form: str | None = None) -> list[str]:
    return [part.name for part in find_parts(source, out, form)]


def test_a_folder_and_all_below_it(folder, tmp_path):
    parts = find_parts(folder, tmp_path / "out")
    assert [part.name for part in parts] == ["A.JSONL.GZ", "b.csv", "sub/c.tsv", "sub/deep/d.parquet"]
    part = parts[2]
    assert (part.source, part.out) == (str(folder / "sub/c.tsv"), str(tmp_path / "out" / "sub/c.tsv"))
    assert part.identity() == {"bytes": len("sub/c.tsv"), "changed": (folder / "sub/c.tsv").stat().st_mtime_ns}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.csv", ["b.csv"]),
        ("**/*.tsv", ["sub/c.tsv"]),
        ("sub/*.tsv", ["c.tsv"]),
        ("s?b/deep/*", ["sub/deep/d.parquet"]),
    ],
)
def test_a_pattern_keeps_what_is_below_its_plain_start(folder, tmp_path, pattern, found):
    assert is_many(folder / pattern)
    assert names(folder / pattern, tmp_path / "out") == found


def test_a_relative_pattern(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert names(Path("in/*.csv"), Path("out")) == ["b.csv"]


def test_one_file_whose_name_looks_like_a_pattern(tmp_path):
    (tmp_path / "a[1].csv").write_text("text\nx\n")
    assert not is_many(tmp_path / "a[1].csv")
    assert names(tmp_path / "a[1].csv", tmp_path / "out") == ["a[1].csv"]


def test_another_format(folder, tmp_path):
    assert names(folder, tmp_path / "out", "csv.gz") == ["A.csv.gz", "b.csv.gz", "sub/c.csv.gz", "sub/deep/d.csv.gz"]
    with pytest.raises(ConfigError, match="there is no format 'xml'; expected one of csv, tsv"):
        find_parts(folder, tmp_path / "out", "xml")


def test_results_are_not_input(folder):
    out = folder / "results"
    out.mkdir()
    (out / "b.csv").write_text("text\nx\n")
    assert len(names(folder, out)) == 4
    for wrong in (folder, folder.parent):
        with pytest.raises(OutputError, match="holds the input"):
            find_parts(folder, wrong)


def test_two_tables_do_not_share_a_name(folder, tmp_path):
    (folder / "b.tsv").write_text("text\nx\n")
    with pytest.raises(ConfigError, match=r"b\.csv and .*b\.tsv would both be written to .*b\.jsonl; rename one"):
        find_parts(folder, tmp_path / "out", "jsonl")


def test_nothing_to_score(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DataNotFoundError, match="no table in"):
        find_parts(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(DataNotFoundError, match="no file"):
        find_parts(tmp_path / "none.csv", tmp_path / "out")
    with pytest.raises(DataError, match="cannot tell the format"):
        find_parts(tmp_path / "notes.txt", tmp_path / "out")
