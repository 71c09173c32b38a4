"""What the tests of the LSTM baselines share: a small vocabulary, a small batch, and what must hold of each."""

import torch

from tabsa.models.base import Vocabulary
from tabsa.nn.context import EVALUATION, Context

SIZE, WORDS, ASPECTS, LABELS = 6, 12, 3, 3


def vocabulary(targets=(1, 2), concepts=0):
    generator = torch.Generator().manual_seed(5)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    table = draw(WORDS, SIZE)
    table[0] = 0
    known = draw(9, concepts) if concepts else None
    if known is not None:
        known[0] = 0
    return Vocabulary(table, targets, draw(ASPECTS, SIZE), LABELS, known)


def moved(model):
    """The model in float64, away from the constants that some parameters start at."""
    model = model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(9))
    return model


def batch(seeds=2, size=5, length=7, concepts=False):
    """Random sentences of rows 1 to 11, among them one with no target and one with a single word."""
    generator = torch.Generator().manual_seed(6)
    lengths = torch.randint(2, length + 1, (seeds, size), generator=generator)
    lengths[:, 0] = 1
    tokens = torch.randint(1, WORDS, (seeds, size, length), generator=generator)
    tokens[:, 1] = tokens[:, 1].clamp(min=3)
    tokens[:, 2, :2] = torch.tensor([1, 2])
    tokens[torch.arange(length) >= lengths[..., None]] = 0
    if not concepts:
        return tokens, lengths
    rows = torch.randint(0, 9, tokens.shape, generator=generator)
    rows[tokens == 0] = 0
    return tokens, lengths, rows


def check_padding_order_and_size(model, tokens, lengths, *concepts):
    whole = model(tokens, lengths, *concepts, context=EVALUATION).logits
    nothing = torch.zeros(*tokens.shape[:2], 5, dtype=torch.long)
    longer = [torch.cat([x, nothing], 2) for x in (tokens, *concepts)]
    padded = model(longer[0], lengths, *longer[1:], context=EVALUATION)
    torch.testing.assert_close(padded.logits, whole, atol=1e-12, rtol=0)
    order = [2, 0, 4, 3, 1]
    shuffled = model(tokens[:, order], lengths[:, order], *(c[:, order] for c in concepts), context=EVALUATION)
    torch.testing.assert_close(shuffled.logits, whole[:, order], atol=1e-12, rtol=0)
    alone = model(tokens[:, 1:2], lengths[:, 1:2], *(c[:, 1:2] for c in concepts), context=EVALUATION)
    torch.testing.assert_close(alone.logits, whole[:, 1:2], atol=1e-12, rtol=0)


def check_seeds_are_apart(make, tokens, lengths, *concepts):
    """A seed starts, reads with dropout and learns the same alone and in a group."""
    group, alone = make((1, 2, 3)).double(), make((2,)).double()
    longest = int(lengths[1].max())
    in_group, by_itself = (
        Context(training=True, generators=[torch.Generator().manual_seed(seed) for seed in seeds])
        for seeds in ((1, 2, 3), (2,))
    )
    of_group = group(tokens, lengths, *concepts, context=in_group).logits
    cut = [x[1:2, :, :longest] for x in (tokens, *concepts)]
    of_alone = alone(cut[0], lengths[1:2], *cut[1:], context=by_itself).logits
    torch.testing.assert_close(of_group[1], of_alone[0], atol=1e-12, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    for (name, in_group), by_itself in zip(group.named_parameters(), alone.parameters(), strict=True):
        assert torch.equal(in_group[1], by_itself[0]), name
        torch.testing.assert_close(in_group.grad[1], by_itself.grad[0], atol=1e-12, rtol=0)
        assert in_group.grad[1].any(), name
    twice = [alone(cut[0], lengths[1:2], *cut[1:], context=EVALUATION).logits for _ in range(2)]
    torch.testing.assert_close(*twice, atol=0, rtol=0)


def check_no_words(model, *concepts):
    """A batch of empty sentences gives finite answers and gradients."""
    for length in (0, 3):
        tokens = torch.zeros(2, 2, length, dtype=torch.long)
        logits = model(
            tokens, torch.zeros(2, 2, dtype=torch.long), *(tokens for _ in concepts), context=EVALUATION
        ).logits
        assert logits.shape == (2, 2, 2, ASPECTS, LABELS)
        assert logits.isfinite().all()
        logits.sum().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
