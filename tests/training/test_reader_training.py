import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import slow_reader
from question_sets import DATA, NAMES, READER, SMALL, VOCABULARY, config, prepared, questions_of, text_of
from reader_factory import make_reader, moved
from tabsa.encoding.answers import restrict_labels
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import AspectTable, answers_of, encode_questions
from tabsa.errors import DataError
from tabsa.evaluation.metrics import all_metrics, question_metrics
from tabsa.models.reader.reader_network import QuestionBatch
from tabsa.nn.context import EVALUATION
from tabsa.schema import Dataset, Example, Opinion
from tabsa.text.targets import TargetFinder
from tabsa.training.config import run_config
from tabsa.training.question_graphs import Room, more_room, padded, room_of
from tabsa.training.reader import Batches, ReaderTrainer, disagreement, held_figures, probabilities_of


def logits_and_labels():
    generator = torch.Generator().manual_seed(3)
    draw = [torch.randn(2, 5, 3, 4, generator=generator) for _ in range(2)]
    labels = torch.randint(-1, 4, (2, 5, 3), generator=generator)
    labels[0, 0, 0], labels[1, 0, 0] = UNLABELLED, 2
    return (*draw, labels)


def softmax(scores):
    shares = [math.exp(score) for score in scores]
    return [share / sum(shares) for share in shares]


def test_disagreement_is_the_mean_of_both_divergences():
    one, other, labels = logits_and_labels()
    found = disagreement(one, other, labels)
    for seed in range(2):
        terms = []
        for text, question in np.ndindex(5, 3):
            if labels[seed, text, question] != UNLABELLED:
                p, q = (softmax(x[seed, text, question].tolist()) for x in (one, other))
                there = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
                back = sum(b * math.log(b / a) for a, b in zip(p, q, strict=True))
                terms.append((there + back) / 2)
        assert found[seed].item() == pytest.approx(sum(terms) / len(terms), rel=1e-5)
    assert disagreement(one, one, labels).tolist() == [0, 0]
    nothing = disagreement(one, other, torch.full_like(labels, UNLABELLED))
    assert nothing.tolist() == [0, 0]


def toy_trainer(of, seeds=(1,), ready=None, dropout=0.1, **also):
    model = make_reader(seeds=seeds, dropout=dropout, sizes={"vocabulary": VOCABULARY, "longest": 64})
    return ReaderTrainer(of, ready or prepared(of), model, **also)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_labels_and_of_soft_labels(weight):
    trainer = toy_trainer(config(distillation={"weight": weight}, training={"class_power": 0.5}), (1, 2))
    logits, _, labels = logits_and_labels()
    soft = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(8)).softmax(-1)
    texts = QuestionBatch(*[labels] * 8, soft)
    found = trainer._loss(logits, texts)
    weights = trainer.class_weights.tolist()
    for seed in range(2):
        lost = total = 0.0
        for place in np.ndindex(5, 3):
            label = int(labels[(seed, *place)])
            if label != UNLABELLED:
                logs = [math.log(p) for p in softmax(logits[(seed, *place)].tolist())]
                taught = -sum(s * log for s, log in zip(soft[(seed, *place)].tolist(), logs, strict=True))
                lost += weights[label] * (weight * taught - (1 - weight) * logs[label])
                total += weights[label]
        assert found[seed].item() == pytest.approx(lost / total, rel=1e-4)
    without_soft = trainer._loss(logits, replace(texts, soft_labels=None))
    assert (weight == 0) == torch.allclose(found, without_soft)


def test_rare_labels_weigh_more_and_the_mean_question_one():
    ready = prepared()
    for power in (0.0, 0.25, 0.5):
        trainer = toy_trainer(config(training={"class_power": power}), ready=ready)
        labels = ready.train.labels.tolist()
        counts = [labels.count(label) for label in range(4)]
        counts[0] = max(counts[0], 2 * sum(counts[1:]))
        weights = [count**-power for count in counts]
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
    figures = held_figures(other, ready.labels, probabilities)
    assert list(figures) == ["questions"]
    assert figures["questions"] == pytest.approx(
        question_metrics(other.gold, answers_of(other.data, len(other.gold), probabilities)), nan_ok=True
    )


def test_the_rate_of_each_layer_is_its_own():
    trainer = toy_trainer(config(training={"layer_decay": 0.5, "head_rate": 10.0, "rate": 0.01}))
    factors = trainer.model.rate_factors(decay=0.5, head=10.0)
    named = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    next(iter(batches := trainer.batches()))
    trainer.update(next(iter(batches)))
    seen = {}
    for group in trainer.optimiser.param_groups:
        for parameter in group["params"]:
            seen[named[id(parameter)]] = float(group["lr"]) / 0.01
    assert seen == pytest.approx(factors)


