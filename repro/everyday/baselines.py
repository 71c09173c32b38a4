"""What simple systems and the reader in the box make of `everyday` and `real`: not trivial, and learnable.

    python repro/everyday/baselines.py [--data-dir DIR]    # writes baselines.json and the table of README.md

- majority: no opinion anywhere; where an opinion is known to be there, the commonest polarity of train.
- words: an opinion wherever a word of the aspect stands in the text, positive.
- lr (questions): one logistic regression over a question: n-grams of words within eight of the target's mentions and of
  all words, the aspect's words, whether they stand in the text, and the words within four of them.
- lr (package): the package's `lr`, one regression an aspect, on aspects that 60 training texts or more are asked;
  it knows no other aspect and is measured on these alone.
- reader: the model in the package, as it is; it learnt from the first texts of train with their first questions.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from tabsa.datasets.loading import load
from tabsa.encoding.arrays import gold_labels
from tabsa.encoding.passages import passages
from tabsa.inference.evaluating import predict_questions
from tabsa.inference.predictor import load as load_model
from tabsa.models.linear.linear_features import LRConfig
from tabsa.schema import NONE, Dataset, Example, Target
from tabsa.training.logistic_regression import fit_datasets, probabilities_of

HERE = Path(__file__).parent
SPLITS = (
    "dev-seen", "dev-unseen", "dev-hard", "dev-new", "real dev",
    "test-seen", "test-unseen", "test-hard", "test-new", "real test",
)  # fmt: skip
LEAST = 60  # training texts that ask an aspect, for the package's `lr`
Labels = list[str]


def data_of(split: str, data_dir: Path | None, aspects: tuple[str, ...] | None = None) -> Dataset:
    """One of `SPLITS`."""
    name, part = ("real", split.removeprefix("real ")) if split.startswith("real") else ("everyday", split)
    return load(name, part, data_dir=data_dir, aspects=aspects)


def figures(gold: Labels, found: Labels, likeliest: Labels | None = None) -> dict[str, float]:
    """Opinions found with the right polarity (F1), whether there is one (F1), and the polarity of true ones.

    `likeliest` is the polarity that would be said if there had to be one; by default `found`.
    """
    likeliest = likeliest or found
    right = sum(one == other != NONE for one, other in zip(gold, found, strict=True))
    there = sum(one != NONE != other for one, other in zip(gold, found, strict=True))
    expected, predicted = sum(one != NONE for one in gold), sum(one != NONE for one in found)
    opinions = [(one, other) for one, other in zip(gold, likeliest, strict=True) if one != NONE]
    return {
        "opinion_f1": 2 * right / max(1, expected + predicted),
        "presence_f1": 2 * there / max(1, expected + predicted),
        "polarity_accuracy": sum(one == other for one, other in opinions) / max(1, len(opinions)),
        "pairs": len(gold),
    }


def words(text: str) -> list[str]:
    """Its words, lower case, with a plain plural cut off."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"[\w']+", text.lower())]


def features(example: Example, target: Target, aspect: str) -> Iterator[str]:
    """What the regression over questions sees."""
    (passage, *_) = [*passages(example.text, (target,), at_once=1, max_length=0), None]
    tokens = (
        []
        if passage is None
        else [words(t.text)[:1] or [t.text] if t.target is None else ["<t>"] for t in passage.tokens]
    )
    flat = [token for group in tokens for token in group]
    aspect_words = words(aspect)
    places = [n for n, word in enumerate(flat) if word in aspect_words]
    mentions = [n for n, word in enumerate(flat) if word == "<t>"]
    yield f"there {bool(places)}"
    yield f"named {bool(mentions)} of {len(example.targets)}"
    yield f"aspect {aspect}"
    for word in aspect_words:
        yield f"a {word}"
    near = {n for place in places for n in range(place - 4, place + 5)}
    close = {n for place in mentions for n in range(place - 8, place + 9)} if mentions else set(range(len(flat)))
    for n, word in enumerate(flat):
        yield f"w {word}"
        pair = f"{flat[n - 1]} {word}" if n else word
        yield f"p {pair}"
        if n in near:
            yield f"n {word}"
            yield f"n {pair}"
        if n in close:
            yield f"t {word}"
            yield f"t {pair}"
        for part in aspect_words:
            yield f"x {part} {word}"


def matrix(dataset: Dataset) -> csr_matrix:
    """The questions of a dataset as rows."""
    hasher = FeatureHasher(2**18, input_type="string", alternate_sign=False)
    rows = hasher.transform(list(features(e, t, a)) for e, t, a, _ in dataset.questions())
    rows.data[:] = 1
    norms = np.sqrt(np.asarray(rows.sum(1)).ravel())
    return csr_matrix(rows.multiply(1 / norms[:, None]))


def gold_of(dataset: Dataset) -> Labels:
    """The right answers, in the order of the questions."""
    return [polarity for *_, polarity in dataset.questions()]


def over_questions(train: Dataset, others: dict[str, Dataset]) -> dict[str, dict[str, float]]:
    """The regression over questions; the border of `none` is chosen on dev."""
    rows, gold = matrix(train), gold_of(train)
    encoded = {split: matrix(data) for split, data in others.items()}
    best: tuple[float, Any, float] = (-1.0, None, 0.0)
    for c in (10.0,):
        model = LogisticRegression(C=c, max_iter=150, tol=1e-3).fit(rows, gold)
        for bias in np.arange(-1.5, 0.6, 0.25):
            f1 = np.mean([_scored(model, encoded[s], gold_of(others[s]), bias)["opinion_f1"] for s in SPLITS[:2]])
            best = max(best, (float(f1), model, float(bias)), key=lambda item: item[0])
    _, model, bias = best
    return {split: _scored(model, encoded[split], gold_of(others[split]), bias) for split in SPLITS}


def _scored(model: Any, rows: csr_matrix, gold: Labels, bias: float) -> dict[str, float]:
    labels = list(model.classes_)
    scores = np.asarray(model.decision_function(rows)).copy()
    scores[:, labels.index(NONE)] += bias
    found = [labels[n] for n in scores.argmax(1)]
    scores[:, labels.index(NONE)] = -np.inf
    return figures(gold, found, [labels[n] for n in scores.argmax(1)])


def shipped(others: dict[str, Dataset]) -> dict[str, dict[str, float]]:
    """The reader in the package."""
    model = load_model("reader")
    result = {}
    for split, data in others.items():
        answers, labels = predict_questions(model, data), np.array(data.labels)
        found, likeliest = labels[answers.argmax(-1)].tolist(), labels[1 + answers[:, 1:].argmax(-1)].tolist()
        result[split] = figures(gold_of(data), found, likeliest)
    return result


def package(others: dict[str, Dataset], data_dir: Path | None) -> tuple[dict[str, dict[str, float]], int]:
    """The package's `lr` on the aspects that are asked often."""
    often = Counter(aspect for example in load("everyday", "train").examples for aspect in example.aspects or ())
    aspects = tuple(sorted(aspect for aspect, count in often.items() if count >= LEAST))
    train, dev = load("everyday", "train", aspects=aspects), load("everyday", "dev", aspects=aspects)
    fitted = fit_datasets(LRConfig(pos_ngrams=0, c=(10.0,)), train, dev)
    result = {}
    for split in others:
        data = data_of(split, data_dir, aspects)
        probabilities, right = probabilities_of(fitted.model, data), gold_labels(data)
        labelled = right >= 0
        labels = np.array(data.labels)
        gold, found = labels[right[labelled]].tolist(), labels[probabilities[labelled].argmax(-1)].tolist()
        result[split] = figures(gold, found, labels[1 + probabilities[labelled][:, 1:].argmax(-1)].tolist())
    return result, len(aspects)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="where the texts of real are")
    data_dir = parser.parse_args().data_dir
    train = load("everyday", "train")
    others = {split: data_of(split, data_dir) for split in SPLITS}
    commonest = Counter(label for label in gold_of(train) if label != NONE).most_common(1)[0][0]
    results: dict[str, dict[str, Any]] = {
        "majority": {
            split: figures(gold, [NONE] * len(gold), [commonest] * len(gold))
            for split, gold in ((split, gold_of(data)) for split, data in others.items())
        },
        "words": {
            split: figures(
                gold_of(data),
                [
                    "positive" if set(words(aspect)) & set(words(example.text)) else NONE
                    for example, _, aspect, _ in data.questions()
                ],
                ["positive"] * len(gold_of(data)),
            )
            for split, data in others.items()
        },
        "lr (questions)": over_questions(train, others),
    }
    own, count = package(others, data_dir)
    results[f"lr (package), {count} aspects"] = own
    results["reader"] = shipped(others)
    content = {"command": "python repro/everyday/baselines.py", "results": results}
    (HERE / "baselines.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    head = ["opinion F1 / presence F1 / polarity of true opinions, %", *results]
    lines = [head, ["---"] * len(head)]
    for split in SPLITS:
        cells = [
            " / ".join(f"{100 * own[split][key]:.1f}" for key in ("opinion_f1", "presence_f1", "polarity_accuracy"))
            for own in results.values()
        ]
        lines.append([split, *cells])
        print(split, *cells, sep="  ")
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    page = HERE / "README.md"
    made = re.sub(
        r"(<!-- baselines -->\n).*?(\n?<!-- end -->)",
        lambda m: m[1] + table + "\n<!-- end -->",
        page.read_text("utf-8"),
        count=1,
        flags=re.S,
    )
    page.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
