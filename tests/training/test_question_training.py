"""Training of readers: losses against slow loops, seeds alone and in a group, and that toy tasks are learnt."""

import math
import operator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import slow_reader
from question_sets import DATA, NAMES, VOCABULARY, config, prepared, questions_of, text_of
from reader_factory import make_reader, moved
from tabsa.encoding.answers import restrict_labels
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import answers_of
from tabsa.errors import DataError
from tabsa.evaluation.metrics import all_metrics, question_metrics
from tabsa.models.reader.reader_network import QuestionBatch
from tabsa.nn.context import EVALUATION
from tabsa.schema import Dataset, Example, Opinion
from tabsa.text.targets import TargetFinder
from tabsa.training.loop import cross_entropy
from tabsa.training.question_training import ReaderTrainer, held_figures, padded, probabilities_of, roomy, shape_of
from tabsa.training.run_config import run_config
from tabsa_repro.cross_encoding import CrossEncodedBatches, CrossEncoder, CrossEncoderConfig, trainer_class

SIZES = {"vocabulary": VOCABULARY, "longest": 64}
CROSS = {"network": CrossEncoder, "config": CrossEncoderConfig}


def softmax(scores):
    shares = [math.exp(score) for score in scores]
    return [share / sum(shares) for share in shares]


def toy_trainer(of, seeds=(1,), ready=None, dropout=0.1):
    return ReaderTrainer(of, ready or prepared(of), make_reader(seeds=seeds, dropout=dropout, sizes=SIZES))


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_labels_and_of_soft_labels(weight):
    trainer = toy_trainer(config(distillation={"weight": weight}, training={"class_power": 0.5}), (1, 2))
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(2, 5, 3, 4, generator=generator)
    labels = torch.randint(-1, 4, (2, 5, 3), generator=generator)
    soft = torch.randn(2, 5, 3, 4, generator=generator).softmax(-1)
    trainer.model = lambda *_, **__: SimpleNamespace(logits=logits)
    texts = QuestionBatch(*[labels] * 8, soft)
    of_labels, of_soft = (cross_entropy(logits, labels, trainer.class_weights, one) for one in (None, soft))
    found = trainer.losses(texts, EVALUATION)
    torch.testing.assert_close(found, (1 - weight) * of_labels + weight * of_soft)
    torch.testing.assert_close(trainer.losses(replace(texts, soft_labels=None), EVALUATION), of_labels)


def test_silent_questions_that_will_be_drawn_count_for_the_class_weights():
    ready = prepared()
    trainer = toy_trainer(config(training={"class_power": 0.5}), ready=ready)
    labels = ready.train.labels.tolist()
    counts = [labels.count(label) for label in range(4)]
    counts[0] = max(counts[0], 2 * sum(counts[1:]))
    weights = [count**-0.5 for count in counts]
    scale = sum(counts) / sum(w * c for w, c in zip(weights, counts, strict=True))
    np.testing.assert_allclose(trainer.class_weights, [weight * scale for weight in weights], rtol=1e-5)


def test_held_figures_are_those_of_the_datasets_own_labels():
    ready = prepared(judged=(DATA["own:train"],))
    held, other = ready.held
    held = replace(held, labels=("none", "positive", "negative"), gold=np.where(held.gold == 3, 0, held.gold))
    probabilities = np.random.default_rng(1).dirichlet([1] * 4, len(held.data.targets))
    figures = held_figures(held, ready.labels, probabilities)
    answers = restrict_labels(answers_of(held.data, len(held.gold), probabilities), ready.labels, held.labels)
    expected = all_metrics(held.gold.reshape(-1, 3), answers.reshape(-1, 3, 3))
    for family, values in expected.items():
        assert figures[family] == pytest.approx(values, nan_ok=True)
    assert figures["questions"] == pytest.approx(question_metrics(held.gold, answers), nan_ok=True)
    probabilities = np.random.default_rng(2).dirichlet([1] * 4, len(other.data.targets))
    expected = question_metrics(other.gold, answers_of(other.data, len(other.gold), probabilities))
    figures = held_figures(other, ready.labels, probabilities)
    assert list(figures) == ["questions"]
    assert figures["questions"] == pytest.approx(expected, nan_ok=True)


def test_the_rate_of_each_layer_is_its_own():
    trainer = toy_trainer(config(training={"layer_decay": 0.5, "head_rate": 10.0, "rate": 0.01}))
    factors = trainer.model.rate_factors(decay=0.5, head=10.0)
    named = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    trainer.update(next(iter(trainer.batches())))
    groups = trainer.optimiser.param_groups
    seen = {named[id(parameter)]: float(group["lr"]) / 0.01 for group in groups for parameter in group["params"]}
    assert seen == pytest.approx(factors)


