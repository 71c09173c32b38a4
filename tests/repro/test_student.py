"""A student of the judge: it answers as the package does with its weights, whatever it is read with."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

import torch

from encoder_folder import write_encoder
from judge import student as of
from judge.questions import LABELS
from reader_factory import piece_reader, tokeniser
from tabsa.checkpoint.model_config import ModelConfig
from tabsa.inference.predictor import Predictor
from tabsa.models.export import export
from tabsa.models.reader.reader_config import ReaderConfig, reader_options
from tabsa.models.reader.reader_storage import write_reader_folder

ASPECTS = ["price", "battery life", "good food"]
ROWS = [
    {"text": text, "questions": [[target, aspect] for target in targets for aspect in ASPECTS]}
    for text, *targets in (
        ("Hull is dear but safe, and Camden is cheap. Not Hull!", "Hull", "Camden"),
        ("The battery of this phone is awful!", None),
        ("Hull", "Hull"),
    )
]


@pytest.fixture(params=["bert", "mpnet"])
def made(tmp_path, request):
    """A student, its encoder's sizes, and texts with labels."""
    sizes = {"size": 32, "inner": 40, "layers": 3, "vocabulary": tokeniser().get_vocab_size()}
    own, _ = write_encoder(tmp_path, request.param, sizes=sizes, hidden_size=32, num_hidden_layers=3)
    torch.manual_seed(1)
    student = of.Student(tmp_path, of.Shape(depth=3, meet=2))
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    labels = np.random.default_rng(2).integers(0, len(LABELS), sum(len(row["questions"]) for row in ROWS))
    return student, own, of.encoded(piece_reader(), ROWS, np.eye(len(LABELS))[labels])


def test_the_package_answers_as_the_student_does(made, tmp_path):
    student, own, texts = made
    options = reader_options(ReaderConfig(encoder="tiny", late_interaction=2), own)
    config = ModelConfig("reader", options, tuple(ASPECTS), LABELS, 64, own.longest)
    weights = of.package_weights(student.state_dict())
    tokenizer = tokeniser().to_str().encode()
    folder = write_reader_folder(tmp_path / "model", config, weights, tokenizer, {}, "", "float32")
    export(folder, "float32")
    predictor, shares = Predictor(folder), of.predict(student, texts)
    for row in ROWS:
        targets = [*dict.fromkeys(target for target, _ in row["questions"] if target)]
        found = predictor.predict(row["text"], targets or None, ASPECTS, implied=not targets)
        expected, shares = np.split(shares, [len(row["questions"])])
        answers = [[one.probabilities[label] for label in LABELS] for one in found.opinions]
        np.testing.assert_allclose(answers, expected, atol=1e-5)
    state = of.student_weights(weights)
    assert all(torch.equal(state[name], own) for name, own in student.state_dict().items())


def test_batches_and_frozen_layers_that_were_read_before_change_nothing(made):
    (student, _, texts), alone = made, of.predict(made[0], made[2], tokens=1)
    np.testing.assert_allclose(of.predict(student, texts), alone, atol=1e-5)
    of.freeze(student, 1)
    frozen = of.with_states(student, texts)
    np.testing.assert_allclose(of.predict(student, frozen), alone, atol=2e-3)  # kept in float16
    words = student.words.weight.clone()
    list(of.learn(student, [(frozen, 1.0)], of.Schedule(updates=40, rate=3e-3, warm_up=1, ema=0.5, tokens=100)))
    found, before, right = (one.argmax(1) for one in (of.predict(student, texts), alone, texts.shares))
    assert (found == right).sum() > (before == right).sum()
    assert torch.equal(student.words.weight, words)
