"""Check every row of `everyday`, count what it holds, and write the datasheet's tables.

python repro/everyday/check.py            # checks; exits with 1 where a row is wrong
python repro/everyday/check.py --write    # and writes stats.json and the tables of README.md
"""

import argparse
import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tabsa.text.targets import TargetFinder

HERE = Path(__file__).parent
SPLITS = ("train", "dev", "test", "dev-new", "test-new", "dev-hard", "test-hard")
MOST_AUC = 0.55  # of a classifier that sees the wording of an aspect alone
KINDS = (
    "plain", "negation", "contrast", "two targets", "comparison", "implicit", "several sentences", "question",
    "plain fact", "wish or condition", "past against present", "sarcasm", "reported speech", "emphasis and idiom",
    "pros and cons", "long review", "reply", "survey", "no opinion", "reference", "pair",
)  # fmt: skip
POLARITIES = ("positive", "negative", "neutral", "mixed")
Row = dict[str, Any]


def read(name: str) -> list[Row]:
    """The rows of a file."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]


def real_rows(split: str = "") -> list[Row]:
    """The labels of `real`, of one split or of all."""
    return [row for row in read("real") if not split or row["split"] == split]


def silver_readings() -> dict[str, Row]:
    """Of the texts of `real dev`: the labels that were decided, and what a reader of `silver` made of them."""
    single = {row["id"]: row["silver"] for row in read("real-readings") if "silver" in row}
    decided = {row["id"]: [[*opinion.values()] for opinion in row["opinions"]] for row in real_rows("dev")}
    return {name: {"first": decided[name], "second": own} for name, own in single.items()}


def names_of(row: Row) -> dict[str | None, list[str]]:
    """The targets and their aliases; None is the unnamed one."""
    named = [target if isinstance(target, dict) else {"name": target} for target in row["targets"]]
    return {target["name"]: target.get("aliases", []) for target in named}


def mistakes(row: Row) -> list[str]:
    """What is wrong with one row."""
    found = []
    names = names_of(row)
    finder = TargetFinder({name: aliases for name, aliases in names.items() if name is not None})
    absent = {name for name in names if name is not None} - {target.name for target in finder.find(row["text"])}
    found += [f"the text does not name {name!r}" for name in absent]
    if not 1 <= len(names) <= 5 or len(names) < len(row["targets"]):
        found.append("targets")
    if not 2 <= len(row["aspects"]) <= 20 or len(set(row["aspects"])) < len(row["aspects"]):
        found.append("aspects")
    pairs = [(opinion["target"], opinion["aspect"]) for opinion in row["opinions"]]
    if len(set(pairs)) < len(pairs):
        found.append("a pair is labelled twice")
    for opinion in row["opinions"]:
        if opinion["target"] not in names or opinion["aspect"] not in row["aspects"]:
            found.append(f"an opinion on {opinion['target']!r}, {opinion['aspect']!r}, which is not asked")
        if opinion["polarity"] not in POLARITIES:
            found.append(f"polarity {opinion['polarity']!r}")
    if row["kind"] not in KINDS or not 3 <= len(row["text"].split()) <= 260:
        found.append("kind or length")
    return found


def grams(text: str) -> set[tuple[str, ...]]:
    """Its runs of five words."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def near_duplicates(rows: list[Row]) -> list[tuple[str, str]]:
    """Pairs of texts that share over half of the shorter one's runs of five words."""
    having: dict[tuple[str, ...], list[int]] = defaultdict(list)
    of_row, found = [], []
    for number, row in enumerate(rows):
        own = grams(row["text"])
        shared = Counter(other for gram in own for other in having[gram])
        found += [
            (rows[other]["id"], row["id"])
            for other, count in shared.items()
            if count / min(len(own), len(of_row[other])) > 0.5
            and ("pair" not in row or row["pair"] != rows[other].get("pair"))
        ]
        of_row.append(own)
        for gram in own:
            having[gram].append(number)
    return found


