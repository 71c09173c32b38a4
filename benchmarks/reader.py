"""Sentences a second of a reader, all targets and twelve aspects, against a BERT-base pair classifier in the same run.

    python benchmarks/reader.py --encoder FOLDER     # an encoder's folder; question layers with random weights
    python benchmarks/reader.py --encoder FOLDER --depth 10 --late-interaction 4    # as in `ReaderConfig`
    python benchmarks/reader.py --model FOLDER       # a trained reader

Speed does not depend on what the weights are. On Sentihood's test split where it is found, else `places`, repeated:

    reader               predict_many, from text to opinions, tokenisation included
    reader int8          the same with precision="int8"
    ..., 24 aspects      with twelve aspects more
    bert-base            as in scoring.py: one pass for each target-aspect pair, spared tokenisation

Then the arithmetic that reading the texts needs (products of the encoder's layers, padding not counted), over what
plain products of the same shape reach in onnxruntime on the same threads, in float32 and in int8.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from machine import machine
from onnx import TensorProto, helper, numpy_helper

from scoring import rates, sentences, transformer
from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.sentihood import ALL_ASPECTS
from tabsa.inference.predictor import Predictor
from tabsa.models.export import export
from tabsa.models.reader.encoder import read_encoder
from tabsa.models.reader.reader_config import ReaderConfig, reader_options, reader_shape
from tabsa.models.reader.reader_network import Reader
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.training.question_data import LABELS

RESULTS = Path(__file__).parent / "results" / "reader.json"
MORE = (
    "noise", "food", "service", "parking", "schools", "staff", "views", "weather", "crime", "rent", "parks", "pubs",
)  # fmt: skip


def untrained(encoder: Path, folder: Path, config: ReaderConfig) -> Path:
    """A reader with an encoder's weights and random question layers, in int8."""
    model = Reader(config, *read_encoder(encoder), len(LABELS), (1,))
    shape = model.encoder.shape
    content = ModelConfig(
        "reader", reader_options(config, shape), ALL_ASPECTS, LABELS, 64, min(512, shape.longest), tokeniser=""
    )
    own = {name: tensor.detach()[0].numpy() for name, tensor in model.named_parameters()}
    tokenizer = (encoder / "tokenizer.json").read_bytes()
    write_reader_folder(folder, content, own, tokenizer, {}, "untrained", storage="int8")
    return folder


def int8_product(d: int, wide: int, threads: int) -> tuple[float, Callable[[], object]]:
    """Products of whole numbers, in operations."""
    rows, times = 1024, 100
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (rows, d)).astype(np.uint8)
    weights = {
        "b": rng.integers(-63, 64, (d, wide)).astype(np.int8),
        "one": np.array(1, np.float32),
        "steps": np.ones(wide, np.float32),
        "zero": np.array(128, np.uint8),
    }
    node = helper.make_node("MatMulIntegerToFloat", ["a", "b", "one", "steps", "zero"], ["c"], domain="com.microsoft")
    inputs = [helper.make_tensor_value_info("a", TensorProto.UINT8, ["rows", d])]
    outputs = [helper.make_tensor_value_info("c", TensorProto.FLOAT, ["rows", wide])]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    return _running(helper.make_graph([node], "product", inputs, outputs, constants), a, d, wide, times, threads)


def float_product(d: int, wide: int, threads: int) -> tuple[float, Callable[[], object]]:
    """The same in float32."""
    rows, times = 1024, 100
    a = np.random.default_rng(0).normal(size=(rows, d)).astype(np.float32)
    b = np.random.default_rng(1).normal(size=(d, wide)).astype(np.float32)
    node = helper.make_node("MatMul", ["a", "b"], ["c"])
    inputs = [helper.make_tensor_value_info("a", TensorProto.FLOAT, ["rows", d])]
    outputs = [helper.make_tensor_value_info("c", TensorProto.FLOAT, ["rows", wide])]
    graph = helper.make_graph([node], "product", inputs, outputs, [numpy_helper.from_array(b, "b")])
    return _running(graph, a, d, wide, times, threads)


