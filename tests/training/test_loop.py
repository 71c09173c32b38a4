import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from run_factory import config, small, small_for
from tabsa.encoding.arrays import UNLABELLED, Encoded
from tabsa.errors import ConfigError
from tabsa.evaluation.metrics import all_metrics
from tabsa.models.registry import SYSTEMS
from tabsa.training.config import RunConfig, TrainingConfig, run_config
from tabsa.training.loop import Validation, cross_entropy, rate_factor
from tabsa.training.preparation import Prepared, prepare
from tabsa.training.result import write_result
from tabsa.training.validation import predict, selected
from tabsa.training.words import Trainer, build_model, moved

NEURAL = [name for name, system in SYSTEMS.items() if system.neural and not system.open_aspects]


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return small()


def trained(of: RunConfig, data: Prepared, seeds: tuple[int, ...]) -> tuple[Trainer, list[Tensor], list[Validation]]:
    """The trainer after its run, the losses of every update (S,), and the evaluations."""
    trainer, losses = Trainer(of, data, seeds), []
    evaluations = list(trainer.run(lambda _, loss: losses.append(loss)))
    return trainer, losses, evaluations


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}


# ---- training


@pytest.mark.parametrize(("balance", "epochs"), [("mixed", 28), ("turns", 28), ("sentence", 12)])
def test_the_loss_falls_on_places(balance: str, epochs: int) -> None:
    places = run_config(
        {
            "data": {"aspects": ["price", "safety"], "max_length": 0},
            "vectors": {"size": 16},
            "model": {"chains": 3, "input_dropout": 0.0, "output_dropout": 0.0},
            "training": {
                "epochs": epochs,
                "validate_every": epochs // 4,
                "batch_size": 24,
                "balance": balance,
                "optimiser": "adam",
                "rate": 0.02,
            },
        }
    )
    trainer, losses, evaluations = trained(places, prepare(places)[0], (1,))
    assert len(losses) == epochs * trainer.updates == trainer.progress.update
    assert [evaluation.epoch for evaluation in evaluations] == [epochs // 4 * n for n in range(1, 5)]
    assert evaluations[-1].loss[0] < 0.7 * evaluations[0].loss[0]
    mean = torch.stack(losses[: len(losses) // 4]).mean().item()
    assert evaluations[0].loss == pytest.approx([mean])


def test_the_same_seed_gives_the_same_bits(prepared: Prepared) -> None:
    first, losses, evaluations = trained(config(), prepared, (5, 6))
    torch.manual_seed(1234)  # nothing may hang on the generators that are everyone's
    np.random.seed(1234)
    second, again, others = trained(config(), prepared, (5, 6))
    assert torch.equal(torch.stack(losses), torch.stack(again))
    assert all(torch.equal(tensor, weights(second)[name]) for name, tensor in weights(first).items())
    assert [e.figures for e in evaluations] == [e.figures for e in others]
    assert not torch.equal(losses[0][0], losses[0][1])  # and another seed gives others


@pytest.mark.parametrize(
    ("balance", "optimiser", "others"),
    [
        ("mixed", "ftrl", {}),
        ("mixed", "ftrl-tf", {"clip": "none"}),
        ("mixed", "adam", {"schedule": "linear", "rate": 0.01}),
        ("turns", "adagrad", {"clip": "global", "clip_norm": 0.2}),
        ("turns", "ftrl", {"clip_norm": 0.1}),
        ("sentence", "adamw", {"weight_decay": 0.1, "rate": 0.01, "warmup": 3}),
        ("sentence", "ftrl", {"kind": "entnet"}),
        ("sentence", "adam", {"shuffle_targets": True, "ema": 0.9}),
        ("sentence", "adagrad", {"model": {"keys": "tied", "chains": 2}}),
    ],
)
def test_a_seed_goes_the_same_way_alone_and_in_a_group(
    prepared: Prepared, balance: str, optimiser: str, others: dict[str, Any]
) -> None:
    goes_the_same_way(config(balance=balance, optimiser=optimiser, **others), prepared)


@pytest.mark.parametrize("kind", NEURAL)
def test_every_model_goes_the_same_way_alone_and_in_a_group(kind: str) -> None:
    goes_the_same_way(config(kind=kind, optimiser="adagrad"), small_for(kind))


def goes_the_same_way(of: RunConfig, data: Prepared) -> None:
    group, group_losses, group_evaluations = trained(of, data, (4, 5, 6))
    for place, seed in enumerate((4, 5, 6)):
        alone, losses, evaluations = trained(of, data, (seed,))
        assert len(losses) == len(group_losses) >= 6
        torch.testing.assert_close(
            torch.cat(losses), torch.stack(group_losses)[:, place], atol=1e-5, rtol=1e-5, msg=f"losses of seed {seed}"
        )
        for name, tensor in weights(alone).items():
            torch.testing.assert_close(tensor[0], weights(group)[name][place], atol=2e-5, rtol=1e-4, msg=name)
        assert [e.improved[0] for e in evaluations] == [e.improved[place] for e in group_evaluations]


def test_shuffled_targets_keep_their_labels(prepared: Prepared) -> None:
    trainer = Trainer(config(balance="sentence", shuffle_targets=True), prepared, (1, 2))
    tokens = torch.tensor([[[1, 5, 2, 1], [3, 1, 0, 0]]]).expand(2, -1, -1)  # <target1> is 1, <target2> is 2
    labels = torch.tensor([[[[0, 1], [2, 0]], [[1, 1], [UNLABELLED, UNLABELLED]]]]).expand(2, -1, -1, -1)
    seen = set()
    for _ in range(20):
        slots = trainer.drawn_slots(labels)
        renamed, with_them = trainer.renamed(tokens, slots), moved(labels, slots)
        for seed in range(2):
            first = (tuple(renamed[seed, 0].tolist()), tuple(map(tuple, with_them[seed, 0].tolist())))
            second = (tuple(renamed[seed, 1].tolist()), tuple(map(tuple, with_them[seed, 1].tolist())))
            assert first in {((1, 5, 2, 1), ((0, 1), (2, 0))), ((2, 5, 1, 2), ((2, 0), (0, 1)))}
            assert second in {((3, 1, 0, 0), ((1, 1), (-1, -1))), ((3, 2, 0, 0), ((-1, -1), (1, 1)))}
            seen |= {first, second}
    assert len(seen) == 4


def test_the_moving_average_of_the_weights_is_what_is_kept(prepared: Prepared) -> None:
    trainer = Trainer(config(balance="sentence", ema=0.5, epochs=1), prepared, (1, 2))
    mean = {name: value.double() for name, value in trainer.weights().items()}
    for update, drawn in enumerate(
        zip(*(s.epoch(rng) for s, rng in zip(trainer.samplers, trainer.orders, strict=True)), strict=True), start=1
    ):
        trainer.update(drawn)
        keep = min(0.5, update / (update + 10))
        mean = {name: keep * mean[name] + (1 - keep) * value.double() for name, value in trainer.weights().items()}
    own = trainer.weights()
    trainer.progress.epoch = 1
    evaluation = trainer.validate([0.0, 0.0], 0.0)
    assert evaluation.improved == [True, True]
    for name, value in trainer.weights().items():
        assert torch.equal(value, own[name])
        torch.testing.assert_close(trainer.best[name].double(), mean[name], atol=1e-6, rtol=1e-5)


def test_an_update_moves_every_weight_of_every_seed(prepared: Prepared) -> None:
    trainer = Trainer(config(optimiser="adam"), prepared, (1, 2))
    before = weights(trainer)
    next(trainer.run())
    for name, tensor in weights(trainer).items():
        assert (tensor != before[name]).flatten(1).any(1).all(), name


def test_the_rate_is_set_at_every_update(prepared: Prepared) -> None:
    of = config(optimiser="adam", rate=0.5, schedule="linear", warmup=2, epochs=2)
    trainer, rates = Trainer(of, prepared, (1,)), []
    list(trainer.run(lambda *_: rates.append(trainer.optimiser.param_groups[0]["lr"])))
    total = 2 * trainer.updates
    assert rates == pytest.approx([0.5 * rate_factor(of.training, update, total) for update in range(total)])


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ("constant", [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]),
        ("linear", [0.25, 0.5, 0.75, 1, 1, 0.75, 0.5, 0.25]),
        ("cosine", [0.25, 0.5, 0.75, 1, 1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]),
    ],
)
def test_rate_factor(schedule: Any, factors: list[float]) -> None:
    training = TrainingConfig(schedule=schedule, warmup=4)
    assert [rate_factor(training, update, 8) for update in range(8)] == pytest.approx(factors)
    assert rate_factor(TrainingConfig(schedule=schedule), 0, 8) == 1
    assert rate_factor(TrainingConfig(schedule=schedule, warmup=9), 3, 8) == pytest.approx(4 / 9)  # never done rising


# ---- the loss


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_against_a_slow_loop(weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 4, 2, 5, 3, generator=generator, dtype=torch.float64)
    labels = torch.randint(-1, 3, (3, 4, 2, 5), generator=generator)
    of_class = [0.5, 1.0, 4.0] if weighted else [1.0, 1.0, 1.0]
    losses = cross_entropy(logits, labels, torch.tensor(of_class, dtype=torch.float64) if weighted else None)
    for seed in range(3):
        total = share = 0.0
        for place in np.ndindex(4, 2, 5):
            label = int(labels[seed][place])
            if label != UNLABELLED:
                row = [math.exp(x) for x in logits[seed][place].tolist()]
                total -= of_class[label] * math.log(row[label] / sum(row))
                share += of_class[label]
        assert losses[seed].item() == pytest.approx(total / share)


def test_nothing_asked_costs_nothing() -> None:
    logits = torch.zeros(2, 1, 1, 1, 3, requires_grad=True)
    losses = cross_entropy(logits, torch.tensor([[[[UNLABELLED]]], [[[1]]]]), None)
    assert losses.tolist() == pytest.approx([0, math.log(3)])
    losses.sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert not logits.grad[0].any()


# ---- predicting


@pytest.mark.parametrize("batch_size", [1, 4, 7, 1000])
def test_predictions_do_not_depend_on_the_batch(prepared: Prepared, batch_size: int) -> None:
    trainer, _, _ = trained(config(), prepared, (1, 2))
    whole = predict(trainer.model, prepared.train)
    assert whole.shape == (2, len(prepared.train.gold), 2, 3)
    np.testing.assert_allclose(whole.sum(-1), 1)
    np.testing.assert_allclose(predict(trainer.model, prepared.train, batch_size), whole, atol=1e-6)


def test_every_group_has_the_prediction_of_its_own_reading(prepared: Prepared) -> None:
    model = build_model(config(), prepared, (1,))
    whole = predict(model, prepared.dev)[0]
    arrays = prepared.dev.arrays()
    for n in range(len(prepared.dev)):
        alone = Encoded(**{name: array[n : n + 1] for name, array in arrays.items()})  # type: ignore[arg-type]
        here = [group for group in prepared.dev.groups[n] if group >= 0]
        groups = np.array([[*range(len(here)), *[-1] * (2 - len(here))]], np.int32)
        moved = replace(alone, groups=groups, gold=prepared.dev.gold[here])
        np.testing.assert_allclose(predict(model, moved)[0], whole[here], atol=1e-6)


def test_a_reading_of_no_words_and_no_readings(prepared: Prepared) -> None:
    model = build_model(config(), prepared, (1,))
    arrays = {name: array.copy() for name, array in prepared.dev.arrays().items()}
    arrays["lengths"][2], arrays["tokens"][2] = 0, 0
    result = predict(model, Encoded(**arrays), 4)  # type: ignore[arg-type]
    assert np.isfinite(result).all()
    nothing = Encoded(**{name: array[:0] for name, array in arrays.items()})  # type: ignore[arg-type]
    assert predict(model, nothing).shape == (1, 0, 2, 3)


def test_training_is_none_of_predictions_business(prepared: Prepared) -> None:
    trainer, _, _ = trained(config(), prepared, (1,))
    first = predict(trainer.model, prepared.dev)
    assert np.array_equal(first, predict(trainer.model, prepared.dev))  # no dropout


# ---- selection


FIGURES = {
    "sun": {
        "strict_accuracy": 0.1,
        "macro_f1": 0.2,
        "aspect_auc": 0.3,
        "sentiment_accuracy": 0.4,
        "sentiment_auc": 0.5,
    },
    "ma": {"strict_accuracy": 0.6, "macro_f1": 0.7, "aspect_auc": 0.3, "sentiment_accuracy": 0.4, "sentiment_auc": 0.5},
}


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("mean", (0.6 + 0.2 + 0.3 + 0.4 + 0.5) / 5),
        ("sun.strict_accuracy", 0.1),
        ("sun.macro_f1", 0.2),
        ("ma.strict_accuracy", 0.6),
        ("ma.macro_f1", 0.7),
        ("aspect_auc", 0.3),
        ("sentiment_accuracy", 0.4),
        ("sentiment_auc", 0.5),
    ],
)
def test_selected(metric: Any, score: float) -> None:
    assert selected(FIGURES, metric) == pytest.approx(score)
    undefined = {family: dict.fromkeys(figures, math.nan) for family, figures in FIGURES.items()}
    assert selected(undefined, metric) == 0


