"""The paper's equations, one number at a time: plain NumPy on one sentence, one chain, one direction."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read(sentence, key, p, *, delay, normalise=True, vector_gate=False, nearby=None):
    """Read a sentence (T, d) into the chain with `key` (d,); returns its memory and the gate at each word.

    `p` maps the paper's letters to arrays: U, V, W (column vectors: U @ h), slope, b, and for the delay the GRU's
    Wr, Wz, Wn (from the candidate), Ur, Uz, Un (from the delay), br, bz, bn, and v.
    """
    h, d, gates = key.copy(), np.zeros_like(key), []
    for i, w in enumerate(sentence):
        a = p["U"] @ h + p["V"] @ key + p["W"] @ w + p["b"]
        candidate = np.where(a > 0, a, p["slope"] * a)
        content, location = w * h, w * key
        past = np.zeros_like(h)
        if delay:
            r = sigmoid(p["Wr"] @ candidate + p["Ur"] @ d + p["br"])
            z = sigmoid(p["Wz"] @ candidate + p["Uz"] @ d + p["bz"])
            n = np.tanh(p["Wn"] @ candidate + p["Un"] @ (r * d) + p["bn"])
            d = z * d + (1 - z) * n
            past = p["v"] * d
        extra = 0.0 if nearby is None else nearby[i]
        g = sigmoid(extra + (content + location + past if vector_gate else sum(content) + sum(location) + sum(past)))
        h = h + g * candidate
        norm = np.sqrt(sum(h * h))
        if normalise and norm > 0:
            h = h / norm
        gates.append(np.mean(g))
    return h, np.array(gates)
