"""The model folder that most tests run: a Delayed EntNet of a few dimensions."""

import dataclasses
from pathlib import Path

import torch

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import write_folder
from tabsa.embeddings.vectors import hashed_vectors
from tabsa.models.base import Vocabulary
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNetConfig
from tabsa.models.export import export

WORDS = (
    "<target1>", "<target2>", "the", "is", "and", "but", "not", "cheap", "dear", "safe", "far", "nice", "price",
)  # fmt: skip


def write_tiny(path: Path) -> Path:
    """Random weights, ready to predict: shapes, not sense."""
    vectors = hashed_vectors(WORDS, 12)
    options = EntNetConfig(chains=3)
    model = DelayedEntNet(options, Vocabulary(torch.zeros(2, 12), (0, 1), torch.zeros(4, 12), 3), (7,))
    config = ModelConfig(
        kind="delayed-entnet",
        model=dataclasses.asdict(options),
        aspects=("general", "price", "safety", "transit-location"),
        labels=("none", "positive", "negative"),
        targets=2,
        max_length=50,
    )
    weights = {name: tensor[0].detach().numpy() for name, tensor in model.named_parameters()}
    folder = write_folder(path, config, weights, vectors, {}, "# tiny\n")
    export(folder)
    return folder.path
