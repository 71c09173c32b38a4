"""Sentences a second for all target-aspect pairs: the model in the box against what a user would pick instead.

    python benchmarks/scoring.py [--model FOLDER] [--sentences 1491]

In one run, on the same sentences (Sentihood's test split where it is found, else the package's `places`, repeated):

    tabsa        tabsa.load().predict_many, from text to opinions, tokenisation included
    pytorch      the same model as an eager PyTorch network, from arrays
    bert-base    a pair classifier, one pass for each target-aspect pair: 12 layers of 768
    minilm       one pass for each sentence: 6 layers of 384

The two transformers have random weights of the right shape, run on token ids (PyTorch's own encoder, its fast path for
inference), and are spared tokenisation. They read a sample, because they are slow; the table gives rates.
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import nn

import tabsa
from tabsa.batch import PADDING, count_words, encode, target_word
from tabsa.data import load
from tabsa.errors import DataNotFoundError
from tabsa.schema import Dataset
from tabsa.training.loop import predict
from tabsa.training.result import load_model, rows_of

RESULTS = Path(__file__).parent / "results" / "scoring.json"
PIECES = 1.3  # word pieces for each word, about, for English


def sentences(count: int) -> Dataset:
    """The dataset to score, cut or repeated to `count` sentences."""
    try:
        dataset = load("sentihood", "test", aspects="all")
    except DataNotFoundError:
        dataset = load("places", "test")
    examples = [dataset.examples[n % len(dataset.examples)] for n in range(count)]
    return Dataset(dataset.name, dataset.split, dataset.aspects, dataset.labels, examples)


def rate(work: int, run: object, repeats: int = 3) -> float:
    """Units of work a second, the best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()  # type: ignore[operator]
        best = min(best, time.perf_counter() - start)
    return work / best


def encoder(layers: int, size: int, heads: int) -> nn.Module:
    """A transformer encoder of a shape, with random weights."""
    layer = nn.TransformerEncoderLayer(size, heads, 4 * size, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()


def transformer_rate(layers: int, size: int, heads: int, lengths: list[int], passes: list[int], extra: int) -> float:
    """Sentences a second for sentences of `lengths` words, each read `passes` times with `extra` pieces more."""
    model = encoder(layers, size, heads)
    pieces = [int(PIECES * n) + 2 + extra for n, p in zip(lengths, passes, strict=True) for _ in range(p)]
    pieces.sort()
    batches = [pieces[i : i + 32] for i in range(0, len(pieces), 32)]

    def run() -> None:
        with torch.inference_mode():
            for batch in batches:
                model(torch.randn(len(batch), batch[-1], size))

    return rate(len(lengths), run, 1)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None)
    parser.add_argument("--sentences", type=int, default=1491)
    options = parser.parse_args()
    model = tabsa.load(options.model)
    dataset = sentences(options.sentences)
    texts = [example.text for example in dataset.examples]
    targets = [example.targets for example in dataset.examples]
    list(model.predict_many(texts[:64], targets_of_each=targets[:64]))
    ours = rate(len(texts), lambda: list(model.predict_many(texts, targets_of_each=targets)))

    config = model.folder.config
    asked = Dataset(dataset.name, dataset.split, config.aspects, config.labels, dataset.examples)
    names = [PADDING, *count_words([asked], targets=config.targets, max_length=config.max_length)]
    rows = {word: row for row, word in enumerate(names)}
    eager = load_model(
        model.folder, rows_of(names, model.folder.vectors), tuple(rows[target_word(n)] for n in range(config.targets))
    )
    encoded = encode(asked, rows, targets=config.targets, max_length=config.max_length)
    pytorch = rate(len(texts), lambda: predict(eager, encoded))

    sample = range(0, len(texts), max(1, len(texts) // 24))
    lengths = [int(encoded.lengths[n]) for n in sample]
    pairs = [len(targets[n]) * len(config.aspects) for n in sample]
    bert = transformer_rate(12, 768, 12, lengths, pairs, extra=4)
    minilm = transformer_rate(6, 384, 12, lengths, [1] * len(lengths), extra=0)

    chains, d = eager.keys().shape[1:]
    flops = 2 * 2 * (7 * chains + 1) * d * d * float(encoded.lengths.sum())
    a, b = torch.randn(768, d), torch.randn(d, 3 * d)
    ceiling = rate(200 * 2 * a.numel() * 3 * d, lambda: [a @ b for _ in range(200)])
    achieved = flops / (len(texts) / ours)
    results = {"tabsa": ours, "pytorch": pytorch, "minilm": minilm, "bert-base": bert}
    print(f"{len(texts)} sentences of {dataset.name}, {len(config.aspects)} aspects, {torch.get_num_threads()} threads")
    for name, value in results.items():
        print(f"{name:<12}{value:>10.1f} sentences/s{ours / value:>10.1f}x")
    print(
        f"recurrence: {achieved / 1e9:.0f} GFLOP/s of {ceiling / 1e9:.0f} in plain products ({achieved / ceiling:.0%})"
    )
    facts = {
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "sentences": len(texts),
        "data": dataset.name,
        "aspects": len(config.aspects),
        "mean_length": float(np.mean(encoded.lengths)),
        "chains": int(chains),
    }
    content = {"facts": facts, "sentences_per_second": results, "flop_rate": achieved, "sgemm_rate": ceiling}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
