"""Sentences a second for all target-aspect pairs: the models in the box against what a user would pick instead.

    python benchmarks/scoring.py [--sentences 1491] [--threads 2]

In one run, on the same sentences (Sentihood's test split where it is found, else the package's `places`, repeated):

    reader       tabsa.load().predict_many (int8) with the same twelve aspects: from text to opinions, tokens included
    reader 24    with twelve aspects more
    reader float32
    places       tabsa.load("places"), float32
    places int8  the same with precision="int8"
    pytorch      `places` as an eager PyTorch network, from arrays
    bert-base    a pair classifier, one pass for each target-aspect pair: 12 layers of 768
    minilm       one pass for each sentence: 6 layers of 384

The two transformers have random weights of the right shape, run on token ids (PyTorch's own encoder, its fast path for
inference), and are spared tokenisation. They read a sample, because they are slow; the table gives rates.

Then the floating-point operations a second that the recurrence of `places` needs, padding not counted, over those that
plain products of its shape reach on the same threads, in PyTorch and in onnxruntime: from text to opinions, and for the
reading alone.

With `--threads 1` it is processor time that counts, which other work on the machine hardly disturbs.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import tabsa
from tabsa.datasets.loading import load
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.arrays import PADDING, combine, count_words, encode
from tabsa.encoding.passages import passages
from tabsa.encoding.target_words import target_word
from tabsa.errors import DataNotFoundError
from tabsa.inference.predictor import Predictor
from tabsa.models.folder_network import load_model
from tabsa.schema import Dataset, Target
from tabsa.training.word_training import reading_probabilities

RESULTS = Path(__file__).parent / "results" / "scoring.json"
MORE = (
    "parking", "noise at night", "schools", "rents", "friendly people", "traffic", "weather", "old buildings",
    "things to do with children", "clean streets", "views", "markets",
)  # fmt: skip
PIECES = 1.3  # word pieces for each word, about, for English


def sentences(count: int) -> Dataset:
    """The dataset to score, cut or repeated to `count` sentences."""
    try:
        dataset = load("sentihood", "test", aspects="all")
    except DataNotFoundError:
        dataset = load("places", "test")
    examples = [dataset.examples[n % len(dataset.examples)] for n in range(count)]
    return Dataset(dataset.name, dataset.split, dataset.aspects, dataset.labels, examples)


def rates(runs: dict[str, tuple[float, Callable[[], object]]], repeats: int, threads: int) -> dict[str, float]:
    """Units of work a second of each, given as work and what does it: the best of several rounds, in turns."""
    best = dict.fromkeys(runs, float("inf"))
    clock = time.process_time if threads == 1 else time.perf_counter
    for _ in range(repeats):
        for name, (_, run) in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return {name: work / best[name] for name, (work, _) in runs.items()}


def transformer(
    layers: int, size: int, heads: int, lengths: list[int], passes: list[int], extra: int
) -> tuple[float, Callable[[], object]]:
    """A run over sentences of `lengths` words, each read `passes` times with `extra` pieces more."""
    layer = nn.TransformerEncoderLayer(size, heads, 4 * size, activation="gelu", batch_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    pieces = [int(PIECES * n) + 2 + extra for n, p in zip(lengths, passes, strict=True) for _ in range(p)]
    pieces.sort()
    batches = [pieces[i : i + 32] for i in range(0, len(pieces), 32)]

    def run() -> None:
        with torch.inference_mode():
            for batch in batches:
                model(torch.randn(len(batch), batch[-1], size))

    return len(lengths), run


def eager(model: Predictor, dataset: Dataset) -> tuple[Callable[[], object], list[int], int]:
    """The model in PyTorch on all sentences; and their lengths, and the number of chains."""
    config = model.folder.config
    wanted = Dataset(dataset.name, dataset.split, config.aspects, config.labels, dataset.examples)
    names = [PADDING, *count_words([wanted], targets=config.targets, max_length=config.max_length)]
    rows = {word: row for row, word in enumerate(names)}
    vectors = lookup(names, model.folder.vectors).matrix
    vectors[0] = 0
    network = load_model(model.folder, vectors, tuple(rows[target_word(n)] for n in range(config.targets)))
    encoded = encode(wanted, rows, targets=config.targets, max_length=config.max_length)
    return (
        lambda: combine(encoded, reading_probabilities(network, encoded)),
        encoded.lengths.tolist(),
        int(network.keys().shape[1]),
    )


def plain_products(d: int, threads: int) -> dict[str, tuple[float, Callable[[], object]]]:
    """Products of the recurrence's shape, in floating-point operations."""
    rows, wide, times = 768, 3 * d, 100
    a, b = torch.randn(rows, d), torch.randn(d, wide)
    sizes = {"a": d, "c": wide}
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size]) for name, size in sizes.items()]
    node = helper.make_node("MatMul", ["a", "b"], ["c"])
    graph = helper.make_graph([node], "product", values[:1], values[1:], [numpy_helper.from_array(b.numpy(), "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    inputs, work = {"a": a.numpy()}, float(times * 2 * rows * d * wide)
    return {
        "torch": (work, lambda: [a @ b for _ in range(times)]),
        "onnxruntime": (work, lambda: [session.run(None, inputs) for _ in range(times)]),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1491)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    models = {
        "places": tabsa.load("places", threads=options.threads, precision="float32"),
        "places int8": tabsa.load("places", threads=options.threads, precision="int8"),
    }
    full = models["places"]
    readers = {name: tabsa.load(threads=options.threads, precision=name) for name in ("int8", "float32")}
    dataset = sentences(options.sentences)
    texts = [example.text for example in dataset.examples]
    targets = [example.targets for example in dataset.examples]
    network, lengths, chains = eager(full, dataset)
    d, config = full.folder.vectors.dim, full.folder.config
    needed = 2 * 2 * (7 * chains + 1) * d * d * sum(lengths)  # operations
    read = [
        passage
        for text, own in zip(texts, targets, strict=True)
        for passage in passages(text, own, at_once=config.targets, max_length=config.max_length)
    ]
    more = [*full.aspects, *MORE]
    asked = {
        "reader": (readers["int8"], full.aspects), "reader 24": (readers["int8"], more),
        "reader float32": (readers["float32"], full.aspects), **{n: (model, None) for n, model in models.items()},
    }  # fmt: skip
    whole = {n: (len(texts), partial(score, model, texts, targets, own)) for n, (model, own) in asked.items()}
    reading = {f"{n}, reading": (needed, partial(model.engine.read_passages, read)) for n, model in models.items()}
    products = plain_products(d, options.threads)
    found = rates({**whole, "pytorch": (len(texts), network), **reading, **products}, 9, options.threads)

    sample = range(0, len(texts), max(1, len(texts) // 8))
    words = [lengths[n] for n in sample]
    pairs = [len(targets[n]) * len(full.aspects) for n in sample]
    others = {
        "minilm": transformer(6, 384, 12, words, [1] * len(words), extra=0),
        "bert-base": transformer(12, 768, 12, words, pairs, extra=4),
    }
    found |= rates(others, 3, options.threads)
    speed = {name: found[name] for name in (*whole, "pytorch", *others)}
    flops = {
        "from_text_to_opinions": {name: needed * found[name] / len(texts) for name in models},
        "reading_alone": {name: found[f"{name}, reading"] for name in models},
        "plain_products": {name: found[name] for name in products},
    }
    print(f"{len(texts)} sentences of {dataset.name}, {len(full.aspects)} aspects, {options.threads} threads")
    show(speed, flops)
    facts = {
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
        "threads": options.threads,
        "sentences": len(texts),
        "data": dataset.name,
        "aspects": len(full.aspects),
        "mean_length": float(np.mean(lengths)),
        "chains": chains,
    }
    content = {"facts": facts, "sentences_per_second": speed, "flop_per_second": flops}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")


def score(
    model: Predictor, texts: list[str], targets: list[tuple[Target, ...]], aspects: Sequence[str] | None = None
) -> None:
    """From texts to opinions."""
    for _ in model.predict_many(texts, aspects=aspects, targets_of_each=targets):
        pass


def show(speed: dict[str, float], flops: dict[str, dict[str, float]]) -> None:
    """Print what was found."""
    for name, value in speed.items():
        print(f"{name:<16}{value:>10.1f} sentences/s{value / speed['bert-base']:>10.1f}x BERT-base")
    limits = flops["plain_products"]
    print("plain products:", ", ".join(f"{name} {value / 1e9:.0f} GFLOP/s" for name, value in limits.items()))
    for what in ("from_text_to_opinions", "reading_alone"):
        for name, value in flops[what].items():
            shares = ", ".join(f"{value / limit:.0%} of {library}'s" for library, limit in limits.items())
            print(f"{name}, {what.replace('_', ' ')}: {value / 1e9:.0f} GFLOP/s, {shares}")


if __name__ == "__main__":
    main()
