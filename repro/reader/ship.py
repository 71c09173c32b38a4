"""A student as a reader's model folder in the package: int8, calibrated on dev, measured, with its card.

    python repro/reader/ship.py STUDENT --encoder FOLDER --out src/tabsa/pretrained/reader [--data-dir DIR] [--commit C]

STUDENT.safetensors and STUDENT.json are what `judge.students train` wrote; with the commit that trained it, its figures
go to repro/results/judge.json. Calibrates on dev (all parts of `everyday`,
and `real`), writes both graphs, measures all that a card tells of as `tabsa evaluate` does, in int8, and draws the
reliability diagram.
"""

import argparse
import dataclasses
import itertools
import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file

from judge.collect import put
from judge.student import package_weights
from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.loading import load
from tabsa.encoding.answers import PresenceCalibration
from tabsa.evaluation.calibration import (
    calibration_error,
    fit_presence_calibration,
    polarity_reliability,
    presence_reliability,
)
from tabsa.evaluation.metrics import question_metrics
from tabsa.inference.evaluating import evaluate, predict_questions
from tabsa.inference.predictor import Predictor
from tabsa.models.export import export
from tabsa.models.reader.encoder import read_shape
from tabsa.models.reader.reader_config import ReaderConfig, reader_options
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.schema import NONE
from tabsa.text.aspects import EVERYDAY
from tabsa.training.question_data import LABELS

ROOT = Path(__file__).parents[2]
WINDOWS = (160, 80)  # chosen on dev (repro/log.md)
DEV = ("dev-seen", "dev-unseen")  # of `everyday`, reported in the card
_FROM_ENCODER = (
    "its first {layers} layers are those of {encoder}; it was trained from labels, on two CPU cores, all but the first "
    "{frozen} of them"
)
_FROM_READER = (
    "began as the reader before it, which was distilled from two seeds of `reader-large` on 218,000 drawn texts with "
    "2.4 million questions (repro/reader/README.md); all but its first {frozen} layers were trained on from labels, on "
    "two CPU cores"
)
LEAST_GAIN = 0.01  # of F1, for which the calibration leans further
MOST_ERROR = 0.02  # of the confidence of the answers given, on dev
CALIBRATED_ON = (*(("everyday", split) for split in (*DEV, "dev-hard", "dev-new")), ("real", "dev"))
MEASURED = (
    ("everyday", "test-unseen"), ("everyday", "test-seen"), ("everyday", "test-hard"), ("everyday", "test-new"),
    ("real", "test"), ("sentihood", "test"), ("places", "test"), ("semeval2014", "test"),
    ("repro/box/held-out.jsonl", "all"),
)  # fmt: skip


def gold_of(dataset: Any) -> np.ndarray:
    """The label of every question, in the order of the model's labels."""
    return np.array([LABELS.index(polarity) for *_, polarity in dataset.questions()])


def leaning(
    fitted: PresenceCalibration, gold: dict[str, np.ndarray], answers: dict[str, np.ndarray]
) -> PresenceCalibration:
    """Lean the likeliest calibration towards opinions, no further than is worth a point of F1.

    Most questions are silent, so the F1 of opinions is best at a threshold below a half; but where many are asked, it
    costs false opinions. The answers given stay calibrated.
    """
    every, right = np.concatenate([*answers.values()]), np.concatenate([*gold.values()])
    found = []
    for shift, share in itertools.product(np.arange(0, 1.05, 0.1), (0.0, 0.5, 1.0)):
        one = dataclasses.replace(
            fitted, presence_bias=fitted.presence_bias + float(shift),
            polarity_temperature=fitted.polarity_temperature ** (1 - share),
        )  # fmt: skip
        f1 = np.mean([question_metrics(gold[key], one.apply(answers[key]))["opinion_f1"] for key in answers])
        if calibration_error(right, one.apply(every)) <= MOST_ERROR:
            found.append((float(f1), one))
    best = max((f1 for f1, _ in found), default=0.0)
    near = [pair for pair in found if pair[0] > best - LEAST_GAIN]
    return min(near, key=lambda pair: (pair[1].presence_bias, -pair[0]))[1] if near else fitted


