"""The tiny model, as a Predictor and as a choice that other processes load."""

import pytest

from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.folders import ModelChoice


@pytest.fixture(scope="module")
def predictor(tiny_model) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture(scope="module")
def model(tiny_model) -> ModelChoice:
    return ModelChoice(str(tiny_model))
