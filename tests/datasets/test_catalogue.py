"""The catalogue: every entry can be fetched and checked, and names what the loaders read."""

import re
from pathlib import Path, PurePosixPath

import pytest

from tabsa.datasets.loading import DATASETS
from tabsa.datasets.locate import DATASET, Entry, File, catalogue, entry
from tabsa.errors import FetchError
from tabsa.files import sha256

ENTRIES = pytest.mark.parametrize("one", catalogue().values(), ids=lambda one: one.name)


def all_files() -> list[File]:
    return [file for one in catalogue().values() for file in (*one.files, *([one.archive] if one.archive else []))]


@pytest.mark.parametrize("file", all_files(), ids=lambda file: file.path)
def test_a_file_that_is_downloaded_is_checked(file: File) -> None:
    if file.url is not None:
        assert file.url.startswith("https://")
        assert file.sha256 is not None
        assert file.size is not None
    if file.sha256 is not None:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)


def test_paths_are_distinct_and_stay_below_the_data_folder() -> None:
    paths = [PurePosixPath(file.path) for file in all_files()]
    assert len(set(paths)) == len(paths)
    assert not any(path.is_absolute() or ".." in path.parts for path in paths)


def test_sha256s_are_distinct() -> None:
    known = [file.sha256 for file in all_files() if file.sha256]
    assert len(set(known)) == len(known)


@ENTRIES
def test_an_entry_says_what_it_is_and_how_to_cite_it(one: Entry) -> None:
    assert catalogue()[one.name] is one
    assert one.description
    assert one.licence
    assert one.citation
    assert bool(one.datasets) == (one.kind == DATASET)


@ENTRIES
def test_what_comes_out_of_an_archive_lies_beside_it(one: Entry) -> None:
    if one.archive is not None:
        folder = PurePosixPath(one.archive.path).parent
        assert all(PurePosixPath(file.path).is_relative_to(folder) for file in one.files)


def test_every_dataset_that_others_publish_has_an_entry() -> None:
    own = {"places", "everyday", "open"}  # in the package, in the repository, and made of others by the user
    assert {name for one in catalogue().values() for name in one.datasets} == DATASETS.keys() - own


def test_an_entry_is_found_by_its_name_and_by_its_datasets() -> None:
    assert entry("glove-42b").name == "glove-42b"
    assert entry("semeval2014-3way") is catalogue()["semeval2014"]


def test_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(FetchError, match=r"nothing called 'glove'.* sentihood, .*glove-840b, glove-42b") as caught:
        entry("glove")
    assert "senticnet4" not in str(caught.value)


def test_what_may_not_be_downloaded_is_listed_only() -> None:
    assert [one.name for one in catalogue().values() if not one.fetchable] == ["senticnet4"]


@pytest.mark.data
@pytest.mark.parametrize("name", ["sentihood", "sentihood-original", "semeval2014"])
def test_the_real_files_are_the_published_ones(data_dir: Path, name: str) -> None:
    for file in catalogue()[name].files:
        if not (data_dir / file.path).is_file():
            pytest.skip(f"needs real data: run `tabsa data fetch {name}`")
        assert sha256(data_dir / file.path) == file.sha256
