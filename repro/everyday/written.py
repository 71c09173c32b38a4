"""Texts of `everyday silver` as their writers hand them in, and as rows.

    python repro/everyday/written.py check FILE ...           # what is wrong with them
    python repro/everyday/written.py collect FOLDER DATA      # silver.jsonl, of all FOLDER/*.txt

A writer follows WRITING.md and labels what he wrote; nobody else reads it, so these texts are only learnt from. A text
that nearly stands in a held-out set, or whose names cannot be told apart, is left out.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from check import KINDS, mistakes, near_duplicates, read, wording_auc  # noqa: E402
from silver import POLARITIES, fits  # noqa: E402

from judge.pool import FACTS, HeldOut  # noqa: E402
from tabsa.datasets.loading import load  # noqa: E402

Row = dict[str, Any]
UNNAMED = "_"


def texts(path: Path) -> Iterator[tuple[Row, list[str]]]:
    """The texts of a file, and what is wrong with each."""
    for block in re.split(r"^==", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if len(lines) < 4 or not lines[1].startswith("@") or not lines[-1].startswith("?"):
            yield {}, [f"{lines[:1]}: expected == domain | kind, @ targets, the text, ? aspects"]
            continue
        domain, _, kind = (part.strip() for part in lines[0].partition("|"))
        targets = [None if name.strip() == UNNAMED else name.strip() for name in lines[1][1:].split("|")]
        row: Row = {"domain": domain, "kind": kind, "text": " ".join(lines[2:-1]), "targets": targets}
        aspects, opinions, wrong = list[str](), list[Row](), list[str]()
        for written in filter(str.strip, lines[-1][1:].split(";")):
            match = re.match(r"\s*(.+?)\s*=\s*([pnum0]+)\s*$", written)
            if not match or len(match[2]) != len(targets) or match[1].lower() in map(str.lower, aspects):
                wrong.append(f"{written!r}: expected an aspect, once, and a letter for each target")
                continue
            aspects.append(match[1])
            opinions += [
                {"target": target, "aspect": match[1], "polarity": POLARITIES[letter]}
                for target, letter in zip(targets, match[2], strict=True)
                if letter != "0"
            ]
        row |= {"aspects": aspects, "opinions": opinions}
        if kind not in KINDS or not fits(row["text"], targets):
            wrong.append("no such kind, or names that do not stand in the text or cannot be told apart")
        yield row, wrong or mistakes(row)


def collect(folder: Path, data: Path) -> None:
    """Write what is good as rows; aspects in random order."""
    rng = random.Random(7)
    held = HeldOut(load(name, split, data_dir=data) for name, split in FACTS["held_out"])
    rows, left = list[Row](), {"wrong": 0, "held out": 0, "alike": 0}
    for path in sorted(folder.glob("*.txt")):
        for number, (row, wrong) in enumerate(texts(path), 1):
            if wrong or held.near(row["text"]):
                left["wrong" if wrong else "held out"] += 1
                continue
            rng.shuffle(row["aspects"])
            rows.append({"id": f"silver-{path.stem}-{number:02}", **row})
    alike = {later for _, later in near_duplicates(rows)}
    left["alike"] = len(alike)
    rows = [row for row in rows if row["id"] not in alike]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / "silver.jsonl").write_text(lines, "utf-8")
    pairs = sum(len(row["targets"]) * len(row["aspects"]) for row in rows)
    labelled = sum(len(row["opinions"]) for row in rows)
    print(f"{len(rows)} texts, {pairs} questions, {labelled} labelled; left out: {left}")
    rng.shuffle(rows)
    auc = wording_auc(rows[len(rows) // 5 :], rows[: len(rows) // 5])
    print(f"AUC of the wording alone on a fifth: {auc:.2f}; of train on dev: {wording_auc(rows, read('dev')):.2f}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    checking, collecting = steps.add_parser("check"), steps.add_parser("collect")
    checking.add_argument("files", type=Path, nargs="+")
    collecting.add_argument("folder", type=Path)
    collecting.add_argument("data", type=Path)
    given = parser.parse_args()
    if given.step == "collect":
        collect(given.folder, given.data)
        return
    for path in given.files:
        for number, (_, wrong) in enumerate(texts(path), 1):
            for one in wrong:
                print(f"{path} text {number}: {one}")


if __name__ == "__main__":
    main()
