"""Where data is looked for, what can be fetched, and downloads from a server in this process."""

import hashlib
import io
import re
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import pytest

from tabsa.datasets.loading import DATASETS
from tabsa.datasets.locate import DATASET, RESOURCE, Entry, File, catalogue, data_folders, entry, fetch, find
from tabsa.errors import DataNotFoundError


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """A machine with no data: an empty current folder, an empty cache, no $TABSA_DATA."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("TABSA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path, relative="sentihood/a.json") -> Path:
    path = folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[]")
    return path


# ---- where


def test_the_first_folder_that_has_the_file_wins(tmp_path, monkeypatch):
    given, named, cache = tmp_path / "given", tmp_path / "named", tmp_path / "cache" / "tabsa"
    given.mkdir()
    assert data_folders() == [Path("../shared/data"), cache]
    monkeypatch.setenv("TABSA_DATA", str(named))
    assert data_folders(given) == [given, named, Path("../shared/data"), cache]
    for folder in (cache, tmp_path / "shared" / "data", named, given):
        expected = put(folder)
        assert find("sentihood/a.json", given).resolve() == expected.resolve()
    assert find("sentihood/a.json") == named / "sentihood" / "a.json"


@pytest.mark.parametrize(
    ("relative", "advice"),
    [
        ("sentihood-original/sentihood-dev.json", "get it with `tabsa data fetch sentihood-original`"),
        ("senticnet/senticnet4.tsv", "put a copy of it in one of them"),
    ],
)
def test_absent_data_is_one_line_with_the_places_and_what_to_do(tmp_path, relative, advice):
    with pytest.raises(DataNotFoundError) as caught:
        find(relative, tmp_path)
    cache = tmp_path / "cache" / "tabsa"
    assert str(caught.value) == f"no {relative} in {tmp_path}, ../shared/data, {cache}; {advice}"


# ---- the catalogue


def test_what_is_downloaded_is_checked_and_lies_below_the_data_folder():
    files = [file for one in catalogue().values() for file in (*one.files, *([one.archive] if one.archive else []))]
    for file in files:
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert file.url is None or (file.url.startswith("https://") and file.size and file.sha256)
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    for known in ([file.path for file in files], [file.sha256 for file in files if file.sha256]):
        assert len(set(known)) == len(known)


def test_entries_are_found_by_their_names_and_those_of_their_datasets():
    for one in catalogue().values():
        assert all((one.description, one.licence, one.citation))
        assert bool(one.datasets) == (one.kind == DATASET)
    assert {name for one in catalogue().values() for name in one.datasets} == DATASETS.keys()
    assert entry("semeval2014-3way") is catalogue()["semeval2014"]
    unfetchable = [one.name for one in catalogue().values() if not one.fetchable]
    assert unfetchable == ["senticnet4", "places", "everyday", "real", "open"]
    with pytest.raises(
        DataNotFoundError, match=r"nothing called 'glove'.* sentihood, .*glove-840b, glove-42b"
    ) as caught:
        entry("glove")
    assert "senticnet4" not in str(caught.value)


# ---- downloads


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Puts contents on a server in this process, and an entry `it` with them into the catalogue."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    public = tmp_path / "public"
    public.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(public))) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        def add(contents: dict[str, bytes], members: tuple[File, ...] = (), **changes: str) -> None:
            files = []
            for name, content in contents.items():
                (public / name).write_bytes(content)
                url = f"http://127.0.0.1:{server.server_port}/{name}"
                known = {"sha256": hashlib.sha256(content).hexdigest(), "url": url} | changes
                files.append(File(f"folder/{name}", len(content), **known))
            one = Entry("it", RESOURCE, "-", "-", "-", members or tuple(files), files[0] if members else None)
            monkeypatch.setitem(catalogue(), "it", one)

        yield add
        server.shutdown()


def test_good_files_arrive_and_are_not_fetched_twice(publish, tmp_path):
    publish({"a.txt": b"hello", "b.txt": b"world"})
    put(tmp_path, "folder/b.txt")  # another one, which is replaced
    for _ in range(2):
        assert [path.read_bytes() for path in fetch("it", tmp_path)] == [b"hello", b"world"]
        for path in (tmp_path / "public").iterdir():
            path.unlink()
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["a.txt", "b.txt"]


def test_an_archive_is_unpacked_beside_it(publish, tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as bundle:
        bundle.writestr("inner/x.json", "{}")
        bundle.writestr("../outside.txt", "no")
    publish({"it.zip": stream.getvalue()}, members=(File("folder/inner/x.json", 2),))
    assert [path.read_text() for path in fetch("it", tmp_path / "data")] == ["{}"]
    assert all(path.is_relative_to(tmp_path / "data" / "folder") for path in tmp_path.rglob("outside.txt"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"sha256": "0" * 64}, "0000 but got 2cf24dba"), ({"url": "http://127.0.0.1:1/a.txt"}, "Max retries|refused")],
)
def test_what_goes_wrong_is_one_line_and_leaves_what_is_there(publish, tmp_path, changes, message):
    publish({"a.txt": b"hello"}, **changes)
    path = put(tmp_path, "folder/a.txt")
    with pytest.raises(DataNotFoundError, match=message) as caught:
        fetch("it", tmp_path)
    assert "\n" not in str(caught.value)
    assert [(one.name, one.read_text()) for one in path.parent.iterdir()] == [("a.txt", "[]")]


def test_what_cannot_be_fetched_is_one_line(tmp_path, monkeypatch):
    with pytest.raises(
        DataNotFoundError, match=r"senticnet4 cannot be fetched \(licence: unclear\); put your own copy at "
    ):
        fetch("senticnet4", tmp_path)
    with pytest.raises(DataNotFoundError, match=r"places cannot be fetched .*; it is in the package"):
        fetch("places", tmp_path)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataNotFoundError, match=r"fetching needs pooch; install it with `pip install 'tabsa\[data\]'`"):
        fetch("sentihood", tmp_path)