def wording_auc(train: list[Row], dev: list[Row]) -> float:
    """How well the wording of an aspect, its form and its rarity tell on dev whether there is an opinion (AUC)."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    def questions(rows: list[Row]) -> list[tuple[str, bool]]:
        found = []
        for row in rows:
            labelled = {(opinion["target"], opinion["aspect"]) for opinion in row["opinions"]}
            found += [(a.lower(), (target, a) in labelled) for target in names_of(row) for a in row["aspects"]]
        return found

    learnt, judged = questions(train), questions(dev)
    uses = Counter(wording for wording, _ in learnt)
    words = CountVectorizer(ngram_range=(1, 2), token_pattern=r"[\w'-]+", min_df=2).fit([one for one, _ in learnt])

    def features(pairs: list[tuple[str, bool]], own: int) -> Any:
        form = [
            [len(a.split()), len(a) / 10, a.startswith(("how", "whether", "what", "who")), math.log1p(uses[a] - own)]
            for a, _ in pairs
        ]
        return hstack([words.transform([wording for wording, _ in pairs]), csr_matrix(form)]).tocsr()

    model = LogisticRegression(C=0.1, max_iter=1000).fit(features(learnt, 1), [label for _, label in learnt])
    return float(roc_auc_score([label for _, label in judged], model.predict_proba(features(judged, 0))[:, 1]))


def counts(rows: list[Row]) -> Row:
    """What some rows hold."""
    labels = Counter(opinion["polarity"] for row in rows for opinion in row["opinions"])
    pairs = sum(len(row["targets"]) * len(row["aspects"]) for row in rows)
    lengths = [len(row.get("text", "").split()) for row in rows]  # of real texts only labels are here
    judged = labels["positive"] + labels["negative"]
    return {
        "texts": len(rows),
        "pairs": pairs,
        **{polarity: labels[polarity] for polarity in POLARITIES},
        "none_share": round(1 - sum(labels.values()) / pairs, 4),
        "positive_share": round(labels["positive"] / max(1, judged), 4),
        "two_or_more_targets": round(sum(len(row["targets"]) > 1 for row in rows) / len(rows), 4),
        "unnamed": round(sum(None in names_of(row) for row in rows) / len(rows), 4),
        "words": [min(lengths), round(sum(lengths) / len(lengths), 1), max(lengths)],
    }


def kappa(pairs: list[tuple[Any, Any]]) -> float | None:
    """Cohen's kappa of two readers' labels."""
    if not pairs:
        return None
    ones, others = (Counter(side) for side in zip(*pairs, strict=True))
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    chance = sum(ones[label] * others[label] for label in ones) / len(pairs) ** 2
    return round((agreed - chance) / (1 - chance), 3) if chance < 1 else 1.0


def agreement(rows: list[Row], readings: dict[str, Row]) -> Row:
    """How far two readers agreed before anything was settled: whether there is an opinion, and which."""
    labels = []
    for row in rows:
        first, second = (
            {(target, aspect): polarity for target, aspect, polarity in readings[row["id"]][which]}
            for which in ("first", "second")
        )
        pairs = [(target, aspect) for target in names_of(row) for aspect in row["aspects"]]
        labels += [(first.get(pair), second.get(pair)) for pair in pairs]
    both = [(one, other) for one, other in labels if one and other]
    return {
        "texts": len(rows),
        "pairs": len(labels),
        "presence": kappa([(one is None, other is None) for one, other in labels]),
        "polarity": kappa(both),
        "polarity_agreed": round(sum(one == other for one, other in both) / max(1, len(both)), 3),
    }


def main() -> None:
    """Check, count, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    splits = {split: read(split) for split in SPLITS}
    rows = [row for split in SPLITS for row in splits[split]]
    wrong = [f"{row['id']}: {mistake}" for row in rows for mistake in mistakes(row)]
    wrong += [f"{one} is nearly {other}" for one, other in near_duplicates(once(splits))]
    wrong += [f"{key} twice" for key, count in Counter(row["id"] for row in rows).items() if count > 1]
    stats = statistics(splits)
    if stats["wording_auc"] > MOST_AUC:
        wrong.append(f"wordings tell labels: AUC {stats['wording_auc']} on dev, at most {MOST_AUC} is allowed")
    print("\n".join(wrong) or f"{len(rows)} rows, nothing wrong")
    if options.write:
        (HERE / "stats.json").write_text(json.dumps(stats, indent=1, ensure_ascii=False) + "\n", "utf-8")
        page = HERE / "README.md"
        page.write_text(with_tables(page.read_text("utf-8"), stats, once(splits)), "utf-8")
    sys.exit(bool(wrong))


def once(splits: dict[str, list[Row]]) -> list[Row]:
    """Every text once: the hard questions are asked of texts of dev and test."""
    return [row for split, rows in splits.items() if not split.endswith("-hard") for row in rows]


