"""How fast word vectors are read: a vocabulary of 6,000 words out of a text file of 500,000, against other readers.

    python benchmarks/vectors.py                 # writes a file of 1.3 GB into the temporary folder, and removes it
    python benchmarks/vectors.py --words 50000   # the same, ten times smaller

The baseline is gensim's plain loader, `KeyedVectors.load_word2vec_format`, which has no way to ask for some words only;
its `limit` would stop before most of the vocabulary, which is spread over the whole file. The loop is what people write
by hand. Each reader runs in a process of its own, on the same file, already in the page cache. All must give the same
numbers for the vocabulary. The figures go to benchmarks/results/vectors.json.
"""

import argparse
import hashlib
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from machine import machine

Matrix = npt.NDArray[np.float32]
RESULTS = Path(__file__).parent / "results" / "vectors.json"
BASELINE = "gensim load_word2vec_format"


def write_vectors(path: Path, words: int, dim: int) -> None:
    """A file like GloVe's, with the header that gensim is faster with.

    The numbers of a line come back a thousand lines later, which no reader profits from.
    """
    rows = np.random.default_rng(0).normal(0, 0.4, size=(min(words, 1000), dim))
    texts = [" ".join(f"{value:.5f}".rstrip("0") for value in row) for row in rows]
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f"{words} {dim}\n")
        stream.writelines(f"word{i} {texts[i % len(texts)]}\n" for i in range(words))


def with_tabsa(path: Path, vocabulary: list[str]) -> Matrix:
    """Ours: the vocabulary only, with the file's SHA-256."""
    from tabsa.embeddings.glove import read_vectors

    vectors = read_vectors(path, vocabulary)
    return vectors.matrix[[vectors.index[word] for word in vocabulary]]


def with_tabsa_all(path: Path, vocabulary: list[str]) -> Matrix:
    """Ours, asked for every word, as gensim is."""
    from tabsa.embeddings.glove import read_vectors

    vectors = read_vectors(path)
    return vectors.matrix[[vectors.index[word] for word in vocabulary]]


def with_gensim(path: Path, vocabulary: list[str]) -> Matrix:
    """The baseline."""
    from gensim.models import KeyedVectors  # type: ignore[import-untyped]

    vectors = KeyedVectors.load_word2vec_format(str(path))
    return np.asarray(vectors[vocabulary], dtype=np.float32)


def with_loop(path: Path, vocabulary: list[str]) -> Matrix:
    """A loop over the lines that splits each and keeps the words asked for."""
    wanted, found = set(vocabulary), {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.rstrip().split(" ")
            if word in wanted:
                found[word] = np.array(numbers, dtype=np.float32)
    return np.stack([found[word] for word in vocabulary])


READERS: dict[str, tuple[Callable[[Path, list[str]], Matrix], int]] = {  # with the number of runs
    "tabsa": (with_tabsa, 3),
    "tabsa, every word": (with_tabsa_all, 1),
    "loop over lines": (with_loop, 3),
    BASELINE: (with_gensim, 1),
}


class Measure(NamedTuple):
    """One run of one reader."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    digest: str  # of the numbers read


def measure(name: str, path: Path, vocabulary: list[str]) -> Measure:
    """Run one reader; to be called in a process of its own, for the peak memory's sake."""
    reader = READERS[name][0]
    __import__("gensim.models" if name == BASELINE else "tabsa.embeddings.glove")  # imports are not reading
    start, cpu_start = time.perf_counter(), time.process_time()
    matrix = reader(path, vocabulary)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Measure(seconds, cpu_seconds, peak, _digest(matrix))


def _digest(matrix: Matrix) -> str:
    return hashlib.sha256(np.ascontiguousarray(matrix).tobytes()).hexdigest()


def run(words: int, dim: int, vocabulary_size: int) -> dict[str, Any]:
    """Write the file, run every reader on it, and return the figures."""
    vocabulary = [f"word{i * words // vocabulary_size}" for i in range(vocabulary_size)]
    rows: dict[str, dict[str, Any]] = {}
    digests: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        write_vectors(path, words, dim)
        size = path.stat().st_size
        for name, (_, runs) in READERS.items():
            measured = []
            for _ in range(runs):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    measured.append(pool.apply(measure, (name, path, vocabulary)))
            digests.update(m.digest for m in measured)
            rows[name] = row = {
                "best_s": round(min(m.seconds for m in measured), 3),
                "best_cpu_s": round(min(m.cpu_seconds for m in measured), 3),
                "runs": runs,
                "peak_mib": round(max(m.peak_mib for m in measured)),
            }
            print(
                f"{name:<30}{row['best_s']:>9.3f} s{row['best_cpu_s']:>9.3f} s cpu{row['peak_mib']:>7} MiB", flush=True
            )
    if len(digests) != 1:
        sys.exit("the readers disagree about the numbers")
    return {
        "what": f"{vocabulary_size} words out of a text file of {words} words, {dim} numbers each",
        "command": f"python benchmarks/vectors.py --words {words} --dim {dim} --vocabulary {vocabulary_size}",
        "file_bytes": size,
        "readers": rows,
        "times_faster_than_gensim": {
            "seconds": round(rows[BASELINE]["best_s"] / rows["tabsa"]["best_s"], 1),
            "cpu_seconds": round(rows[BASELINE]["best_cpu_s"] / rows["tabsa"]["best_cpu_s"], 1),
        },
        "machine": machine() | {"numpy": version("numpy"), "gensim": version("gensim")},
    }


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=500_000, help="words in the file (default 500,000)")
    parser.add_argument("--dim", type=int, default=300, help="numbers a word (default 300)")
    parser.add_argument("--vocabulary", type=int, default=6_000, help="words asked for (default 6,000)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    if not 0 < arguments.vocabulary <= arguments.words:
        parser.error("--vocabulary must be at least 1 and at most --words")
    result = run(arguments.words, arguments.dim, arguments.vocabulary)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"tabsa is {result['times_faster_than_gensim']['seconds']} times faster than {BASELINE}")


if __name__ == "__main__":
    main()
