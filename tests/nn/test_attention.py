import numpy as np
import torch

import slow_lstm
from tabsa.nn.attention import (
    live_words,
    mean_over,
    mentions,
    mentions_or_all,
    sentence_attention,
    share,
    target_attention,
)


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_share_is_a_softmax_over_what_is_there():
    scores = torch.tensor([[1.0, 2.0, 3.0], [800.0, -800.0, 5.0], [1.0, 2.0, 3.0]], requires_grad=True)
    where = torch.tensor([[True, False, True], [True, True, True], [False, False, False]])
    shares = share(scores, where)
    np.testing.assert_allclose(shares[0].detach(), [1 / (1 + np.e**2), 0, 1 / (1 + np.e**-2)], rtol=1e-6)
    assert shares[1].tolist() == [1, 0, 0]
    assert shares[2].tolist() == [0, 0, 0]
    shares.square().sum().backward()
    assert scores.grad.isfinite().all()


def test_mean_over_words():
    states = draw(1, 1, 3, 2)
    where = torch.tensor([[[[True, False, True], [False, False, False]]]])
    means = mean_over(states, where)
    torch.testing.assert_close(means[0, 0, 0], (states[0, 0, 0] + states[0, 0, 2]) / 2)
    assert not means[0, 0, 1].any()


def test_a_target_without_mentions_is_everywhere():
    tokens = torch.tensor([[[5, 1, 6, 1, 2], [5, 2, 6, 0, 0], [0, 0, 0, 0, 0]]])
    live = live_words(tokens, torch.tensor([[5, 3, 0]]))
    assert live.int().tolist() == [[[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]]
    where = mentions(tokens, (1, 2))
    assert where.int().tolist() == [
        [[[0, 1, 0, 1, 0], [0, 0, 0, 0, 1]], [[0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], [[0] * 5, [0] * 5]]
    ]
    assert mentions_or_all(where, live).int().tolist() == [
        [[[0, 1, 0, 1, 0], [0, 0, 0, 0, 1]], [[1, 1, 1, 0, 0], [0, 1, 0, 0, 0]], [[0] * 5, [0] * 5]]
    ]


def test_attention_is_that_of_the_equations():
    seeds, batch, length, d, m, aspects = 2, 3, 6, 4, 5, 3
    states = draw(seeds, batch, length, d)
    w, bias = draw(seeds, d, seed=2), draw(seeds, m, seed=3)
    weights = {"state": draw(seeds, d, m, seed=4), "target": draw(seeds, d, m, seed=5)}
    weights |= {"bias": bias, "aspects": draw(seeds, m, aspects, seed=6)}
    ends = torch.tensor([[6, 4, 2], [1, 6, 3]])
    tokens = torch.tensor([[[7, 1, 2, 1, 7, 1], [2, 2, 1, 7, 1, 2], [1, 2, 7, 7, 7, 7]]] * 2)
    live = live_words(tokens, ends)
    where = mentions_or_all(mentions(tokens, (1, 2)) & live.unsqueeze(2), live)
    result = sentence_attention(states, target_attention(states, w, where), live, **weights)
    assert result.shape == (seeds, batch, 2, aspects, d)
    for seed, sentence, target in np.ndindex(seeds, batch, 2):
        end = int(ends[seed, sentence])
        places = [t for t in range(end) if tokens[seed, sentence, t] == target + 1] or range(end)
        letters = {
            "w": w[seed].numpy(),
            "W1": np.concatenate([weights["state"][seed].numpy(), weights["target"][seed].numpy()]).T,
            "b1": bias[seed].numpy(),
            "wk": weights["aspects"][seed].numpy().T,
        }
        expected = slow_lstm.attend(states[seed, sentence, :end].numpy(), places, letters)
        np.testing.assert_allclose(result[seed, sentence, target], expected, atol=1e-12)
