"""A small model with open aspects for the tests of plugins."""

import pytest

from open_model import open_model
from tabsa.inference.predictor import Predictor, load

__all__ = ["open_model"]  # a fixture


@pytest.fixture(scope="module")
def model(open_model) -> Predictor:
    return load(open_model)
