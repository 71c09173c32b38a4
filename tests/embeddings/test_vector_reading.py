"""Reading word vectors: every layout in which they are published, and every way in which a file can be broken."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsa.embeddings.glove import read_vectors
from tabsa.errors import DataError
from tabsa.files import sha256

PLAIN = "the 0.1 -0.2 0.3\n. . . 1 2 3\nat name@domain.com 4 5 6\nLondon -1e-3 2E+2 0\n"
WORDS = ("the", ". . .", "at name@domain.com", "London")
MATRIX = np.array([[0.1, -0.2, 0.3], [1, 2, 3], [4, 5, 6], [-1e-3, 200, 0]], dtype=np.float32)


@pytest.fixture
def write(tmp_path: Path):
    def write(content: str | bytes, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def zipped(path: Path, members: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_all_words_are_read_with_spaces_in_words(write):
    path = write(PLAIN)
    vectors = read_vectors(path)
    assert vectors.words == WORDS
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix, MATRIX)
    assert (vectors.source.name, vectors.source.sha256) == ("vectors.txt", sha256(path))
    assert ("London" in vectors.index, "london" in vectors.index) == (True, False)
    np.testing.assert_array_equal(vectors["London"], MATRIX[3])
    assert vectors.scale == pytest.approx(np.sqrt((MATRIX**2).mean()), rel=0.01)


def test_only_the_words_asked_for_are_kept_in_the_files_order(write):
    vectors = read_vectors(write(PLAIN), ["London", ". . .", "absent", "at"])
    assert vectors.words == (". . .", "London")
    np.testing.assert_array_equal(vectors.matrix, MATRIX[[1, 3]])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "4 3\n" + text,  # word2vec's header
        lambda text: text.replace("\n", " \n"),  # fastText's line ends
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: text + "\n\n",
        lambda text: text + "the 9 9 9\n",  # repeated: the first one counts
    ],
)
def test_layouts_that_differ_in_no_word(write, change):
    path = write(change(PLAIN))
    for words in (None, WORDS):
        vectors = read_vectors(path, words)
        assert vectors.words == WORDS
        np.testing.assert_array_equal(vectors.matrix, MATRIX)


def test_a_word_that_is_not_utf8_is_left_out(write):
    path = write(b"a 1 2\n\xff\xfe 3 4\nb\xc2\xa0c 5 6\n")
    assert read_vectors(path).words == ("a", "b\xa0c")
    assert read_vectors(path, ["b\xa0c", "\udcff"]).words == ("b\xa0c",)


def test_a_zip_gives_what_its_one_text_gives(write, tmp_path):
    for path in (
        zipped(tmp_path / "stored.ZIP", {"folder/vectors.txt": PLAIN}, zipfile.ZIP_STORED),
        zipped(tmp_path / "mac.zip", {"vectors.txt": PLAIN, "__MACOSX/._vectors.txt": "x"}),
    ):
        vectors = read_vectors(path)
        assert vectors.words == WORDS
        np.testing.assert_array_equal(vectors.matrix, MATRIX)
        assert (vectors.source.name, vectors.source.sha256) == (path.name, sha256(path))


def test_a_file_that_cannot_be_opened_is_one_clear_line(write, tmp_path):
    good = zipped(tmp_path / "good.zip", {"v.txt": PLAIN * 999}).read_bytes()
    for path, message in (
        (tmp_path, "no word vectors at"),
        (tmp_path / "absent.txt", "no word vectors at"),
        (write(PLAIN, "fake.zip"), "not a zip file"),
        (write(good[: len(good) // 2], "half.zip"), "damaged or cut short"),
        (write(good[:60] + bytes([good[60] ^ 255]) + good[61:], "flipped.zip"), "damaged or cut short"),
        (zipped(tmp_path / "empty.zip", {}), "holds nothing; unpack"),
        (zipped(tmp_path / "two.zip", {"a.2d.txt": "a 1 2\n", "a.3d.txt": "a 1 2 3\n"}), "holds a.2d.txt, a.3d.txt; "),
    ):
        with pytest.raises(DataError, match=message):
            read_vectors(path)


GOOD = "".join(f"w{i} 1 2 3\n" for i in range(5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"holds no word vectors"),
        ("only some prose in here\nand more\n", r"line 1: could not convert .*some.*; 4 numbers were expected"),
        (GOOD + "bad 1 2\n" + GOOD, r"line 6 is cut short or malformed; a word and 3 numbers"),
        (GOOD + "bad 1 oops 3\n", r"line 6: could not convert .*oops.*; 3 numbers were expected"),
        (GOOD + "bad 1 nan 3\n", r"line 6 has a number that is not finite"),
        (GOOD + "bad 1 1e300 3\n", r"line 6 has a number that is not finite"),
        (GOOD + "x" * (1 << 21) + "\n", r"line 6 is cut short or malformed"),
    ],
)
def test_a_broken_file_is_one_clear_line(write, text, message):
    path = write(text)
    with pytest.raises(DataError, match=message) as error:
        read_vectors(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


word = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1).filter(
    lambda w: w == w.strip(" ") and w.encode()[:3] != b"\xef\xbb\xbf" and not w.replace(" ", "").isdigit()
)
number = st.floats(-1e6, 1e6, width=32)


noise = st.binary(max_size=200) | st.text("ab 1.\n-e", max_size=80).map(str.encode)


@settings(max_examples=150)
@given(noise, st.sampled_from([".txt", ".zip"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("vectors") / f"v{suffix}"
    path.write_bytes(content)
    for words in (None, ["a", "b"]):
        try:
            vectors = read_vectors(path, words)
        except DataError:
            continue
        assert vectors.matrix.shape == (len(vectors), vectors.dim)
        assert np.isfinite(vectors.matrix).all()
