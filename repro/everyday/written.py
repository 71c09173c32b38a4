"""Texts of `everyday silver` as their writers hand them in, and as rows.

    python repro/everyday/written.py check FILE ...           # what is wrong with them
    python repro/everyday/written.py collect FOLDER DATA      # silver.jsonl, of all FOLDER/*.txt

A writer follows WRITING.md and labels what he wrote; nobody else reads it, so these texts are only learnt from. A text
that nearly stands in a held-out set, or whose names cannot be told apart, is left out. As writers ask, the wording of
an aspect tells whether it is judged: so each text is asked, too, what is judged in texts of other domains (silent where
no word of it stands in this one), and questions are left out where a classifier of wordings knows the answer.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from check import KINDS, mistakes, near_duplicates, read, wording_auc  # noqa: E402
from silver import POLARITIES, fits  # noqa: E402

from judge.pool import FACTS, HeldOut  # noqa: E402
from tabsa.datasets.loading import load  # noqa: E402

Row = dict[str, Any]
UNNAMED = "_"
ASKED_MORE = 2  # aspects of other domains
BINS, LEFT_OUT = 20, 0.75  # of the questions of a bin of wordings, what is left out of what is too many
GENERAL = re.compile("overall|value|worth|quality|recommend|anything|general|thing|whether|what", re.IGNORECASE)


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


def ask_more(rows: list[Row], rng: random.Random) -> None:
    """Ask each text what is judged in texts of other domains, and not here."""
    judged = sorted({(row["domain"], opinion["aspect"]) for row in rows for opinion in row["opinions"]})
    for row in rows:
        known = set(re.findall(r"[a-z]{4,}", " ".join([row["text"], *row["aspects"]]).lower()))
        while len(row["aspects"]) < row["asked"] + ASKED_MORE:
            domain, aspect = rng.choice(judged)
            words = set(re.findall(r"[a-z]{4,}", aspect.lower()))
            if domain != row["domain"] and words and not (words & known) and not GENERAL.search(aspect):
                row["aspects"].append(aspect)
                known |= words


def balance(rows: list[Row], rng: random.Random) -> int:
    """Leave out questions until as many are judged of wordings that seem to be as of others; returns how many."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline

    asked = [(row, aspect) for row in rows for aspect in row["aspects"]]
    judged = {(row["id"], opinion["aspect"]) for row in rows for opinion in row["opinions"]}
    labels = np.array([(row["id"], aspect) in judged for row, aspect in asked])
    model = make_pipeline(
        CountVectorizer(ngram_range=(1, 3), token_pattern=r"[\w'-]+", min_df=2), LogisticRegression(max_iter=300)
    )
    worded = [f"{aspect.lower()} {len(aspect.split())}words" for _, aspect in asked]
    scores = cross_val_predict(model, worded, labels, cv=5, method="predict_proba")[:, 1]
    gone, share = set[tuple[str, str]](), labels.mean()
    for part in np.array_split(np.argsort(scores), BINS):
        yes, no = part[labels[part]], part[~labels[part]]
        more = (no, len(no) - len(yes) * (1 - share) / share) if labels[part].mean() < share else (
            yes, len(yes) - len(no) * share / (1 - share)
        )  # fmt: skip
        chosen = rng.sample([*more[0]], int(LEFT_OUT * more[1]))
        gone |= {(asked[n][0]["id"], asked[n][1]) for n in chosen}
    for row in rows:
        row["aspects"] = [one for one in row["aspects"] if (row["id"], one) not in gone]
        row["opinions"] = [one for one in row["opinions"] if (row["id"], one["aspect"]) not in gone]
    return len(gone)


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
            rows.append({"id": f"silver-{path.stem}-{number:02}", **row, "asked": len(row["aspects"])})
    alike = {later for _, later in near_duplicates(rows)}
    left["alike"] = len(alike)
    rows = [row for row in rows if row["id"] not in alike]
    ask_more(rows, rng)
    left["questions"] = balance(rows, rng)
    rows = [row for row in rows if len(row["aspects"]) > 1]
    for row in rows:
        del row["asked"]
        rng.shuffle(row["aspects"])
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
