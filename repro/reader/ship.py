"""A trained small reader as the model folder in the package: int8, calibrated on dev, measured, with its card.

    python repro/reader/ship.py WEIGHTS --encoder FOLDER --out src/tabsa/pretrained/reader [--data-dir DIR]

WEIGHTS is a folder of safetensors files that hold one seed's weights between them. Calibrates on `everyday` dev (seen
and unseen domains together, reported apart), writes both graphs, asks everything that a card tells of (as `tabsa
evaluate` does, in int8 and float32), and draws the reliability diagram (docs/images/reader-reliability.svg).
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tabsa.checkpoint import ModelConfig, read_folder
from tabsa.datasets import load
from tabsa.evaluation.calibration import (
    PresenceCalibration,
    expected_error,
    fit_presence_calibration,
    polarity_reliability,
    presence_reliability,
)
from tabsa.evaluation.questions import question_metrics
from tabsa.inference import Predictor, evaluate, predict_questions
from tabsa.models.export import export
from tabsa.models.reader.encoder import read_encoder
from tabsa.models.reader.storage import reader_options, write_reader_folder
from tabsa.schema import NONE
from tabsa.text.aspects import EVERYDAY
from tabsa.training.config import read_config
from tabsa.training.questions import LABELS

ROOT = Path(__file__).parents[2]
DEV = ("dev-seen", "dev-unseen")
MEASURED = (
    ("everyday", "test-unseen"), ("everyday", "test-seen"), ("sentihood", "test"), ("places", "test"),
    ("semeval2014", "test"), ("repro/box/held-out.jsonl", "all"),
)  # fmt: skip


def merged(folder: Path) -> dict[str, Any]:
    """One seed's weights; the table of word pieces is the encoder's own, because in four bits it does not learn."""
    weights: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights |= load_file(file)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def gold_of(dataset: Any) -> np.ndarray:
    """The label of every question, in the order of the model's labels."""
    return np.array([LABELS.index(polarity) for *_, polarity in dataset.questions()])


def calibration_of(predictor: Predictor) -> tuple[PresenceCalibration, dict[str, Any]]:
    """Fitted on both parts of dev, and how far off each part is before and after."""
    answers, gold = {}, {}
    for split in DEV:
        dataset = load("everyday", split)
        answers[split], gold[split] = predict_questions(predictor, dataset), gold_of(dataset)
    fitted = fit_presence_calibration(np.concatenate([*gold.values()]), np.concatenate([*answers.values()]))
    report: dict[str, Any] = {}
    for split in DEV:
        for when, said in (("before", answers[split]), ("after", fitted.apply(answers[split]))):
            for what, of in (("presence", presence_reliability), ("polarity", polarity_reliability)):
                bins = of(gold[split], said)
                report[f"{split} {what} {when}"] = {
                    "error": expected_error(bins), "bins": [dataclasses.asdict(one) for one in bins]
                }  # fmt: skip
    return fitted, report


def held_out(predictor: Predictor) -> dict[str, Any]:
    """The held-out sentences by kind: how many are answered without any mistake."""
    kinds: dict[str, list[int]] = {}
    dataset = load(str(ROOT / "repro/box/held-out.jsonl"), "all")
    aspects = load("sentihood", "test", aspects="all").aspects
    for example in dataset.examples:
        result = predictor.predict(example.text, [target.name for target in example.targets], aspects)
        said = {(o.target, o.aspect): o.polarity for o in result.opinions if o.polarity not in (NONE, "neutral")}
        right = said == {(o.target, o.aspect): o.polarity for o in example.opinions}
        kinds.setdefault(example.id.partition(" ")[2], []).append(right)
    return {kind: [sum(found), len(found)] for kind, found in kinds.items()}


def by_kind(predictor: Predictor, split: str) -> dict[str, Any]:
    """`everyday` by kind of text."""
    dataset = load("everyday", split)
    answers, gold = predict_questions(predictor, dataset), gold_of(dataset)
    kinds = np.array([example.tags.get("kind", "") for example, *_ in dataset.questions()])
    return {kind: question_metrics(gold[kinds == kind], answers[kinds == kind]) for kind in sorted(set(kinds))}


def draw(report: dict[str, Any], path: Path) -> None:
    """The reliability diagram: presence and polarity, seen and unseen domains."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), constrained_layout=True)
    for axis, what in zip(axes, ("presence", "polarity"), strict=True):
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=1)
        for split, colour in zip(DEV, ("#0969da", "#bf3989"), strict=True):
            for when, style in (("before", ":"), ("after", "-")):
                bins = report[f"{split} {what} {when}"]["bins"]
                label = f"{split.partition('-')[2]} domains" if when == "after" else None
                xs, ys = [b["confidence"] for b in bins], [b["accuracy"] for b in bins]
                axis.plot(xs, ys, style, color=colour, marker="o", markersize=3, label=label)
        axis.set(title=f"{what} of an opinion", xlabel="said", ylabel="true", xlim=(0, 1), ylim=(0, 1))
        axis.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Write, calibrate, measure, describe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--figure", type=Path, default=ROOT / "docs/images/reader-reliability.svg")
    args = parser.parse_args()
    options = read_config(ROOT / "repro/reader/reader.toml").model
    shape, encoder = read_encoder(args.encoder)
    shape = dataclasses.replace(shape, layers=options.depth or shape.layers)
    weights = {"encoder.words": encoder["words"]} | merged(args.weights)
    tokenizer = (args.encoder / "tokenizer.json").read_bytes()
    config = ModelConfig(
        "reader", reader_options(options, shape), EVERYDAY, LABELS, 64, min(512, shape.longest), tokeniser="word pieces"
    )

    def written(calibration: PresenceCalibration | None, metrics: dict[str, Any], card: str) -> Any:
        own = None if calibration is None else dataclasses.asdict(calibration)
        calibrated = dataclasses.replace(config, calibration=own)
        write_reader_folder(args.out, calibrated, weights, tokenizer, metrics, card, storage="int8")
        folder = read_folder(args.out)
        for precision in ("float32", "int8"):
            export(folder, precision)
        return folder

    calibration, report = calibration_of(Predictor(written(None, {}, "")))
    folder = written(calibration, {}, "")
    metrics: dict[str, Any] = {"calibration": {"everyday": report, **dataclasses.asdict(calibration)}}
    for precision in ("float32", "int8"):
        predictor = Predictor(folder, precision=precision)
        found = metrics[precision] = {}
        for data, split in MEASURED:
            one = evaluate(predictor, str(ROOT / data) if "/" in data else data, split, bootstrap=0).to_dict()
            found[f"{data} {split}"] = {key: one[key] for key in ("sun", "ma", "questions")}
        found["held-out"] = held_out(predictor)
        found["everyday test-unseen by kind"] = by_kind(predictor, "test-unseen")
        print(precision, json.dumps({name: one.get("questions") for name, one in found.items()}, indent=1))
    draw(report, args.figure)
    (args.out / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
