"""What the model in the box makes of texts that may be alike."""

import numpy as np

from tabsa.inference.predictor import load
from tabsa.inference.suggesting import _vectors


def test_a_reader_tells_texts_apart_by_what_they_say() -> None:
    given = [
        "The Pixel costs more than I can afford.",
        "My phone was far beyond what anybody would pay.",
        "The Pixel takes blurry photos at night.",
        "Its pictures in the dark are out of focus.",
        "The Pixel needs a charger by noon.",
        "I had to plug it in three times today.",
    ]
    vectors = _vectors(given, load("reader", threads=1))
    near = (vectors @ vectors.T - 2 * np.eye(len(given))).argmax(1)
    assert near.tolist() == [1, 0, 3, 2, 5, 4]