def calibration_of(predictor: Predictor, data_dir: Path | None) -> tuple[PresenceCalibration, dict[str, Any]]:
    """Fitted on all parts of dev, and how far off each part is before and after."""
    answers, gold = {}, {}
    for name, split in CALIBRATED_ON:
        dataset, key = load(name, split, data_dir=data_dir), split if name == "everyday" else name
        answers[key], gold[key] = predict_questions(predictor, dataset), gold_of(dataset)
    fitted = fit_presence_calibration(np.concatenate([*gold.values()]), np.concatenate([*answers.values()]))
    fitted = leaning(fitted, gold, answers)
    report: dict[str, Any] = {}
    for split in answers:
        for when, answered in (("before", answers[split]), ("after", fitted.apply(answers[split]))):
            report[f"{split} answer {when}"] = {"error": calibration_error(gold[split], answered)}
            for what, of in (("presence", presence_reliability), ("polarity", polarity_reliability)):
                report[f"{split} {what} {when}"] = dataclasses.asdict(of(gold[split], answered))
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


def runs_of(student: Path) -> dict[str, Any]:
    """How a student was trained, and those that it began with, the last first."""
    runs, step = dict[str, Any](), student.stem
    while (path := student.with_name(f"{step}.json")).exists():
        own = json.loads(path.read_text("utf-8"))
        runs[step] = {key: own[key] for key in ("shape", "schedule", "learn", "start", "seconds")}
        step = own["start"]
    return runs


def card(name: str, config: Any, metrics: dict[str, Any], size: int, runs: dict[str, Any]) -> str:
    """The model card."""
    last, first = next(iter(runs.values())), [*runs.values()][-1]
    facts = {"layers": config.model["shape"]["layers"], "encoder": config.model["encoder"]}
    began = (_FROM_READER if first["start"] else _FROM_ENCODER).format(frozen=last["schedule"]["frozen"], **facts)
    began = textwrap.fill(began, 118, subsequent_indent="  ")
    sets = dict.fromkeys(one.rpartition(" ")[0] for run in runs.values() for one in run["learn"].split(", "))
    learnt = textwrap.fill(f"learnt from {', '.join(f'`{one}`' for one in sets)}", 118, subsequent_indent="  ")
    found, shape, late = metrics["int8"], config.model["shape"], config.model["late_interaction"]

    def line(name: str, figures: dict[str, float]) -> str:
        names = ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")
        return f"| {name} | " + " | ".join(f"{100 * figures[one]:.1f}" for one in names) + " |"

    measured = [(f"{data} {split}".replace("repro/box/", ""), f"{data} {split}") for data, split in MEASURED]
    rows = "\n".join(line(name, found[key]["questions"]) for name, key in measured)
    sun = found["sentihood test"]["sun"]
    benchmark = " / ".join(f"{100 * value:.1f}" for value in sun.values())
    kinds = found["everyday test-unseen by kind"]
    order = sorted(kinds, key=lambda kind: -kinds[kind]["opinion_f1"])
    by_kind = "\n".join(line(kind, kinds[kind]) for kind in order)
    sentences = found["held-out"]
    flawless = ", ".join(f"{kind} {right} of {count}" for kind, (right, count) in sentences.items())
    right, count = (sum(pair[n] for pair in sentences.values()) for n in (0, 1))
    fitted = metrics["calibration"]
    errors = fitted["everyday"]

    def error(what: str, when: str) -> str:
        return " and ".join(f"{100 * errors[f'{split} {what} {when}']['error']:.1f}%" for split in DEV)

    return f"""# {name}: a model in the box

Reads an English text once and says, for any targets and any aspects in your own words, what it says of each: positive,
negative, neutral (spoken of, not judged), mixed, or nothing.

- asked by default: {", ".join(config.aspects)}
- the first {shape["layers"]} layers of {config.model["encoder"]}; a text, and the words of an aspect, are read
  alone by all but {late} of them, and meet in these; {size / 1e6:.0f} MB, weights in int8, word pieces in 4 bits,
  learnt that way (quantisation-aware training)
- {began}
- {learnt} (repro/judge/README.md); no test split and none of the domains marked unseen below
- calibrated on dev of `everyday` and of `real`: presence by a temperature of {fitted["presence_temperature"]:.2f} and a
  bias, polarity by a temperature of {fitted["polarity_temperature"]:.2f}; the bias leans towards opinions, because
  their F1 is best at a threshold below a half, so `none` is a little likelier than it says. Calibration error on dev,
  seen and unseen domains:

| | before | after |
|---|---|---|
| of the answers given | {error("answer", "before")} | {error("answer", "after")} |
| presence | {error("presence", "before")} | {error("presence", "after")} |
| polarity | {error("polarity", "before")} | {error("polarity", "after")} |

![reliability diagram: said against true, presence and polarity, seen and unseen domains](reliability.svg)

Lines are after calibration, dots before it.

## How good it is

As users get it, in int8; test was looked at once; %. Opinion F1
counts an opinion as found where its polarity is right too; polarity is of true opinions, found or not; false opinions
are of the questions on which a text is silent.

| | opinion F1 | presence F1 | polarity | false opinions |
|---|---|---|---|---|
{rows}

Sentihood's benchmark (four aspects, family `sun`): {benchmark}.

Held-out sentences about places (`repro/box/held-out.jsonl`) without any mistake: {right} of {count}
({flawless}).

By kind of text, `everyday`, unseen domains:

| | opinion F1 | presence F1 | polarity | false opinions |
|---|---|---|---|---|
{by_kind}

## What it is bad at

- Texts of several sentences, comparisons and several targets: it finds what is judged and takes the wrong side, or the
  other target's side, in about a third of the cases.
- What is only implied ("it walked across the netball court in the storm"), sarcasm about places, "used to be".
- `neutral` and `mixed` are rarely said, and mixed often wrongly.
- Anything but English. Names that are common words are taken for the target wherever they stand.
- The texts of `everyday` were written by a language model; how well it reads your texts, `tabsa evaluate` says.
"""


