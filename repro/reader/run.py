"""The readers: prepared where the data is, trained where the GPU is.

    python repro/reader/run.py prepare READY --encoder FOLDER --other FOLDER    # arrays of every configuration
    python repro/reader/run.py train READY STORE NAME --encoder FOLDER [--start NAME] [--pool NAME] [--set ...]
    python repro/reader/run.py soften READY STORE NAME --teachers NAME,...  # teachers answer a pool of drawn texts

A configuration is NAME.toml here. STORE keeps trained weights, (seeds, ...), and pools. What was measured is printed
and written to $RESULTS or the store as NAME.json; test figures are computed with `--test` alone.
"""

import argparse
import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import contextual  # noqa: F401  # makes its system known
import numpy as np
import torch
from pool import PoolDrawer, piece_rows
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file

from tabsa.encoding.questions import Questions
from tabsa.models.reader.encoder import read_encoder
from tabsa.models.reader.reader_network import Reader
from tabsa.models.registry import SYSTEMS
from tabsa.training.question_data import (
    LABELS,
    KnownPieces,
    PreparedQuestions,
    named_dataset,
    prepare_questions,
)
from tabsa.training.question_training import ReaderTrainer, held_figures, probabilities_of
from tabsa.training.run_config import RunConfig, read_config
from tabsa_repro.cross_encoding import CROSS_ENCODER, trainer_class
from tabsa_repro.prepared_file import read_prepared, write_prepared

SYSTEMS[CROSS_ENCODER.name] = CROSS_ENCODER
HERE = Path(__file__).parent
DEV = (
    ("everyday", "dev-seen", None), ("everyday", "dev-unseen", None), ("sentihood", "dev", None),
    ("semeval2014", "dev", None), ("open", "mams-categories-dev", None), ("places", "dev", None),
)  # fmt: skip
TEST = (
    ("everyday", "test-seen", None), ("everyday", "test-unseen", None), ("sentihood", "test", None),
    ("semeval2014", "test", None), ("places", "test", None),
    ("repro/box/held-out.jsonl", "all", ("sentihood",)),
)  # fmt: skip
FITTED = (20, 80, 300, 600, 1000, 1500, 2000, 3000)  # updates at which a run is fitted into its seconds
SAME = ("reader", "sentihood", "sentihood-contextual")  # configurations that train on another's arrays


def prepare(ready: Path, encoder: Path, other: Path) -> None:
    """Encode the data of every configuration, and what every reader is judged by."""
    from tabsa.datasets.sentihood import ALL_ASPECTS
    from tabsa.encoding.pieces import PieceReader

    ready.mkdir(parents=True, exist_ok=True)
    reader, new = PieceReader.read(encoder / "tokenizer.json"), PieceReader.read(other / "tokenizer.json")
    judged = tuple(
        named_dataset(name, split, ALL_ASPECTS if aspects == ("sentihood",) else aspects, None)
        for name, split, aspects in (*DEV, *TEST)
    )
    for file in sorted(HERE.glob("*.toml")):
        if file.stem in SAME:
            continue
        config = read_config(file)
        known = prepare_questions(config, reader).labels if not file.stem.startswith("open") else LABELS
        suited = tuple(dataset for dataset in judged if set(dataset.labels) <= set(known))
        prepared = prepare_questions(config, reader, judged=suited)
        write_prepared(ready / f"{file.stem}.safetensors", prepared)
        print(file.stem, len(prepared.train), "texts", len(prepared.train.targets), "questions", prepared.labels)
    save_arrays({"rows": piece_rows(reader, new)}, ready / "mpnet-pieces.safetensors")
    write_prepared(ready / "mpnet-known.safetensors", KnownPieces.of(new))


def prepared_for(ready: Path, name: str, kind: str) -> PreparedQuestions:
    """A configuration's arrays in an encoder's pieces."""
    prepared = read_prepared(ready / f"{name}.safetensors", PreparedQuestions)
    if kind != "mpnet":
        return prepared
    rows = load_arrays(ready / "mpnet-pieces.safetensors")["rows"]
    table = prepared.aspect_pieces
    return replace(
        prepared,
        train=replace(prepared.train, pieces=rows[prepared.train.pieces]),
        held=tuple(replace(held, data=replace(held.data, pieces=rows[held.data.pieces])) for held in prepared.held),
        aspect_pieces=np.where(table == -1, -1, rows[np.maximum(table, 0)]).astype(np.int32),
        pieces=read_prepared(ready / "mpnet-known.safetensors", KnownPieces),
    )


