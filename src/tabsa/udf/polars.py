"""`df.tabsa.score(...)`: the opinions in a Polars frame, lazy or not; importing this module adds it to every frame."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from tabsa.inference import Predictor
from tabsa.inference.frames import FrameLayout, added_columns
from tabsa.inference.predictor import Targets
from tabsa.udf.models import predictor_of, reusable

_ASKING = Lock()  # the streaming engine calls from several threads, and a model uses all cores by itself


@pl.api.register_dataframe_namespace("tabsa")
class PolarsOpinions:
    """What texts in a DataFrame say; a frame has it as `df.tabsa`."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def score(
        self,
        text_column: str = "text",
        targets: Targets | None = None,
        target_column: str | None = None,
        aspects: Sequence[str] | None = None,
        layout: FrameLayout = "long",
        *,
        every: bool = False,
        implied: bool | None = None,
        model: Predictor | str | Path | None = None,
    ) -> pl.DataFrame:
        """The opinions in a column of texts, beside the frame's own columns and in the order of its rows.

        Args:
            text_column: the column of the texts; a missing text has no opinions.
            targets: who may be judged, the same for every row: names, or names with their aliases.
            target_column: instead, the column of each row's own targets: a name, or a list of names.
            aspects: on what; the model's own by default.
            layout: `long` repeats a row for each of its opinions (target, aspect, polarity, confidence and one
                `probability_...` a label), `wide` keeps the rows and adds a column for each pair (`Camden/price`), or
                with `target_column` for each aspect.
            every: in the long layout, rows for `none` as well.
            implied: take a name that a text does not mention as that of what the text is about; with it, and without
                targets, what no text names is asked for. None is what the model was trained for.
            model: what `tabsa.load` takes, or a model that was loaded; by default the one in the box.

        Raises:
            DataError: a column is missing or in the way, or a text or target is of the wrong kind.
        """
        frame = self._frame
        with _ASKING:
            added = added_columns(
                predictor_of(model),
                frame.columns,
                lambda name: frame[name].to_list(),
                text_column,
                targets,
                target_column,
                aspects,
                layout,
                every=every,
                implied=implied,
            )
        words = layout == "wide"
        types = {
            name: pl.String if words or name in ("target", "aspect", "polarity") else pl.Float64
            for name in added.values
        }
        kept = frame if added.rows is None else frame[pl.Series(added.rows, dtype=pl.UInt32)]
        return kept.hstack(pl.DataFrame(added.values, schema=types))


@pl.api.register_lazyframe_namespace("tabsa")
class LazyOpinions:
    """The same for a LazyFrame: `lf.tabsa`."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def score(self, text_column: str = "text", targets: Targets | None = None, **options: Any) -> pl.LazyFrame:
        """As for a DataFrame, when the frame is collected; the streaming engine reads part after part.

        Args:
            text_column: the column of the texts.
            targets: who may be judged, the same for every row.
            **options: the others of `PolarsOpinions.score`.
        """
        asked = reusable(targets)

        def scored(part: pl.DataFrame) -> pl.DataFrame:
            return PolarsOpinions(part).score(text_column, asked, **options)

        schema = scored(pl.DataFrame(schema=self._frame.collect_schema())).schema
        return self._frame.map_batches(scored, schema=schema, streamable=True)
