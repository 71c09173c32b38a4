"""The equations of the LSTM layers and attentions, one number at a time: plain NumPy on one sentence, one seed.

Matrices act on column vectors. Gates are named by the letters of the layers' docstrings.
"""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(scores):
    weights = np.exp(np.array(scores) - max(scores))
    return weights / weights.sum()


def lstm(sentence, p):
    """States (T, units) of one direction over a sentence (T, d); `p` maps Wi, Ui, bi, ... of i, f, g, o to arrays."""
    units = len(p["bi"])
    h, c, states = np.zeros(units), np.zeros(units), []
    for x in sentence:
        a = {gate: p[f"W{gate}"] @ x + p[f"U{gate}"] @ h + p[f"b{gate}"] for gate in "ifgo"}
        c = sigmoid(a["f"]) * c + sigmoid(a["i"]) * np.tanh(a["g"])
        h = sigmoid(a["o"]) * np.tanh(c)
        states.append(h)
    return np.array(states).reshape(-1, units)


def sentic(sentence, concepts, p):
    """States (T, units) of the sentic LSTM; `p` has gates i, f, o, k, g, the concepts' Ci, Cf, Co, Ck, and Cm."""
    units = len(p["bi"])
    h, c, states = np.zeros(units), np.zeros(units), []
    for x, mu in zip(sentence, concepts, strict=True):
        i, f, o, k = (sigmoid(p[f"W{g}"] @ x + p[f"U{g}"] @ h + p[f"C{g}"] @ mu + p[f"b{g}"]) for g in "ifok")
        g = np.tanh(p["Wg"] @ x + p["Ug"] @ h + p["bg"])
        c = f * c + i * g
        h = o * np.tanh(c) + k * np.tanh(p["Cm"] @ mu)
        states.append(h)
    return np.array(states).reshape(-1, units)


def both_ways(read, *sequences):
    """Forward and backward states side by side; `read` takes the direction and the sequences."""
    forward = read(0, *sequences)
    backward = read(1, *(sequence[::-1] for sequence in sequences))[::-1]
    return np.concatenate([forward, backward], axis=1)


def lstm_letters(layer, seed, way):
    """One direction's weights of a BiLSTM under their letters."""
    letters = {}
    for n, gate in enumerate("ifgo"):
        letters[f"W{gate}"] = layer.inputs[seed, way, n].detach().numpy().T
        letters[f"U{gate}"] = layer.states[seed, way, n].detach().numpy().T
        letters[f"b{gate}"] = layer.bias[seed, way, n].detach().numpy()
    return letters


def sentic_letters(layer, seed, way):
    """One direction's weights of a SenticBiLSTM under their letters."""
    letters = {}
    for n, (gate, of_concept) in enumerate(zip("ifokg", "ifokm", strict=True)):
        letters[f"W{gate}"] = layer.inputs[seed, way, n].detach().numpy().T
        letters[f"U{gate}"] = layer.states[seed, way, n].detach().numpy().T
        letters[f"C{of_concept}"] = layer.concepts[seed, way, n].detach().numpy().T
        letters[f"b{gate}"] = layer.bias[seed, way, n].detach().numpy()
    return letters


def attend(states, places, p):
    """Target attention over the words at `places`, then sentence attention: a vector for each aspect (A, d).

    `p`: w of the target attention; W1 for [h; v], b1, and wk, a vector for each aspect.
    """
    alpha = softmax([p["w"] @ states[t] for t in places])
    v = sum(share * states[t] for share, t in zip(alpha, places, strict=True))
    result = []
    for wk in p["wk"]:
        beta = softmax([wk @ np.tanh(p["W1"] @ np.concatenate([h, v]) + p["b1"]) for h in states])
        result.append(sum(share * h for share, h in zip(beta, states, strict=True)))
    return np.array(result)
