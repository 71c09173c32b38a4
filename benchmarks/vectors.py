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
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
    from tabsa.vectors import read_vectors

    vectors = read_vectors(path, vocabulary)
    return vectors.matrix[[vectors.index[word] for word in vocabulary]]


def with_tabsa_all(path: Path, vocabulary: list[str]) -> Matrix:
    """Ours, asked for every word, as gensim is."""
    from tabsa.vectors import read_vectors

    vectors = read_vectors(path)
    return vectors.matrix[[vectors.index[word] for word in vocabulary]]


def with_tabsa_cache(path: Path, vocabulary: list[str]) -> Matrix:
    """Ours, from the second time on; the first call, which fills the cache, is made before the clock starts."""
    from tabsa.vectors import load_vectors

    return load_vectors(path, vocabulary, cache_dir=path.parent / "cache").matrix


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
    "tabsa, cached": (with_tabsa_cache, 3),
    "tabsa, every word": (with_tabsa_all, 1),
    "loop over lines": (with_loop, 3),
    BASELINE: (with_gensim, 1),
}


def measure(name: str, path: Path, vocabulary: list[str]) -> tuple[float, float, str]:
    """Seconds, peak memory in MiB and a digest of the numbers; for a process of its own."""
    reader = READERS[name][0]
    if name == "tabsa, cached":
        reader(path, vocabulary)
    else:
        __import__("gensim.models" if name == BASELINE else "tabsa.vectors")  # imports are not reading
    start = time.perf_counter()
    matrix = reader(path, vocabulary)
    seconds = time.perf_counter() - start
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, _digest(matrix)


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
            digests.update(digest for _, _, digest in measured)
            seconds = [round(taken, 3) for taken, _, _ in measured]
            rows[name] = {"best_s": min(seconds), "all_s": seconds, "peak_mib": round(max(m for _, m, _ in measured))}
            print(f"{name:<30}{min(seconds):>9.3f} s{rows[name]['peak_mib']:>8} MiB", flush=True)
    if len(digests) != 1:
        sys.exit("the readers disagree about the numbers")
    for row in rows.values():
        row["times_faster_than_gensim"] = round(rows[BASELINE]["best_s"] / row["best_s"], 1)
    return {
        "what": f"{vocabulary_size} words out of a text file of {words} words, {dim} numbers each",
        "command": "python benchmarks/vectors.py",
        "file_bytes": size,
        "readers": rows,
        "machine": {
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "gensim": version("gensim"),
        },
    }


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=500_000, help="words in the file (default 500,000)")
    parser.add_argument("--dim", type=int, default=300, help="numbers a word (default 300)")
    parser.add_argument("--vocabulary", type=int, default=6_000, help="words asked for (default 6,000)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    asked = parser.parse_args()
    if not 0 < asked.vocabulary <= asked.words:
        parser.error("--vocabulary must be at least 1 and at most --words")
    result = run(asked.words, asked.dim, asked.vocabulary)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    ours = result["readers"]["tabsa"]
    print(f"tabsa is {ours['times_faster_than_gensim']} times faster than {BASELINE}")


if __name__ == "__main__":
    main()
