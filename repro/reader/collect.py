"""What the readers' runs came to, as repro/results/reader.json.

    python repro/reader/collect.py RESULTS READY --commit COMMIT

RESULTS is the folder of NAME.json and NAME.answers.safetensors that `run.py train` and `paper_network.py train` wrote,
READY the prepared data. What RESULTS does
not have stays as it was. Records have the form of table1.json: every run, means and deviations, the configuration, the
command, the commit and the device. A benchmark without both splits of Sentihood has the splits it has.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tabsa.encoding.questions import answers_of
from tabsa.training.question_data import PreparedQuestions
from tabsa_repro.prepared_file import read_prepared

ROOT = Path(__file__).parents[2]
DEVICE = "NVIDIA H200"
# system, data, results' name, prepared data, the splits by name, what was run
SENTIHOOD = {"dev": "sentihood dev", "test": "sentihood test"}
SEVERAL = {
    name: name
    for name in (
        "everyday dev-seen", "everyday dev-unseen", "everyday test-seen", "everyday test-unseen", "sentihood test",
        "semeval2014 test", "places test",
    )
} | {"held-out": "repro/box/held-out.jsonl all"}  # fmt: skip
RUNS = (
    ("reader-large", "sentihood", "sentihood-large", SENTIHOOD,
     "run.py train sentihood-large --seeds 5 --start open-large"),
    ("reader", "sentihood", "sentihood", SENTIHOOD,
     "run.py train sentihood --data sentihood-large --pool sentihood-pool --start reader --seeds 5 --seconds 140"),
    ("delayed-entnet-contextual", "sentihood", "sentihood-contextual", SENTIHOOD,
     "run.py train sentihood-contextual --data sentihood-large --seeds 5 --start open-large"),
    ("reader-large", "semeval2014", "semeval-large", {"dev": "semeval2014 dev", "test": "semeval2014 test"},
     "run.py train semeval-large --seeds 5 --start open-large"),
    ("reader-large", "mams", "mams-large", {"dev": "open mams-categories-dev"},
     "run.py train mams-large --seeds 5 --start open-large"),
    ("reader-large, any aspects", "several", "open-large", SEVERAL,
     "run.py train open-large --seeds 2 --seconds 290"),
    ("reader, any aspects", "several", "reader", SEVERAL,
     "run.py train reader --data open-large --pool open-pool --set training.epochs=8 --seconds 230"),
)  # fmt: skip
PREPARED = {"sentihood-contextual": "sentihood-large", "sentihood": "sentihood-large", "reader": "open-large"}


def mean_of(runs: list[Any], how: Any) -> Any:
    """A number for each metric of each family of each split."""
    return {
        split: {
            family: {metric: how([run[split][family][metric] for run in runs]) for metric in runs[0][split][family]}
            for family in runs[0][split]
        }
        for split in runs[0]
        if isinstance(runs[0][split], dict)
    }


def deviation(values: list[float]) -> float | None:
    """None of one value."""
    return statistics.stdev(values) if len(values) > 1 else None


def restaurants(answers: Any, held: Any, labels: tuple[str, ...]) -> dict[str, float]:
    """SemEval-2014's own figures: found categories, and the polarity of the true ones in four, three and two ways."""
    said, gold = answers_of(held.data, len(held.gold), answers.astype(np.float64)), held.gold
    found, there = said.argmax(-1) > 0, gold > 0
    precision, recall = (found & there).sum() / max(1, found.sum()), (found & there).sum() / there.sum()
    figures = {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}
    for name, kept in (("4-way", 4), ("3-way", 3), ("binary", 2)):
        order = [labels.index(label) for label in ("positive", "negative", "neutral", "mixed")][:kept]
        rows = np.isin(gold, order)
        chosen = np.array(order)[said[rows][:, order].argmax(-1)]
        figures[name] = (chosen == gold[rows]).mean()
    return {name: float(value) for name, value in figures.items()}


