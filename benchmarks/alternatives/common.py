"""What all alternatives share: the texts and questions, the figures, and the file of results.

A system answers a Dataset with probabilities (questions, labels), in its order of both; whoever gives labels alone
gives 1 and 0. `measure` times it on each set, on a fixed sample or on everything, and writes its entry in
`../results/alternatives.json`, beside those of the others.
"""

import argparse
import importlib.metadata
import json
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tabsa
from tabsa.evaluation.metrics import question_metrics
from tabsa.schema import Dataset, Example, Opinion, Span, Target
from tabsa.text.sentences import split_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))
from machine import machine

RESULTS = Path(__file__).parents[1] / "results" / "alternatives.json"
SETS = {
    "everyday": ("everyday", "test-unseen"),
    "real": ("real", "test"),
    "mams": ("open", "mams-categories-dev"),
    "sentihood": ("sentihood", "test"),
}
# Categories that are no words of a sentence, for systems that read a prompt or a hypothesis.
WORDINGS = {"transit-location": "transport and location", "general": "overall", "miscellaneous": "anything else"}
WHOLE = {"overall", "general"}  # aspects that no word of a text names
Probabilities = NDArray[np.float64]


@dataclass(frozen=True)
class System:
    """One way to answer."""

    name: str
    about: str  # what it is, in a line
    answer: Callable[[Dataset], Probabilities]
    packages: Sequence[str] = ()  # what pip installs for it; what those need is counted too
    files: Sequence[Path] = ()  # its model
    notes: Callable[[], dict[str, Any]] = field(default=dict)  # what else is to be told of the set just answered


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options of every script."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data-dir", type=Path, help="where sentihood/, open/ and the texts of `real` are")
    made.add_argument("--sample", type=int, default=60, help="texts of the sample of each set; drawn alike for all")
    made.add_argument("--parts", nargs="+", default=["sample", "all"], choices=["sample", "all"])
    made.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--out", type=Path, default=RESULTS)
    made.add_argument("--one", action="store_true", help="answer one text and end, for the time that starting takes")
    return made


def load(name: str, split: str, data_dir: Path | None) -> Dataset:
    """A set, without texts that have no target."""
    from tabsa.datasets.loading import load as load_data

    data = load_data(name, split, data_dir=data_dir)
    return replace(data, examples=[example for example in data.examples if example.targets])


def sample(data: Dataset, count: int, seed: int = 29) -> Dataset:
    """The same texts for whoever asks."""
    chosen = random.Random(seed).sample(range(len(data.examples)), min(count, len(data.examples)))
    return replace(data, examples=[data.examples[n] for n in sorted(chosen)])


def one_text() -> Dataset:
    """A text that is answered in order to have started."""
    target = Target("Camden", (Span(0, 6),))
    example = Example("1", "Camden is lovely but dear.", (target,), (Opinion("Camden", "price", "negative"),))
    return Dataset("one", "all", ("price",), ("none", "positive", "negative"), [example])


def wording(aspect: str) -> str:
    """An aspect in words."""
    return WORDINGS.get(aspect, aspect)


def sentences_on(example: Example, target: Target) -> list[str]:
    """The sentences that name the target; of one that is not named, all."""
    spans = split_sentences(example.text)
    named = [s for s in spans if any(s.start <= m.start < s.end for m in target.mentions)]
    return [example.text[span.start : span.end] for span in named or spans]


def rows(data: Dataset, answers: Iterable[dict[str, float]]) -> Probabilities:
    """Scores of each question's labels as shares, in the dataset's order; labels that it lacks are left out."""
    table = np.array([[scores.get(label, 0.0) for label in data.labels] for scores in answers], np.float64)
    table[table.sum(axis=1) == 0, 0] = 1
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def figures(data: Dataset, probabilities: Probabilities) -> dict[str, float]:
    """`question_metrics`, and the polarity of true opinions that were found, which systems without scores have too."""
    gold = np.array([data.labels.index(polarity) for *_, polarity in data.questions()])
    found = question_metrics(gold, probabilities)
    presence = found["presence_f1"]
    return {**found, "polarity_of_found": found["opinion_f1"] / presence if presence else 0.0, "questions": len(gold)}


def installed_mb(packages: Sequence[str], files: Sequence[Path]) -> float:
    """What the packages with all that they need weigh, and the files beside them."""
    waiting, seen, total = list(packages), set(), 0.0
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # needed on other systems only
        if name in seen:
            continue
        seen.add(name)
        total += sum(
            path.stat().st_size for path in map(Path, map(found.locate_file, found.files or ())) if path.is_file()
        )
        needs = [need for need in found.requires or () if "extra ==" not in need]
        waiting += [re.match(r"[\w.-]+", need)[0] for need in needs]
    own = [part for file in files for part in (file.rglob("*") if file.is_dir() else [file])]
    return (total + sum(part.stat().st_size for part in own if part.is_file())) / 1e6


def start_seconds(runs: int = 3) -> float:
    """From the start of this very script, in a process of its own, to one answer; the median."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *sys.argv, "--one"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def measure(system: System, args: argparse.Namespace, **facts: Any) -> None:
    """Answer all sets, print the figures, write them."""
    if args.one:
        system.answer(one_text())
        return
    system.answer(one_text())  # what is loaded at the first call is no matter of speed
    entry: dict[str, Any] = {
        "about": system.about,
        "command": " ".join(["python", "benchmarks/alternatives/" + Path(sys.argv[0]).name, *_told(sys.argv[1:])]),
        "megabytes": round(installed_mb(system.packages, system.files)),
        "start_seconds": round(start_seconds(), 2),
        "threads": args.threads,
        "machine": machine(),
        **facts,
    }
    for part in args.parts:
        for name in args.sets:
            data = load(*SETS[name], args.data_dir)
            data = sample(data, args.sample) if part == "sample" else data
            begun = time.perf_counter()
            probabilities = system.answer(data)
            took = time.perf_counter() - begun
            count = sum(len(split_sentences(example.text)) for example in data.examples)
            row = {**figures(data, probabilities), **system.notes(), "texts": len(data.examples)}
            row |= {"sentences": count, "seconds": took, "sentences_per_second": count / took}
            entry.setdefault(part, {})[name] = row
            print(system.name, part, name, {key: round(value, 3) for key, value in row.items()}, flush=True)
            _write(args.out, system.name, entry)  # after each set, so that what is slow loses nothing


def _told(arguments: Sequence[str]) -> list[str]:
    """The command line without folders of this machine."""
    return [Path(word).name if "/" in word else word for word in arguments]


def _write(path: Path, name: str, entry: dict[str, Any]) -> None:
    content = json.loads(path.read_text()) if path.exists() else {"tabsa": tabsa.__version__, "systems": {}}
    known = content["systems"].get(name, {})
    content["systems"][name] = {**known, **entry}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
