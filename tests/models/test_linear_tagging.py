"""Part-of-speech tags, with NLTK and its data there or not."""

import sys
from pathlib import Path

import pytest

from tabsa.errors import DataError, DataNotFoundError, TabsaError
from tabsa.models.linear.linear_features import LRConfig
from tabsa.models.linear.linear_model import load_tagger, tagger_for

FOLDER = "nltk_data/taggers/averaged_perceptron_tagger_eng"
PARTS = {
    "weights": '{"bias": {"NN": 1}, "i suffix ing": {"VBG": 2}}',
    "tagdict": '{"the": "DT"}',
    "classes": '["NN", "VBG"]',
}


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """A machine with no data, neither ours nor NLTK's."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("TABSA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def nltk_paths(monkeypatch):
    data = pytest.importorskip("nltk.data")
    monkeypatch.setattr(data, "path", [])
    return data.path


def put(folder: Path, parts=PARTS) -> Path:
    place = folder / FOLDER
    place.mkdir(parents=True)
    for name, content in parts.items():
        (place / f"averaged_perceptron_tagger_eng.{name}.json").write_text(content)
    return folder


def test_tags_from_a_data_folder(tmp_path, nltk_paths):
    tagger = load_tagger(put(tmp_path / "data"))
    assert tagger(["the", "going", "cat"]) == ["DT", "VBG", "NN"]
    assert tagger([]) == []


def test_tags_from_nltks_own_folders(tmp_path, nltk_paths):
    put(tmp_path / "home")
    nltk_paths.append(str(tmp_path / "home" / "nltk_data"))
    assert load_tagger()(["the", "going"]) == ["DT", "VBG"]


def test_without_its_data_one_line_says_what_to_do(nltk_paths):
    with pytest.raises(DataNotFoundError) as caught:
        load_tagger()
    message = str(caught.value)
    assert "\n" not in message
    assert "`tabsa data fetch nltk-tagger`" in message
    assert caught.value.code == "no_tagger"  # which the command line knows an option for


def test_without_nltk_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.tag.perceptron", None)
    with pytest.raises(TabsaError, match="pip install nltk") as caught:
        load_tagger()
    assert "\n" not in str(caught.value)


def test_damaged_data(tmp_path, nltk_paths):
    with pytest.raises(DataError, match=r"weights\.json is not valid JSON: .* `tabsa data fetch nltk-tagger`"):
        load_tagger(put(tmp_path / "data", PARTS | {"weights": "{"}))


def test_words_only_needs_no_tagger(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    assert tagger_for(LRConfig(pos_ngrams=0)) is None


@pytest.mark.data
def test_the_real_tagger(data_dir):
    pytest.importorskip("nltk")
    if not (data_dir / FOLDER).is_dir():
        pytest.skip("needs real data: run `tabsa data fetch nltk-tagger`")
    words = ["London", "is", "not", "as", "dear", "as", "it", "was"]
    assert load_tagger(data_dir)(words) == ["NNP", "VBZ", "RB", "RB", "JJ", "IN", "PRP", "VBD"]
