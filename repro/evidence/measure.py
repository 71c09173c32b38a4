"""What the evidence is worth: faithfulness, words that a person marked, and long documents.

    python repro/evidence/measure.py [--texts 300] [--only faithfulness|marked|documents] [--out FILE]

Faithfulness (DeYoung et al., 2020): of 300 texts with an opinion that the model found, what its probability loses where
the first 10, 20 or 30% of the words are taken out (comprehensiveness, high is good) and where they alone are kept
(sufficiency, low is good), in the order of the evidence and in others. Texts are cut and predicted anew.
"""

import argparse
import json
import math
import random
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from orders import Weights, entnet_gradient, gates, reader_attention, reader_gradient

import tabsa
from tabsa.datasets.loading import load as load_dataset
from tabsa.inference.explaining import MOST_READINGS
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import UNNAMED, Example, Span, Target
from tabsa.text.sentences import split_sentences
from tabsa.text.targets import TargetFinder

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "repro" / "results" / "evidence.json"
SHARES = (0.1, 0.2, 0.3)
FEWEST = 6  # words of a text that is judged: of fewer, 10, 20 and 30% are the same


# A text, its targets, and what is asked of it: target, aspect, and the label that is right.
Asked: TypeAlias = tuple[str, Sequence[Target], list[tuple[str, str, str]]]


class Case(NamedTuple):
    """An opinion that a model found in a text, and orders of the text's words."""

    example: Example
    target: str
    aspect: str
    label: str
    probability: float
    words: list[Span]
    orders: dict[str, Weights]


def predicted(predictor: Predictor, example: Example, aspects: Sequence[str]) -> Prediction:
    """What is said of one text."""
    return predictor.predict(example.text, example.targets, aspects)


def cases(predictor: Predictor, examples: Iterable[Example], most: int, orders: Any) -> Iterator[Case]:
    """Texts that are read at once and have an opinion of theirs that is found; one of each, in the order given."""
    rng, count = random.Random(20261116), 0
    for example in examples:
        aspects = list(dict.fromkeys(opinion.aspect for opinion in example.opinions if opinion.polarity != "none"))
        if not aspects or count == most:
            continue
        prediction = predicted(predictor, example, aspects)
        asked = {(opinion.target, opinion.aspect) for opinion in example.opinions}
        found = [opinion for opinion in prediction.found() if (opinion.target, opinion.aspect) in asked]
        if not found or len(prediction.passages) != 1:
            continue
        chosen = rng.choice(found)
        evidence = prediction.evidence(chosen.target, chosen.aspect)
        words = [word.span for word in evidence.words]
        if len(words) < FEWEST:
            continue
        count += 1
        made = {"evidence": np.array([word.weight for word in evidence.words])}
        made |= orders(prediction, chosen.target, chosen.aspect, chosen.polarity, words)
        made["random"] = np.random.default_rng(count).random(len(words))
        yield Case(example, chosen.target, chosen.aspect, chosen.polarity, chosen.confidence, words, made)


def left(example: Example, gone: Iterable[Span]) -> tuple[str, list[Target]]:
    """The text without some words and one of the spaces around each, and the targets where they are then."""
    text, targets = example.text, list(example.targets)
    for start, end in sorted(gone, reverse=True):
        stop = end + (end < len(text) and text[end].isspace() and (start == 0 or text[start - 1].isspace()))
        text = text[:start] + text[stop:]
        targets = [
            replace(
                t,
                mentions=tuple(
                    Span(a - stop + start, b - stop + start) if a >= stop else Span(a, b) for a, b in t.mentions
                ),
            )
            for t in targets
        ]
    return text, targets


