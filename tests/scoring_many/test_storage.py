"""A folder here and a folder at a URL do the same; pyarrow's local file system stands for an object store."""

import pytest

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError
from tabsa.scoring.many.parts import find_parts
from tabsa.scoring.many.storage import Folder, UrlFolder, folder_at, is_url, open_file, without_file_scheme

pytest.importorskip("pyarrow")


@pytest.fixture(params=["path", "url"])
def folder(request, tmp_path):
    (tmp_path / "out").mkdir()
    return Folder(tmp_path / "out") if request.param == "path" else UrlFolder(f"file://{tmp_path}/out")


def test_files_by_their_names(folder, tmp_path):
    (tmp_path / "out" / "sub").mkdir()
    assert folder.entries() == {}
    folder.write("sub/a.csv", b"text\n")
    folder.write("sub/a.csv", b"more\n")
    assert {name: entry.bytes for name, entry in folder.entries().items()} == {"sub/a.csv": 5}
    assert folder.entries()["sub/a.csv"].changed == (tmp_path / "out/sub/a.csv").stat().st_mtime_ns
    assert folder.read("sub/a.csv") == b"more\n"
    with open_file(folder.location_of("sub/a.csv")) as file:
        assert (file.peek(2)[:2], file.read()) == (b"mo", b"more\n")
    folder.remove("sub/a.csv")
    folder.remove("sub/a.csv")
    assert folder.entries() == {}
    with pytest.raises(DataNotFoundError, match=r"no file .*a\.csv"):
        folder.read("sub/a.csv")
    with pytest.raises(DataError, match=r"(cannot read|no file) .*a\.csv"):
        open_file(folder.location_of("sub/a.csv"))


def test_a_journal_is_kept(folder):
    folder.open_journal("_parts.jsonl")
    folder.append(b"1\n")
    assert folder.read("_parts.jsonl") == b"1\n"
    folder.append(b"2\n")
    folder.close_journal()
    folder.open_journal("_parts.jsonl")
    folder.append(b"3\n")
    folder.close_journal()
    assert folder.read("_parts.jsonl") == b"1\n2\n3\n"
    folder.open_journal("_parts.jsonl")
    folder.clear_journal()
    folder.append(b"4\n")
    folder.close_journal()
    assert folder.read("_parts.jsonl") == b"4\n"


def test_a_journal_of_a_store_is_written_now_and_then(tmp_path, monkeypatch):
    folder = UrlFolder(f"file://{tmp_path}")
    folder.open_journal("_parts.jsonl")
    folder.append(b"1\n")
    folder.append(b"2\n")
    assert folder.read("_parts.jsonl") == b"1\n"
    monkeypatch.setattr("tabsa.scoring.many.storage._JOURNAL_EVERY", 0.0)
    folder.append(b"3\n")
    assert folder.read("_parts.jsonl") == b"1\n2\n3\n"


def test_what_a_kill_left_of_a_line_is_cut_off(tmp_path):
    (tmp_path / "_parts.jsonl").write_bytes(b"1\n2")
    folder = Folder(tmp_path)
    folder.open_journal("_parts.jsonl")
    folder.append(b"3\n")
    folder.close_journal()
    assert (tmp_path / "_parts.jsonl").read_bytes() == b"1\n3\n"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("in", ["a.csv", "sub/b.jsonl", "sub/deep/c.parquet"]),
        ("in/*.csv", ["a.csv"]),
        ("in/**/*.jsonl", ["sub/b.jsonl"]),
        ("in/s[tu]b/**", ["sub/b.jsonl", "sub/deep/c.parquet"]),
        ("in/[!s]*", ["a.csv"]),
        ("in/sub/b.jsonl", ["b.jsonl"]),
    ],
)
def test_tables_at_a_url(tmp_path, pattern, found):
    for name in ("a.csv", "sub/b.jsonl", "sub/deep/c.parquet", "_old/d.csv", "notes.txt", "a.csv.rejects.jsonl"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    parts = find_parts(f"file://{tmp_path}/{pattern}", f"file://{tmp_path}/out")
    assert [part.name for part in parts] == found
    assert parts[0].source == f"file://{tmp_path}/in/{'sub/' if pattern.count('b') else ''}{found[0]}".replace(
        "sub/sub", "sub"
    )
    assert open_file(parts[0].source).read().decode().endswith(found[0])


def test_urls():
    assert [is_url(name) for name in ("s3://bucket/x", "gs://b", "a/b", "C:/x", "/x://y")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert without_file_scheme("file:///a/b") == "/a/b"
    assert without_file_scheme("s3://a/b") == "s3://a/b"
    with pytest.raises(ConfigError, match=r"cannot use http://x/y: Unrecognized filesystem type"):
        folder_at("http://x/y")
    question = UrlFolder("s3://bucket/in?endpoint_override=localhost:1&scheme=http")
    assert question.location_of("a.csv") == "s3://bucket/in/a.csv?endpoint_override=localhost:1&scheme=http"


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    for folder in (Folder(tmp_path / "file" / "out"), UrlFolder(f"file://{tmp_path}/file/out")):
        with pytest.raises(OutputError, match=r"cannot write .*file/out.*: "):
            folder.write("a.csv", b"")