def test_a_seed_learns_the_same_alone_and_in_a_group():
    """Without dropout, whose masks are as large as the longest text of any seed."""
    of = config(training={"epochs": 1, "batch_size": 16, "ema": 0.9}, questions={"sets": ["own"]})
    group, alone = toy_trainer(of, (1, 2), dropout=0.0), toy_trainer(of, (2,), dropout=0.0)
    of_group, of_alone = next(group.run()), next(alone.run())
    assert of_group.loss[1] == pytest.approx(of_alone.loss[0], abs=1e-4)
    assert of_group.loss[0] != pytest.approx(of_group.loss[1], abs=1e-4)
    for (name, parameter), own in zip(group.model.named_parameters(), alone.model.parameters(), strict=True):
        torch.testing.assert_close(parameter[1], own[0], atol=2e-4, rtol=0, msg=name)


def toy_set(count, rng, split):
    """Whether the price or the food of a place is good or bad; the other is not spoken of."""
    examples = []
    for number in range(count):
        aspect, word = str(rng.choice(["price", "food"])), str(rng.choice(["good", "bad"]))
        text = f"Camden is nice and {aspect} {word}"
        opinions = (Opinion("Camden", aspect, {"good": "positive", "bad": "negative"}[word]),)
        examples.append(Example(f"{split}{number}", text, TargetFinder(["Camden"]).find(text), opinions))
    return Dataset("toy", split, ("price", "food"), ("none", "positive", "negative"), examples)


def toy(monkeypatch, **training):
    rng = np.random.default_rng(4)
    for split, count in (("train", 160), ("dev", 40)):
        monkeypatch.setitem(DATA, f"toy:{split}", toy_set(count, rng, split))
    options = {"epochs": 16, "batch_size": 16, "optimiser": "adamw", "rate": 0.003, "schedule": "linear"}
    options |= {"warmup": 8, "select": "opinion_f1", "class_power": 0.25}
    return run_config({"kind": "reader", "data": {"name": "toy", "max_length": 64}, "training": options | training})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bert", CROSS),
        ("mpnet", CROSS),
        ("mpnet", {"late_interaction": 1}),
        ("bert", {"late_interaction": 2}),
        ("bert", {"late_interaction": 1, "depth": 1}),
    ],
    ids=str,
)
def test_a_toy_task_is_learnt(kind, options, monkeypatch):
    of = toy(monkeypatch, ema=0.5, validate_every=4)
    model = make_reader(kind, seeds=(1, 2), labels=3, dropout=0.0, sizes=SIZES, **options)
    trainer = trainer_class(model)(of, prepared(of), model)
    before = trainer.weights()
    validations = [*trainer.run()]
    assert [validation.update for validation in validations] == [40, 80, 120, 160]
    assert set(validations[0].figures[0]) == {"questions", "sun", "ma"}
    for seed in range(2):
        losses = [validation.loss[seed] for validation in validations]
        assert losses[-1] < losses[0] / 3
        assert trainer.progress.best_figures[seed]["questions"]["opinion_f1"] > 0.9
    unused = ("kinds", "layers.", "encoder.distances") if options is CROSS else ()
    if "depth" in options:  # the one layer is the questions', which stand nowhere
        unused = ("encoder.distances",)
    for name, tensor in model.named_parameters():
        moves = [not torch.equal(tensor[seed], before[name][seed]) for seed in range(2)]
        assert moves == [not name.startswith(unused)] * 2, name
    # What is saved is the moving average at the best validation, and it is what was scored.
    trainer.put(trainer.best)
    held = trainer.prepared.held[0]
    answers = probabilities_of(trainer.model, trainer.prepared, held.data, arrange=trainer.arrange)
    for seed in range(2):
        figures = held_figures(held, trainer.prepared.labels, answers[seed])
        assert figures["questions"] == pytest.approx(trainer.progress.best_figures[seed]["questions"], abs=1e-6)


def test_soft_labels_of_a_pool_are_learnt(monkeypatch):
    """Labels that say the opposite do not count where the teachers' weight is 1."""
    of = toy(monkeypatch, epochs=10, select="last")
    ready = prepared(of)
    train = ready.train
    soft = np.eye(3, dtype=np.float16)[train.labels]
    pool = replace(train, soft_labels=soft, labels=((train.labels + 1) % 3).astype(np.int8))
    trainer = ReaderTrainer(of, ready, make_reader(seeds=(1,), labels=3, dropout=0.0, sizes=SIZES), pool=pool)
    assert trainer.updates == 10
    validations = [*trainer.run()]
    assert validations[-1].loss[0] < validations[0].loss[0] / 2
    assert trainer.progress.best_figures[0]["questions"]["opinion_f1"] > 0.8
    assert [validation.improved for validation in validations] == [[True]] * 10  # the last state is the one that counts
    assert all(torch.equal(tensor, trainer.best[name]) for name, tensor in trainer.model.named_parameters())


