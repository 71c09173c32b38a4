"""Sixty labelled posts about phones: a person's first labels. Ten splits of a hundred, forty of them to be judged by.

    python repro/few_shot/phones.py [--splits 10]      # writes results/phones.json

Against the reader in the box as it is, and the package's `lr` trained on the same posts, a fifth of them
its dev split.
"""

import argparse
import csv
import json
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tabsa
from tabsa.datasets.loading import load
from tabsa.datasets.selection import stratified_parts
from tabsa.inference.evaluating import evaluate
from tabsa.schema import Dataset
from tabsa.training.fit import fit
from tabsa.training.run_config import run_config

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docs" / "tutorials" / "files"
RESULT = ROOT / "repro" / "results" / "phones.json"
FIGURES = ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")


def part(data: Dataset, parts: list[int], wanted: set[int]) -> Dataset:
    """Some of the posts."""
    chosen = [example for example, own in zip(data.examples, parts, strict=True) if own in wanted]
    return replace(data, examples=tuple(chosen))


def write(path: Path, data: Dataset) -> None:
    """As a table, with a row for a post that judges nothing."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "target", "aspect", "polarity"])
        for example in data.examples:
            rows.writerows([example.text, o.target, o.aspect, o.polarity] for o in example.opinions)
            silent = [t.name for t in example.targets if all(o.target != t.name for o in example.opinions)]
            rows.writerows([example.text, name, "", ""] for name in silent)


def judged(model: Any, test: Dataset) -> dict[str, float]:
    """The figures on the posts that were held out."""
    found = evaluate(model, test, bootstrap=0).questions
    return {name: found[name] for name in FIGURES}


def split_figures(data: Dataset, number: int, settings: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What each system is worth in one split."""
    parts = stratified_parts(data, [0.48, 0.12, 0.4], seed=number)
    train, test = part(data, parts, {0, 1}), part(data, parts, {2})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        started = time.monotonic()
        fitted = fit(run_config({"data": {"name": "phones"}, **settings}), place / "tuned", data=train)
        took = time.monotonic() - started
        found = {"reader": judged(tabsa.load(), test), "tuned": judged(tabsa.load(place / "tuned"), test)}
        found["tuned"] |= {"seconds": took, "epoch": float(fitted.rows[-1].epoch or 0)}
        for name, own in (("train", {0}), ("dev", {1})):
            write(place / f"{name}.csv", part(data, parts, own))
        started = time.monotonic()
        fit(run_config({"kind": "lr", "data": {"name": str(place)}}), place / "lr")
        found["lr"] = judged(tabsa.load(place / "lr"), test) | {"seconds": time.monotonic() - started}
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--commit", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.threads:
        torch.set_num_threads(args.threads)
    settings = {"training": {"rate": args.rate}} if args.rate else {}
    first, second = (load(FILES / f"phones{name}.csv", "all") for name in ("", "-test"))
    data = replace(first, examples=(*first.examples, *second.examples))
    splits = []
    for number in range(1, args.splits + 1):
        splits.append(split_figures(data, number, settings))
        shown = {s: f"{100 * own['opinion_f1']:.1f}" for s, own in splits[-1].items()}
        print(number, shown, splits[-1]["tuned"]["epoch"], f"{splits[-1]['tuned']['seconds']:.0f} s", flush=True)
    mean = {
        system: {name: float(np.mean([one[system][name] for one in splits])) for name in splits[0][system]}
        for system in splits[0]
    }
    print({system: {name: round(value, 3) for name, value in own.items()} for system, own in mean.items()})
    if args.splits == 10 and not args.rate:
        content = {"command": "python repro/few_shot/phones.py", "commit": args.commit, "mean": mean, "splits": splits}
        RESULT.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
