"""Every system but Delayed EntNet, from a folder of random weights to opinions, against the computation of training."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, write_folder
from tabsa.embeddings.concepts import ConceptTable
from tabsa.embeddings.vectors import hashed_vectors, lookup
from tabsa.encoding.arrays import PADDING, combine, count_words, encode
from tabsa.encoding.target_words import target_word
from tabsa.errors import ModelError
from tabsa.evaluation.calibration import Calibration
from tabsa.inference.predictor import load
from tabsa.models.base import Vocabulary
from tabsa.models.export import export
from tabsa.models.folder_network import load_model
from tabsa.models.registry import SYSTEMS
from tabsa.schema import Dataset, Example
from tabsa.text.targets import TargetFinder
from tabsa.training.word_training import reading_probabilities
from unchecked import unchecked

ASPECTS = ("general", "price", "transit-location")
LABELS = ("none", "positive", "negative")
WORDS = ("<target1>", "<target2>", "the", "is", "and", "but", "not", "cheap", "dear", "safe", "far", "nice", "price")
CONCEPTS = ConceptTable(("", "cheap", "not_nice", "safe"), np.eye(4, 3, -1, dtype=np.float32))
TEXTS = (
    "Camden is nice, and Camden's rents aren't dear, but Brixton is not nice.",
    "A safe part of town:\nCamden.",
    "It is not nice, cheap or safe in Brixton; it's far. Camden Town is, though.",
    "Acton is far from Brixton and from Camden.",
)
NAMES = ("Brixton", "Camden")
SMALL = {"units": 4, "attention": 5, "chains": 3}
KINDS = ("lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm", "entnet")


def make(kind: str, path: Path) -> ModelFolder:
    """A folder of random weights of a few dimensions, with its graph where it has one."""
    system = SYSTEMS[kind]
    fields = {field.name: field.type for field in dataclasses.fields(system.config_class)}
    sizes = {name: size for name, size in SMALL.items() if name in fields and fields[name] is int}
    options = system.config_class(**sizes)
    torch.manual_seed(2)
    vocabulary = Vocabulary(torch.randn(2, 12), (0, 1), torch.zeros(len(ASPECTS), 12), 3, torch.randn(4, 3))
    model = system.network_class()(options, vocabulary, (7,))
    weights = {name: (tensor[0] + 0.3 * torch.randn(tensor[0].shape)) for name, tensor in model.named_parameters()}
    config = ModelConfig(kind, dataclasses.asdict(options), ASPECTS, LABELS, 2, 50, temperature=1.3)
    concepts = CONCEPTS if system.concepts else None
    arrays = {name: tensor.detach().numpy() for name, tensor in weights.items()}
    folder = write_folder(path, config, arrays, hashed_vectors(WORDS, 12), {}, "# tiny\n", concepts)
    if system.graph:
        export(folder)
    return folder


def network_probabilities(folder: ModelFolder, dataset: Dataset) -> np.ndarray:
    """The folder's probabilities for a dataset of its own labels, (groups, aspects, labels), by PyTorch."""
    config = folder.config
    restricted = dataclasses.replace(dataset, aspects=config.aspects, labels=config.labels)
    names = [PADDING, *count_words([restricted], targets=config.targets, max_length=config.max_length)]
    rows = {word: row for row, word in enumerate(names)}
    matrix = lookup(names, folder.vectors).matrix
    matrix[0] = 0
    model = load_model(folder, matrix, tuple(rows[target_word(slot)] for slot in range(config.targets)))
    data = encode(restricted, rows, targets=config.targets, max_length=config.max_length, concepts=folder.concepts)
    answers = combine(data, Calibration(config.temperature, config.bias).apply(reading_probabilities(model, data)[0]))
    return answers[:, [config.aspects.index(aspect) for aspect in dataset.aspects]]


def dataset(texts: tuple[str, ...], names: tuple[str, ...] = NAMES) -> Dataset:
    """The texts with the targets that they mention, in the order of the names, which is not that of the mentions."""
    examples = []
    for number, text in enumerate(texts):
        mentioned = [target for target in TargetFinder(names).find(text) if target.mentions]
        examples.append(Example(str(number), text, tuple(mentioned)))
    return Dataset("texts", "all", ASPECTS, LABELS, examples)


def predicted(folder: ModelFolder, data: Dataset, names: tuple[str, ...] = NAMES) -> list[list[list[float]]]:
    """What the Predictor says of each group, (groups, aspects, labels)."""
    answers = load(folder.path, threads=1).predict_many([example.text for example in data.examples], names)
    tables = []
    for example, answer in zip(data.examples, answers, strict=True):
        for target in example.targets:
            own = {opinion.aspect: opinion for opinion in answer.opinions if opinion.target == target.name}
            tables.append([list(own[aspect].probabilities.values()) for aspect in data.aspects])
    return tables


def test_every_system_of_words_is_tested() -> None:
    systems = [system for system in SYSTEMS.values() if system.neural and not system.open_aspects]
    assert {system.name for system in systems} == {*KINDS, "delayed-entnet"}
    assert all(bool(system.graph) == system.gates for system in systems)


@pytest.mark.parametrize("kind", KINDS)
def test_a_neural_system_predicts_as_in_training(kind: str, tmp_path: Path) -> None:
    folder = make(kind, tmp_path)
    data = dataset(TEXTS)
    expected = network_probabilities(folder, data)
    assert expected.std(0).max() > 0.01  # the texts are told apart
    np.testing.assert_allclose(predicted(folder, data), expected, atol=1e-5)
    for text in TEXTS:
        alone = dataset((text,))
        np.testing.assert_allclose(predicted(folder, alone), network_probabilities(folder, alone), atol=1e-5)


def test_a_model_that_reads_concepts_needs_a_folder_that_has_them(tmp_path: Path) -> None:
    folder = make("sentic-lstm", tmp_path)
    (unchecked(folder.path) / "concepts.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no concepts\.safetensors, without which a sentic-lstm cannot read"):
        load(folder.path)


@pytest.mark.parametrize("size", [10**9, 10**18])
def test_sizes_of_a_stranger_take_no_memory(tmp_path: Path, size: int) -> None:
    folder = make("lstm-ta-sa", tmp_path)
    config = unchecked(folder.path) / "config.json"
    config.write_text(config.read_text().replace('"units": 4', f'"units": {size}'))
    with pytest.raises(ModelError, match=r"the weights do not fit config\.json") as caught:
        load(folder.path).predict(TEXTS[0], NAMES)
    assert "\n" not in str(caught.value)