def network(config: RunConfig, prepared: PreparedQuestions, encoder: Path, seeds: list[int]) -> Reader:
    """The untrained model."""
    shape, weights = read_encoder(encoder)
    model: Reader = config.system.network_class()(config.model, shape, weights, len(prepared.labels), seeds)
    return model


def train(ready: Path, store: Path, name: str, args: argparse.Namespace) -> None:
    """Train seeds of a configuration, and say what they are worth."""
    started = time.perf_counter()
    config = read_config(HERE / f"{args.config or name}.toml", tuple(args.set))
    seeds = list(range(1, args.seeds + 1))
    kind = json.loads((args.encoder / "config.json").read_text("utf-8"))["model_type"]
    prepared = prepared_for(ready, args.data or args.config or name, kind)
    prepared = repeated(prepared, args.repeats)
    model = network(config, prepared, args.encoder, seeds)
    if args.start:
        begin = load_file(store / f"{args.start}.safetensors")
        columns = [LABELS.index(label) for label in prepared.labels]
        with torch.no_grad():
            for key, tensor in model.named_parameters():
                if key in begin and begin[key].shape[1:-1] == tensor.shape[1:-1]:
                    value = begin[key][..., columns] if key.startswith("output") else begin[key]
                    tensor.copy_(value[[n % len(value) for n in range(len(seeds))]])
    pool = None
    if args.pool:
        pool = Questions(**load_arrays(store / f"{args.pool}.safetensors"))
        if kind == "mpnet":
            pool = replace(pool, pieces=load_arrays(ready / "mpnet-pieces.safetensors")["rows"][pool.pieces])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    trainer = trainer_class(model)(config, prepared, model, device, pool)
    last, fitted = [time.perf_counter()], [0.0]

    def on_update(update: int, losses: torch.Tensor) -> None:
        if args.seconds and update in FITTED:
            losses.tolist()  # waits for the GPU
            now = time.perf_counter()
            if update > FITTED[0]:
                each = (now - fitted[0]) / (update - FITTED[FITTED.index(update) - 1])
                trainer.limit = max(100, update + int((args.seconds - (now - started)) / each))
                print(f"  {name}: {1000 * each:.0f} ms an update, {trainer.total} updates", flush=True)
            fitted[0] = now
        if update % 250 == 0:
            now = time.perf_counter()
            print(f"  {name} {update}/{config.training.epochs * trainer.updates} {losses.mean().item():.3f} "
                  f"{1000 * (now - last[0]) / 250:.0f} ms", flush=True)  # fmt: skip
            last[0] = now

    for validation in trainer.run(on_update):
        print(f"  {name} epoch {validation.epoch}:", [short(f) for f in validation.figures], flush=True)
    trainer.put(trainer.best)
    save_file({key: tensor.contiguous().cpu() for key, tensor in trainer.best.items()}, store / f"{name}.safetensors")
    seconds = time.perf_counter() - started
    result: dict[str, Any] = {"seeds": seeds, "epochs": trainer.progress.best_epoch, "seconds": round(seconds, 1)}
    result["updates"] = trainer.progress.update
    result["config"] = json.loads(json.dumps(asdict(config)))
    result["held"], answers = measured(trainer, test=args.test)
    out = Path(os.environ.get("RESULTS", store))
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    save_arrays(answers, out / f"{name}.answers.safetensors")
    for data, runs in result["held"].items():
        print(f"{name:<16} {data:<28}", mean_line(runs), flush=True)
    print(f"{name} {seconds:.0f} s", flush=True)


