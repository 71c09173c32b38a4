"""What a few labels are worth: fine-tuning on texts of domains that the reader was not trained on.

    python repro/few_shot/curves.py run OUT.jsonl [--part I --of N]    # runs that OUT has already are left out
    python repro/few_shot/curves.py collect OUT.jsonl... --commit C    # writes results/few-shot.json and its picture

A draw holds 45 texts of each of the six domains of `everyday` test-unseen out for testing. Of one domain 8, 32 or all
other 90 texts are labelled; of all six together 128 or all 540. Systems:

- tuned: `tabsa train` as it is, from the reader in the box.
- fresh: the same reader and the same encoder, without our start of what answers: the kinds of rows, the classifier and
  the layer that is the questions' alone begin anew; more epochs at a higher rate, because they need them.
- lr: the logistic regression over questions of repro/everyday/baselines.py; the package's `lr` knows one regression an
  aspect, and here hardly two texts ask the same words.

Rates, epochs and the rule that keeps the base were chosen on dev-unseen (repro/log.md); this split is looked at once.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "everyday"))

from tabsa.datasets.loading import load
from tabsa.encoding.answers import PresenceCalibration
from tabsa.encoding.questions import answers_of
from tabsa.evaluation.metrics import question_metrics
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import load_weights
from tabsa.schema import Dataset
from tabsa.training import fine_tuning
from tabsa.training.cached_features import Fold, FrozenEncoderReader, cache_features, held_answers
from tabsa.training.run_config import run_config
from tabsa.training.run_folder import Run

RESULT = Path(__file__).parents[1] / "results" / "few-shot.json"
DRAWS, HELD = 10, 45
NOTHING = np.array([], np.int64)
BASE = "reader"


class Study:
    """The data, read once, and what is asked of it."""

    def __init__(self, split: str, device: str) -> None:
        self.data = load("everyday", split)
        self.base, self.device = fine_tuning.base_folder(BASE), device
        self.engine = ReaderEngine(self.base, 2, self.base.precision())
        self.labels = self.base.config.labels
        self.features = cache_features(self.engine, self.data, self.labels)
        self.gold = np.array([self.labels.index(polarity) for *_, polarity in self.data.questions()])
        examples = enumerate(self.data.examples)
        self.owner = np.array([n for n, e in examples for _ in range(len(e.targets) * len(e.aspects or ()))])
        domains = [example.tags["domain"] for example in self.data.examples]
        self.domains = {name: [n for n, own in enumerate(domains) if own == name] for name in sorted(set(domains))}

    def of(self, chosen: list[int]) -> Dataset:
        """Some of the texts."""
        return replace(self.data, examples=tuple(self.data.examples[n] for n in chosen))

    def figures(self, weights: dict[str, Any], test: list[int]) -> dict[str, float]:
        """What a question path says to the texts that were held out."""
        model = fine_tuning.frozen_model(self.base, self.labels, (1,), 0.0)
        load_weights(model, weights)
        rows = np.flatnonzero(np.isin(self.features.owners, test))
        said = np.zeros((len(self.features.questions.targets), len(self.labels)))
        said[:, 0] = 1
        calibration = PresenceCalibration(**(self.base.config.calibration or {}))
        with torch.no_grad():
            for _, asked, answers in held_answers(model.to(self.device), self.features, [Fold(NOTHING, rows)]):
                said[asked] = calibration.apply(answers)
        return self.judged(answers_of(self.features.questions, len(self.gold), said), test)

    def judged(self, said: np.ndarray, test: list[int]) -> dict[str, float]:
        """The figures of answers to all questions, on the texts that were held out."""
        held = np.isin(self.owner, test)
        loss = -np.log(np.maximum(said[held][np.arange(held.sum()), self.gold[held]], 1e-9)).mean()
        return {**question_metrics(self.gold[held], said[held]), "log_loss": float(loss)}

    def tuned(self, chosen: list[int], test: list[int], *, fresh: bool) -> dict[str, Any]:
        """Fine-tune on the chosen texts, with or without our start."""
        values: dict[str, Any] = {"fine_tuning": {"base": BASE}}
        if fresh:
            values |= {"training": {"rate": 2e-4, "epochs": 24, "patience": 0}, "model": {"dropout": 0.1}}
        config = run_config(values)
        texts = fine_tuning.labelled_texts(self.of(chosen), None, config)
        tuning = fine_tuning.begin(config, texts, Run(device=self.device))
        if fresh:
            begin_anew(tuning)
        for _ in tuning.trainer.run():
            pass
        if fresh:
            best = tuning.trainer.best
            weights = {name: tensor[-1].cpu().numpy() for name, tensor in best.items()}
            return {**self.figures(weights, test), "epoch": tuning.trainer.progress.best_epoch[-1]}
        done = fine_tuning.finished(tuning)
        if not done.epoch:
            return {**self.base_figures(test), "epoch": 0}
        return {**self.figures(dict(done.weights), test), "epoch": done.epoch}

    def base_figures(self, test: list[int]) -> dict[str, float]:
        """What the reader is worth as it is."""
        return self.figures(fine_tuning.start_weights(self.base, self.labels), test)

    def lr(self, chosen: list[int], test: list[int]) -> dict[str, Any]:
        """A regression over questions."""
        from baselines import gold_of, matrix
        from sklearn.linear_model import LogisticRegression

        train, held = self.of(chosen), self.of(test)
        gold = gold_of(train)
        if len(set(gold)) < 2:
            return {}
        model = LogisticRegression(C=1.0, max_iter=300).fit(matrix(train), gold)
        found = model.predict_proba(matrix(held))
        said = np.full((len(self.gold), len(self.labels)), 1e-9)
        held_rows = np.flatnonzero(np.isin(self.owner, test))
        order = np.concatenate([held_rows[self.owner[held_rows] == n] for n in test])
        for column, label in enumerate(model.classes_):
            said[order, self.labels.index(str(label))] = found[:, column]
        return self.judged(said / said.sum(-1, keepdims=True), test)


def begin_anew(tuning: fine_tuning.FineTuning) -> None:
    """Throw away what was learnt of questions: new draws, and for their last layer a copy of the one before."""
    model = tuning.trainer.model
    again = FrozenEncoderReader(model.config, model.shape, model.labels, model.seeds)
    names = ("kinds", "hidden", "hidden_bias", "output", "output_bias")
    with torch.no_grad():
        own = dict(model.named_parameters())
        for name, tensor in again.named_parameters():
            if name in names:
                own[name].copy_(tensor)
        for name, tensor in model.question_layers[-1].named_parameters():
            tensor.copy_(dict(model.question_layers[-2].named_parameters())[name])
    trainer = tuning.trainer
    trainer.progress.best = [-np.inf] * len(trainer.seeds)


def tasks(study: Study) -> list[tuple[str, int, int, str]]:
    """System, labelled texts, draw, domain; no domain: of all."""
    found = []
    for draw in range(DRAWS):
        for system in ("base", "tuned", "fresh", "lr"):
            found += [(system, size, draw, "") for size in ((0,) if system == "base" else (540, 128))]
            sizes = (0,) if system == "base" else (90, 32, 8)
            found += [(system, size, draw, name) for name in study.domains for size in sizes]
    return found


def run(args: argparse.Namespace) -> None:
    """Do what is not done yet."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(args.threads)
    study = Study(args.split, device)
    done = set()
    if args.out.exists():
        done = {tuple(json.loads(line)["task"]) for line in args.out.read_text().splitlines()}
    for number, task in enumerate(tasks(study)):
        if number % args.of != args.part or task in done or (args.only and task[0] != args.only):
            continue
        system, size, draw, domain = task
        rng = np.random.default_rng([draw, 15])
        order = {name: rng.permutation(rows).tolist() for name, rows in study.domains.items()}
        names = [domain] if domain else list(order)
        test = [n for name in names for n in order[name][:HELD]]
        pool = [n for name in names for n in order[name][HELD:]]
        chosen = np.random.default_rng([draw, size]).permutation(pool)[:size].tolist()
        started = time.monotonic()
        if system == "base":
            found: dict[str, Any] = study.base_figures(test)
        elif system == "lr":
            found = study.lr(chosen, test)
        else:
            found = study.tuned(chosen, test, fresh=system == "fresh")
        line = {"task": task, **found, "seconds": round(time.monotonic() - started, 2)}
        with args.out.open("a") as stream:
            stream.write(json.dumps(line) + "\n")


