"""`df.tabsa.score(...)`: the opinions in a Polars frame, lazy or not; importing this module adds it to every frame."""

from threading import Lock
from typing import Any

import polars as pl

from tabsa.inference.frames import added_columns
from tabsa.inference.predictor import Targets
from tabsa.plugins import predictor_of, reusable

_LOCK = Lock()  # the streaming engine calls from several threads, and a model uses all cores by itself


@pl.api.register_dataframe_namespace("tabsa")
class PolarsOpinions:
    """The namespace `df.tabsa`."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def score(self, text_column: str | None = None, targets: Targets | None = None, **options: Any) -> pl.DataFrame:
        """Return the opinions in a column of texts; arguments and columns are those of `tabsa.plugins.pandas`."""
        frame, model = self._frame, options.pop("model", None)
        with _LOCK:
            columns = (frame.columns, lambda name: frame[name].to_list())
            added = added_columns(predictor_of(model), *columns, text_column, targets, **options)
        words = options.get("layout") == "wide"
        types = {
            name: pl.String if words or name in ("target", "aspect", "polarity") else pl.Float64
            for name in added.values
        }
        rows = frame if added.rows is None else frame[pl.Series(added.rows, dtype=pl.UInt32)]
        return rows.hstack(pl.DataFrame(added.values, schema=types))


@pl.api.register_lazyframe_namespace("tabsa")
class LazyOpinions:
    """The namespace of a LazyFrame, `lf.tabsa`."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def score(self, text_column: str = "text", targets: Targets | None = None, **options: Any) -> pl.LazyFrame:
        """Score when the frame is collected; the streaming engine reads part after part."""
        names = reusable(targets)

        def score_part(part: pl.DataFrame) -> pl.DataFrame:
            return PolarsOpinions(part).score(text_column, names, **options)

        schema = score_part(pl.DataFrame(schema=self._frame.collect_schema())).schema
        return self._frame.map_batches(score_part, schema=schema, streamable=True)
