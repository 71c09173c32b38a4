"""Model folders of small readers, and what PyTorch says of the passages that their engine reads."""

from pathlib import Path

import numpy as np
import torch

from reader_factory import LABELS, make_reader, tokeniser
from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.questions import AspectTable
from tabsa.models.export import export
from tabsa.models.reader.reader_config import reader_options
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import QuestionBatch, Reader, load_weights
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.nn.context import EVALUATION

ASPECTS = ("price", "battery life", "good/bad-service")
SIZES = {"size": 32, "inner": 48, "longest": 64}


def small_reader(kind="bert", *, sizes=None, **options) -> Reader:
    """A reader of the tokeniser's words, away from the constants that some of its weights start at."""
    own = SIZES | {"vocabulary": tokeniser().get_vocab_size()} | (sizes or {})
    model = make_reader(kind, seeds=(3,), sizes=own, **options)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 0.5 if name == "output" else 0.1
            parameter += scale * torch.randn(parameter.shape, generator=generator)
    return model


def weights_of(model: Reader) -> dict[str, np.ndarray]:
    return {name: parameter.detach()[0].numpy().copy() for name, parameter in model.named_parameters()}


def config_of(model: Reader, **changes) -> ModelConfig:
    values = {
        "kind": "reader", "model": reader_options(model.config, model.encoder.shape), "aspects": ASPECTS,
        "labels": LABELS, "targets": 64, "max_length": model.encoder.shape.longest,
    }  # fmt: skip
    return ModelConfig(**values | changes)


def write_reader(
    path: Path, model: Reader, storage="float32", precisions=("float32", "int8"), **changes
) -> ModelFolder:
    """A folder of the model with its graphs; the model then has the weights as they were stored."""
    content = tokeniser().to_str(pretty=True).encode()
    folder = write_reader_folder(path, config_of(model, **changes), weights_of(model), content, {}, "# tiny\n", storage)
    for precision in precisions:
        export(folder, precision)
    load_weights(model, folder.weights)
    return folder


def torch_answers(model: Reader, engine: ReaderEngine, passages, aspects=ASPECTS) -> list[np.ndarray]:
    """The probabilities of each passage's targets and the aspects, (K, A, labels), one passage at a time."""
    table = AspectTable(engine.pieces, aspects).pieces()
    answers = []
    for passage in passages:
        ids = [engine.pieces.first, *(piece.id for piece in passage.pieces), engine.pieces.last]
        slots = [-1, *(piece.slot for piece in passage.pieces), -1]
        targets = [slot if slot in slots else -1 for slot in range(len(passage.targets)) for _ in aspects]
        asked = [*range(len(aspects))] * len(passage.targets)
        arrays = (
            [[ids]], [[len(ids)]], [[slots]], [np.maximum(table, 0)], [(table >= 0).sum(1)], [[targets]], [[asked]],
            [[[UNLABELLED] * len(asked)]],
        )  # fmt: skip
        batch = QuestionBatch(*(torch.from_numpy(np.array(array, np.int64)) for array in arrays))
        with torch.no_grad():
            logits = model(batch, context=EVALUATION).logits[0, 0]
        answers.append(torch.softmax(logits, -1).view(len(passage.targets), len(aspects), -1).numpy())
    return answers
