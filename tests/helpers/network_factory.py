"""Small EntNets of every variant and small LSTM baselines, and sentences for them."""

import torch

from reader_factory import moved as moved
from tabsa.models.base import Vocabulary
from tabsa.models.entnet.entnet_config import EntNetConfig
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNet
from tabsa.models.lstm.lstm_config import LSTMConfig, LSTMTASAConfig, SenticLSTMConfig
from tabsa.models.lstm.lstm_networks import LSTMTASA, LSTMFinal, LSTMLoc, SenticLSTM
from tabsa.nn.context import Context

SIZE, WORDS, ASPECTS, LABELS = 6, 12, 3, 3
LSTMS = {
    LSTMFinal: LSTMConfig(units=4),
    LSTMLoc: LSTMConfig(units=4),
    LSTMTASA: LSTMTASAConfig(units=4, attention=5),
    SenticLSTM: SenticLSTMConfig(units=4, attention=5),
}
SYSTEMS = (EntNet, DelayedEntNet, *LSTMS)
VARIANTS = [
    {},
    {"mention_term": True},
    {"mention_term": True, "keys": "tied", "chains": 2},
    {"system": EntNet},
    {"keys": "free"},
    {"keys": "tied", "chains": 2},
    {"directions": "forward"},
    {"attention": "target"},
    {"attention_scale": 0.3},
    {"normalise": False},
    {"share_prelu": True, "candidate_bias": True},
]


def make(system=DelayedEntNet, seeds=(3, 4), targets=(1, 2), **switches):
    config = LSTMS.get(system) or EntNetConfig(**switches)
    return system(config, vocabulary(targets, 4 if system is SenticLSTM else 0), seeds)


def in_training(*seeds):
    return Context(training=True, generators=[torch.Generator().manual_seed(seed) for seed in seeds])


def vocabulary(targets=(1, 2), concepts=0):
    generator = torch.Generator().manual_seed(5)

    def draw(rows, size):
        return torch.randn(rows, size, generator=generator, dtype=torch.float64)

    table, known = draw(WORDS, SIZE), draw(9, concepts) if concepts else None
    for rows in (table, *([] if known is None else [known])):
        rows[0] = 0
    return Vocabulary(table, targets, draw(ASPECTS, SIZE), LABELS, known)


def batch(system=DelayedEntNet, seeds=2, size=5, length=7):
    """Random sentences of rows 1 to 11, among them one with no target and one with a single word; and concepts."""
    generator = torch.Generator().manual_seed(6)
    lengths = torch.randint(2, length + 1, (seeds, size), generator=generator)
    lengths[:, 0] = 1
    tokens = torch.randint(1, WORDS, (seeds, size, length), generator=generator)
    tokens[:, 1] = tokens[:, 1].clamp(min=3)
    tokens[:, 2, :2] = torch.tensor([1, 2])
    tokens[torch.arange(length) >= lengths[..., None]] = 0
    if system is not SenticLSTM:
        return tokens, lengths
    rows = torch.randint(0, 9, tokens.shape, generator=generator)
    rows[tokens == 0] = 0
    return tokens, lengths, rows
