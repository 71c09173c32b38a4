"""The weights that a graph is built from."""

from typing import Any

import numpy as np

from tabsa.checkpoint import ModelFolder


def biased_weights(folder: ModelFolder) -> dict[str, Any]:
    """The weights, with the calibration's bias among those of the last layer; graphs divide by the temperature."""
    weights, config = dict(folder.weights), folder.config
    if config.bias:
        own = weights.get("output_bias", np.zeros(len(config.labels), np.float32))
        weights["output_bias"] = own + np.float32(config.temperature) * np.asarray(config.bias, np.float32)
    return weights
