"""Updates and sentences a second on a CPU: the loop as shipped against autograd through the plain step, word by word.

    python benchmarks/training.py [--updates 16] [--size 300]

Both train the same model on the same sentences in one process, in turns, so that a busy machine slows both alike. The
reference reads batches drawn at random, padded to their longest sentence; the loop as shipped puts sentences of like
length together where the balance allows it. The sentences are random words with Sentihood's spread of lengths (mean 16,
at most 50), so no data is needed. There are as many as 17 batches of 64 hold: sixteen updates and one to warm up read
them all, short and long.
"""

import argparse
import json
import platform
import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

from tabsa.encoding.arrays import Encoded
from tabsa.training.run_config import run_config
from tabsa.training.word_data import Prepared
from tabsa.training.word_training import Drawn, Trainer

RESULTS = Path(__file__).parent / "results" / "training.json"


def sentences(count: int, words: int, rng: np.random.Generator) -> Encoded:
    """Random sentences, two targets and four aspects each, labels as unbalanced as Sentihood's."""
    lengths = np.clip(rng.lognormal(2.6, 0.55, count), 3, 50).astype(np.int32)
    tokens = rng.integers(3, words, (count, 50)).astype(np.int32)
    tokens[np.arange(50) >= lengths[:, None]] = 0
    labels = rng.choice(3, (count, 2, 4), p=[0.84, 0.11, 0.05]).astype(np.int8)
    groups = np.arange(2 * count, dtype=np.int32).reshape(count, 2)
    return Encoded(tokens, lengths, labels, groups, labels.reshape(2 * count, 4).astype(np.int64))


def trainer(prepared: Prepared, balance: str, path: str, batch_size: int) -> Trainer:
    """A Delayed EntNet with the paper's options that scans by `path`."""
    training = {"balance": balance, "batch_size": batch_size, "optimiser": "adam", "rate": 0.001}
    result = Trainer(run_config({"kind": "delayed-entnet", "training": training}), prepared, [1])
    result.context = partial(result.context, path=path)
    if path == "step":
        result.samplers[0].pool = 1  # no sorting by length over several batches
    return result


def batches(of: Trainer, count: int) -> list[Drawn]:
    """The first `count` batches, of as many epochs as that takes."""
    rng, result = np.random.default_rng(0), []
    while len(result) < count:
        result += list(of.samplers[0].epoch(rng))
    return result[:count]


def measure(prepared: Prepared, balance: str, batch_size: int, updates: int) -> dict[str, float]:
    """Mean seconds an update for both paths, taken in turns; the first update of each warms up."""
    pair = {path: trainer(prepared, balance, path, batch_size) for path in ("step", "packed")}
    drawn = {path: batches(t, updates + 1) for path, t in pair.items()}
    seconds: dict[str, list[float]] = {path: [] for path in pair}
    for number in range(updates + 1):
        for path, of_path in pair.items():
            start = time.perf_counter()
            of_path.update([drawn[path][number]])
            seconds[path].append(time.perf_counter() - start)
    reference, shipped = (statistics.mean(seconds[path][1:]) for path in ("step", "packed"))
    read = batch_size
    return {
        "reference_updates_per_second": 1 / reference,
        "shipped_updates_per_second": 1 / shipped,
        "reference_sentences_per_second": read / reference,
        "shipped_sentences_per_second": read / shipped,
        "ratio": reference / shipped,
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=16)
    parser.add_argument("--size", type=int, default=300)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    words = 2000
    matrix = rng.normal(0, 0.34, (words, options.size)).astype(np.float32)
    matrix[0] = 0
    data = sentences(1088, words, rng)
    aspects = rng.normal(0, 0.34, (4, options.size)).astype(np.float32)
    prepared = Prepared(data, data, matrix, (1, 2), aspects, ("a", "b", "c", "d"), ("none", "positive", "negative"))
    results = {
        balance: measure(prepared, balance, batch_size, options.updates)
        for balance, batch_size in (("mixed", 128), ("sentence", 64))
    }
    print(f"{'batches':<10}{'reference':>24}{'shipped':>24}{'ratio':>8}   (sentences read a second)")
    for balance, row in results.items():
        reference, shipped = row["reference_sentences_per_second"], row["shipped_sentences_per_second"]
        print(f"{balance:<10}{reference:>24.0f}{shipped:>24.0f}{row['ratio']:>8.1f}")
    facts = {"torch": torch.__version__, "threads": torch.get_num_threads(), "python": platform.python_version()}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": facts, "size": options.size, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
