"""On real data: the published GloVe rows, and how much of Sentihood they cover."""

import json
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tabsa.embeddings.fallbacks import candidates
from tabsa.embeddings.glove import read_vectors
from tabsa.embeddings.vectors import WordVectors, coverage, lookup

pytestmark = pytest.mark.data


@pytest.fixture
def glove(data_dir: Path) -> Path:
    path = data_dir / "glove" / "glove.840B.300d.zip"
    if not path.is_file():
        pytest.skip("needs real data: put glove.840B.300d.zip into the folder glove/ of TABSA_DATA")
    return path


@pytest.fixture
def token_counts(data_dir: Path) -> Counter[str]:
    """Sentihood's tokens in lower case, without the two that stand for the targets."""
    tokenise = pytest.importorskip("nltk.tokenize").NLTKWordTokenizer().tokenize
    counts: Counter[str] = Counter()
    for split in ("train", "dev", "test"):
        examples = json.loads((data_dir / "sentihood" / f"sentihood-{split}.json").read_text(encoding="utf-8"))
        counts.update(token.lower() for example in examples for token in tokenise(example["text"]))
    del counts["location1"], counts["location2"]
    return counts


def test_the_published_file_is_read_exactly(glove):
    vectors = read_vectors(glove)
    if len(vectors) > 100_000:
        pytest.skip("this is the full GloVe file; the figures are of the 35,001 rows at hand")
    assert vectors.matrix.shape == (35_001, 300)
    assert len(set(vectors.words)) == 35_001
    assert "at\xa0name@domain.com" in vectors.index
    _check_against_plain_reading(vectors, glove)


def _check_against_plain_reading(vectors: WordVectors, glove: Path) -> None:
    with zipfile.ZipFile(glove) as archive, archive.open(archive.namelist()[0]) as lines:
        for number, line in enumerate(lines):
            if number % 97 == 0:
                *word, numbers = line.decode("utf-8").rstrip("\n").split(" ", 1)
                assert vectors.words[number] == word[0]
                expected = np.array([np.float32(text) for text in numbers.split(" ")])
                np.testing.assert_array_equal(vectors.matrix[number], expected)


def test_coverage_of_sentihood(glove, token_counts):
    vectors = read_vectors(glove, {spelling for word in token_counts for spelling in candidates(word)})
    own = sum(count for word, count in token_counts.items() if word in vectors.index)
    if own > 0.99 * token_counts.total():
        pytest.skip("this is the full GloVe file; the figures are of the 35,001 rows at hand")
    report = coverage(lookup(token_counts, vectors), token_counts)
    tokens = report["tokens"]
    assert sum(tokens.values()) == token_counts.total() == 79_060
    assert tokens["exact"] == own
    assert tokens["exact"] / 79_060 == pytest.approx(0.9356, abs=0.0005)
    assert tokens["clitic"] / 79_060 == pytest.approx(0.0158, abs=0.0005)
    assert report["known_tokens"] >= 0.975
    assert {"posh", "upmarket", "mins", "gatwick", "chavs"} <= {word for word, _ in report["unknown"]}
