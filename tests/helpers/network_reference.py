"""A model folder's answers as the network of training computes them, to compare the graphs with."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.arrays import PADDING, combine, count_words, encode
from tabsa.encoding.target_words import target_word
from tabsa.evaluation.calibration import scaled
from tabsa.models.folder_network import load_model
from tabsa.schema import Dataset
from tabsa.training.word_training import reading_probabilities


def network_probabilities(folder: ModelFolder, dataset: Dataset) -> NDArray[np.float64]:
    """The folder's probabilities for a dataset of its own labels, (groups, aspects, labels), by PyTorch."""
    config = folder.config
    restricted = dataclasses.replace(dataset, aspects=config.aspects, labels=config.labels)
    names = [PADDING, *count_words([restricted], targets=config.targets, max_length=config.max_length)]
    rows = {word: row for row, word in enumerate(names)}
    matrix = lookup(names, folder.vectors).matrix
    matrix[0] = 0
    model = load_model(folder, matrix, tuple(rows[target_word(slot)] for slot in range(config.targets)))
    data = encode(restricted, rows, targets=config.targets, max_length=config.max_length, concepts=folder.concepts)
    answers = combine(data, scaled(reading_probabilities(model, data)[0], config.temperature, config.bias))
    return answers[:, [config.aspects.index(aspect) for aspect in dataset.aspects]]
