"""The reader trained on, on a CPU: its network is the package's."""

import random

import numpy as np
import pytest

from judge import continue_reader
from judge.questions import LABELS
from tabsa.checkpoint.model_folder import open_folder
from tabsa.inference.predictor import Predictor

ROWS = [
    {"set": "everyday train", "text": text, "mentions": mentions, "questions": asked, "labels": [1] * len(asked)}
    for text, mentions, asked in (
        ("The Pixel 9 lasts two days, but who can afford it?", {"Pixel 9": [[4, 11]]},
         [["Pixel 9", "battery life"], ["Pixel 9", "price"]]),
        ("Camden is dear, Hull is not.", {"Hull": [[16, 20]], "Camden": [[0, 6]]},
         [["Camden", "price"], ["Hull", "price"], ["Hull", "safety"]]),
        ("Great soup.", {}, [[None, "soup"]]),
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    shares = np.eye(len(LABELS), dtype=np.float32)[[label for row in ROWS for label in row["labels"]]]
    continue_reader.write_cache(ROWS, shares, open_folder("reader"), folder)
    return continue_reader.Cache(folder)


def test_it_answers_as_the_package_does(cache):
    folder = open_folder("reader")
    network = continue_reader.Network(folder)
    texts = cache.of("everyday train")
    vectors = continue_reader.aspect_vectors(network, cache, np.unique(cache.aspect_of))
    found = continue_reader.answers(network, cache, texts, vectors)
    predictor = Predictor(folder, precision="float32")
    predictor.engine.calibration = None
    expected = []
    for row in ROWS:
        for target, aspect in row["questions"]:
            result = predictor.predict(row["text"], list(row["mentions"]) or ["it"], [aspect], implied=target is None)
            (one,) = (one for one in result.opinions if one.target == (target or "it"))
            expected.append([one.probabilities[label] for label in LABELS])
    np.testing.assert_allclose(found, expected, atol=1e-3)  # frozen states lie in float16


def test_joined_texts_keep_their_mentions_and_ask_what_is_silent(monkeypatch):
    monkeypatch.setattr(continue_reader, "JOINS", 5)
    third = {"text": "An iPhone.", "mentions": {"iPhone": [[3, 9]]}, "questions": [["iPhone", "weight"]], "labels": [0]}
    for row in continue_reader.joined([*ROWS[:2], ROWS[0] | third], random.Random(1)):
        assert all(row["text"][a:b] == name for name, own in row["mentions"].items() for a, b in own)
        assert len(row["labels"]) == len(row["questions"])
        assert {target for target, _ in row["questions"]} <= set(row["mentions"])
