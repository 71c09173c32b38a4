"""Encode data for the judge, train it, and let it answer: one command a step.

python -m judge.run encode qwen.gguf work                  # where data and file are: items, tokens, packed weights
python -m judge.run train work out --seed 1 [--set epochs=2]   # where the GPU is: figures on dev, soft labels
python -m judge.run test work out --seed 1                 # the same, and one look at test

`train` answers the pool (`work/pool-*.npz`) in parts, and leaves out parts that lie in `out`
already. Items travel as one array a set, because that machine has neither datasets nor a tokenizer.
"""

import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from judge.model import Judge, Training, answers, fit_temperature, train
from judge.questions import LABELS, Item, items_of, renumbered
from judge.weights import ANSWERS, occurring, pack, tokenizer_of, unpack
from tabsa.evaluation.metrics import question_metrics

DATA = ("everyday train", "everyday dev-seen", "everyday dev-unseen", "everyday test-seen", "everyday test-unseen")


def write_items(path: Path, items: list[Item]) -> None:
    """Write items as flat arrays."""
    parts = [part for item in items for part in (item.text, *item.questions)]
    np.savez_compressed(
        path,
        tokens=np.concatenate(parts),
        lengths=np.array([len(part) for part in parts], np.int32),
        questions=np.array([len(item.questions) for item in items], np.int32),
        labels=np.concatenate([item.labels for item in items]).astype(np.float16),
    )


def read_items(path: Path) -> list[Item]:
    """Read what `write_items` wrote."""
    with np.load(path) as arrays:
        parts = iter(np.split(arrays["tokens"], np.cumsum(arrays["lengths"])[:-1]))
        counts = arrays["questions"]
        labels = iter(np.split(arrays["labels"].astype(np.float32), np.cumsum(counts)[:-1]))
    return [Item(next(parts), tuple(next(parts) for _ in range(count)), next(labels)) for count in counts]


def encode_data(file: Path, work: Path) -> None:
    """Encode the datasets, find the tokens that occur, and pack the decoder for them."""
    from tabsa.datasets.loading import load

    work.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_of(file)
    sets = {name: items_of(load(*name.split(" ")), tokenizer) for name in DATA}
    first = [tokenizer.encode(word).ids[0] for word in ANSWERS]
    sequences = (part for items in sets.values() for item in items for part in (item.text, *item.questions))
    tokens = occurring(sequences, first)
    for name, items in sets.items():
        write_items(work / f"{name.replace(' ', '-')}.npz", renumbered(items, tokens))
    np.save(work / "tokens.npy", tokens)
    pack(file, tokens, work / "packed")


def figures(judge: Judge, items: list[Item], temperature: float = 1.0) -> dict[str, float]:
    """Measure the judge on labelled items."""
    return question_metrics(*_gold_and_shares(judge, items, temperature))


def _gold_and_shares(judge: Judge, items: list[Item], temperature: float = 1.0) -> tuple[NDArray[Any], NDArray[Any]]:
    shares = np.concatenate(answers(judge, items, temperature=temperature))
    return np.concatenate([item.labels for item in items]).argmax(1), shares


def run(work: Path, out: Path, config: Training, *, test: bool, part: int) -> None:
    """Train one seed, measure it, and answer the pool (`work/pool-*.npz`)."""
    out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.enable_cudnn_sdp(False)  # with a boolean mask its gradients are NaN in torch 2.11
    started = time.monotonic()
    judge = Judge.of(*unpack(work / "packed")).to(device)
    train(judge, read_items(work / "everyday-train.npz"), config, lambda epoch, loss: _say(epoch, loss, started))
    dev = [read_items(work / f"everyday-{name}.npz") for name in ("dev-seen", "dev-unseen")]
    gold, shares = _gold_and_shares(judge, dev[0] + dev[1])
    temperature = fit_temperature(shares, gold)
    record: dict[str, Any] = {
        "system": "judge",
        "seed": config.seed,
        "config": asdict(config),
        "temperature": temperature,
    }
    wanted = DATA[1:] if test else DATA[1:3]
    record["figures"] = {
        name: figures(judge, read_items(work / f"{name.replace(' ', '-')}.npz"), temperature) for name in wanted
    }
    record |= {"seconds": round(time.monotonic() - started, 1), "device": device, "labels": list(LABELS)}
    (out / f"judge-{config.seed}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    for name, row in record["figures"].items():
        print(name, " / ".join(f"{100 * value:.1f}" for value in row.values()))
    for pool in sorted(work.glob("pool-*.npz")):
        _answer_pool(judge, read_items(pool), out, f"{pool.stem}-{config.seed}", temperature, part)


def _answer_pool(judge: Judge, items: list[Item], out: Path, name: str, temperature: float, part: int) -> None:
    for start in range(0, len(items), part):
        path = out / f"{name}-{start}.npy"
        if not path.exists():
            shares = np.concatenate(answers(judge, items[start : start + part], temperature=temperature))
            np.save(path, shares.astype(np.float16))


def _say(epoch: int, loss: float, started: float) -> None:
    print(f"epoch {epoch}: loss {loss:.3f}, {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("encode", "train", "test"))
    parser.add_argument("first", type=Path, help="the GGUF file, or the folder of encode")
    parser.add_argument("second", type=Path, help="where results go")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=int, default=20_000, help="texts of the pool in a file")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the training")
    given = parser.parse_args()
    if given.step == "encode":
        encode_data(given.first, given.second)
        return
    changes = {key: json.loads(value) for key, _, value in (setting.partition("=") for setting in given.set)}
    config = replace(Training(seed=given.seed), **changes)
    run(given.first, given.second, config, test=given.step == "test", part=given.part)


if __name__ == "__main__":
    main()
