"""`SELECT tabsa(text) FROM reviews`: the opinions in DuckDB's columns, as a function of SQL."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

import duckdb
import pyarrow as pa

from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor, Targets
from tabsa.inference.results import PredictedOpinion
from tabsa.plugins import predictor_of, reusable
from tabsa.schema import UNNAMED, Target

OPINIONS: Final = "STRUCT(target VARCHAR, aspect VARCHAR, polarity VARCHAR, probability DOUBLE)[]"
_WORDS = [(name, pa.string()) for name in ("target", "aspect", "polarity")]
_OPINION = pa.struct([*_WORDS, ("probability", pa.float64())])


def register(
    connection: duckdb.DuckDBPyConnection,
    model: Predictor | str | Path | None = None,
    *,
    targets: Targets | None = None,
    aspects: Sequence[str] | None = None,
    every: bool = False,
    implied: bool | None = None,
    name: str = "tabsa",
) -> None:
    """Give a connection the functions `tabsa(text)` and `tabsa(text, targets)`.

    Both give a list of STRUCT(target, aspect, polarity, probability), which `unnest` makes rows of. The second asks for
    the row's own targets: a VARCHAR with one name, or a list of names; where it is NULL, there are none. A NULL text
    gives NULL.

    Args:
        connection: of DuckDB; the function lives as long as it does.
        model: what `tabsa.load` takes, or a model that was loaded; by default the one in the box.
        targets: who may be judged where a row does not say: names, or names with their aliases.
        aspects: on what; the model's own by default.
        every: list `none` as well.
        implied: take a name that a text does not mention as that of what the text is about; with it, and without
            targets, what no text names is asked for, and its name is NULL. None is what the model was trained for.
        name: of the function; one that is registered already is replaced.

    Raises:
        DataError: an aspect is none that the model knows.
    """
    predictor = predictor_of(model)
    implied = predictor.implied if implied is None else implied
    aspects, shared = predictor.choose_aspects(aspects), reusable(targets)
    lock = Lock()  # DuckDB calls from several threads, and a model uses all cores by itself

    def opinions(*columns: Any) -> pa.Array:
        if not 1 <= len(columns) <= 2:
            raise DataError(f"given {len(columns)} arguments; expected a text, or a text and its targets")
        texts, options = columns[0].to_pylist(), dict[str, Any](targets=shared)
        if len(columns) == 2:
            unnamed = [Target(UNNAMED, implied=True)] if implied else []
            options = {"targets_of_each": [_names(value) or unnamed for value in columns[1].to_pylist()]}
        elif shared is None and not implied:
            raise DataError("whose opinions? give targets when registering, or each row's own as a second argument")
        given = [_text(text) for text in texts]
        with lock:
            predictions = list(predictor.predict_many(given, aspects=aspects, implied=implied, **options))
        cells = [
            None if text is None else [_row(opinion) for opinion in (found.opinions if every else found.found())]
            for text, found in zip(texts, predictions, strict=True)
        ]
        return pa.array(cells, pa.list_(_OPINION))

    with suppress(duckdb.InvalidInputException):  # there is none of that name, as a rule
        connection.remove_function(name)
    kind: dict[str, Any] = {"type": "arrow", "null_handling": "special"}
    connection.create_function(name, opinions, None, duckdb.type(OPINIONS), **kind)


def _row(opinion: PredictedOpinion) -> tuple[str | None, str, str, float]:
    return opinion.target or None, opinion.aspect, opinion.polarity, opinion.confidence


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"a text is of type {type(value).__name__}; expected VARCHAR")
    return value


def _names(value: object) -> list[str]:
    """A row's own targets, each once."""
    listed = value if isinstance(value, list) else [value]
    names = dict.fromkeys(name for name in listed if isinstance(name, str))
    if not all(name is None or name in names for name in listed):
        raise DataError(f"targets are of type {type(value).__name__}; expected VARCHAR, or a list of it")
    return list(names)
