"""Small EntNets of every variant, and sentences for them."""

import torch

from tabsa.models.base import Vocabulary
from tabsa.models.entnet.entnet_config import EntNetConfig
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNet

SIZE = 6


def vocabulary(words=12, aspects=3, labels=3, targets=(1, 2)):
    generator = torch.Generator().manual_seed(5)
    table = torch.randn(words, SIZE, generator=generator, dtype=torch.float64)
    table[0] = 0
    return Vocabulary(table, targets, torch.randn(aspects, SIZE, generator=generator, dtype=torch.float64), labels)


def make(delay=True, seeds=(3, 4), targets=(1, 2), **switches):
    model_class = DelayedEntNet if delay else EntNet
    model = model_class(EntNetConfig(**switches), vocabulary(targets=targets), seeds).double()
    with torch.no_grad():  # away from the constants some parameters start at
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(9))
    return model.eval()


def batch(seeds=2, size=4, length=7, words=12):
    generator = torch.Generator().manual_seed(6)
    lengths = torch.randint(1, length + 1, (seeds, size), generator=generator)
    tokens = torch.randint(1, words, (seeds, size, length), generator=generator)
    tokens[:, 0, 1], tokens[:, 1, 0] = 2, 1
    tokens[torch.arange(length) >= lengths[..., None]] = 0
    return tokens, lengths


VARIANTS = [
    {},
    {"mention_term": True},
    {"mention_term": True, "keys": "tied", "chains": 2},
    {"delay": False},
    {"keys": "free"},
    {"keys": "tied", "chains": 2},
    {"directions": "forward"},
    {"attention": "target"},
    {"attention_scale": 0.3},
    {"normalise": False},
    {"share_prelu": True, "candidate_bias": True},
]