def collect(args: argparse.Namespace) -> None:
    """Means over the draws, as JSON."""
    rows = [json.loads(line) for path in args.out for line in path.read_text().splitlines()]
    by: dict[tuple[str, int, bool], dict[tuple[int, str], dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        system, size, draw, domain = row["task"]
        by[system, size, bool(domain)][draw, domain] = row
    table = []
    for (system, size, one), found in sorted(by.items(), key=lambda item: (not item[0][2], item[0][0], item[0][1])):
        base = by["base", 0, one]
        gains = np.array(
            [own["opinion_f1"] - base[key]["opinion_f1"] for key, own in found.items() if "opinion_f1" in own]
        )
        draws = {draw for draw, _ in found}
        of_draw = [
            np.mean([g["opinion_f1"] - base[k]["opinion_f1"] for k, g in found.items() if k[0] == d]) for d in draws
        ]
        entry: dict[str, Any] = {
            "system": system, "labels_of": "one domain" if one else "six domains", "texts": size, "runs": len(found),
            **{
                name: float(np.mean([own[name] for own in found.values() if name in own]))
                for name in ("opinion_f1", "presence_f1", "polarity_accuracy", "log_loss")
            },
        }  # fmt: skip
        if system != "base":
            entry |= {
                "gain": float(gains.mean()),
                "gain_sd_of_draws": float(np.std(of_draw, ddof=1)),
                "draws_worse": int(sum(one < 0 for one in of_draw)),
                "runs_worse": int((gains < -1e-12).sum()),
                "seconds": float(np.mean([own["seconds"] for own in found.values()])),
            }
        if system == "tuned":
            entry["kept_base"] = int(sum(own["epoch"] == 0 for own in found.values()))
        table.append(entry)
    content = {
        "about": "everyday test-unseen; 45 texts of each domain held out in each of ten draws; fractions",
        "command": "python repro/few_shot/curves.py run OUT.jsonl; collect OUT.jsonl",
        "commit": args.commit, "machine": args.machine, "rows": table,
    }  # fmt: skip
    RESULT.write_text(json.dumps(content, indent=1) + "\n")
    draw_curves(table)
    for entry in table:
        gain = f"{100 * entry['gain']:+.1f}" if "gain" in entry else ""
        print(
            entry["labels_of"],
            entry["system"],
            entry["texts"],
            f"{100 * entry['opinion_f1']:.1f}",
            gain,
            entry.get("draws_worse", ""),
            entry.get("kept_base", ""),
            entry["runs"],
        )


def draw_curves(rows: list[dict[str, Any]]) -> None:
    """The curves as a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    titles = {"tuned": "fine-tuned", "fresh": "without our start", "lr": "logistic regression"}
    for plot, of in zip(axes, ("one domain", "six domains"), strict=True):
        own = [row for row in rows if row["labels_of"] == of]
        base = next(100 * row["opinion_f1"] for row in own if row["system"] == "base")
        plot.axhline(base, color="0.6", linestyle=":", label="the reader as it is")
        for (system, title), colour in zip(titles.items(), ("#2a9d8f", "#c77d1a", "#5b5b8c"), strict=True):
            points = sorted((row["texts"], 100 * row["opinion_f1"]) for row in own if row["system"] == system)
            if system == "tuned":
                points = [(0, base), *points]
            plot.plot(*zip(*points, strict=True), marker="o", color=colour, label=title)
        plot.set_xscale("symlog", linthresh=8)
        ticks = [0, *sorted({row["texts"] for row in own if row["texts"]})]
        plot.set_xticks(ticks, [str(tick) for tick in ticks])
        plot.minorticks_off()
        plot.set_xlabel(f"labelled texts of {of}")
        plot.spines[["top", "right"]].set_visible(False)
        plot.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel("opinion F1, %")
    axes[0].set_ylim(0, 60)
    axes[1].legend(frameon=False, loc="center left", fontsize=9)
    for suffix in (".svg", ".png"):
        figure.savefig(RESULT.with_suffix(suffix), dpi=150)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(required=True)
    one = ways.add_parser("run")
    one.add_argument("out", type=Path)
    one.add_argument("--part", type=int, default=0)
    one.add_argument("--of", type=int, default=1)
    one.add_argument("--only", default="", help="one system")
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--split", default="test-unseen")
    one.set_defaults(way=run)
    other = ways.add_parser("collect")
    other.add_argument("out", type=Path, nargs="+")
    other.add_argument("--commit", default="")
    other.add_argument("--machine", default="")
    other.set_defaults(way=collect)
    args = parser.parse_args()
    args.way(args)


if __name__ == "__main__":
    main()
