"""EntNets and LSTMs: their graphs against the networks."""

import dataclasses
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import network_factory as small
from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.embeddings.concepts import ConceptTable
from tabsa.embeddings.vectors import WordVectors
from tabsa.encoding.target_words import neighbours, target_word
from tabsa.models.entnet import entnet_onnx
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNet
from tabsa.models.lstm import lstm_onnx
from tabsa.models.lstm.lstm_networks import LSTMFinal, SenticLSTM
from tabsa.nn.context import EVALUATION

LABELS = ("none", "positive", "negative")
EVERY = pytest.mark.parametrize("system", small.SYSTEMS)


def make(system=DelayedEntNet, targets=(1, 2), **switches):
    """A network and sentences, of which one mentions no target, and all but the longest are padded."""
    return small.moved(small.make(system, targets=targets, **switches)).float(), small.batch(system)


def exported(model, seed=0, temperature=1.0, **options):
    """A session of the graph of one seed's folder, which is never written."""
    words = [*(target_word(slot) for slot in range(len(model.targets))), "a", "b", "c"]
    matrix = torch.cat([model.target_vectors, model.aspect_vectors]).float().numpy()
    kind = "lstm-final" if type(model) is LSTMFinal else ""
    config = ModelConfig(kind, dataclasses.asdict(model.config), ("a", "b", "c"), LABELS, len(model.targets), 50)
    folder = ModelFolder(Path(), dataclasses.replace(config, temperature=temperature))
    vars(folder).update(
        weights={name: tensor[seed].detach().float().numpy() for name, tensor in model.named_parameters()},
        vectors=WordVectors(tuple(words), matrix, 1.0),
        concepts=ConceptTable(("", *"12345678"), model.concept_vectors.numpy()) if type(model) is SenticLSTM else None,
    )
    build = entnet_onnx.graph if isinstance(model, EntNet) else lstm_onnx.graph
    proto = build(folder, options.get("precision", "float32"), half=options.get("half", False))
    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session, model, tokens, lengths, *concepts):
    inputs = {"words": model.words.float().numpy()[tokens], "lengths": lengths}
    slots = [[model.targets.index(t) if t in model.targets else None for t in sentence] for sentence in tokens]
    if not isinstance(model, EntNet):
        marked = [-1 if slot is None else slot for sentence in slots for slot in sentence]
        inputs["slots"] = np.array(marked, np.int64).reshape(tokens.shape)
    elif model.mention is not None:
        inputs["neighbours"] = np.stack([neighbours(sentence, len(model.targets)) for sentence in slots])
    return session.run(None, inputs | dict(zip(["concepts"], concepts, strict=False)))


def of_seed(inputs, seed=0):
    return [value[seed].numpy() for value in inputs]


@pytest.mark.parametrize("targets", [(1, 2), (1,), (1, 2, 3)])
@EVERY
def test_the_graph_answers_as_the_network(system, targets):
    model, inputs = make(system, targets)
    expected = model(*inputs, context=EVALUATION).logits.softmax(-1).detach().numpy()
    for seed in range(2):
        probabilities, *_ = run(exported(model, seed), model, *of_seed(inputs, seed))
        np.testing.assert_allclose(probabilities, expected[seed], atol=1e-5)


@pytest.mark.parametrize("variant", small.VARIANTS, ids=str)
def test_every_entnet_has_its_gates_and_attention_and_int8_is_near(variant):
    model, inputs = make(**variant)
    answer = model(*inputs, context=EVALUATION)
    full, gates, attention = run(exported(model), model, *of_seed(inputs))
    np.testing.assert_allclose(full, answer.logits[0].softmax(-1).detach(), atol=1e-5)
    np.testing.assert_allclose(gates, answer.gates[0].permute(1, 0, 2, 3).detach(), atol=1e-5)  # (B, directions, T, n)
    np.testing.assert_allclose(attention, answer.attention[0].detach(), atol=1e-5)
    small, small_gates, same = run(exported(model, precision="int8"), model, *of_seed(inputs))
    np.testing.assert_allclose(small, full, atol=0.05)
    np.testing.assert_allclose(small_gates, gates, atol=0.05)
    np.testing.assert_array_equal(same, attention)
    assert np.abs(small - full).max() > 0  # it is another computation


@EVERY
def test_batch_and_length_are_dynamic(system):
    model, inputs = make(system)
    session, (tokens, lengths, *concepts) = exported(model), of_seed(inputs)
    whole, *_ = run(session, model, tokens, lengths, *concepts)
    padded = [np.pad(rows, [(0, 0), (0, 4)]) for rows in (tokens, *concepts)]
    longer, *_ = run(session, model, padded[0], lengths, *padded[1:])
    np.testing.assert_allclose(longer, whole, atol=1e-6)
    for row, length in enumerate(lengths):
        cut = [rows[row : row + 1, :length] for rows in (tokens, *concepts)]
        alone, *_ = run(session, model, cut[0], lengths[row : row + 1], *cut[1:])
        np.testing.assert_allclose(alone[0], whole[row], atol=1e-6)


@pytest.mark.parametrize("system", small.LSTMS)
def test_sentences_without_words(system):
    model, inputs = make(system)
    inputs[0][:, 3], inputs[1][:, 3] = 0, 0
    expected = model(*inputs, context=EVALUATION).logits[0].softmax(-1).detach()
    np.testing.assert_allclose(run(exported(model), model, *of_seed(inputs))[0], expected, atol=1e-5)


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


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_what_is_read_beside_a_sentence_does_not_matter(precision):
    model, inputs = make(keys="tied", chains=2, mention_term=True)
    session, (tokens, lengths) = exported(model, precision=precision), of_seed(inputs)
    whole, gates, _ = run(session, model, tokens, lengths)
    for pair in (slice(first, first + 2) for first in range(3)):
        some, some_gates, _ = run(session, model, tokens[pair], lengths[pair])
        np.testing.assert_array_equal(some, whole[pair])
        np.testing.assert_array_equal(some_gates, gates[pair])


@pytest.mark.parametrize("slope", [0.3, 1.0, 1.7])
def test_slopes_on_both_sides_of_one(slope):
    model, inputs = make()
    with torch.no_grad():
        model.slope.copy_(slope + 0.5 * torch.randn(model.slope.shape, generator=torch.Generator().manual_seed(1)))
        if slope == 0.3:
            model.slope.clamp_(max=1)
    expected = model(*inputs, context=EVALUATION).logits[0].softmax(-1).detach()
    np.testing.assert_allclose(run(exported(model), model, *of_seed(inputs))[0], expected, atol=1e-5)
