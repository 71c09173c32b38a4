"""The paper's equations, one number at a time: plain NumPy on one sentence, one chain, one direction."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read(sentence, key, p, *, delay, normalise=True, nearby=None):
    """Read a sentence (T, d) into the chain with `key` (d,); returns its memory and the gate at each word.

    `p` maps the paper's letters to arrays: U, V, W (column vectors: U @ h), slope, b, and for the delay the GRU's
    Wr, Wz, Wn (from the candidate), Ur, Uz, Un (from the delay), br, bz, bn, and v.
    """
    h, d, gates = key.copy(), np.zeros_like(key), []
    for i, w in enumerate(sentence):
        a = p["U"] @ h + p["V"] @ key + p["W"] @ w + p["b"]
        candidate = np.where(a > 0, a, p["slope"] * a)
        past = 0.0
        if delay:
            r = sigmoid(p["Wr"] @ candidate + p["Ur"] @ d + p["br"])
            z = sigmoid(p["Wz"] @ candidate + p["Uz"] @ d + p["bz"])
            n = np.tanh(p["Wn"] @ candidate + p["Un"] @ (r * d) + p["bn"])
            d = z * d + (1 - z) * n
            past = sum(p["v"] * d)
        g = sigmoid(sum(w * h) + sum(w * key) + past + (0.0 if nearby is None else nearby[i]))
        h = h + g * candidate
        norm = np.sqrt(sum(h * h))
        if normalise and norm > 0:
            h = h / norm
        gates.append(g)
    return h, np.array(gates)
