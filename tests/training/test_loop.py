"""The one loop, with systems that read words: seeds alone and in a group, the loss, selection, early stopping."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from run_factory import config, small, small_for
from tabsa.encoding.arrays import UNLABELLED, Encoded, combine
from tabsa.models.registry import SYSTEMS
from tabsa.training.loop import cross_entropy, rate_factor, selected
from tabsa.training.run_config import TrainingConfig
from tabsa.training.word_training import Trainer, build_model, moved, reading_probabilities

NEURAL = [name for name, system in SYSTEMS.items() if system.neural and not system.open_aspects]


@pytest.fixture(scope="module")
def prepared():
    return small()


def trained(of, data, seeds):
    """The trainer after its run, the losses of every update (S,), and the validations."""
    trainer, losses = Trainer(of, data, seeds), []
    validations = list(trainer.run(lambda _, loss: losses.append(loss)))
    return trainer, losses, validations


def predict(model, data, *batch_size):
    return combine(data, reading_probabilities(model, data, *batch_size))


@pytest.mark.parametrize("balance", ["mixed", "turns", "sentence"])
def test_the_loss_falls(prepared, balance):
    still = {"chains": 3, "input_dropout": 0.0, "output_dropout": 0.0}
    of = config(balance=balance, epochs=40, validate_every=10, optimiser="adam", rate=0.02, model=still)
    trainer, losses, validations = trained(of, prepared, (1,))
    assert len(losses) == 40 * trainer.updates == trainer.progress.update
    assert [validation.epoch for validation in validations] == [10, 20, 30, 40]
    assert validations[-1].loss[0] < 0.7 * validations[0].loss[0]
    assert validations[0].loss == pytest.approx([torch.stack(losses[: len(losses) // 4]).mean().item()])


def test_the_same_seed_gives_the_same_bits(prepared):
    first, losses, validations = trained(config(), prepared, (5, 6))
    torch.manual_seed(1234)  # nothing may hang on the generators that are everyone's
    np.random.seed(1234)
    second, again, others = trained(config(), prepared, (5, 6))
    assert torch.equal(torch.stack(losses), torch.stack(again))
    assert all(torch.equal(tensor, second.weights()[name]) for name, tensor in first.weights().items())
    assert [v.figures for v in validations] == [v.figures for v in others]
    assert not torch.equal(losses[0][0], losses[0][1])  # and another seed gives others


@pytest.mark.parametrize(
    "options",
    [
        {"balance": "mixed", "optimiser": "ftrl"},
        {"balance": "turns", "optimiser": "ftrl-tf", "clip": "global", "clip_norm": 0.2},
        {"balance": "sentence", "optimiser": "adamw", "weight_decay": 0.1, "rate": 0.01, "warmup": 3},
        {"balance": "sentence", "optimiser": "adam", "shuffle_targets": True, "ema": 0.9},
        {"balance": "sentence", "optimiser": "ftrl", "model": {"keys": "tied", "chains": 2}},
        *({"kind": kind, "optimiser": "ftrl"} for kind in NEURAL),
    ],
    ids=str,
)
def test_a_seed_goes_the_same_way_alone_and_in_a_group(options):
    of, data = config(**options), small_for(options.get("kind", "entnet"))
    group, group_losses, group_validations = trained(of, data, (4, 5))
    for place, seed in enumerate((4, 5)):
        alone, losses, validations = trained(of, data, (seed,))
        assert len(losses) == len(group_losses) >= 6
        torch.testing.assert_close(torch.cat(losses), torch.stack(group_losses)[:, place], atol=1e-5, rtol=1e-5)
        for name, tensor in alone.weights().items():
            torch.testing.assert_close(tensor[0], group.weights()[name][place], atol=2e-5, rtol=1e-4, msg=name)
        assert [v.improved[0] for v in validations] == [v.improved[place] for v in group_validations]


def test_shuffled_targets_go_with_their_labels(prepared):
    trainer = Trainer(config(balance="sentence", shuffle_targets=True), prepared, (1, 2))
    tokens = torch.tensor([[[1, 5, 2, 1], [3, 1, 0, 0]]]).expand(2, -1, -1)  # <target1> is 1, <target2> is 2
    labels = torch.tensor([[[[0, 1], [2, 0]], [[1, 1], [UNLABELLED, UNLABELLED]]]]).expand(2, -1, -1, -1)
    seen = set()
    for _ in range(20):
        slots = trainer.drawn_slots(labels)
        words, with_them = trainer.with_slots(tokens, slots), moved(labels, slots)
        for seed in range(2):
            first, second = (
                (tuple(words[seed, text].tolist()), tuple(map(tuple, with_them[seed, text].tolist())))
                for text in range(2)
            )
            assert first in {((1, 5, 2, 1), ((0, 1), (2, 0))), ((2, 5, 1, 2), ((2, 0), (0, 1)))}
            assert second in {((3, 1, 0, 0), ((1, 1), (-1, -1))), ((3, 2, 0, 0), ((-1, -1), (1, 1)))}
            seen |= {first, second}
    assert len(seen) == 4


def test_the_moving_average_of_the_weights_is_what_is_saved(prepared):
    trainer = Trainer(config(balance="sentence", ema=0.5, epochs=1), prepared, (1, 2))
    mean = {name: value.double() for name, value in trainer.weights().items()}
    before = trainer.weights()
    for update, drawn in enumerate(trainer.batches(), start=1):
        trainer.update(drawn)
        decay = min(0.5, update / (update + 10))
        mean = {name: decay * mean[name] + (1 - decay) * value.double() for name, value in trainer.weights().items()}
    own = trainer.weights()
    trainer.progress.epoch = 1
    assert trainer.validate([0.0, 0.0], 0.0).improved == [True, True]
    for name, value in trainer.weights().items():
        assert torch.equal(value, own[name])
        assert (value != before[name]).flatten(1).any(1).all(), name  # an update moves every weight of every seed
        torch.testing.assert_close(trainer.best[name].double(), mean[name], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [("constant", [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]), ("linear", [0.25, 0.5, 0.75, 1, 1, 0.75, 0.5, 0.25])],
)
def test_rate_factor(schedule, factors):
    training = TrainingConfig(schedule=schedule, warmup=4)
    assert [rate_factor(training, update, 8) for update in range(8)] == pytest.approx(factors)
    assert rate_factor(TrainingConfig(schedule=schedule), 0, 8) == 1
    assert rate_factor(TrainingConfig(schedule=schedule, warmup=9), 3, 8) == pytest.approx(4 / 9)  # never done rising


@pytest.mark.parametrize("softened", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_against_a_slow_loop(weighted, softened):
    rng = np.random.default_rng(4)
    logits = torch.from_numpy(rng.normal(size=(2, 5, 2, 3, 4)))
    labels = torch.from_numpy(rng.integers(-1, 4, (2, 5, 2, 3)))
    soft = torch.from_numpy(rng.dirichlet(np.ones(4), (2, 5, 2, 3)))
    weights = torch.from_numpy(rng.random(4) + 0.1) if weighted else None
    found = cross_entropy(logits, labels, weights, soft if softened else None)
    for seed in range(2):
        total = weight = 0.0
        for place in np.ndindex(5, 2, 3):
            label = int(labels[(seed, *place)])
            if label == UNLABELLED:
                continue
            powers = np.exp(logits[(seed, *place)].numpy())
            goal = soft[(seed, *place)].numpy() if softened else np.eye(4)[label]
            own = 1.0 if weights is None else float(weights[label])
            total -= own * sum(goal * np.log(powers / powers.sum()))
            weight += own
        assert found[seed].item() == pytest.approx(total / weight)
    nothing = cross_entropy(logits, torch.full_like(labels, UNLABELLED), weights, soft if softened else None)
    assert nothing.tolist() == [0, 0]


def test_every_group_has_the_prediction_of_its_own_reading(prepared):
    model, dev = build_model(config(), prepared, (1,)), prepared.dev
    arrays = {name: array for name, array in vars(dev).items() if array is not None}
    whole = predict(model, dev)[0]
    for n in range(len(dev)):
        alone = Encoded(**{name: array[n : n + 1] for name, array in arrays.items()})
        here = [group for group in dev.groups[n] if group >= 0]
        groups = np.array([[*range(len(here)), *[-1] * (2 - len(here))]], np.int32)
        np.testing.assert_allclose(
            predict(model, replace(alone, groups=groups, gold=dev.gold[here]))[0], whole[here], atol=1e-6
        )


NAMES = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")


def test_selected():
    figures = {
        "sun": dict(zip(NAMES, (0.1, 0.2, 0.3, 0.4, 0.5), strict=True)),
        "ma": dict(zip(NAMES, (0.6, 0.7, 0.3, 0.4, 0.5), strict=True)),
        "questions": {"opinion_f1": 0.8},
    }
    assert selected(figures, "mean") == pytest.approx((0.6 + 0.2 + 0.3 + 0.4 + 0.5) / 5)
    assert selected(figures, "opinion_f1") == 0.8
    assert selected({"questions": {"opinion_f1": 0.8}}, "mean") == 0.8  # each text has aspects of its own


def test_the_best_state_of_each_seed_is_saved(prepared):
    trainer = Trainer(config(epochs=12, optimiser="adam", rate=0.02), prepared, (1, 2, 3))
    best, states = [-1.0] * 3, [trainer.weights()] * 3
    for validation in trainer.run():
        for number, figures in enumerate(validation.figures):
            score = selected(figures, "mean")
            assert validation.improved[number] == (score > best[number])
            if score > best[number]:
                best[number], states[number] = score, trainer.weights()
                assert trainer.progress.best_epoch[number] == validation.epoch
                assert trainer.progress.best_figures[number] == figures
    assert trainer.progress.best == best
    for number in range(3):
        for name, tensor in trainer.best.items():
            assert torch.equal(tensor[number], states[number][name][number])
    assert len(set(trainer.progress.best_epoch)) > 1  # or this would show little
    assert trainer.progress.best_seed() == int(np.argmax(best))


def scripted(monkeypatch, *scores):
    """Have the validations of each seed (by its place) find these scores, one after the other."""
    turns = [iter(of_seed) for of_seed in scores]
    calls = iter(range(10**6))
    monkeypatch.setattr("tabsa.training.loop.selected", lambda *_: next(turns[next(calls) % len(turns)]))


def test_early_stopping_is_each_seeds_own(prepared, monkeypatch):
    # The first stops after 3, and what comes later does not count; of the second equal is not better: after 6.
    scripted(monkeypatch, [0.5, 0.4, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9], [0.1, 0.2, 0.2, 0.3, 0.1, 0.3, 0.9, 0.9])
    trainer = Trainer(config(epochs=8, patience=2), prepared, (1, 2))
    stops = [list(trainer.progress.stopped) for _ in trainer.run()]
    assert stops == [[False, False]] * 2 + [[True, False]] * 3 + [[True, True]]
    assert trainer.done
    assert (trainer.progress.best, trainer.progress.best_epoch) == ([0.5, 0.3], [1, 4])
    scripted(monkeypatch, [0.5, 0.4, 0.3, 0.2])  # patience counts validations
    trainer = Trainer(config(epochs=9, patience=2, validate_every=2), prepared, (1,))
    assert [validation.epoch for validation in trainer.run()] == [2, 4, 6]


def test_the_last_epoch_is_always_validated(prepared):
    trainer, losses, validations = trained(config(epochs=5, validate_every=2, select="last"), prepared, (1,))
    assert [v.epoch for v in validations] == [2, 4, 5]
    assert [v.improved for v in validations] == [[True]] * 3
    assert [v.update for v in validations] == [n * trainer.updates for n in (2, 4, 5)]
    assert validations[-1].loss[0] == pytest.approx(torch.stack(losses[-trainer.updates :]).mean().item())


def test_a_seed_that_diverges_stops_and_the_others_go_on(prepared):
    trainer = Trainer(config(epochs=4), prepared, (1, 2))
    run = trainer.run()
    first = next(run)
    with torch.no_grad():
        trainer.model.output[0] = math.nan
    with pytest.warns(UserWarning, match="seed 1 diverged by epoch 2, and stops there; try a lower training.rate"):
        second = next(run)
    assert trainer.progress.stopped == [True, False]
    assert not second.improved[0]
    assert math.isnan(second.figures[0]["sun"]["strict_accuracy"])
    assert math.isfinite(second.figures[1]["sun"]["strict_accuracy"])
    assert second.to_dict()["dev"][0]["sun"]["macro_f1"] is None
    assert len(list(run)) == 2
    assert trainer.progress.best_figures[0] == first.figures[0]
    assert all(tensor.isfinite().all() for tensor in trainer.best.values())
