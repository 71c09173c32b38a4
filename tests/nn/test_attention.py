import numpy as np
import torch

from tabsa.nn.attention import live_words, mentions, mentions_or_all, share


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