def test_figures_are_the_metrics_of_the_predictions(prepared: Prepared) -> None:
    trainer, _, evaluations = trained(config(), prepared, (1, 2))
    for number, probabilities in enumerate(predict(trainer.model, prepared.dev)):
        expected = all_metrics(prepared.dev.gold, probabilities)
        for family, figures in evaluations[-1].figures[number].items():
            assert figures == pytest.approx(expected[family], nan_ok=True)  # type: ignore[index]


def test_the_best_state_of_each_seed_is_kept(prepared: Prepared) -> None:
    trainer = Trainer(config(epochs=12, select="ma.strict_accuracy", optimiser="adam", rate=0.02), prepared, (1, 2, 3))
    best, states = [-1.0] * 3, [weights(trainer)] * 3
    for evaluation in trainer.run():
        for number in range(3):
            score = evaluation.figures[number]["ma"]["strict_accuracy"]
            assert evaluation.improved[number] == (score > best[number])
            if score > best[number]:
                best[number], states[number] = score, weights(trainer)
                assert trainer.progress.best_epoch[number] == evaluation.epoch
                assert trainer.progress.best_figures[number] == evaluation.figures[number]
    assert trainer.progress.best == best
    for number in range(3):
        for name, tensor in trainer.best.items():
            assert torch.equal(tensor[number], states[number][name][number])
    assert len(set(trainer.progress.best_epoch)) > 1  # or this would show little
    assert not all(torch.equal(tensor, trainer.best[name]) for name, tensor in weights(trainer).items())


