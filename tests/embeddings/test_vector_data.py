"""On real data: how much of Sentihood the published GloVe rows cover."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tabsa.embeddings.fallbacks import candidates
from tabsa.embeddings.glove import read_vectors
from tabsa.embeddings.vectors import known_share, lookup

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


def test_how_much_of_sentihood_is_known(glove, token_counts):
    vectors = read_vectors(glove, {spelling for word in token_counts for spelling in candidates(word)})
    own = sum(count for word, count in token_counts.items() if word in vectors.index)
    if own > 0.99 * token_counts.total():
        pytest.skip("this is the full GloVe file; the figures are of the 35,001 rows at hand")
    assert own / token_counts.total() == pytest.approx(0.9356, abs=0.0005)
    assert known_share(lookup(token_counts, vectors), token_counts) >= 0.975