def flawless(answers: Any, held: Any) -> int:
    """Of the held-out sentences, how many are answered without any mistake."""
    said = answers_of(held.data, len(held.gold), answers.astype(np.float64)).argmax(-1)
    wrong = {int(text) for text in np.flatnonzero(_texts(held) & (said != held.gold)[None]) // len(held.gold)}
    return len(held.data) - len(wrong)


def _texts(held: Any) -> Any:
    """Which questions are of which text, (texts, questions)."""
    data = held.data
    of = np.zeros((len(data), len(held.gold)), bool)
    of[np.repeat(np.arange(len(data)), np.diff(data.first)), data.numbers] = True
    return of


def main() -> None:
    """Collect, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("ready", type=Path)
    parser.add_argument("--commit", required=True)
    args = parser.parse_args()
    records = []
    for system, data, name, splits, command in RUNS:
        if not (args.results / f"{name}.json").exists():
            continue
        found = json.loads((args.results / f"{name}.json").read_text("utf-8"))
        answers = load_file(args.results / f"{name}.answers.safetensors")
        prepared = read_prepared(args.ready / f"{PREPARED.get(name, name)}.safetensors", PreparedQuestions)
        held = {one.name: one for one in prepared.held[1:]}
        runs = [
            {"seed": seed, "epoch": epoch} | {split: found["held"][key]["runs"][n] for split, key in splits.items()}
            for n, (seed, epoch) in enumerate(zip(found["seeds"], found["epochs"], strict=True))
        ]
        for n, run in enumerate(runs):
            if data == "semeval2014":
                for split, key in splits.items():
                    run[split]["semeval2014"] = restaurants(answers[key][n], held[key], prepared.labels)
            if "held-out" in run:
                key = splits["held-out"]
                run["held-out"]["sentences"] = {"without mistake": flawless(answers[key][n], held[key])}
        figures = [{key: value for key, value in run.items() if isinstance(value, dict)} for run in runs]
        records.append(
            {
                "system": system, "data": data, "seeds": found["seeds"], "runs": runs,
                "mean": mean_of(figures, statistics.fmean), "sd": mean_of(figures, deviation),
                "ensemble": {split: found["held"][key]["ensemble"] for split, key in splits.items()},
                "config": found["config"], "command": f"python repro/reader/{command}", "commit": args.commit,
                "device": DEVICE, "seconds": found["seconds"], "updates": found["updates"],
            }
        )  # fmt: skip
    if (args.results / "paper.json").exists():
        records.append(paper(args.results, args.commit))
    path = ROOT / "repro" / "results" / "reader.json"
    new = {(record["system"], record["data"]) for record in records}
    kept = [one for one in json.loads(path.read_text("utf-8")) if (one["system"], one["data"]) not in new]
    path.write_text(json.dumps([*records, *kept], indent=1) + "\n", "utf-8")
    for record in records:
        print(record["system"], record["data"])
        for split, families in record["mean"].items():
            for family, metrics in families.items():
                print("   ", split, family, {key: round(100 * value, 1) for key, value in metrics.items()})


def paper(results: Path, commit: str) -> dict[str, Any]:
    """The paper's own network taught by reader-large's five seeds."""
    found = json.loads((results / "paper.json").read_text("utf-8"))
    figures = [{split: run[split] for split in ("dev", "test")} for run in found["runs"]]
    return {
        "system": "delayed-entnet-by-readers", "data": "sentihood", "seeds": found["seeds"], "runs": found["runs"],
        "mean": mean_of(figures, statistics.fmean), "sd": mean_of(figures, statistics.stdev),
        "ensemble": found["together"], "config": found["config"],
        "command": "python repro/reader/run.py soften paper --config sentihood-large --teachers sentihood-large; "
                   "python repro/reader/paper_network.py train",
        "commit": commit, "device": DEVICE, "seconds": found["seconds"],
    }  # fmt: skip


if __name__ == "__main__":
    main()