@pytest.mark.parametrize("r_drop", [0.0, 0.5])
def test_a_seed_learns_the_same_alone_and_in_a_group(r_drop):
    """Without dropout, whose masks are as large as the longest text of any seed."""
    of = config(training={"epochs": 1, "batch_size": 16, "r_drop": r_drop, "ema": 0.9}, questions={"sets": ["own"]})
    group, alone = toy_trainer(of, (1, 2), dropout=0.0), toy_trainer(of, (2,), dropout=0.0)
    of_group, of_alone = next(group.run()), next(alone.run())
    assert of_group.loss[1] == pytest.approx(of_alone.loss[0], abs=1e-4)
    assert of_group.loss[0] != pytest.approx(of_group.loss[1], abs=1e-4)
    for (name, parameter), own in zip(group.model.named_parameters(), alone.model.parameters(), strict=True):
        torch.testing.assert_close(parameter[1], own[0], atol=2e-4, rtol=0, msg=name)


def test_losses_are_of_the_epochs_own_texts():
    trainer = toy_trainer(config())
    with pytest.raises(ValueError, match="no epoch has begun"):
        trainer.losses(np.zeros((1, 4), np.int64), EVALUATION)
    rows = next(iter(trainer.batches()))
    losses, penalty = trainer.losses(rows, EVALUATION)
    batch = trainer.current.batch(rows)
    logits = trainer.model(batch, context=EVALUATION).logits
    torch.testing.assert_close(losses, trainer._loss(logits, batch))
    assert penalty is None
    assert trainer.updates == len(trainer.drawer) // 8 == len([*trainer.batches()])


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
    return run_config(
        {
            "kind": "reader",
            "data": {"name": "toy", "max_length": 64},
            "training": options | {"warmup": 8, "select": "opinion_f1", "class_power": 0.25} | training,
        }
    )


def test_a_toy_task_is_learnt(monkeypatch):
    of = toy(monkeypatch, ema=0.9, r_drop=0.2, validate_every=2)
    sizes = {"vocabulary": VOCABULARY, "longest": 64}
    model = make_reader(seeds=(1, 2), labels=3, dropout=0.1, late_interaction=1, sizes=sizes)
    trainer = ReaderTrainer(of, prepared(of), model)
    heard = []
    validations = [*trainer.run(lambda update, losses: heard.append((update, losses)))]
    assert [validation.epoch for validation in validations] == [*range(2, 17, 2)]
    assert [update for update, _ in heard] == [*range(1, 161)]
    for seed in range(2):
        losses = [validation.loss[seed] for validation in validations]
        assert losses[-1] < losses[0] / 3
        assert trainer.progress.best_figures[seed]["questions"]["opinion_f1"] > 0.9
        assert trainer.progress.best[seed] == max(v.figures[seed]["questions"]["opinion_f1"] for v in validations)
    assert set(validations[0].figures[0]) == {"questions", "sun", "ma"}
    # What is kept is the moving average at the best validation, and it is what was scored.
    own = trainer.weights()
    trainer.put(trainer.best)
    answers = probabilities_of(trainer.model, trainer.prepared, trainer.prepared.held[0].data)
    for seed in range(2):
        figures = held_figures(trainer.prepared.held[0], trainer.prepared.labels, answers[seed])
        assert figures["questions"] == pytest.approx(trainer.progress.best_figures[seed]["questions"], abs=1e-6)
    assert any(not torch.equal(own[name], trainer.best[name]) for name in own)


def test_soft_labels_of_a_pool_are_learnt(monkeypatch):
    """Labels that say the opposite are not heard where the teachers' weight is 1."""
    of = toy(monkeypatch, epochs=10)
    ready = prepared(of)
    train = ready.train
    soft = np.eye(3, dtype=np.float16)[train.labels]
    pool = replace(train, soft_labels=soft, labels=((train.labels + 1) % 3).astype(np.int8))
    model = make_reader(seeds=(1,), labels=3, dropout=0.0, sizes={"vocabulary": VOCABULARY, "longest": 64})
    trainer = ReaderTrainer(of, ready, model, pool=pool)
    assert trainer.updates == 10
    validations = [*trainer.run()]
    assert validations[-1].loss[0] < validations[0].loss[0] / 2
    assert trainer.progress.best_figures[0]["questions"]["opinion_f1"] > 0.8


