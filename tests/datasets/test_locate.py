"""Where data is looked for, and what is said when it is not there."""

import sys
from pathlib import Path

import pytest

from tabsa.datasets.locate import cache_folder, data_folders, find
from tabsa.errors import DataError, DataNotFoundError


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """A machine with no data: an empty current folder, an empty cache, no $TABSA_DATA."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("TABSA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def put(folder: Path, relative="sentihood/a.json") -> Path:
    path = folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[]")
    return path


def test_folders_in_order(tmp_path, monkeypatch):
    given, named = tmp_path / "given", tmp_path / "named"
    given.mkdir()
    monkeypatch.setenv("TABSA_DATA", str(named))
    cache = tmp_path / "cache" / "tabsa"
    assert data_folders(given) == [given, named, Path("../shared/data"), cache]
    assert data_folders(None) == [named, Path("../shared/data"), cache]
    monkeypatch.setenv("TABSA_DATA", "")
    assert data_folders() == [Path("../shared/data"), cache]


def test_the_first_folder_that_has_the_file_wins(tmp_path, monkeypatch):
    given, named = tmp_path / "given", tmp_path / "named"
    given.mkdir()
    monkeypatch.setenv("TABSA_DATA", str(named))
    in_cache = put(tmp_path / "cache" / "tabsa")
    assert find("sentihood/a.json", given) == in_cache
    put(tmp_path / "shared" / "data")
    assert find("sentihood/a.json", given) == Path("../shared/data/sentihood/a.json")
    in_named = put(named)
    assert find("sentihood/a.json", given) == in_named
    in_given = put(given)
    assert find("sentihood/a.json", given) == in_given
    assert find("sentihood/a.json") == in_named
    assert find("sentihood") == named / "sentihood"


@pytest.mark.parametrize(
    ("relative", "advice"),
    [
        ("sentihood/sentihood-dev.json", "get it with `tabsa data fetch sentihood`"),
        ("sentihood-original/sentihood-dev.json", "get it with `tabsa data fetch sentihood-original`"),
        ("semeval2014/Restaurants_Train.xml", "get it with `tabsa data fetch semeval2014`"),
        ("glove/glove.42B.300d.zip", "get it with `tabsa data fetch glove-42b`"),
        ("senticnet/senticnet4.tsv", "put a copy of it in one of them"),
        ("mine/a.txt", "put a copy of it in one of them"),
    ],
)
def test_absent_data_is_one_line_with_the_places_and_what_to_do(tmp_path, relative, advice):
    with pytest.raises(DataNotFoundError) as caught:
        find(relative, tmp_path)
    cache = tmp_path / "cache" / "tabsa"
    assert str(caught.value) == f"no {relative} in {tmp_path}, ../shared/data, {cache}; {advice}"


def test_a_given_folder_must_exist_and_be_a_folder(tmp_path):
    put(tmp_path / "cache" / "tabsa")
    with pytest.raises(DataNotFoundError, match=r"the data folder .*absent does not exist"):
        find("sentihood/a.json", tmp_path / "absent")
    file = put(tmp_path)
    with pytest.raises(DataNotFoundError, match=r"the data folder .*a\.json is a file"):
        data_folders(file)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TABSA_DATA", "~/named")
    assert data_folders(Path("~"))[:2] == [tmp_path, tmp_path / "named"]


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "home/.cache/tabsa"),
        ("linux", {"XDG_CACHE_HOME": "{tmp}/xdg"}, "xdg/tabsa"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/tabsa"),
        ("linux", {"XDG_CACHE_HOME": ""}, "home/.cache/tabsa"),
        ("darwin", {"XDG_CACHE_HOME": "{tmp}/xdg"}, "home/Library/Caches/tabsa"),
        ("win32", {"LOCALAPPDATA": "{tmp}/local"}, "local/tabsa"),
        ("win32", {"LOCALAPPDATA": ""}, "home/AppData/Local/tabsa"),
    ],
)
def test_the_cache_is_where_each_system_keeps_caches(tmp_path, monkeypatch, platform, environment, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    assert cache_folder() == tmp_path / expected


def test_without_a_home_folder_the_other_places_remain(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", home)
    assert data_folders() == [Path("../shared/data")]
    with pytest.raises(DataError, match="set HOME or TABSA_DATA"):
        cache_folder()
