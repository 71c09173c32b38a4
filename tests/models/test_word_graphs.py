"""Graphs of EntNets against their networks."""

import dataclasses
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import network_factory as small
from tabsa import load
from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.embeddings.vectors import WordVectors
from tabsa.encoding.target_words import neighbours, target_word
from tabsa.models.entnet import entnet_onnx
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNet
from tabsa.nn.context import EVALUATION

LABELS = ("none", "positive", "negative")
EVERY = pytest.mark.parametrize("system", [EntNet, DelayedEntNet])


def make(system=DelayedEntNet, targets=(1, 2), **switches):
    """A network and sentences, of which one mentions no target, and all but the longest are padded."""
    return small.moved(small.make(system, targets=targets, **switches)).float(), small.batch(system)


def exported(model, seed=0, temperature=1.0, *, half=False):
    """A session of the graph of one seed's folder, which is never written."""
    words = [*(target_word(slot) for slot in range(len(model.targets))), "a", "b", "c"]
    matrix = torch.cat([model.target_vectors, model.aspect_vectors]).float().numpy()
    config = ModelConfig("", dataclasses.asdict(model.config), ("a", "b", "c"), LABELS, len(model.targets), 50)
    folder = ModelFolder(Path(), dataclasses.replace(config, temperature=temperature))
    vars(folder).update(
        weights={name: tensor[seed].detach().float().numpy() for name, tensor in model.named_parameters()},
        vectors=WordVectors(tuple(words), matrix, 1.0),
    )
    proto = entnet_onnx.graph(folder, "float32", half=half)
    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session, model, tokens, lengths):
    inputs = {"words": model.words.float().numpy()[tokens], "lengths": lengths}
    if model.mention is not None:
        slots = [[model.targets.index(t) if t in model.targets else None for t in sentence] for sentence in tokens]
        inputs["neighbours"] = np.stack([neighbours(sentence, len(model.targets)) for sentence in slots])
    return session.run(None, inputs)


def of_seed(inputs, seed=0):
    return [value[seed].numpy() for value in inputs]


@pytest.mark.parametrize("variant", [*small.VARIANTS, {"targets": (1,)}, {"targets": (1, 2, 3)}], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_graph_answers_as_the_network_with_its_gates_and_attention(variant, seed):
    model, inputs = make(**variant)
    answer = model(*inputs, context=EVALUATION)
    probabilities, gates, attention = run(exported(model, seed), model, *of_seed(inputs, seed))
    np.testing.assert_allclose(probabilities, answer.logits[seed].softmax(-1).detach(), atol=1e-5)
    np.testing.assert_allclose(
        gates, answer.gates[seed].permute(1, 0, 2, 3).detach(), atol=1e-5
    )  # (B, directions, T, n)
    np.testing.assert_allclose(attention, answer.attention[seed].detach(), atol=1e-5)


@EVERY
def test_temperature_divides_the_logits_and_half_precision_is_near(system):
    model, inputs = make(system)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    sessions = (exported(model, **options) for options in ({}, {"temperature": 2.0}, {"half": True}))
    cold, warm, half = (run(session, model, *of_seed(inputs))[0] for session in sessions)
    np.testing.assert_allclose(warm, np.sqrt(cold) / np.sqrt(cold).sum(-1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(half, cold, atol=2e-3)


def test_what_is_read_beside_a_sentence_does_not_matter():
    model, inputs = make(keys="tied", chains=2, mention_term=True)
    session, (tokens, lengths) = exported(model), of_seed(inputs)
    whole, gates, _ = run(session, model, tokens, lengths)
    for pair in (slice(first, first + 2) for first in range(3)):
        some, some_gates, _ = run(session, model, tokens[pair], lengths[pair])
        np.testing.assert_array_equal(some, whole[pair])
        np.testing.assert_array_equal(some_gates, gates[pair])


def test_the_graph_of_places_in_int8_is_near_the_one_in_float32():
    texts = ["Camden is lovely but dear, and Hull is not.", "The tube to Camden is far. " * 9, "Hull"]
    both = [load("places", precision=p).predict_many(texts, ["Camden", "Hull"]) for p in ("int8", "float32")]
    small, full = ([[*o.probabilities.values()] for one in found for o in one.opinions] for found in both)
    np.testing.assert_allclose(small, full, atol=0.05)
    assert small != full  # it is another computation


@pytest.mark.parametrize("slope", [0.3, 1.0, 1.7])
def test_slopes_on_both_sides_of_one(slope):
    model, inputs = make()
    with torch.no_grad():
        model.slope.copy_(slope + 0.5 * torch.randn(model.slope.shape, generator=torch.Generator().manual_seed(1)))
        if slope == 0.3:
            model.slope.clamp_(max=1)
    expected = model(*inputs, context=EVALUATION).logits[0].softmax(-1).detach()
    np.testing.assert_allclose(run(exported(model), model, *of_seed(inputs))[0], expected, atol=1e-5)