def test_the_last_state_may_be_the_one_that_is_kept(monkeypatch):
    of = toy(monkeypatch, epochs=3, select="last", ema=0.0)
    model = make_reader(seeds=(1,), labels=3, sizes={"vocabulary": VOCABULARY, "longest": 64})
    trainer = ReaderTrainer(of, prepared(of), model)
    assert [validation.improved for validation in trainer.run()] == [[True]] * 3
    for name, parameter in trainer.model.named_parameters():
        assert torch.equal(parameter, trainer.best[name]), name


def test_questions_of_several_passages_are_encoded_for_dev_too():
    text = "Camden is nice " + "and nice " * 40 + "Camden food good"
    example = Example("1", text, TargetFinder(["Camden"]).find(text), (Opinion("Camden", "food", "positive"),))
    data = Dataset("long", "dev", SMALL, ("none", "positive"), (example,))
    encoded = encode_questions(data, READER, AspectTable(READER), ("none", "positive"), longest=30)
    assert len(encoded) == 2
    assert encoded.numbers.tolist() == [0, 1, 2, 0, 1, 2]
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.6, 0.4], [0.3, 0.7], [0.5, 0.5]])
    np.testing.assert_array_equal(answers_of(encoded, 3, probabilities), [[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])


def one_text(data, row):
    """A text of a set, alone."""
    own, asked = slice(*data.starts[row : row + 2]), slice(*data.first[row : row + 2])
    soft = data.soft_labels
    return replace(
        data,
        starts=data.starts[row : row + 2] - data.starts[row],
        first=data.first[row : row + 2] - data.first[row],
        sets=data.sets[row : row + 1],
        soft_labels=None if soft is None else soft[asked],
        **{name: getattr(data, name)[own] for name in ("pieces", "slots")},
        **{name: getattr(data, name)[asked] for name in ("targets", "aspects", "labels", "numbers")},
    )


def drawn_texts():
    """Texts with named and implied targets, and some that are asked nothing."""
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


def test_a_text_and_its_question_that_are_too_long_are_refused():
    ready, data = drawn_texts()
    longest = int(Batches(ready, data, cross_encode=True).packed.places.max()) + 1
    Batches(ready, data, cross_encode=True, longest=longest)
    with pytest.raises(DataError, match=f"have over {longest - 1} pieces; try a lower 'data.max_length'"):
        Batches(ready, data, cross_encode=True, longest=longest - 1)


def test_a_batch_that_is_read_through_has_its_questions_behind_its_texts():
    ready, data = drawn_texts()
    silent = int(np.flatnonzero(np.diff(data.first) == 0)[0])
    rows = np.array([[0, silent, 17, 2], [5, 13, 1, silent]])
    batch = Batches(ready, data, cross_encode=True).batch(rows)
    assert batch.pieces.shape[2] == batch.lengths.max()
    assert batch.targets.shape[2] == np.diff(data.first)[rows].max()
    for place in np.ndindex(2, 4):
        row, asked = int(rows[place]), questions_of(data, int(rows[place]))
        text = ["[CLS]", *text_of(data, row), "[SEP]"]
        expected = [(word, 0, n) for n, word in enumerate(text)]
        for number, (slot, aspect, _) in enumerate(asked, 1):
            expected += [(word, number, len(text) + n) for n, word in words_of(ready, slot, aspect)]
        length = int(batch.lengths[place])
        words = [NAMES[piece] for piece in batch.pieces[place].tolist()]
        found = [*zip(words, batch.owners[place].tolist(), batch.places[place].tolist(), strict=True)]
        assert found[:length] == expected
        assert found[length:] == [("[PAD]", 0, 0)] * (batch.pieces.shape[2] - length)
        more = batch.targets.shape[2] - len(asked)
        assert batch.targets[place].tolist() == [slot for slot, _, _ in asked] + [NO_SLOT] * more
        assert batch.labels[place].tolist() == [label for _, _, label in asked] + [UNLABELLED] * more
        soft = data.soft_labels[data.first[row] : data.first[row + 1]]
        np.testing.assert_array_equal(batch.soft_labels[place][: len(asked)], soft)


def through_reader(kind, seeds=(1, 2), **options):
    return make_reader(kind, seeds=seeds, cross_encode=True, sizes={"vocabulary": VOCABULARY, "longest": 64}, **options)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_answers_of_what_reads_through_are_those_of_one_text_at_a_time(kind):
    ready, data = drawn_texts()
    model = moved(through_reader(kind))
    whole = probabilities_of(model, ready, data)
    assert whole.shape == (2, len(data.targets), 4)
    np.testing.assert_allclose(whole.sum(-1), 1, atol=1e-5)
    assert whole.std() > 0.1
    for row in range(len(data)):
        own = slice(data.first[row], data.first[row + 1])
        if len(whole[0, own]):
            alone = probabilities_of(model, ready, one_text(data, row))
            np.testing.assert_allclose(alone, whole[:, own], atol=1e-5)
    numbers = {word: number for number, word in NAMES.items()}
    for row in (0, 17):
        text = [numbers[word] for word in ["[CLS]", *text_of(data, row), "[SEP]"]]
        for question, (slot, aspect, _) in enumerate(questions_of(data, row)):
            places, words = zip(*words_of(ready, slot, aspect), strict=True)
            asked = [numbers[word] for word in words], [len(text) + n for n in places]
            for seed in range(2):
                expected = softmax(slow_reader.answer_beside(model, seed, text, *asked).tolist())
                np.testing.assert_allclose(whole[seed, data.first[row] + question], expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_padding_what_is_read_through_to_a_graphs_shape_changes_nothing(kind):
    ready, data = drawn_texts()
    batch = Batches(ready, data, cross_encode=True).batch(np.array([[0, 1, 17], [2, 20, 30]]))
    model = through_reader(kind)
    trainer = ReaderTrainer(config(distillation={"weight": 0.4}), ready, model)
    room = more_room(room_of(batch), Room(208, 8, 3, 12))
    larger = padded(batch, room)
    assert larger.pieces.shape == larger.owners.shape == larger.places.shape == (2, 3, 208)
    assert larger.labels.shape[2] > batch.labels.shape[2]
    own, other = (model(one, context=EVALUATION).logits for one in (batch, larger))
    torch.testing.assert_close(other[:, :, : own.shape[2]], own, rtol=0, atol=1e-5)
    assert torch.isfinite(other).all()
    losses, others = (trainer._losses(one, EVALUATION)[0] for one in (batch, larger))
    torch.testing.assert_close(others, losses, rtol=0, atol=1e-5)
    losses.sum().backward()
    gradients = {name: tensor.grad for name, tensor in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    others.sum().backward()
    for name, tensor in model.named_parameters():
        torch.testing.assert_close(tensor.grad, gradients[name], atol=1e-5, rtol=1e-3, msg=name)


@pytest.mark.parametrize(
    ("length", "rounded"),
    [(1, 16), (16, 16), (17, 32), (150, 160), (160, 160), (161, 192), (192, 192), (193, 256), (300, 320)],
)
def test_long_texts_are_rounded_to_longer_steps(length, rounded):
    pieces = torch.zeros(1, 2, length, dtype=torch.int64)
    batch = QuestionBatch(pieces, *[torch.zeros(1, 2, 3, dtype=torch.int64)] * 7, None, pieces, pieces)
    room = room_of(batch)
    assert room == (rounded, 3, 2, 3)
    assert padded(batch, room).pieces.shape[2] == rounded


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize(
    "options",
    [
        {"cross_encode": True},
        {"late_interaction": 1},
        {"late_interaction": 2},
        {"late_interaction": 1, "depth": 1},
    ],
    ids=str,
)
def test_questions_that_go_through_the_encoder_are_learnt(kind, options, monkeypatch):
    of = toy(monkeypatch, ema=0.5, validate_every=4)
    sizes = {"vocabulary": VOCABULARY, "longest": 64}
    model = make_reader(kind, seeds=(1, 2), labels=3, dropout=0.0, sizes=sizes, **options)
    trainer = ReaderTrainer(of, prepared(of), model)
    before = trainer.weights()
    validations = [*trainer.run()]
    for seed in range(2):
        losses = [validation.loss[seed] for validation in validations]
        assert losses[-1] < losses[0] / 3
        assert trainer.progress.best_figures[seed]["questions"]["opinion_f1"] > 0.9
    unheard = ("question", "layers.", "encoder.distances") if "cross_encode" in options else ()
    if "depth" in options:  # the one layer is the questions', which stand nowhere
        unheard = ("encoder.distances",)
    for name, tensor in model.named_parameters():
        moves = [not torch.equal(tensor[seed], before[name][seed]) for seed in range(2)]
        assert moves == [not name.startswith(unheard)] * 2, name