def faithfulness(predictor: Predictor, found: Sequence[Case]) -> dict[str, dict[str, list[float]]]:
    """The mean loss of probability, in points, for each order and share of the words."""
    losses: dict[str, dict[str, list[list[float]]]] = {}
    for case in found:
        asked, keys = [], []
        for name, weights in case.orders.items():
            order = np.argsort(-weights, kind="stable")
            for place, share in enumerate(SHARES):
                first = {case.words[n] for n in order[: math.ceil(share * len(order))]}
                asked += [left(case.example, first), left(case.example, set(case.words) - first)]
                keys += [(name, "comprehensiveness", place), (name, "sufficiency", place)]
        predictions = predictor.predict_many(
            [text for text, _ in asked], targets_of_each=[targets for _, targets in asked], aspects=[case.aspect]
        )
        for (name, kind, place), prediction in zip(keys, predictions, strict=True):
            (share,) = (o.probabilities[case.label] for o in prediction.opinions if o.target == case.target)
            rows = losses.setdefault(name, {}).setdefault(kind, [[] for _ in SHARES])
            rows[place].append(100 * (case.probability - share))
    return {
        name: {kind: [float(np.mean(row)) for row in rows] for kind, rows in of.items()} for name, of in losses.items()
    }


def reader_orders(predictor: Predictor) -> Any:
    """Attention, gradient times input, and leaving out every word, which costs as many readings."""
    gradient = reader_gradient(predictor)

    def orders(prediction: Prediction, target: str, aspect: str, label: str, words: list[Span]) -> dict[str, Weights]:
        (passage,) = prediction.passages
        slot, column = passage.targets.index(target), predictor.labels.index(label)
        return {
            "attention": reader_attention(predictor, passage, slot, aspect, words),
            "gradient x input": gradient(passage, slot, aspect, column, words),
            "occlusion of every word": occlusion(predictor, prediction, target, aspect, label, words),
        }

    return orders


def places_orders(predictor: Predictor) -> Any:
    """Gates as the answer weighs them, and gradient times input."""

    def orders(prediction: Prediction, target: str, aspect: str, label: str, words: list[Span]) -> dict[str, Weights]:
        (passage,) = prediction.passages
        slot, column = passage.targets.index(target), predictor.labels.index(label)
        place = predictor.aspects.index(aspect)
        assert prediction.attention is not None
        return {
            "gates": gates(passage, prediction.attention, slot, prediction.aspects.index(aspect), words),
            "gradient x input": entnet_gradient(predictor, passage, slot, place, column, words),
        }

    return orders


def occlusion(
    predictor: Predictor, prediction: Prediction, target: str, aspect: str, label: str, words: list[Span]
) -> Weights:
    """What is lost where each word is left out, every one of them by a reading."""
    (passage,) = prediction.passages
    names = {token.target: passage.targets[token.target] for token in passage.tokens if token.target is not None}
    mentions: dict[str, list[Span]] = {}
    for token in passage.tokens:
        if token.target is not None:
            mentions.setdefault(names[token.target], []).append(Span(token.start, token.end))
    targets = tuple(
        Target(name, tuple(mentions.get(name, ())), implied=name not in mentions) for name in passage.targets
    )
    example = Example("", prediction.text, targets)
    cut = [left(example, [word]) for word in words]
    answers = predictor.predict_many(
        [text for text, _ in cut], targets_of_each=[own for _, own in cut], aspects=[aspect]
    )
    (whole,) = (o.probabilities[label] for o in prediction.opinions if (o.target, o.aspect) == (target, aspect))
    return np.array([whole - next(o.probabilities[label] for o in a.opinions if o.target == target) for a in answers])


def faithful(texts: int) -> dict[str, Any]:
    """Both models in the box, each on the test split of the data it is made for."""
    result = {}
    for name, data, orders in (("reader", "everyday", reader_orders), ("places", "sentihood", places_orders)):
        predictor = tabsa.load(name)
        examples = list(load_dataset(data, "test").examples)
        random.Random(20261116).shuffle(examples)
        found = list(cases(predictor, examples, texts, orders(predictor)))
        words = float(np.mean([len(case.words) for case in found]))
        result[name] = {"data": data, "texts": len(found), "words": words, "orders": faithfulness(predictor, found)}
        print(name, json.dumps(result[name], indent=1), flush=True)
    return result


# ---- words that a person marked


