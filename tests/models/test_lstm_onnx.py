"""LSTM-Final, LSTM-Loc, LSTM+TA+SA and SenticLSTM: the graphs against the models."""

import numpy as np
import onnxruntime
import pytest
import torch

import lstm_factory as small
from tabsa.models.lstm.lstm_networks import (
    LSTMTASA,
    LSTMConfig,
    LSTMFinal,
    LSTMLoc,
    LSTMTASAConfig,
    SenticLSTM,
    SenticLSTMConfig,
)
from tabsa.models.lstm.lstm_onnx import lstm, sentic_lstm
from tabsa.nn.context import EVALUATION

CONFIGS = {
    LSTMFinal: lambda **options: LSTMConfig(units=4, **options),
    LSTMLoc: lambda **options: LSTMConfig(units=4, **options),
    LSTMTASA: lambda **options: LSTMTASAConfig(units=4, attention=5, **options),
    SenticLSTM: lambda **options: SenticLSTMConfig(units=4, attention=5, **options),
}
KINDS = {LSTMFinal: "lstm-final", LSTMLoc: "lstm-loc", LSTMTASA: "lstm-ta-sa"}
EVERY = pytest.mark.parametrize("system", CONFIGS)


def make(system, targets=(1, 2), **options):
    concepts = 4 if system is SenticLSTM else 0
    return small.moved(system(CONFIGS[system](**options), small.vocabulary(targets, concepts), (3, 4))).float()


def batch(system):
    return small.batch(concepts=system is SenticLSTM)


def exported(model, seed, temperature=1.0, **options):
    weights = {name: tensor[seed].detach().numpy() for name, tensor in model.named_parameters()}
    count = len(model.targets)
    if isinstance(model, SenticLSTM):
        proto = sentic_lstm(weights, model.concept_vectors.numpy(), count, temperature, **options)
    else:
        proto = lstm(KINDS[type(model)], weights, count, temperature, **options)
    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session, model, tokens, lengths, concepts=None):
    slots = np.full(tokens.shape, -1)
    for slot, row in enumerate(model.targets):
        slots[tokens == row] = slot
    inputs = {"words": model.words.numpy()[tokens], "slots": slots, "lengths": lengths}
    if concepts is not None:
        inputs["concepts"] = concepts
    (probabilities,) = session.run(None, inputs)
    return probabilities


@pytest.mark.parametrize("targets", [(1, 2), (1,), (1, 2, 3)])
@pytest.mark.parametrize(
    ("system", "options"),
    [
        *((system, {}) for system in CONFIGS),
        *((system, {"layers": 3}) for system in (LSTMFinal, LSTMLoc, LSTMTASA)),
    ],
)
def test_the_graph_answers_as_the_model(system, options, targets):
    model = make(system, targets, **options)
    inputs = batch(system)  # one sentence mentions no target, and all but the longest are padded
    expected = model(*inputs, context=EVALUATION).logits.softmax(-1).detach().numpy()
    for seed in range(2):
        probabilities = run(exported(model, seed), model, *(value[seed].numpy() for value in inputs))
        np.testing.assert_allclose(probabilities, expected[seed], atol=1e-5)


@EVERY
def test_batch_and_length_are_dynamic(system):
    model = make(system)
    session = exported(model, 0)
    tokens, lengths, *concepts = (value[0].numpy() for value in batch(system))
    whole = run(session, model, tokens, lengths, *concepts)
    nothing = np.zeros((len(tokens), 4), np.int64)
    longer = run(session, model, *(np.hstack([tokens, nothing]), lengths), *(np.hstack([c, nothing]) for c in concepts))
    np.testing.assert_allclose(longer, whole, atol=1e-6)
    for row, length in enumerate(lengths):
        cut = (tokens[row : row + 1, :length], lengths[row : row + 1], *(c[row : row + 1, :length] for c in concepts))
        np.testing.assert_allclose(run(session, model, *cut)[0], whole[row], atol=1e-6)


@EVERY
def test_sentences_without_words(system):
    model = make(system)
    tokens, lengths, *concepts = batch(system)
    lengths[:, 3], tokens[:, 3] = 0, 0
    expected = model(tokens, lengths, *concepts, context=EVALUATION).logits[0].softmax(-1).detach()
    found = run(exported(model, 0), model, *(value[0].numpy() for value in (tokens, lengths, *concepts)))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@EVERY
def test_temperature_divides_the_logits(system):
    model = make(system)
    inputs = [value[0].numpy() for value in batch(system)]
    cold = run(exported(model, 0), model, *inputs)
    warm = run(exported(model, 0, temperature=2.0), model, *inputs)
    np.testing.assert_allclose(warm, np.sqrt(cold) / np.sqrt(cold).sum(-1, keepdims=True), atol=1e-6)


@EVERY
def test_constants_stored_in_half_precision_give_nearly_the_same(system):
    model = make(system)
    inputs = [value[0].numpy() for value in batch(system)]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    full, half = (run(exported(model, 0, half=half), model, *inputs) for half in (False, True))
    np.testing.assert_allclose(half, full, atol=2e-3)
