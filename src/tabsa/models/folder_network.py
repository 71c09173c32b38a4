"""A model folder's network in PyTorch, as training had it: to go on from, to compare a graph with, or to be run itself.

The LSTM baselines have no graph, nor has a network whose graph would compute something else, such as one with a memory
cell of its own: `NetworkSession` runs these, behind the few methods of an onnxruntime session that the engine calls.
"""

import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.target_words import aspect_matrix, target_word
from tabsa.errors import ConfigError, ModelError
from tabsa.models.base import Model, Vocabulary
from tabsa.models.registry import system_of
from tabsa.nn.context import EVALUATION


def load_model(folder: ModelFolder, words: NDArray[np.float32], targets: tuple[int, ...]) -> Model:
    """Load the folder's model as a network that reads rows of `words`; one seed."""
    config, system = folder.config, system_of(folder)
    concepts = None if folder.concepts is None else torch.from_numpy(folder.concepts.matrix)
    aspects = torch.from_numpy(aspect_matrix(config.aspects, folder.vectors))
    vocabulary = Vocabulary(torch.from_numpy(words), targets, aspects, len(config.labels), concepts)
    try:
        with torch.device("meta"):  # so that sizes from a stranger take no memory before the weights are there
            model: Model = system.network_class()(system.read_options(folder), vocabulary, (0,))
        model.load_state_dict({name: torch.tensor(array)[None] for name, array in folder.weights.items()}, assign=True)
    except ConfigError as e:  # of options that do not go together
        raise ModelError(f"{folder.path / 'config.json'}: {e}") from e
    except RuntimeError as e:
        raise ModelError(f"{folder.path}: the weights do not fit config.json ({' '.join(str(e).split())})") from e
    return model


class NetworkSession:
    """The network of a folder with the inputs and outputs of its graph, `slots` in place of `neighbours`."""

    def __init__(self, folder: ModelFolder) -> None:
        self.folder, self.system, self.lock = folder, system_of(folder), threading.Lock()
        targets = lookup([target_word(slot) for slot in range(folder.config.targets)], folder.vectors).matrix
        # Padding, the targets, and behind these the words of a batch.
        self.first = np.concatenate([np.zeros_like(targets[:1]), targets])
        self.model = load_model(folder, self.first, tuple(range(1, len(self.first)))).eval()

    def get_inputs(self) -> list[SimpleNamespace]:
        """Name what is read."""
        names = ("words", "lengths", "slots", *(["concepts"] if self.system.concepts else []))
        return [SimpleNamespace(name=name) for name in names]

    def get_outputs(self) -> list[SimpleNamespace]:
        """Name what is answered."""
        names = ("probabilities", *(["gates", "attention"] if self.system.gates else []))
        return [SimpleNamespace(name=name) for name in names]

    def run(self, names: Sequence[str], inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Answer a batch."""
        words, slots, config = inputs["words"], inputs["slots"], self.folder.config
        rows = np.arange(slots.size).reshape(slots.shape) + len(self.first)
        tokens = np.where(slots >= 0, slots + 1, rows)
        tokens[np.arange(slots.shape[1]) >= inputs["lengths"][:, None]] = 0
        read = [torch.from_numpy(tokens), torch.from_numpy(inputs["lengths"])]
        read += [torch.from_numpy(inputs["concepts"])] if "concepts" in inputs else []
        with self.lock, torch.inference_mode():
            self.model.words = torch.from_numpy(np.concatenate([self.first, words.reshape(-1, words.shape[2])]))
            answer = self.model(*(tensor.unsqueeze(0) for tensor in read), context=EVALUATION)
            logits = answer.logits[0] / config.temperature
            logits = logits + torch.tensor(config.bias) if config.bias else logits
            found = {"probabilities": logits.softmax(-1)}
            if answer.gates is not None and answer.attention is not None:
                found |= {"gates": answer.gates[0].transpose(0, 1), "attention": answer.attention[0]}
        return [found[name].numpy() for name in names]