def marked(split: str) -> dict[str, Any]:
    """How often a marked word is among the first three, and a marked sentence the first one."""
    predictor = tabsa.load("reader")
    examples = {example.id: example for example in load_dataset("everyday", split).examples}
    rows = [json.loads(line) for line in (Path(__file__).parent / "marked.jsonl").open(encoding="utf-8")]
    hits: dict[str, list[tuple[bool, dict[str, float], float]]] = {}
    orders = reader_orders(predictor)
    for number, row in enumerate(row for row in rows if row["split"] == split):
        example, target = examples[row["id"]], row["target"] or UNNAMED
        prediction = predicted(predictor, example, [row["aspect"]])
        (opinion,) = (o for o in prediction.opinions if o.target == target)
        right = opinion.polarity == row["polarity"]
        evidence = prediction.evidence(target, row["aspect"], row["polarity"])
        words = [word.span for word in evidence.words]
        made = {"evidence": np.array([word.weight for word in evidence.words])}
        made |= orders(prediction, target, row["aspect"], row["polarity"], words)
        made["random"] = np.random.default_rng(number).random(len(words))
        gold = np.array([any(a < word.end and word.start < b for a, b in row["words"]) for word in words])
        several = len(split_sentences(example.text)) > 1
        for name, weights in made.items():
            first = np.argsort(-weights, kind="stable")[:3]
            figures = {"any": float(gold[first].any()), "share": float(gold[first].sum() / min(3, gold.sum()))}
            if several and name == "evidence":
                figures["sentence"] = float(any(a <= evidence.sentences[0].span.start < b for a, b in row["sentences"]))
            hits.setdefault(name, []).append((right, figures, float(gold.mean())))
    return {name: told(found) for name, found in hits.items()}


def told(found: Sequence[tuple[bool, dict[str, float], float]]) -> dict[str, Any]:
    """The means over all texts, and over those that were answered right."""
    result: dict[str, Any] = {}
    for group, rows in (("all", found), ("right", [row for row in found if row[0]])):
        names = {name for _, figures, _ in rows for name in figures}
        result[group] = {"texts": len(rows)} | {
            name: float(np.mean([figures[name] for _, figures, _ in rows if name in figures])) for name in sorted(names)
        }
    return result


# ---- documents


def document_figures(said: NDArray[np.int64], gold: NDArray[np.int64]) -> dict[str, float]:
    """Opinion F1 (the polarity right, too), presence F1, accuracy of the polarity where both see an opinion."""
    both = (said > 0) & (gold > 0)
    total = int((said > 0).sum() + (gold > 0).sum())
    return {
        "questions": len(gold),
        "accuracy": float((said == gold).mean()),
        "opinion_f1": 2 * int((both & (said == gold)).sum()) / total,
        "presence_f1": 2 * int(both.sum()) / total,
        "polarity_accuracy": float((said == gold)[both].mean()),
    }


def asked_everyday(split: str, least: int, most: int) -> list[Asked]:
    """The texts of `everyday` with that many sentences, with everything that is asked of them."""
    data, found = load_dataset("everyday", split), []
    for example in data.examples:
        if least <= len(split_sentences(example.text)) <= most:
            aspects = data.aspects if example.aspects is None else example.aspects
            questions = [(t.name, a, example.polarity(t.name, a)) for t in example.targets for a in aspects]
            found.append((example.text, example.targets, questions))
    return found


def joined_everyday(split: str, count: int = 120) -> list[Asked]:
    """Five texts of `everyday` as one, each asked what it was asked: long texts about several."""
    pool = [e for e in load_dataset("everyday", split).examples if e.targets and all(t.mentions for t in e.targets)]
    rng, found = random.Random(5), []
    for _ in range(count):
        text, targets, questions = "", [], []
        for example in rng.sample(pool, 5):
            if {t.name for t in targets} & {t.name for t in example.targets}:
                continue
            for target in example.targets:
                moved = tuple(Span(a + len(text), b + len(text)) for a, b in target.mentions)
                targets.append(replace(target, mentions=moved))
                questions += [(target.name, a, example.polarity(target.name, a)) for a in example.aspects or ()]
            body = example.text.rstrip()
            text += (body if body[-1:] in ".!?" else body + ".") + " "
        found.append((text, targets, questions))
    return found


def written(split: str) -> list[dict[str, Any]]:
    """The documents that were written for this."""
    rows = (json.loads(line) for line in (Path(__file__).parent / "documents.jsonl").open(encoding="utf-8"))
    return [row for row in rows if row["split"] == split]


def found_in(row: dict[str, Any]) -> Sequence[Target]:
    """The targets of a document, where it names them."""
    return TargetFinder({target["name"]: target["aliases"] for target in row["targets"]}).find(row["text"])


