"""Readers against slow loops over their equations: questions in an encoder's last layers."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

import slow_reader
from network_factory import in_training
from reader_factory import make_reader, moved, question_batch, random_weights, shape
from tabsa.errors import ModelError
from tabsa.models.reader.reader_network import QuestionBatch, load_weights, untied_weights
from tabsa.nn.context import EVALUATION

KINDS = ["bert", "mpnet"]
DEEP = {"layers": 3}  # the encoder
OF_TEXTS = ("pieces", "lengths", "slots", "targets", "aspect_rows", "labels")


def ask(model, batch):
    return model(batch, context=EVALUATION).logits.detach()


def changed(batch, **arrays):
    return dataclasses.replace(batch, **arrays)


def made(kind, **options):
    return moved(make_reader(kind, sizes=DEEP, **options))


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("late", "depth"), [(1, 0), (2, 0), (3, 0), (1, 2), (1, 1)])
def test_answers_are_those_of_the_equations(kind, late, depth):
    model, batch = made(kind, late_interaction=late, depth=depth), question_batch()
    logits = ask(model, batch)
    assert logits.shape == (2, 4, 5, 4)
    assert logits.dtype == torch.float32
    for seed, text, question in itertools.product(range(2), range(4), range(5)):
        expected = slow_reader.answer(model, batch, seed, text, question)
        np.testing.assert_allclose(logits[seed, text, question], expected, atol=1e-6, rtol=1e-6)
    assert logits.std() > 0.1


def test_questions_go_through_no_more_layers_than_there_are():
    with pytest.raises(ModelError, match="'late_interaction' is 3; the encoder has 2 layers"):
        make_reader(sizes=DEEP, late_interaction=3, depth=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("widths", [(2, 2, 2), (2, 3, 4), (5, 2, 2)], ids=str)
def test_aspects_of_few_pieces_and_of_none(kind, widths):
    model, batch = made(kind, late_interaction=2), question_batch()
    lengths = torch.tensor([widths, widths[::-1]])
    wide = max(widths)
    batch = changed(batch, aspects=batch.aspects[..., :wide], aspect_lengths=lengths)
    logits = ask(model, batch)
    for seed, text, question in itertools.product(range(2), range(2), range(5)):
        expected = slow_reader.answer(model, batch, seed, text, question)
        np.testing.assert_allclose(logits[seed, text, question], expected, atol=1e-6, rtol=1e-6)
    padding = torch.full((2, 3, 4), 7)
    longer = changed(batch, aspects=torch.cat([batch.aspects, padding], -1))
    close(ask(model, longer), logits)


def test_kinds_start_at_nothing():
    assert not make_reader(late_interaction=1).kinds.any()


def same_alone_and_in_a_group(group, alone, batch):
    """Compare the second seed of a group with that seed alone; the names of the parameters that learn."""
    for (name, parameter), own in zip(group.named_parameters(), alone.parameters(), strict=True):
        assert torch.equal(parameter[1], own[0]), name
    own = QuestionBatch(*(None if array is None else array[1:2] for array in vars(batch).values()))
    of_group, of_alone = group(batch, context=in_training(1, 2, 3)).logits, alone(own, context=in_training(2)).logits
    torch.testing.assert_close(of_group[1:2], of_alone, atol=1e-5, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    learnt = set()
    for (name, tensor), one in zip(group.named_parameters(), alone.parameters(), strict=True):
        assert (tensor.grad is None) == (one.grad is None), name
        if one.grad is not None:
            learnt.add(name)
            assert one.grad.isfinite().all(), name
            assert one.grad.any(), name
            torch.testing.assert_close(tensor.grad[1], one.grad[0], atol=1e-5, rtol=1e-3, msg=name)
    return learnt


@pytest.mark.parametrize("kind", KINDS)
def test_everything_learns_and_a_seed_is_the_same_alone_and_in_a_group(kind):
    group, alone = (make_reader(kind, seeds=seeds, sizes=DEEP) for seeds in ((1, 2, 3), (2,)))
    batch = question_batch(seeds=3)
    learnt = same_alone_and_in_a_group(group, alone, batch)
    assert learnt == {name for name, _ in group.named_parameters()}


def test_dropout_is_for_training_alone():
    model, batch = make_reader(), question_batch()
    assert torch.equal(ask(model, batch), ask(model, batch))
    draws = in_training(1, 2)
    assert not torch.equal(model(batch, context=draws).logits, model(batch, context=draws).logits)
    undropped = make_reader(dropout=0.0)
    close(undropped(batch, context=draws).logits, ask(undropped, batch))


def test_lower_layers_learn_slower_and_the_head_faster():
    model = make_reader(sizes=DEEP)
    factors = model.rate_factors(decay=0.5, head=7.0)
    assert set(factors) == {name for name, _ in model.named_parameters()}
    for name, factor in factors.items():
        if name.startswith("encoder.layers."):
            assert factor == {"0": 0.25, "1": 0.5, "2": 1.0}[name.split(".")[2]], name
        else:
            assert factor == (0.125 if name.startswith("encoder.") else 7.0), name
    assert set(model.rate_factors().values()) == {1.0}


def test_loaded_weights_are_every_seeds():
    one, group = make_reader(seeds=(8,)), make_reader(seeds=(1, 2))
    load_weights(group, {name: tensor[0].detach().numpy() for name, tensor in one.named_parameters()})
    own = dict(one.named_parameters())
    for name, tensor in group.named_parameters():
        assert torch.equal(tensor, own[name].expand_as(tensor)), name
    encoder = sum(array.size for array in random_weights(shape(), np.random.default_rng(0)).values())
    assert one.size == group.size == encoder + 2 * 24 + 24 * 24 + 24 + 4 * 24 + 4


@pytest.mark.parametrize("kind", KINDS)
def test_untied_answers_are_those_of_the_equations(kind):
    model, batch = made(kind, late_interaction=2, untied=True), question_batch()
    logits = ask(model, batch)
    for seed, text, question in itertools.product(range(2), range(2), range(5)):
        expected = slow_reader.answer(model, batch, seed, text, question)
        np.testing.assert_allclose(logits[seed, text, question], expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_the_last_layers_answer_as_these_do_until_they_are_changed(kind):
    batch = question_batch()
    tied, untied = (made(kind, late_interaction=2, untied=untied) for untied in (False, True))
    own = dict(tied.named_parameters()) | untied_weights(dict(tied.named_parameters()), 3, 2)
    with torch.no_grad():
        for name, tensor in untied.named_parameters():
            tensor.copy_(own[name])
    close(ask(untied, batch), ask(tied, batch))
    torch.nn.init.zeros_(untied.encoder.layers[-1].outer)  # the questions' alone, and theirs is a copy now
    close(ask(untied, batch), ask(tied, batch))
    torch.nn.init.zeros_(untied.question_layers[-1].outer)
    assert not torch.allclose(ask(untied, batch), ask(tied, batch), atol=1e-2)
    fresh = make_reader(kind, late_interaction=2, untied=True, sizes=DEEP)
    expected = untied_weights(dict(fresh.named_parameters()), 3, 2)
    found = {name: tensor for name, tensor in fresh.named_parameters() if name.startswith("question_layers.")}
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in found)
