"""The systems, by name."""

from tabsa.models.base import Answer, Model, ModelClass, Vocabulary
from tabsa.models.delayed_entnet import DelayedEntNet
from tabsa.models.entnet import EntNet
from tabsa.models.lstm_final import LSTMFinal
from tabsa.models.lstm_loc import LSTMLoc
from tabsa.models.lstm_ta_sa import LSTMTASA
from tabsa.models.sentic_lstm import SenticLSTM

_ALL: tuple[ModelClass, ...] = (LSTMFinal, LSTMLoc, LSTMTASA, SenticLSTM, EntNet, DelayedEntNet)
MODELS: dict[str, ModelClass] = {model.name: model for model in _ALL}

__all__ = ["MODELS", "Answer", "Model", "Vocabulary"]