def statistics(splits: dict[str, list[Row]]) -> Row:
    """All that the datasheet says in numbers."""
    rows = once(splits)
    hard = [*splits["dev-hard"], *splits["test-hard"]]
    trained = {row["domain"] for row in splits["train"]}
    readings = {row["id"]: row for row in read("readings")}
    domains = sorted({row["domain"] for row in rows})
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    home = {
        domain: "train"
        if domain in trained
        else next(s for s in SPLITS if any(r["domain"] == domain for r in splits[s]))
        for domain in domains
    }
    seen = {f"{split}, seen domains": [r for r in splits[split] if r["domain"] in trained] for split in ("dev", "test")}
    unseen = {
        f"{split}, unseen domains": [r for r in splits[split] if r["domain"] not in trained]
        for split in ("dev", "test")
    }
    first = Counter(re.findall(r"\S+", row["text"].lower())[0] for row in rows)
    wordings = Counter(aspect for row in rows for aspect in row["aspects"])
    dev = [row for split in ("dev", "dev-hard", "dev-new") for row in splits[split]]
    return {
        "all": counts(rows),
        "splits": {name: counts(own) for name, own in {**splits, **seen, **unseen}.items() if own},
        "domains": {
            domain: {"in": home[domain], **counts([r for r in rows if r["domain"] == domain])} for domain in domains
        },
        "kinds": {kind: counts([row for row in rows if row["kind"] == kind]) for kind in kinds},
        "agreement": {"all": agreement([*rows, *hard], readings), "hard questions": agreement(hard, readings)}
        | {kind: agreement([row for row in rows if row["kind"] == kind], readings) for kind in kinds},
        "real": {split: counts(own) for split in ("train", "dev", "test") if (own := real_rows(split))}
        | {"silver": counts(read("real-silver"))},
        "real_agreement": agreement(real_rows(), {row["id"]: row for row in read("real-readings")}),
        "silver_agreement": agreement(real_rows("dev"), silver_readings()),
        "first_words": {word: round(count / len(rows), 4) for word, count in first.most_common(5)},
        "wording_auc": round(wording_auc(splits["train"], dev), 2),
        "aspect_wordings": len(wordings),
        "wordings_asked_once": sum(count == 1 for count in wordings.values()),
    }


def table(head: list[str], body: list[list[Any]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def share(value: float) -> str:
    """In percent."""
    return f"{100 * value:.0f}%"


def line(name: str, own: Row) -> list[Any]:
    """One row of a table of counts."""
    labels = [own[polarity] for polarity in POLARITIES]
    shares = [share(own[key]) for key in ("none_share", "positive_share", "two_or_more_targets", "unnamed")]
    return [name, own["texts"], own["pairs"], *labels, *shares, f"{own['words'][1]:.0f}"]


def with_tables(page: str, stats: Row, rows: list[Row]) -> str:
    """The datasheet with its tables made anew."""
    head = ["", "texts", "pairs", *POLARITIES, "none", "positive of judged", "2+ targets", "unnamed", "mean words"]
    kappas = [
        [kind, own["texts"], own["pairs"], own["presence"], own["polarity"], share(own["polarity_agreed"])]
        for kind, own in stats["agreement"].items()
    ]
    rng = random.Random(1)
    shown = []
    for kind in stats["kinds"]:
        found = [row for row in rows if row["kind"] == kind]
        chosen = rng.sample(found, min(10, len(found)))
        shown.append(f"**{kind}**\n\n" + "\n".join(f"- {example(row)}" for row in chosen))
    made = {
        "splits": table(head, [line("all", stats["all"]), *(line(n, own) for n, own in stats["splits"].items())]),
        "kinds": table(head, [line(kind, own) for kind, own in stats["kinds"].items()]),
        "domains": table(
            ["domain", "in", *head[1:]],
            [[n, own["in"], *line("", own)[1:]] for n, own in stats["domains"].items()],
        ),
        "agreement": table(["", "texts", "pairs", "presence", "polarity", "polarity agreed"], kappas),
        "real": table(head[:-1], [line(split, own)[:-1] for split, own in stats["real"].items()])
        + f"\n\nKappa of the two readers: presence {stats['real_agreement']['presence']}, "
        f"polarity {stats['real_agreement']['polarity']}. Of `silver`'s readers and those decided, on dev: presence "
        f"{stats['silver_agreement']['presence']}, polarity {stats['silver_agreement']['polarity']}.",
        "rows": "\n\n".join(shown),
    }
    for name, content in made.items():
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, c=content: f"{m[1]}{c}\n{m[2]}", page, flags=re.S
        )
    return page


def example(row: Row) -> str:
    """A row in one line: the text, then what it says."""
    opinions = "; ".join(
        f"{opinion['target'] or '(unnamed)'}, {opinion['aspect']}: {opinion['polarity']}" for opinion in row["opinions"]
    )
    silent = len(row["targets"]) * len(row["aspects"]) - len(row["opinions"])
    text = " ".join(row["text"].split()).replace("*", "\\*").replace("|", "\\|")
    return f"{text} *({opinions or 'nothing'}; {silent} none)*"


if __name__ == "__main__":
    main()
