"""`df.tabsa.score(...)`: the opinions in a pandas DataFrame; importing this module adds it to every frame."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tabsa.inference.frames import FrameLayout, predict_frame
from tabsa.inference.predictor import Predictor, Targets
from tabsa.plugins import predictor_of


@pd.api.extensions.register_dataframe_accessor("tabsa")
class PandasOpinions:
    """The accessor `df.tabsa`."""

    def __init__(self, frame: pd.DataFrame) -> None:
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
    ) -> pd.DataFrame:
        """Return the opinions in a column of texts, beside the frame's own columns and under its own index.

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
        return predict_frame(
            predictor_of(model),
            self._frame,
            text_column,
            targets,
            target_column,
            aspects,
            layout,
            every=every,
            implied=implied,
        )