def record_of(student: Path, name: str, found: dict[str, Any], commit: str) -> dict[str, Any]:
    """What goes to results: the figures, and how this student and those that it began with were trained."""
    runs = runs_of(student)
    sets = {key: figures for key, figures in found.items() if "questions" in figures}
    return {
        "system": name, "data": "several", "seeds": [1], "runs": [{"seed": 1, **sets}], "mean": sets, "config": runs,
        "command": "python -m judge.students train, for each of config, the last first; python repro/reader/ship.py",
        "commit": commit, "device": "two CPU cores, shared", "seconds": [sum(own["seconds"] for own in runs.values())],
    }  # fmt: skip


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
    plt.close(figure)


def main() -> None:
    """Write, calibrate, measure, describe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("student", type=Path)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--commit", help="that it was trained at: its figures are recorded")
    parser.add_argument("--unmeasured", action="store_true", help="calibrate, and no more")
    args = parser.parse_args()
    record = json.loads(args.student.with_suffix(".json").read_text("utf-8"))
    depth, meet = record["shape"]["depth"], record["shape"]["meet"]
    shape = dataclasses.replace(read_shape(args.encoder), layers=depth)
    options = ReaderConfig(encoder=record["encoder"], depth=depth, late_interaction=meet, rounded=True)
    weights = package_weights(load_file(args.student.with_suffix(".safetensors")))
    tokenizer = (args.encoder / "tokenizer.json").read_bytes()
    config = ModelConfig(
        "reader", reader_options(options, shape), EVERYDAY, LABELS, 64, min(512, shape.longest),
        tokeniser="word pieces", windows=WINDOWS,
    )  # fmt: skip

    def written(calibration: PresenceCalibration | None) -> Any:
        own = None if calibration is None else dataclasses.asdict(calibration)
        calibrated = dataclasses.replace(config, calibration=own)
        write_reader_folder(args.out, calibrated, weights, tokenizer, {}, "", storage="int8")
        folder = read_folder(args.out)
        for precision in ("float32", "int8"):
            export(folder, precision)
        return folder

    calibration, report = calibration_of(Predictor(written(None), precision="int8"), args.data_dir)
    predictor = Predictor(written(calibration), precision="int8")
    print(calibration)
    if args.unmeasured:
        return
    metrics: dict[str, Any] = {"calibration": {"everyday": report, **dataclasses.asdict(calibration)}}
    found = metrics["int8"] = {}
    for data, split in MEASURED:
        name = str(ROOT / data) if "/" in data else data
        one = evaluate(predictor, name, split, data_dir=args.data_dir, bootstrap=0).to_dict()
        found[f"{data} {split}"] = {key: one[key] for key in ("sun", "ma", "questions")}
        print(data, split, json.dumps(one["questions"]), flush=True)
    found["held-out"] = held_out(predictor)
    found["everyday test-unseen by kind"] = by_kind(predictor, "test-unseen")
    draw(report, args.out / "reliability.svg")
    size = sum(path.stat().st_size for path in args.out.iterdir() if path.name != "README.md")
    (args.out / "README.md").write_text(card(args.out.name, config, metrics, size, runs_of(args.student)), "utf-8")
    (args.out / "metrics.json").write_text(json.dumps(metrics) + "\n", "utf-8")
    print(f"{size / 1e6:.1f} MB")
    if args.commit:
        put(record_of(args.student, args.out.name, found, args.commit))


if __name__ == "__main__":
    main()
