"""The systems, by name."""

from tabsa.models.base import Answer, Model, Vocabulary
from tabsa.models.delayed_entnet import DelayedEntNet
from tabsa.models.entnet import EntNet

MODELS: dict[str, type[EntNet]] = {model.name: model for model in (EntNet, DelayedEntNet)}

__all__ = ["MODELS", "Answer", "Model", "Vocabulary"]
