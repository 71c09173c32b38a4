"""Scored tables made by chance, written as `tabsa score` writes them, and a plain count of what they hold."""

import json
import random
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from table_rows import write_rows as write

TARGETS = ("Camden", "AC/DC Lane", "Zürich West", "Station Hotel")
ASPECTS = ("price", "night life", "staff")
LABELS = ("none", "positive", "negative", "neutral", "mixed")


@dataclass(frozen=True)
class Answered:
    """A text and what is said in it of each target's aspects: polarity and probability."""

    id: str
    date: str
    text: str
    said: dict[tuple[str, str], tuple[str, float]]


def answered(seed: int, texts: int = 60, targets: tuple[str, ...] = TARGETS) -> list[Answered]:
    """Texts that name one or two targets each, and answers by chance; others are silent."""
    chosen = random.Random(seed)
    found = []
    for number in range(texts):
        named = chosen.sample(targets, k=min(len(targets), chosen.choice((1, 1, 2))))
        text = f"Well, text {number}! " + " ".join(f"We saw {name} and its price." for name in named)
        said = {}
        for target in targets:
            for aspect in ASPECTS:
                polarity = chosen.choices(LABELS, (4, 3, 2, 0.5, 0.5))[0] if target in named else "none"
                sure = 1.0 if target not in named else round(chosen.uniform(0.4, 1), 6)
                said[target, aspect] = (polarity, sure)
        day = date(2023, 11, 5) + timedelta(days=chosen.randrange(400))
        found.append(Answered(f"t{number:03}", day.isoformat(), text, said))
    return found


def long(path: Path, texts: list[Answered], *, every: bool = True) -> Path:
    """A row for each answer."""
    rows: list[dict[str, object]] = []
    for one in texts:
        for (target, aspect), (polarity, sure) in one.said.items():
            if every or polarity != "none":
                answer = {"target": target or None, "aspect": aspect, "polarity": polarity, "confidence": sure}
                rows.append({"id": one.id, "date": one.date, "text": one.text, **answer})
    return write(path, rows)


def wide(path: Path, texts: list[Answered], *, probabilities: bool = True) -> Path:
    """A column for each pair."""
    rows: list[dict[str, object]] = []
    for one in texts:
        row: dict[str, object] = {"id": one.id, "date": one.date, "text": one.text}
        for (target, aspect), (polarity, sure) in one.said.items():
            name = f"{target}/{aspect}" if target else aspect
            row[name] = polarity
            if probabilities:
                rest = round((1 - sure) / 4, 6)
                row |= {f"{name}/{label}": sure if label == polarity else rest for label in LABELS}
        rows.append(row)
    return write(path, rows)


def own(path: Path, texts: list[Answered], column: str = "about") -> Path:
    """A column for each aspect, with a value for each of the row's own targets."""
    rows: list[dict[str, object]] = []
    for one in texts:
        names = list(dict.fromkeys(target for target, _ in one.said))
        row: dict[str, object] = {"id": one.id, "date": one.date, "text": one.text, column: ";".join(names)}
        for aspect in ASPECTS:
            row[aspect] = ";".join(one.said[name, aspect][0] for name in names)
            for label in LABELS:
                shares = (sure if p == label else 0.01 for p, sure in (one.said[n, aspect] for n in names))
                row[f"{aspect}/{label}"] = ";".join(map(str, shares))
        rows.append(row)
    return write(path, rows)


def counted(texts: list[Answered]) -> dict[tuple[str, str], Counter[str]]:
    """How often each polarity is said of each pair."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in texts:
        for pair, (polarity, _) in one.said.items():
            counts.setdefault(pair, Counter())[polarity] += 1
    return counts


def rejects(path: Path, reasons: list[str]) -> None:
    """What `score` leaves beside its output."""
    lines = [json.dumps({"row": n, "reason": why, "content": {}}) for n, why in enumerate(reasons)]
    path.with_name(path.name + ".rejects.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")
