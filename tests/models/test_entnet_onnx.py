import dataclasses

import numpy as np
import onnxruntime
import pytest
import torch

from entnet_factory import VARIANTS, batch, make
from tabsa.encoding.target_words import neighbours
from tabsa.models.entnet.entnet_onnx import entnet
from tabsa.nn.context import EVALUATION


def exported(model, seed, temperature=1.0, **options):
    weights = {name: tensor[seed].detach().float().numpy() for name, tensor in model.named_parameters()}
    proto = entnet(
        dataclasses.asdict(model.config),
        weights,
        model.target_vectors.float().numpy(),
        model.aspect_vectors.float().numpy(),
        temperature,
        **options,
    )
    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session, model, tokens, lengths):
    inputs = {"words": model.words.float().numpy()[tokens], "lengths": lengths.astype(np.int64)}
    if model.mention is not None:
        slots = [[model.targets.index(t) if t in model.targets else None for t in sentence] for sentence in tokens]
        inputs["neighbours"] = np.stack([neighbours(sentence, len(model.targets)) for sentence in slots])
    return session.run(None, inputs)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_graph_answers_as_the_model(variant):
    model = make(**variant)
    tokens, lengths = batch()
    answer = model(tokens, lengths, context=EVALUATION)
    for seed in range(2):
        session = exported(model, seed)
        probabilities, gates, attention = run(session, model, tokens[seed].numpy(), lengths[seed].numpy())
        np.testing.assert_allclose(probabilities, answer.logits[seed].softmax(-1).detach(), atol=1e-5)
        expected = answer.gates[seed].permute(1, 0, 2, 3).detach()  # (B, directions, T, n)
        np.testing.assert_allclose(gates, expected, atol=1e-5)
        np.testing.assert_allclose(attention, answer.attention[seed].detach(), atol=1e-5)


def test_batch_and_length_are_dynamic():
    model = make()
    session = exported(model, 0)
    tokens, lengths = (value[0].numpy() for value in batch())
    whole, *_ = run(session, model, tokens, lengths)
    for row in range(len(tokens)):
        alone, *_ = run(session, model, tokens[row : row + 1, : lengths[row]], lengths[row : row + 1])
        np.testing.assert_allclose(alone[0], whole[row], atol=1e-6)


def test_temperature_divides_the_logits():
    model = make()
    tokens, lengths = (value[0].numpy() for value in batch())
    cold, *_ = run(exported(model, 0), model, tokens, lengths)
    warm, *_ = run(exported(model, 0, temperature=2.0), model, tokens, lengths)
    expected = np.sqrt(cold) / np.sqrt(cold).sum(-1, keepdims=True)
    np.testing.assert_allclose(warm, expected, atol=1e-6)


def test_constants_stored_in_half_precision_give_nearly_the_same():
    model = make()
    tokens, lengths = (value[0].numpy() for value in batch())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    full, *_ = run(exported(model, 0), model, tokens, lengths)
    half, *_ = run(exported(model, 0, half=True), model, tokens, lengths)
    np.testing.assert_allclose(half, full, atol=2e-3)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_int8_answers_nearly_as_the_model(variant):
    model = make(**variant)
    tokens, lengths = (value[0].numpy() for value in batch())
    full, gates, attention = run(exported(model, 0), model, tokens, lengths)
    small, small_gates, same = run(exported(model, 0, precision="int8"), model, tokens, lengths)
    np.testing.assert_allclose(small, full, atol=0.05)
    np.testing.assert_allclose(small_gates, gates, atol=0.05)
    np.testing.assert_array_equal(same, attention)
    assert np.abs(small - full).max() > 0  # it is another computation


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_what_is_read_beside_a_sentence_does_not_matter(precision):
    model = make(keys="tied", chains=2, mention_term=True)
    session = exported(model, 0, precision=precision)
    tokens, lengths = (value[0].numpy() for value in batch())
    whole, gates, _ = run(session, model, tokens, lengths)
    for first in range(3):
        pair = slice(first, first + 2)
        some, some_gates, _ = run(session, model, tokens[pair], lengths[pair])
        np.testing.assert_array_equal(some, whole[pair])
        np.testing.assert_array_equal(some_gates, gates[pair])


@pytest.mark.parametrize("slope", [0.3, 1.0, 1.7])
def test_slopes_on_both_sides_of_one(slope):
    model = make()
    with torch.no_grad():
        model.slope.copy_(slope + 0.5 * torch.randn(model.slope.shape, generator=torch.Generator().manual_seed(1)))
        if slope == 0.3:
            model.slope.clamp_(max=1)
    tokens, lengths = batch()
    expected = model(tokens, lengths, context=EVALUATION).logits[0].softmax(-1).detach()
    found, *_ = run(exported(model, 0), model, tokens[0].numpy(), lengths[0].numpy())
    np.testing.assert_allclose(found, expected, atol=1e-5)
