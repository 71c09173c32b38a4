"""Averages over the last while."""

import math


def moved(average: float, value: float, seconds: float, over: float) -> float:
    """An exponential moving average after the value was so for some seconds; `over` is its time constant."""
    return value + (average - value) * math.exp(-max(0.0, seconds) / over)