def measured(trainer: ReaderTrainer, *, test: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures of every seed, and of the mean of their answers, on what is held out; and the answers."""
    prepared, found, said = trainer.prepared, {}, {}
    for held in prepared.held[1:]:
        if test or not (held.name.rpartition(" ")[2].startswith("test") or "held-out" in held.name):
            answers = probabilities_of(trainer.model, prepared, held.data, trainer.products, trainer.arrange)
            runs = [held_figures(held, prepared.labels, own) for own in answers]
            said[held.name] = answers.astype(np.float16)
            found[held.name] = {"runs": runs, "ensemble": held_figures(held, prepared.labels, answers.mean(0))}
    return found, said


def mean_line(found: dict[str, Any]) -> str:
    """One line of a data set's figures: the mean of the seeds, and the ensemble."""
    runs = found["runs"]
    mean = {f: {m: float(np.mean([run[f][m] for run in runs])) for m in runs[0][f]} for f in runs[0]}
    return f"{short(mean)} | together {short(found['ensemble'])}"


def short(figures: dict[str, dict[str, float]]) -> str:
    """Figures in a few characters."""
    text = " ".join(f"{100 * value:.1f}" for value in figures.get("sun", {}).values())
    return f"{text} / " + " ".join(f"{100 * value:.1f}" for value in figures["questions"].values())


def soften(ready: Path, store: Path, name: str, args: argparse.Namespace) -> None:
    """Have every seed of a teacher answer a pool of texts: drawn ones, or those of READY/NAME.safetensors."""
    config = read_config(HERE / f"{args.config}.toml", tuple(args.set))
    data = args.data or args.config
    kind = json.loads((args.encoder / "config.json").read_text("utf-8"))["model_type"]
    prepared = prepared_for(ready, data, kind)
    given = ready / f"{name}.safetensors"
    if given.exists():
        pool = Questions(**load_arrays(given))
    else:
        plain = repeated(read_prepared(ready / f"{data}.safetensors", PreparedQuestions), args.repeats)
        pool = PoolDrawer(config, plain).pool(args.draws, extra=args.extra, dropped=0.1)
    rows = load_arrays(ready / "mpnet-pieces.safetensors")["rows"]
    asked = replace(pool, pieces=rows[pool.pieces]) if kind == "mpnet" else pool
    weights = load_file(store / f"{args.teachers}.safetensors")
    labels = known_labels(len(weights["output_bias"][0]), prepared)
    model = network(config, replace(prepared, labels=labels), args.encoder, list(range(len(weights["output"]))))
    with torch.no_grad():
        for key, tensor in model.named_parameters():
            tensor.copy_(weights[key])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    products = torch.bfloat16 if device == "cuda" else torch.float32
    arrange = trainer_class(model).arrange
    soft = probabilities_of(model.to(device), prepared, asked, products, arrange).mean(0).astype(np.float16)
    agree = float((soft.argmax(-1) == pool.labels)[pool.labels >= 0].mean())
    pool = replace(
        pool, soft_labels=soft, labels=np.where(pool.labels < 0, soft.argmax(-1), pool.labels).astype(np.int8)
    )
    save_arrays(pool.arrays(), store / f"{name}.safetensors")
    print(f"pool {name}: {len(pool)} texts, {len(pool.targets)} questions, labels agree with teachers {agree:.3f}")


def known_labels(count: int, prepared: PreparedQuestions) -> tuple[str, ...]:
    """The labels of a teacher with `count` of them."""
    return prepared.labels if len(prepared.labels) == count else LABELS[:count]


def repeated(prepared: PreparedQuestions, text: str) -> PreparedQuestions:
    """With some datasets read more often: NUMBER=TIMES,..."""
    changed = dict(tuple(map(int, pair.split("="))) for pair in text.split(",") if pair)
    return replace(prepared, repeats=tuple(changed.get(n, times) for n, times in enumerate(prepared.repeats)))


def main() -> None:
    """One of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("prepare", "train", "soften"))
    parser.add_argument("ready", type=Path)
    parser.add_argument("store", type=Path, nargs="?", default=Path("runs"))
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--other", type=Path, help="with prepare: the MPNet whose pieces are wanted too")
    parser.add_argument("--config", default="", help="the configuration's name, where it is not NAME")
    parser.add_argument("--data", default="", help="whose prepared data, where it is not the configuration's")
    parser.add_argument("--extra", type=int, default=2, help="with soften: questions more for each target")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--start", default="", help="trained weights in the store to start from")
    parser.add_argument("--pool", default="", help="a pool in the store to learn from")
    parser.add_argument("--teachers", default="")
    parser.add_argument("--repeats", default="", help="NUMBER=TIMES,...: how often datasets are read, by number")
    parser.add_argument("--seconds", type=float, default=0, help="with train: fit the updates into this time")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--test", action="store_true", help="look at the test sets too")
    parser.add_argument("--set", action="append", default=[], help="section.key=value")
    args = parser.parse_args()
    args.store.mkdir(parents=True, exist_ok=True)
    if args.step == "prepare":
        prepare(args.ready, args.encoder, args.other)
    elif args.step == "train":
        train(args.ready, args.store, args.name, args)
    else:
        soften(args.ready, args.store, args.name, args)


if __name__ == "__main__":
    main()
