"""Labels of `real silver`: batches of public texts for readers, and their answers as rows.

    python silver.py make DATA WORK [--seed 8 --first 500]   # batches to read, of texts not read yet; WORK/in/NNN.txt
    python silver.py check WORK NNN ...   # what is wrong with answers, WORK/out/NNN.txt
    python silver.py collect WORK         # added to real-silver.jsonl; how far readers agree with decided labels

Each text is read once, by a reader who follows SILVER.md. Aspects are drawn before anybody reads the text, as those of
the pool are; the reader adds some that are judged and as many that are not, in forms that are drawn too. One text of
each batch is of `real dev`, whose labels were decided by three readers: it says how good the labels are, and is not
learnt from.
"""

import argparse
import hashlib
import html
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from check import agreement, read, real_rows, silver_readings  # noqa: E402

from judge.pool import FACTS, Aspects, HeldOut, Text, names_in  # noqa: E402
from tabsa.datasets.loading import load  # noqa: E402
from tabsa.errors import DataError  # noqa: E402
from tabsa.tables.reading import read_good_rows  # noqa: E402
from tabsa.text.sentences import split_sentences  # noqa: E402
from tabsa.text.targets import TargetFinder  # noqa: E402
from tabsa_repro.real import _COLUMNS  # noqa: E402

SOURCES = {  # file: texts, kind, domain
    "real/a1_IMDB_Dataset.csv": (2300, "films", "films and series"),
    "real/rented.csv": (1700, "clothes", "rented clothes"),
    "open/pool-amazon.jsonl": (3800, "products", "products, books, films, music"),
    "open/newsmtsc-train.jsonl": (1500, "news", "politics in the news"),
    "open/phones-train.jsonl": (1100, "phones", "phones bought online"),
    "open/twitter-terms-train.jsonl": (1100, "tweets", "tweets about people and firms"),
    "open/pool-films.jsonl": (700, "films", "films"),
    "open/pool-news.jsonl": (600, "news", "news"),
    "open/yelp-terms-train.jsonl": (450, "restaurants", "restaurants"),
    "open/shoes-train.jsonl": (450, "clothes", "shoes"),
    "open/mams-terms-train.jsonl": (400, "restaurants", "restaurants"),
    "open/oats-hotels-train.jsonl": (450, "hotels", "hotels"),
    "open/television-terms-train.jsonl": (300, "laptops", "televisions"),
    "open/oats-courses-train.jsonl": (450, "courses", "online courses"),
    "open/apps-terms-train.jsonl": (350, "apps", "apps"),
    "open/oats-foods-train.jsonl": (450, "foods", "food"),
    "open/memd-hotel-train.jsonl": (200, "hotels", "hotels"),
    "open/memd-books-train.jsonl": (250, "books", "books"),
    "open/memd-laptop-train.jsonl": (250, "laptops", "laptops"),
    "open/tshirts-terms-train.jsonl": (200, "clothes", "clothes"),
}
ANYWHERE = ("real", "open/pool", "open/phones", "open/shoes", "open/news")  # passages of these begin at any sentence
SENTENCES = ([1, 2, 3, 4, 5, 6], [26, 28, 20, 12, 8, 6])
WORDS = range(5, 111)
FORMS = (
    "one word", "one word", "two or three words", "two or three words", "phrase", "how ...", "how ...",
    "whether/what/who ...",
)  # fmt: skip
BATCH = 39  # texts, beside the one whose labels are known
LETTERS = "ABCDEFG"
POLARITIES = {"p": "positive", "n": "negative", "u": "neutral", "m": "mixed"}
Row = dict[str, Any]