def documents(split: str) -> dict[str, Any]:
    """Texts of several sentences, read whole and in windows; and whether the sentences given are the marked ones."""
    sets = {
        "everyday, 2 sentences": asked_everyday(split, 2, 2),
        "everyday, 3 to 5 sentences": asked_everyday(split, 3, 5),
        "everyday, 6 and more": asked_everyday(split, 6, 999),
        "five everyday texts joined": joined_everyday(split),
        "documents": [
            (row["text"], found_in(row), [(o["target"], o["aspect"], o["polarity"]) for o in row["opinions"]])
            for row in written(split)
        ],
    }
    result: dict[str, Any] = {}
    for way, windows in (("whole", ()), ("windows", None)):
        predictor = tabsa.load("reader")
        if windows is not None:
            config = replace(predictor.folder.config, windows=windows)
            predictor.engine.folder = replace(predictor.engine.folder, config=config)
        for name, asked in sets.items():
            gold = [predictor.labels.index(label) for *_, questions in asked for *_, label in questions]
            result.setdefault(name, {"texts": len(asked)})[way] = document_figures(
                np.array(answers(predictor, asked)), np.array(gold)
            )
    result["sentences"] = sentences(tabsa.load("reader"), split)
    return result


def answers(predictor: Predictor, asked: Sequence[Asked]) -> list[int]:
    """What is said to every question, as places among the labels."""
    predictions = predictor.predict_many(
        [text for text, *_ in asked],
        targets_of_each=[targets or (Target("nobody"),) for _, targets, _ in asked],
        aspects_of_each=[list(dict.fromkeys(aspect for _, aspect, _ in questions)) for *_, questions in asked],
    )
    said = []
    for (_, _, questions), prediction in zip(asked, predictions, strict=True):
        given = {(o.target, o.aspect): predictor.labels.index(o.polarity) for o in prediction.opinions}
        said += [given.get((target, aspect), 0) for target, aspect, _ in questions]
    return said


def sentences(predictor: Predictor, split: str) -> dict[str, float]:
    """Of opinions of the documents that are found: is the first sentence given a marked one; and by chance."""
    hits, chance, marked_found, unread = [], [], [], []
    for row in written(split):
        aspects = list(dict.fromkeys(opinion["aspect"] for opinion in row["opinions"]))
        prediction = predictor.predict(row["text"], found_in(row), aspects)
        said = {(o.target, o.aspect): o.polarity for o in prediction.opinions}
        spans = split_sentences(row["text"])
        for opinion in row["opinions"]:
            key = (opinion["target"], opinion["aspect"])
            if opinion["polarity"] == "none":
                continue
            read = set(spans) - set(prediction.unread(key[0]))
            own = {span for span in spans if any(a <= span.start < b for a, b in opinion["sentences"])}
            unread.append(not own & read)
            if said.get(key, "none") == "none":
                continue
            given = prediction.evidence(*key).sentences
            hits.append(bool(given) and given[0].span in own)
            marked_found.append(bool({one.span for one in given} & own))
            chance.append(len(own) / len(spans))
    return {
        "opinions found": len(hits),
        "first sentence is marked": float(np.mean(hits)),
        "a sentence given is marked": float(np.mean(marked_found)),
        "by chance": float(np.mean(chance)),
        "not read for the target": float(np.mean(unread)),
    }


def commit() -> str:
    """Which tree it was measured with."""
    ask = ("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=7")
    return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--split", default="test")
    parser.add_argument("--only", choices=["faithfulness", "marked", "documents"])
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    result = json.loads(args.out.read_text("utf-8")) if args.out.is_file() else {}
    parts = {
        "marked": lambda: marked(args.split),
        "documents": lambda: documents(args.split),
        "faithfulness": lambda: faithful(args.texts),
    }
    for name, measure in parts.items():
        if args.only in (None, name):
            started = time.monotonic()
            result[name] = measure()
            took = round(time.monotonic() - started)
            print(name, json.dumps(result[name], indent=1), f"{took} s", flush=True)
            result.setdefault("runs", {})[name] = {"commit": commit(), "split": args.split, "seconds": took}
            result["readings"] = MOST_READINGS
            args.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
