"""`df.tabsa.score(...)`: the opinions in a pandas DataFrame; importing this module adds it to every frame."""

from pathlib import Path
from typing import Any

import pandas as pd

from tabsa.inference.frames import predict_frame
from tabsa.inference.predictor import Predictor, Targets
from tabsa.plugins import predictor_of


@pd.api.extensions.register_dataframe_accessor("tabsa")
class PandasOpinions:
    """The accessor `df.tabsa`."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def score(
        self,
        text_column: str | None = None,
        targets: Targets | None = None,
        *,
        model: Predictor | str | Path | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Return the opinions in a column of texts, beside the frame's own columns and under its own index.

        Args:
            text_column: the column of the texts; by default `text`, or the one with most words, which a warning names.
                A missing text has no opinions.
            targets: who may be judged, the same for every row: names, or names with their aliases.
            model: what `tabsa.load` takes, or a model that was loaded; by default the one in the box.
            **options: the others of `tabsa.inference.frames.predict_frame`: `target_column`, `aspects`, `layout`,
                `every`, `implied` and `exclusive`.

        Raises:
            DataError: a column is missing or in the way, or a text or target is of the wrong kind.
        """
        return predict_frame(predictor_of(model), self._frame, text_column, targets, **options)
