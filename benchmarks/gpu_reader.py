"""An update of reader-large on a GPU: launched kernel by kernel, and replayed as a CUDA graph.

    python benchmarks/gpu_reader.py [--seeds 5] [--texts 64] [--pieces 64] [--layers 12] [--size 768]

Random weights of mpnet-base's shape, random texts and questions: seeds side by side, each with its own batch of texts
with sixteen questions, and 192 aspects of eight pieces. Milliseconds an update (forward, backward, clipping, AdamW,
EMA) are medians; TFLOP/s count the products of the encoder's and the question layers, three times for forward and
backward; the ceiling is a large bf16 product in the same run.
"""

import argparse
import json
import math
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from machine import machine

from tabsa.models.reader.reader_config import EncoderShape, ReaderConfig
from tabsa.models.reader.reader_network import QuestionBatch, Reader
from tabsa.training import optimisers
from tabsa.training.loop import cross_entropy
from tabsa.training.question_training import QuestionGraphs
from tabsa.training.run_config import TrainingConfig

RESULTS = Path(__file__).parent / "results" / "gpu_reader.json"
QUESTIONS, ASPECTS, WORDS, LABELS = 16, 192, 8, 5


def random_weights(shape: EncoderShape, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights of an encoder that nothing was learnt by."""
    weights = {}
    for name, size in shape.weight_sizes().items():
        kind = name.rpartition(".")[2]
        if "norm" in kind:
            weights[name] = np.full(size, 0 if kind.endswith("_bias") else 1, np.float32)
        else:
            weights[name] = rng.normal(0, 1 / math.sqrt(shape.size), size).astype(np.float32)
    return weights


def drawn(seeds: int, texts: int, pieces: int, vocabulary: int) -> QuestionBatch:
    """A random batch on the GPU."""
    rng = np.random.default_rng(1)
    arrays = (
        rng.integers(4, vocabulary, (seeds, texts, pieces)),
        np.full((seeds, texts), pieces),
        rng.integers(-1, 2, (seeds, texts, pieces)),
        rng.integers(4, vocabulary, (seeds, ASPECTS, WORDS)),
        np.full((seeds, ASPECTS), WORDS),
        rng.integers(-1, 2, (seeds, texts, QUESTIONS)),
        rng.integers(0, ASPECTS, (seeds, texts, QUESTIONS)),
        rng.integers(0, LABELS, (seeds, texts, QUESTIONS)),
    )
    return QuestionBatch(*(torch.from_numpy(array.astype(np.int64)).cuda() for array in arrays))


def operations(shape: EncoderShape, seeds: int, texts: int, pieces: int) -> float:
    """Of the products of an update."""
    d = shape.size
    read = seeds * (texts * pieces + ASPECTS * WORDS)
    encoder = read * shape.layers * (4 * d * d + 2 * d * shape.inner)
    attention = seeds * texts * pieces * pieces * 2 * d * shape.layers
    asked = seeds * texts * QUESTIONS * (3 * d * d + 2 * (2 * d * d + 4 * d * d) + d * d)
    keys = seeds * texts * pieces * 2 * 2 * d * d
    return 3 * 2.0 * (encoder + attention + asked + keys)


def timed(run: object, repeats: int = 30) -> float:
    """Milliseconds, the median."""
    for _ in range(5):
        run()
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        found.append(1000 * (time.perf_counter() - start))
    return statistics.median(found)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("seeds", 5), ("texts", 64), ("pieces", 64), ("layers", 12), ("size", 768)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    shape = EncoderShape("mpnet", options.size, options.layers, 12, 4 * options.size, 30527, 514, 1e-5, 32)
    weights = random_weights(shape, np.random.default_rng(0))
    model = Reader(ReaderConfig(), shape, weights, LABELS, range(options.seeds)).cuda()
    generators = [torch.Generator("cuda").manual_seed(n) for n in range(options.seeds)]
    optimiser = optimisers.optimiser(
        TrainingConfig(optimiser="adamw", rate=1e-6), {1.0: [*model.parameters()]}, fused=True
    )
    ema = [parameter.detach().clone() for parameter in model.parameters()]

    from tabsa.nn.context import Context

    context = Context(training=True, generators=generators, products=torch.bfloat16)

    def learn(batch: QuestionBatch) -> torch.Tensor:
        losses = cross_entropy(model(batch, context=context).logits, batch.labels, None)
        optimiser.zero_grad(set_to_none=True)
        losses.sum().backward()
        optimisers.clip(model.parameters(), "global", 1.0)
        optimiser.step()
        return losses.detach()

    def average() -> None:
        with torch.no_grad():
            torch._foreach_lerp_(ema, list(model.parameters()), 0.01)

    batch = drawn(options.seeds, options.texts, options.pieces, shape.vocabulary)
    graphs = QuestionGraphs(learn, generators)
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    ceiling = 2 * 8192**3 / timed(lambda: a @ b) / 1e9
    needed = operations(shape, options.seeds, options.texts, options.pieces)
    rows = {}
    for name, update in (("eager", learn), ("graph", graphs.learn)):
        ms = timed(lambda update=update: (update(batch), average()))
        rows[name] = {"ms": ms, "tflops": needed / ms / 1e9, "share_of_ceiling": needed / ms / 1e9 / ceiling}
        print(
            f"{name:<8}{ms:8.1f} ms  {rows[name]['tflops']:6.0f} TFLOP/s  {100 * rows[name]['share_of_ceiling']:.0f}%"
        )
    content = {"machine": machine(), "device": torch.cuda.get_device_name(), **vars(options), "ceiling_tflops": ceiling}
    RESULTS.write_text(json.dumps(content | {"updates": rows}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
