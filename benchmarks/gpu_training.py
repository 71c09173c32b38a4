"""An update of five Delayed EntNets on a GPU: eager, and as one CUDA graph, which `tabsa train` makes there.

    python benchmarks/gpu_training.py [--out benchmarks/results/gpu_training.json]

Both at the paper's sizes: batches of 128 pairs, d = 300, six chains, two directions, five seeds. The sentences are made
up, with lengths like Sentihood's.
"""

import argparse
import json
import platform
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import torch

from tabsa.encoding.arrays import Encoded
from tabsa.training.run_config import run_config
from tabsa.training.word_data import Prepared
from tabsa.training.word_training import Trainer

SEEDS, WORDS, SIZE, CHAINS = 5, 50, 300, 6


def made_up(sentences: int = 3000) -> Prepared:
    """Sentences of random words with lengths like Sentihood's (mean 16, at most 50)."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(2.6, 6.2, sentences).astype(np.int64) + 1, 1, WORDS)
    tokens = rng.integers(3, 4000, (sentences, WORDS)).astype(np.int32)
    tokens[np.arange(WORDS) >= lengths[:, None]] = 0
    tokens[:, 0] = 1
    labels = rng.choice(3, (sentences, 2, 4), p=(0.8, 0.13, 0.07)).astype(np.int8)
    groups = np.arange(2 * sentences).reshape(sentences, 2).astype(np.int64)
    matrix = rng.normal(0, 0.4, (4000, SIZE)).astype(np.float32)
    matrix[0] = 0
    data = Encoded(tokens, lengths, labels, groups, labels.reshape(2 * sentences, 4).astype(np.int64))
    aspects = rng.normal(0, 0.4, (4, SIZE)).astype(np.float32)
    return Prepared(data, data, matrix, (1, 2), aspects, ("a", "b", "c", "d"), ("none", "positive", "negative"))


def trainer(prepared: Prepared, precision: str) -> Trainer:
    """Five seeds at the paper's settings."""
    training = {"balance": "mixed", "optimiser": "ftrl-tf", "rate": 0.05, "precision": precision}
    config = run_config({"kind": "delayed-entnet", "model": {"chains": CHAINS}, "training": training})
    return Trainer(config, prepared, range(1, SEEDS + 1), "cuda")


def batches(of: Trainer, count: int) -> list:
    """The first batches of each seed, on the device."""
    result = []
    while len(result) < count:
        epochs = (s.epoch(r) for s, r in zip(of.samplers, of.orders, strict=True))
        result += [of.batch(drawn) for drawn in zip(*epochs, strict=True)]
    return result[:count]


def seconds(learn, own: list, repeats: int) -> list[float]:
    """Seconds an update, by CUDA events, over all batches, several times."""
    found = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for batch in own:
            learn(batch)
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) / 1000 / len(own))
    return found


def measured(learn, own: list, *, repeats: int = 3) -> dict[str, float]:
    """The median, with the memory it took."""
    for batch in own:
        learn(batch)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = seconds(learn, own, repeats)
    return {
        "ms": 1000 * statistics.median(times),
        "spread_ms": 1000 * (max(times) - min(times)),
        "gigabytes": torch.cuda.max_memory_reserved() / 1e9,
    }


def epoch_seconds(of: Trainer) -> float:
    """Wall-clock seconds of an epoch as `tabsa train` runs it, drawing included, evaluation not."""
    for _ in range(2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for drawn in zip(*(s.epoch(r) for s, r in zip(of.samplers, of.orders, strict=True)), strict=True):
            of.update(drawn)
        torch.cuda.synchronize()
    return time.perf_counter() - started


def commit() -> str | None:
    """The commit measured, where git knows it."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit", help="the commit measured, where git is not there to ask")
    options = parser.parse_args()
    prepared = made_up()
    rows: dict[str, dict[str, float]] = {}
    for precision in ("float32", "tf32"):
        made = trainer(prepared, precision)
        own = batches(made, 24)
        rows[f"eager, {precision}"] = measured(made.learn_batch, own[:6])
        rows[f"graph, {precision}"] = measured(made.graphs.learn, own)
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "data": "made up",
        "commit": options.commit or commit(),
        "seeds": SEEDS,
        "updates": {
            name: row | {"times_eager": rows["eager, float32"]["ms"] / row["ms"]} for name, row in rows.items()
        },
        "seconds_for_14400_updates_drawing_included": 14400 / made.updates * epoch_seconds(made),
    }
    for name, row in result["updates"].items():
        print(f"{name:16s} {row['ms']:8.2f} ms  {row['times_eager']:6.1f}x  {row['gigabytes']:.1f} GB")
    print({k: v for k, v in result.items() if k != "updates"})
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
