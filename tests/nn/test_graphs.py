"""The parts of captured updates that need no GPU; `benchmarks/gpu_training.py` runs the rest on one."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tabsa.nn.fast.graphs import Batch, _allowing


def batch(lengths, words):
    lengths = torch.tensor(lengths).unsqueeze(0)
    tokens = torch.arange(lengths.shape[1] * words).view(1, -1, words)
    labels = torch.zeros(1, lengths.shape[1], 2, 3, dtype=torch.long)
    return Batch(tokens, lengths, labels, None, (lengths.shape[1],) * words)


def test_padding_adds_words_and_nothing_else():
    own = batch([3, 1], 3)
    padded = own.padded(8)
    assert padded.tokens.shape == (1, 2, 8)
    assert torch.equal(padded.tokens[..., :3], own.tokens)
    assert not padded.tokens[..., 3:].any()
    assert padded.live == own.live
    assert padded.lengths is own.lengths


@given(
    st.lists(st.integers(1, 64), min_size=1, max_size=40),
    st.lists(st.integers(0, 64), max_size=40),
    st.floats(0, 4),
)
def test_what_is_allowed_for_is_enough_and_falls(live, before, room):
    live, before = sorted(live, reverse=True), sorted(before, reverse=True)
    length = max(len(live), len(before))
    allowed = _allowing(live, length, 64, before, room)
    assert len(allowed) >= len(live)
    assert list(allowed) == sorted(allowed, reverse=True)
    assert all(0 < count <= 64 for count in allowed)
    for needed in (live, [count for count in before if count]):
        assert all(have >= need for have, need in zip(allowed, needed, strict=False))