def texts_of(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """A file's texts: key, text without markup, names of its targets."""
    for number, row in enumerate(read_good_rows(path)):
        csv = path.suffix == ".csv"
        raw = str(row.values[_COLUMNS[path.name] if csv else "text"])
        names = [target["name"] for target in row.values.get("targets") or [] if target.get("name")]
        text = " ".join(html.unescape(re.sub(r"<br\s*/?>", " ", raw)).split())
        yield str(number) if csv else str(row.values["id"]), text, names


def passage(file: str, text: str, rng: random.Random) -> tuple[int, int]:
    """Draw a passage of whole sentences: where it begins and ends."""
    spans = list(split_sentences(text))
    count = rng.choices(*SENTENCES)[0]
    start = rng.randrange(max(1, len(spans) - count + 1)) if file.startswith(ANYWHERE) else 0
    chosen = spans[start : start + count]
    return (chosen[0].start, chosen[-1].end) if chosen else (0, 0)


def targets_of(file: str, kind: str, text: str, own: list[str], rng: random.Random) -> list[str | None]:
    """Choose who is asked about: news and tweets name them, a review is of what it does not name."""
    if kind in ("news", "tweets") and own:
        names = [name for name in dict.fromkeys(own) if name.lower() in text.lower()][:2]
        more = [one for one in names_in(text) if not any(one in name or name in one for name in names)]
        if kind == "news" and len(names) == 1 and more and rng.random() < 0.4:
            names.append(more[0])
        return list(names)
    if file == "open/pool-news.jsonl":
        return list(names_in(text)[:2])
    return [None, *(names_in(text)[:1] if rng.random() < 0.3 else [])]


def fits(text: str, targets: list[str | None]) -> bool:
    """Whether the text names its targets, and no two are alike."""
    names = [name for name in targets if name]
    try:
        return bool(targets) and len(TargetFinder(names).find(text)) == len(names)
    except DataError:
        return False


def drawn(data: Path, rng: random.Random) -> Iterator[Row]:
    """Texts with their targets and aspects."""
    used = {(row["file"], key) for row in [*read("real"), *read("real-silver")] for key in row["key"].split("+")}
    held = HeldOut(load(name, split, data_dir=data) for name, split in FACTS["held_out"])
    aspects, seen = Aspects(data), set[str]()
    for file, (count, kind, domain) in SOURCES.items():
        rows = list(texts_of(data / file))
        rng.shuffle(rows)
        for key, text, own in rows:
            if count and (file, key) not in used:
                start, end = passage(file, text, rng)
                part = text[start:end].strip()
                targets = targets_of(file, kind, part, own, rng)
                foreign = sum(ord(letter) > 0x24F for letter in part) > 8
                if len(part.split()) not in WORDS or foreign or part in seen or held.near(part):
                    continue
                if not fits(part, targets):
                    continue
                asked: dict[str, str] = {}
                about = Text(part, kind, tuple(name for name in targets if name))
                for _ in range(60):
                    if len(asked) < (5 if len(targets) == 2 else rng.choice((5, 6, 7))):
                        asked.setdefault((one := aspects.draw(about, rng)).lower(), one)
                seen.add(part)
                count -= 1
                span = None if part == text else [start, end]
                facts = {"domain": domain, "file": file, "key": key, "span": span, "text": part}
                yield {**facts, "targets": targets, "aspects": [*asked.values()]}


def make(data: Path, work: Path, seed: int, first: int) -> None:
    """Write batches, numbered from `first`."""
    rng = random.Random(seed)
    rows = list(drawn(data, rng))
    rng.shuffle(rows)
    texts = {example.id: example.text for example in load("real", "dev", data_dir=data).examples}
    known = [row for row in read("real") if row["id"] in texts]
    rng.shuffle(known)
    for folder in ("in", "out", "rows"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    for number in range(-(-len(rows) // BATCH)):
        batch = rows[BATCH * number : BATCH * (number + 1)]
        if number < len(known):
            one = known[number]
            names = [name["name"] if isinstance(name, dict) else name for name in one["targets"]]
            gold = {"gold": one["id"], "text": texts[one["id"]], "targets": names, "aspects": one["aspects"]}
            batch.insert(rng.randrange(len(batch)), gold)
        lines = [shown(place, row, rng) for place, row in enumerate(batch, 1)]
        (work / "in" / f"{first + number:03}.txt").write_text("\n".join(lines), "utf-8")
        (work / "rows" / f"{first + number:03}.json").write_text(json.dumps(batch), "utf-8")


def shown(place: int, row: Row, rng: random.Random) -> str:
    """A text as a reader gets it."""
    names = "  ".join(f"[{letter}: {name or 'it'}]" for letter, name in zip(LETTERS, row["targets"], strict=False))
    aspects = "; ".join(f"{number} {aspect}" for number, aspect in enumerate(row["aspects"], 1))
    a, b, c, d = (rng.choice(FORMS) for _ in range(4))
    added = f"ADD judged: {a}, then {c}. silent: {b}, then {d}."
    return f"### {place}   {names}\n{row['text']}\nASPECTS {aspects}\n{added}\n"


def answers(work: Path, number: str) -> tuple[list[Row], dict[int, Row], list[str]]:
    """A batch, the answers to its texts (`labels`, and aspects that were `added`), and what is wrong with them."""
    batch: list[Row] = json.loads((work / "rows" / f"{number}.json").read_text("utf-8"))
    found: dict[int, Row] = {}
    wrong: list[str] = []
    for line in filter(str.strip, (work / "out" / f"{number}.txt").read_text("utf-8").splitlines()):
        match = re.match(r"(\d+):(.*)$", line.strip())
        place = int(match[1]) if match else 0
        if not match or not 1 <= place <= len(batch) or place in found:
            wrong.append(f"no text's number, or twice: {line!r}")
            continue
        found[place] = {"labels": [], "added": []}
        wrong += [f"text {place}: {what}" for what in _answer(batch[place - 1], match[2], **found[place])]
    wrong += [f"text {place} is missing" for place in range(1, len(batch) + 1) if place not in found]
    return batch, found, wrong


def _answer(row: Row, line: str, labels: list[tuple[str | None, str, str]], added: list[str]) -> Iterator[str]:
    targets = dict(zip(LETTERS, row["targets"], strict=False))
    head, *additions = re.split(r"(?:^|\s)\+\s", " " + line.strip())
    for written in head.split():
        match = re.match(r"([A-G]?)(\d+)([pnum0])$", written)
        letter = (match[1] or ("A" if len(targets) == 1 else "")) if match else ""
        if not match or letter not in targets or not 1 <= int(match[2]) <= len(row["aspects"]):
            yield repr(written)
        elif match[3] != "0":
            labels.append((targets[letter], row["aspects"][int(match[2]) - 1], POLARITIES[match[3]]))
    for addition in additions:
        match = re.match(r"(.*?)\s*=\s*((?:[A-G]?[pnum0]\s*)+)$", addition.strip())
        if not match or match[1].lower() in {one.lower() for one in [*row["aspects"], *added]}:
            yield f"+ {addition!r} cannot be read, or is asked already"
            continue
        added.append(match[1])
        for written in match[2].split():
            letter = written[:-1] or ("A" if len(targets) == 1 else "")
            if written[-1] != "0" and letter in targets:
                labels.append((targets[letter], match[1], POLARITIES[written[-1]]))
            elif written[-1] != "0":
                yield f"+ {addition!r}: no such target"


def collect(work: Path) -> None:
    """Add the rows of all answered batches, and what readers said of texts whose labels are known."""
    rng = random.Random(11)
    rows, known, left_out = read("real-silver"), dict[str, Row](), 0
    done = {row["id"] for row in rows}
    for path in sorted((work / "out").glob("*.txt")):
        batch, found, wrong = answers(work, path.stem)
        if wrong:
            print(path.stem, wrong)
        for place, answer in sorted(found.items()):
            row, said = batch[place - 1], {(target, aspect): label for target, aspect, label in answer["labels"]}
            if "gold" in row:
                own = [[target, aspect, label] for (target, aspect), label in said.items() if aspect in row["aspects"]]
                known[row["gold"]] = {"silver": own}
                continue
            name = f"silver-{path.stem}-{place:02}"
            if name in done:
                continue
            if not fits(row["text"], row["targets"]):
                left_out += 1
                continue
            aspects = [*row["aspects"], *answer["added"]]
            rng.shuffle(aspects)
            facts = {name: row[name] for name in ("domain", "file", "key", "span")}
            digest = hashlib.sha256(row["text"].encode()).hexdigest()[:16]
            opinions = [{"target": target, "aspect": one, "polarity": label} for (target, one), label in said.items()]
            head = {"id": name, "split": "silver", **facts, "sha256": digest}
            rows.append({**head, "targets": row["targets"], "aspects": aspects, "opinions": opinions})
    readings = [{**row, **known.get(row["id"], {})} for row in read("real-readings")]
    for file, content in (("real-silver", rows), ("real-readings", readings)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        (HERE / f"{file}.jsonl").write_text(lines, "utf-8")
    print(f"{len(rows)} texts, {left_out} left out, whose names could not be told apart; known texts: {len(known)}")
    print(agreement([row for row in real_rows("dev") if row["id"] in known], silver_readings()))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    making, checking, collecting = (steps.add_parser(step) for step in ("make", "check", "collect"))
    making.add_argument("data", type=Path)
    for step in (making, checking, collecting):
        step.add_argument("work", type=Path)
    making.add_argument("--seed", type=int, default=7)
    making.add_argument("--first", type=int, default=0)
    checking.add_argument("numbers", nargs="+")
    given = parser.parse_args()
    if given.step == "make":
        make(given.data, given.work, given.seed, given.first)
    elif given.step == "collect":
        collect(given.work)
    else:
        for number in given.numbers:
            wrong = answers(given.work, number)[2]
            print(number, "; ".join(wrong[:12]) or "OK")


if __name__ == "__main__":
    main()