def scripted(monkeypatch: pytest.MonkeyPatch, scores: dict[int, list[float]]) -> None:
    """Have the evaluations of each seed (by its place) find these scores, one after the other."""
    turns = {place: iter(of_seed) for place, of_seed in scores.items()}
    calls = iter(range(10**6))
    monkeypatch.setattr("tabsa.training.words.selected", lambda *_: next(turns[next(calls) % len(turns)]))


def test_patience_is_each_seeds_own(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(
        monkeypatch,
        {
            0: [0.5, 0.4, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9],  # stops after 3; what comes later does not count
            1: [0.1, 0.2, 0.2, 0.3, 0.1, 0.3, 0.9, 0.9],  # equal is not better: stops after 6
        },
    )
    trainer = Trainer(config(epochs=8, patience=2), prepared, (1, 2))
    stops = [list(trainer.progress.stopped) for _ in trainer.run()]
    assert stops == [[False, False]] * 2 + [[True, False]] * 3 + [[True, True]]
    assert trainer.done
    assert (trainer.progress.best, trainer.progress.best_epoch) == ([0.5, 0.3], [1, 4])


def test_patience_counts_evaluations(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, {0: [0.5, 0.4, 0.3, 0.2]})
    trainer = Trainer(config(epochs=9, patience=2, validate_every=2), prepared, (1,))
    assert [evaluation.epoch for evaluation in trainer.run()] == [2, 4, 6]


def test_the_last_epoch_is_always_evaluated(prepared: Prepared) -> None:
    trainer, losses, evaluations = trained(config(epochs=5, validate_every=2), prepared, (1,))
    assert [e.epoch for e in evaluations] == [2, 4, 5]
    assert [e.update for e in evaluations] == [n * trainer.updates for n in (2, 4, 5)]
    assert evaluations[-1].loss[0] == pytest.approx(torch.stack(losses[-trainer.updates :]).mean().item())


# ---- when it goes wrong


def test_a_seed_that_diverges_stops_and_the_others_go_on(prepared: Prepared) -> None:
    trainer = Trainer(config(epochs=4), prepared, (1, 2))
    run = trainer.run()
    first = next(run)
    with torch.no_grad():
        trainer.model.output[0] = math.nan  # type: ignore[operator]
    with pytest.warns(UserWarning, match="seed 1 diverged by epoch 2, and stops there; try a lower training.rate"):
        second = next(run)
    assert trainer.progress.stopped == [True, False]
    assert not second.improved[0]
    assert math.isnan(second.figures[0]["sun"]["strict_accuracy"])
    assert math.isfinite(second.figures[1]["sun"]["strict_accuracy"])
    assert second.to_dict()["loss"][0] is None
    assert second.to_dict()["dev"][0]["sun"]["macro_f1"] is None
    assert len(list(run)) == 2
    assert trainer.progress.best_figures[0] == first.figures[0]
    assert all(tensor.isfinite().all() for tensor in trainer.best.values())


def test_no_model_comes_of_a_run_that_never_was_finite(prepared: Prepared, tmp_path: Any) -> None:
    trainer = Trainer(config(epochs=1), prepared, (1,))
    with torch.no_grad():
        trainer.model.output[0] = math.inf  # type: ignore[operator]
    with pytest.warns(UserWarning, match="diverged"):
        list(trainer.run())
    with pytest.raises(ConfigError, match=r"try a lower training\.rate"):
        write_result(tmp_path, trainer.config, prepared, None, (1,), trainer.progress, trainer.best)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