def test_a_run_ends_at_its_limit():
    trainer = toy_trainer(config(training={"epochs": 9, "schedule": "linear"}))
    trainer.limit = trainer.updates + 2
    assert trainer.total == trainer.limit
    assert [validation.update for validation in trainer.run()] == [trainer.updates, trainer.limit]
    assert trainer.done


def cross_reader(kind="bert", **sizes):
    return make_reader(kind, seeds=(1, 2), sizes=SIZES | sizes, **CROSS)


def drawn_texts():
    """Texts with named and implied targets, and some without a question."""
    ready = prepared()
    data = ready.train
    soft = np.random.default_rng(3).random((len(data.targets), 4)).astype(np.float16)
    assert (np.diff(data.first) == 0).any()
    assert {NO_SLOT, 0, 1} == {*data.targets.tolist()}
    return ready, replace(data, soft_labels=soft)


def words_of(ready, slot, aspect):
    """A question as it is read: (number, word) of each piece, the number of its place behind the text's end."""
    words = [NAMES[piece] for piece in ready.aspect_pieces[aspect] if piece != NO_SLOT]
    name = [] if slot == NO_SLOT else [(1, "entity"), (2, f"##{slot + 1}")]
    return [(0, "[CLS]"), *name, *enumerate(words[1:], 3)]


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_a_cross_encoders_answers_are_those_of_a_slow_reader(kind):
    ready, data = drawn_texts()
    model = moved(cross_reader(kind))
    whole = probabilities_of(model, ready, data, arrange=CrossEncodedBatches)
    assert whole.shape == (2, len(data.targets), 4)
    assert whole.std() > 0.1
    numbers = {word: number for number, word in NAMES.items()}
    for row in (0, 17):
        text = [numbers[word] for word in ["[CLS]", *text_of(data, row), "[SEP]"]]
        for question, (slot, aspect, _) in enumerate(questions_of(data, row)):
            places, words = zip(*words_of(ready, slot, aspect), strict=True)
            behind = [numbers[word] for word in words], [len(text) + n for n in places]
            for seed in range(2):
                expected = softmax(slow_reader.answer_beside(model, seed, text, *behind).tolist())
                np.testing.assert_allclose(whole[seed, data.first[row] + question], expected, atol=1e-5)
    longest = int(CrossEncodedBatches(model, ready, data).packed.places.max())
    with pytest.raises(DataError, match=f"have over {longest} pieces; try a lower 'data.max_length'"):
        CrossEncodedBatches(cross_reader(kind, longest=longest), ready, data)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("options", [CROSS, {}], ids=["cross", "late"])
def test_padding_to_a_graphs_shape_changes_nothing(kind, options):
    ready, data = drawn_texts()
    model = make_reader(kind, seeds=(1, 2), sizes=SIZES, **options)
    batch = trainer_class(model).arrange(model, ready, data).batch(np.array([[0, 1, 17], [2, 20, 30]]))
    trainer = ReaderTrainer(config(distillation={"weight": 0.4}), ready, model)
    room = roomy(shape_of(batch), (208 if options else 48, 8, 3, 12))
    assert all(map(operator.gt, room, shape_of(batch)))
    larger = padded(batch, room)
    assert (larger.pieces.shape[2], larger.targets.shape[2], *larger.aspects.shape[1:]) == room
    own, other = (model(one, context=EVALUATION).logits for one in (batch, larger))
    torch.testing.assert_close(other[:, :, : own.shape[2]], own, rtol=0, atol=1e-5)
    assert torch.isfinite(other).all()
    losses, others = (trainer.losses(one, EVALUATION) for one in (batch, larger))
    torch.testing.assert_close(others, losses, rtol=0, atol=1e-5)
    losses.sum().backward()
    gradients = {name: tensor.grad for name, tensor in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    others.sum().backward()
    for name, tensor in model.named_parameters():
        torch.testing.assert_close(tensor.grad, gradients[name], atol=1e-5, rtol=1e-3, msg=name)


@pytest.mark.parametrize(("length", "rounded"), [(1, 16), (16, 16), (17, 32), (160, 160), (161, 192), (300, 320)])
def test_long_texts_are_rounded_to_longer_steps(length, rounded):
    pieces = torch.zeros(1, 2, length, dtype=torch.int64)
    batch = QuestionBatch(pieces, *[torch.zeros(1, 2, 3, dtype=torch.int64)] * 7)
    assert shape_of(batch) == (rounded, 3, 2, 3)
    assert padded(batch, shape_of(batch)).pieces.shape[2] == rounded
