"""Figures as JSON and as people read them."""

import math
from typing import Any


def without_nan(value: Any) -> Any:
    """The same with None for each NaN, and lists for tuples."""
    match value:
        case float() if math.isnan(value):
            return None
        case dict():
            return {key: without_nan(item) for key, item in value.items()}
        case tuple() | list():
            return [without_nan(item) for item in value]
    return value


def percent(fraction: float) -> str:
    """A share in percent with one decimal, a dash where it is not defined."""
    return "–" if math.isnan(fraction) else f"{100 * fraction:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    if math.isnan(difference):
        return "–"
    shown = f"{100 * difference:+.1f}"
    return "0.0" if float(shown) == 0 else shown.replace("-", "−")


def p_value(p: float) -> str:
    """A p-value with three decimals, without the zero before the point."""
    return "–" if math.isnan(p) else f"{p:.3f}".removeprefix("0")
