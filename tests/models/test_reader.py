import dataclasses
import itertools

import numpy as np
import pytest
import torch

import slow_reader
from reader_factory import make_reader, moved, question_batch, shape
from tabsa.models.reader.encoder import random_weights
from tabsa.models.reader.reader_network import QuestionBatch, load_weights
from tabsa.nn.context import EVALUATION, Context

VARIANTS = [
    {},
    {"kind": "mpnet"},
    {"layers": 0},
    {"layers": 1, "inner": 3},
    {"contextual": True},
    {"contextual": True, "kind": "mpnet", "directions": "forward"},
    {"contextual": True, "chains": 0},
]
FAMILIES = [{}, {"contextual": True}]


def ask(model, batch):
    return model(batch, context=EVALUATION).logits.detach()


def changed(batch, **arrays):
    return dataclasses.replace(batch, **arrays)


def made(**variant):
    """The memory computes in float32, so its reader stays there."""
    model = moved(make_reader(**variant))
    return model.float() if variant.get("contextual") else model


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_answers_are_those_of_the_equations(variant):
    model, batch = made(**variant), question_batch(slots=6 if variant.get("contextual") else 2)
    logits = ask(model, batch)
    assert logits.shape == (2, 4, 5, 4)
    assert logits.dtype == torch.float32
    for seed, text, question in itertools.product(range(2), range(4), range(5)):
        expected = slow_reader.answer(model, batch, seed, text, question)
        np.testing.assert_allclose(logits[seed, text, question], expected, atol=2e-4, rtol=1e-4)
    assert logits.std() > 0.1


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_an_answer_does_not_change_with_what_else_is_asked(family):
    model, batch = made(**family), question_batch()
    whole = ask(model, batch)
    for question in range(5):
        one = slice(question, question + 1)
        alone = ask(model, changed(batch, targets=batch.targets[..., one], asked=batch.asked[..., one]))
        torch.testing.assert_close(alone[:, :, 0], whole[:, :, question], atol=1e-5, rtol=0)
    order = [3, 0, 4, 2, 1]
    other = ask(model, changed(batch, targets=batch.targets[..., order], asked=batch.asked[..., order]))
    torch.testing.assert_close(other, whole[:, :, order], atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_an_answer_does_not_change_with_other_aspects_in_the_table(family):
    model, batch = made(**family), question_batch()
    whole = ask(model, batch)
    turned = [2, 0, 1]
    where = torch.tensor([turned.index(row) for row in range(3)])
    more = torch.cat([batch.aspects[:, turned], batch.aspects[:, :1] + 1], dim=1)
    widths = torch.cat([batch.aspect_lengths[:, turned], batch.aspect_lengths[:, :1]], dim=1)
    more = torch.cat([more, torch.full((2, 4, 3), 5)], dim=2)  # and padding behind each
    other = ask(model, changed(batch, aspects=more, aspect_lengths=widths, asked=where[batch.asked]))
    torch.testing.assert_close(other, whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_an_answer_does_not_change_with_other_texts_padding_and_order(family):
    model, batch = made(**family), question_batch()
    whole = ask(model, batch)
    of_texts = ("pieces", "lengths", "slots", "targets", "asked", "labels")
    for chosen in ([2], [1, 3], [3, 0, 2, 1]):
        part = changed(batch, **{name: getattr(batch, name)[:, chosen] for name in of_texts})
        longest = int(part.lengths.max())
        part = changed(part, pieces=part.pieces[..., :longest], slots=part.slots[..., :longest])
        torch.testing.assert_close(ask(model, part), whole[:, chosen], atol=1e-5, rtol=0)
    longer = changed(
        batch,
        pieces=torch.cat([batch.pieces, torch.full((2, 4, 4), 7)], dim=2),
        slots=torch.cat([batch.slots, torch.full((2, 4, 4), -1)], dim=2),
    )
    torch.testing.assert_close(ask(model, longer), whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_an_implied_target_is_asked_at_the_first_piece(family):
    """It is as if the first piece stood for it."""
    model, batch = made(**family), question_batch()
    slots = torch.full_like(batch.slots, -1)
    implied = ask(model, changed(batch, slots=slots, targets=torch.full_like(batch.targets, -1)))
    slots[..., 0] = 5  # which shares the implied one's chain
    first = ask(model, changed(batch, slots=slots, targets=torch.full_like(batch.targets, 5)))
    torch.testing.assert_close(implied, first, atol=1e-6, rtol=0)
    assert not torch.allclose(implied, ask(model, batch), atol=1e-2)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_targets_and_aspects_matter(family):
    model, batch = made(**family), question_batch()
    targets = torch.zeros_like(batch.targets)
    first = ask(model, changed(batch, targets=targets))
    assert not torch.allclose(first, ask(model, changed(batch, targets=targets + 1)), atol=1e-2)
    assert not torch.allclose(
        ask(model, changed(batch, asked=torch.zeros_like(batch.asked))),
        ask(model, changed(batch, asked=torch.ones_like(batch.asked))),
        atol=1e-2,
    )


@pytest.mark.parametrize("variant", [{}, {"kind": "mpnet"}, {"contextual": True}], ids=str)
def test_a_seed_is_the_same_alone_and_in_a_group(variant):
    group, alone = make_reader(seeds=(1, 2, 3), **variant), make_reader(seeds=(2,), **variant)
    for (name, parameter), (other, own) in zip(group.named_parameters(), alone.named_parameters(), strict=True):
        assert name == other
        assert torch.equal(parameter[1], own[0]), name
    assert not torch.equal(group.question[0], group.question[1])
    batch = question_batch(seeds=3)
    own = QuestionBatch(*(None if array is None else array[1:2] for array in vars(batch).values()))
    of_group = group(batch, context=context(1, 2, 3)).logits
    of_alone = alone(own, context=context(2)).logits
    torch.testing.assert_close(of_group[1:2], of_alone, atol=1e-5, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    for (name, parameter), own in zip(group.named_parameters(), alone.parameters(), strict=True):
        assert own.grad.isfinite().all(), name
        assert own.grad.any(), name
        torch.testing.assert_close(parameter.grad[1], own.grad[0], atol=1e-5, rtol=1e-3, msg=name)


def context(*seeds):
    return Context(training=True, generators=[torch.Generator().manual_seed(seed) for seed in seeds])


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_dropout_is_for_training_alone(family):
    model, batch = make_reader(**family), question_batch()
    assert torch.equal(ask(model, batch), ask(model, batch))
    draws = context(1, 2)
    assert not torch.equal(model(batch, context=draws).logits, model(batch, context=draws).logits)
    undropped = make_reader(dropout=0.0, **family)
    torch.testing.assert_close(undropped(batch, context=draws).logits, ask(undropped, batch), atol=1e-6, rtol=0)


def test_half_precision_is_a_gpus_alone():
    with pytest.raises(ValueError, match="are a GPU's"):
        make_reader()(question_batch(), context=Context(products=torch.bfloat16))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_lower_layers_learn_slower_and_the_head_faster(family):
    model = make_reader(sizes={"layers": 3}, **family)
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
        assert torch.equal(tensor[0], own[name][0]), name
        assert torch.equal(tensor[1], own[name][0]), name


def test_size_is_of_one_seed():
    assert make_reader(seeds=(1,)).size == make_reader(seeds=(1, 2, 3)).size
    encoder = sum(array.size for array in random_weights(shape(), np.random.default_rng(0)).values())
    d, inner = 24, 48
    layer = 4 * d * d + 4 * d + 2 * d * inner + inner + d + 4 * d
    head = 3 * d * d + d + d * d + d + 4 * d + 4
    assert make_reader(seeds=(1,)).size == encoder + 2 * layer + head


def test_a_batch_goes_to_a_device_with_all_it_has():
    more = {name: torch.ones(2, 4, 6) for name in ("owners", "places")}
    batch = dataclasses.replace(question_batch(), soft_labels=torch.ones(2, 4, 5, 4), **more)
    there = batch.to(torch.device("cpu"))
    for name, tensor in vars(batch).items():
        assert torch.equal(getattr(there, name), tensor), name
    assert question_batch().to(torch.device("cpu")).soft_labels is None
