"""LSTM-Final, LSTM-Loc, LSTM+TA+SA and SenticLSTM: the graphs against the models."""

import numpy as np
import onnxruntime
import pytest
import torch

import lstm_factory as small
from tabsa.models.lstm.lstm_networks import LSTMFinal, SenticLSTM
from tabsa.models.lstm.lstm_onnx import lstm
from tabsa.nn.context import EVALUATION

EVERY = pytest.mark.parametrize("system", small.SYSTEMS)


def make(system, targets=(1, 2)):
    return small.moved(small.make(system, targets=targets)).float()


def exported(model, seed, temperature=1.0, **options):
    weights = {name: tensor[seed].detach().numpy() for name, tensor in model.named_parameters()}
    count = len(model.targets)
    own = {"concepts": model.concept_vectors.numpy()} if isinstance(model, SenticLSTM) else {}
    proto = lstm(weights, count, temperature, last_states=type(model) is LSTMFinal, **own, **options)
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
@EVERY
def test_the_graph_answers_as_the_model(system, targets):
    model = make(system, targets)
    inputs = small.batch(system)  # one sentence mentions no target, and all but the longest are padded
    expected = model(*inputs, context=EVALUATION).logits.softmax(-1).detach().numpy()
    for seed in range(2):
        probabilities = run(exported(model, seed), model, *(value[seed].numpy() for value in inputs))
        np.testing.assert_allclose(probabilities, expected[seed], atol=1e-5)


@EVERY
def test_batch_and_length_are_dynamic(system):
    model = make(system)
    session = exported(model, 0)
    tokens, lengths, *concepts = (value[0].numpy() for value in small.batch(system))
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
    tokens, lengths, *concepts = small.batch(system)
    lengths[:, 3], tokens[:, 3] = 0, 0
    expected = model(tokens, lengths, *concepts, context=EVALUATION).logits[0].softmax(-1).detach()
    found = run(exported(model, 0), model, *(value[0].numpy() for value in (tokens, lengths, *concepts)))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@EVERY
def test_temperature_divides_the_logits(system):
    model = make(system)
    inputs = [value[0].numpy() for value in small.batch(system)]
    cold = run(exported(model, 0), model, *inputs)
    warm = run(exported(model, 0, temperature=2.0), model, *inputs)
    np.testing.assert_allclose(warm, np.sqrt(cold) / np.sqrt(cold).sum(-1, keepdims=True), atol=1e-6)


@EVERY
def test_constants_stored_in_half_precision_give_nearly_the_same(system):
    model = make(system)
    inputs = [value[0].numpy() for value in small.batch(system)]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    full, half = (run(exported(model, 0, half=half), model, *inputs) for half in (False, True))
    np.testing.assert_allclose(half, full, atol=2e-3)
