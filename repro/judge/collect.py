"""Answers of the judge, or of students, to held-out sets as repro/results/judge.json.

    python -m judge.collect OUT DATA --commit COMMIT

OUT is the folder that `judge.run answer` wrote. A record has every seed's figures, their mean and deviation, and those
of the mean of their probabilities (`ensemble`), on every held-out set: `questions`, and on Sentihood the benchmark's.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.questions import LABELS
from judge.run import DEV, TEST, file_of, rows_of
from tabsa.encoding.answers import restrict_labels
from tabsa.evaluation.metrics import question_metrics
from tabsa.evaluation.report import evaluate
from tabsa.training.question_data import named_dataset

RESULTS = Path(__file__).parents[1] / "results" / "judge.json"
Figures = dict[str, dict[str, float]]


def figures_of(name: str, split: str, aspects: str | None, shares: NDArray[Any], data: Path) -> Figures:
    """Figures of answers to all questions of a set, (questions, labels)."""
    rows = rows_of(name, split, aspects, data)
    gold = np.array([label for row in rows for label in row["labels"]])
    present = tuple(label for label in LABELS if label in named_dataset(name, split, aspects, data).labels)
    own = restrict_labels(shares, LABELS, present)
    renamed = np.array([present.index(LABELS[label]) for label in gold])
    found: Figures = {"questions": question_metrics(renamed, own)}
    if name == "sentihood":
        asked = [(row["id"], target, aspect) for row in rows for target, aspect in row["questions"]]
        answers = dict(zip(asked, own, strict=True))
        benchmark = named_dataset(name, split, None, data)  # its four aspects
        chosen = [
            answers[example.id, target.name or None, aspect] for example, target, aspect, _ in benchmark.questions()
        ]
        report = evaluate(benchmark, np.array(chosen), bootstrap=0)
        found |= {"sun": dict(report.sun), "ma": dict(report.ma), "questions": dict(report.questions)}
    return found


def over(runs: list[dict[str, Figures]], how: Callable[[list[float]], float | None]) -> Any:
    """A number for each metric of each family of each set."""
    return {
        data: {
            family: {m: how([run[data][family][m] for run in runs]) for m in own} for family, own in families.items()
        }
        for data, families in runs[0].items()
    }


def record_of(system: str, out: Path, data: Path, seeds: list[int]) -> dict[str, Any]:
    """The record of a system whose answers, (seeds, questions, labels), lie in a folder."""
    runs: list[dict[str, Figures]] = [{} for _ in seeds]
    ensemble: dict[str, Figures] = {}
    for name, split, aspects in (*DEV, *TEST):
        with np.load(out / file_of(f"{name} {split}")) as stored:
            shares = stored["shares"].astype(np.float64)
        for run, own in zip(runs, shares, strict=True):
            run[f"{name} {split}"] = figures_of(name, split, aspects, own, data)
        ensemble[f"{name} {split}"] = figures_of(name, split, aspects, shares.mean(0), data)
    return {
        "system": system, "data": "several", "seeds": seeds,
        "runs": [{"seed": seed, **run} for seed, run in zip(seeds, runs, strict=True)],
        "mean": over(runs, statistics.fmean), "ensemble": ensemble,
        "sd": over(runs, lambda values: statistics.stdev(values) if len(values) > 1 else None),
    }  # fmt: skip


def put(record: dict[str, Any]) -> None:
    """Put a record into the file in place of the system's older one."""
    records = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    others = [one for one in records if (one["system"], one["data"]) != (record["system"], record["data"])]
    RESULTS.write_text(json.dumps([*others, record], indent=1) + "\n", "utf-8")


def show(record: dict[str, Any]) -> None:
    """Print the means."""
    for which in ("mean", "ensemble"):
        for data, families in record[which].items():
            for family, metrics in families.items():
                print(which, data, family, " / ".join(f"{100 * value:.1f}" for value in metrics.values()))


def main() -> None:
    """Collect the judge's own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--commit", required=True)
    given = parser.parse_args()
    trained = [json.loads(path.read_text("utf-8")) for path in sorted(given.out.glob("judge-*.json"))]
    record = record_of("judge", given.out, given.data, [one["seed"] for one in trained])
    record |= {
        "config": trained[0]["config"],
        "command": "python -m judge.run train WORK --seed N; python -m judge.run answer WORK OUT",
        "commit": given.commit, "device": "NVIDIA H200", "seconds": [one["seconds"] for one in trained],
    }  # fmt: skip
    put(record)
    show(record)


if __name__ == "__main__":
    main()