def _running(
    graph: object, a: np.ndarray, d: int, wide: int, times: int, threads: int
) -> tuple[float, Callable[[], object]]:
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return float(times * 2 * len(a) * d * wide), lambda: [session.run(None, {"a": a}) for _ in range(times)]


def score(model: Predictor, texts: list[str], targets: list, aspects: tuple[str, ...]) -> None:
    """From texts to opinions."""
    for _ in model.predict_many(texts, aspects=aspects, targets_of_each=targets):
        pass


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--model", type=Path)
    for name, default in (("depth", 0), ("late-interaction", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--sentences", type=int, default=1491)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as place:
        config = ReaderConfig(depth=options.depth, late_interaction=options.late_interaction)
        path = options.model or untrained(options.encoder, Path(place) / "reader", config)
        folder = read_folder(path)
        for precision in ("float32", "int8"):
            if options.model is None:
                export(folder, precision)
        size = sum(file.stat().st_size for file in path.iterdir() if file.is_file())
        measure(options, folder, size)


def measure(options: argparse.Namespace, folder: object, size: int) -> None:
    """Everything in turns, and the table."""
    threads = options.threads
    models = {
        "reader": Predictor(folder, threads=threads),
        "reader int8": Predictor(folder, threads=threads, precision="int8"),
    }
    dataset = sentences(options.sentences)
    texts, targets = [e.text for e in dataset.examples], [e.targets for e in dataset.examples]
    twice = (*ALL_ASPECTS, *MORE)
    runs = {name: (len(texts), partial(score, model, texts, targets, ALL_ASPECTS)) for name, model in models.items()}
    int8 = models["reader int8"]
    runs["reader int8, 24 aspects"] = len(texts), partial(score, int8, texts, targets, twice)
    shape = reader_shape(folder)
    sizes = shape.encoder
    cut = [[*int8.engine.cut(text, own)] for text, own in zip(texts, targets, strict=True)]
    read = [passage for passages in cut for passage in passages]
    pieces = sum(len(passage.pieces) + 2 for passage in read)
    d = sizes.size
    whole = sizes.layers - 1  # the last one only makes keys and values
    needed = 2.0 * pieces * (whole * (4 * d * d + 2 * d * sizes.inner) + (sizes.layers - whole) * 2 * d * d)
    for name, model in models.items():
        runs[f"{name}, engine alone"] = len(texts), partial(model.engine.read_passages, read, [ALL_ASPECTS] * len(read))
    runs["float32 products"], runs["int8 products"] = float_product(d, 3 * d, threads), int8_product(d, 3 * d, threads)
    found = rates(runs, 5, threads)
    sample = range(0, len(texts), max(1, len(texts) // 8))
    words = [len(texts[n].split()) for n in sample]
    pairs = [len(targets[n]) * len(ALL_ASPECTS) for n in sample]
    found |= rates({"bert-base": transformer(12, 768, 12, words, pairs, extra=4)}, 3, threads)
    products = {name: found.pop(f"{name} products") for name in ("float32", "int8")}
    for name, rate in found.items():
        print(f"{name:<28}{rate:>10.1f} sentences/s{rate / found['bert-base']:>10.1f} times bert-base")
    shares = {
        name: needed / len(texts) * found[f"{name}, engine alone"] / products["int8" if "int8" in name else "float32"]
        for name in models
    }
    for name, share in shares.items():
        print(f"{name}: the encoder's products alone are {100 * share:.0f}% of what plain products reach")
    content = {
        "machine": machine(),
        "command": "python benchmarks/reader.py " + ("--model" if options.model else "--encoder"),
        "encoder": str(folder.config.model.get("encoder") or (options.encoder or options.model).name),
        "depth": sizes.layers, "late_interaction": shape.late_interaction,
        "sentences": len(texts), "pieces": pieces, "threads": threads, "folder_bytes": size,
        "sentences_per_second": found, "operations_per_second": products, "share_of_products": shares,
    }  # fmt: skip
    options.out.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
