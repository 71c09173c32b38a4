"""MAMS' categories as a person's own table: no configuration, all training texts, the encoder kept.

    python repro/few_shot/mams.py      # needs open/mams-categories-*.jsonl; writes results/mams-csv.json

The texts name no target. Judged on MAMS' dev split: three-way accuracy of the gold categories, and F1 of opinions; then
`tabsa score` is run on the same texts, without a target, and has to say what `evaluate` measured. The base was taught
by readers that had learnt from MAMS' training texts.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tabsa
from tabsa.datasets.loading import load
from tabsa.inference.evaluating import predict_questions
from tabsa.schema import Dataset

RESULT = Path(__file__).parents[1] / "results" / "mams-csv.json"
TABSA = [sys.executable, "-m", "tabsa"]


def write(path: Path, data: Dataset) -> None:
    """One opinion a row, with headings of one's own."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["Review", "Topic", "Label"])
        for example in data.examples:
            rows.writerows([example.text, opinion.aspect, opinion.polarity] for opinion in example.opinions)


def judged(model: str | None, dev: Dataset) -> dict[str, float]:
    """Three-way accuracy of the gold categories, and F1."""
    found = tabsa.evaluate(tabsa.load(model), dev, bootstrap=0).questions
    return {name: found[name] for name in ("polarity_accuracy", "opinion_f1", "presence_f1", "false_opinions")}


def same_as_scored(folder: Path, dev: Dataset, place: Path) -> dict[str, int]:
    """How many of the questions `score` answers as `evaluate` does."""
    texts, out = place / "texts.jsonl", place / "scored.jsonl"
    texts.write_text("".join(json.dumps({"id": e.id, "text": e.text}) + "\n" for e in dev.examples))
    layout = ["--layout", "long", "--all", "--id-column", "id"]
    subprocess.run([*TABSA, "score", texts, out, "--model", folder, *layout], check=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    said = {(row["id"], row["aspect"]): row["polarity"] for row in rows}
    model = tabsa.load(folder)
    probabilities = predict_questions(model, dev)
    asked = [(example.id, aspect) for example, _, aspect, _ in dev.questions()]
    measured = [dev.labels[n] for n in probabilities.argmax(-1)]
    alike = sum(said[pair] == polarity for pair, polarity in zip(asked, measured, strict=True))
    found = len({row["id"] for row in rows if row["polarity"] != "none"})
    return {"questions": len(asked), "alike": alike, "texts": len(dev.examples), "texts_with_an_opinion": found}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="")
    args = parser.parse_args()
    train, dev = (load("open", f"mams-categories-{part}") for part in ("train", "dev"))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write(place / "mams.csv", train)
        columns = ["--text-column", "Review", "--aspect-column", "Topic", "--polarity-column", "Label"]
        started = time.monotonic()
        subprocess.run([*TABSA, "train", place / "mams.csv", "--out", place / "mine", *columns], check=True)
        took = time.monotonic() - started
        content = {
            "command": "python repro/few_shot/mams.py",
            "commit": args.commit,
            "train_seconds": round(took),
            "cores": len(os.sched_getaffinity(0)),
            "base": judged(None, dev),
            "tuned": judged(str(place / "mine"), dev),
            "scored": same_as_scored(place / "mine", dev, place),
        }
    RESULT.write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
