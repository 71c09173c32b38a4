"""Three small sets of texts with questions, and a run of all of them: named targets, unnamed things, many aspects."""

import numpy as np
import pytest

from reader_factory import piece_reader, tokeniser
from tabsa.schema import UNNAMED, Dataset, Example, Opinion, Target
from tabsa.text.targets import TargetFinder
from tabsa.training import question_data as module
from tabsa.training.question_data import prepare_questions
from tabsa.training.run_config import run_config

READER = piece_reader()
NAMES = {number: piece for piece, number in tokeniser().get_vocab().items()}
VOCABULARY = len(NAMES)
SMALL = ("price", "safety", "food")
LARGE = ("screen", "battery life", "battery charge", "service", "room", "rooms", "staff", "great room")
PRESENT = {"positive": "good", "negative": "bad", "neutral": "there"}


def sentence(number, opinions, about):
    """A text that says which it is and what it judges: `a17 the hotel : price is bad and food is good`."""
    said = " and ".join(f"{aspect} is {PRESENT[polarity]}" for aspect, polarity in opinions.items())
    return f"a{number} {about} : {said or 'nice'}"


def drawn_opinions(aspects, rng, share=0.4):
    return {aspect: str(rng.choice([*PRESENT])) for aspect in aspects if rng.random() < share}


def named_set(count, rng, split="train"):
    """Texts about Camden, or about Camden and Hull, in any order; every aspect is asked."""
    examples = []
    for number in range(count):
        names = [["Camden"], ["Hull", "Camden"], ["Camden", "Hull"]][number % 3]
        parts, opinions = [], []
        for name in names:
            own = drawn_opinions(SMALL, rng)
            parts.append(sentence(number, own, name))
            opinions += [Opinion(name, aspect, polarity) for aspect, polarity in own.items()]
        text = " but ".join(parts)
        targets = TargetFinder(["Camden", "Hull"]).find(text)
        examples.append(Example(f"main{number}", text, targets, tuple(opinions)))
    return Dataset("main", split, SMALL, ("none", *PRESENT), examples)


def unnamed_set(name, first, count, rng, aspects, *, own=False, about=("the hotel", "it", "this phone")):
    """Texts about a thing that they do not name; with `own`, each asks two aspects of its own."""
    examples = []
    for number in range(first, first + count):
        asked = tuple(str(a) for a in rng.choice(aspects, 2, replace=False)) if own else None
        said = drawn_opinions(aspects if asked is None else asked, rng, 0.5 if own else 0.25)
        opinions = tuple(Opinion(UNNAMED, aspect, polarity) for aspect, polarity in said.items())
        text = sentence(number, said, about[number % len(about)])
        examples.append(Example(f"{name}{number}", text, (Target(UNNAMED, implied=True),), opinions, asked))
    return Dataset(name, "train", tuple(aspects), ("none", "positive", "negative", "neutral"), examples)


def sets():
    rng = np.random.default_rng(5)
    return {
        "main:train": named_set(12, rng),
        "main:dev": named_set(9, np.random.default_rng(6), "dev"),
        "own:train": unnamed_set("own", 100, 8, rng, (*SMALL, "service", "staff"), own=True),
        "large:train": unnamed_set("large", 200, 30, rng, LARGE),
    }


DATA = sets()


def config(**sections):
    """A run of all three sets, the large one read twice."""
    base = {
        "kind": "reader",
        "data": {"name": "main", "max_length": 64},
        "questions": {"sets": ["own", "large:train * 2"], "ask_all": 4, "none": 3, "named": 0.5},
        "augmentation": {"composed": 0.4},
        "training": {"select": "opinion_f1", "batch_size": 8, "optimiser": "adamw", "rate": 0.002},
    }
    for name, values in sections.items():
        base[name] = base.get(name, {}) | values
    return run_config(base)


def prepared(of=None, **also):
    """What `prepare_questions` makes of the sets above."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load", lambda name, split, **_: DATA[f"{name}:{split}"])
        return prepare_questions(of or config(), READER, **also)


def text_of(data, row):
    return [NAMES[piece] for piece in data.pieces[data.starts[row] : data.starts[row + 1]]]


def questions_of(data, row):
    own = slice(data.first[row], data.first[row + 1])
    return [*zip(data.targets[own].tolist(), data.aspects[own].tolist(), data.labels[own].tolist(), strict=True)]
