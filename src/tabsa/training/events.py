"""A run's figures for TensorBoard, where it is installed."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tabsa.errors import OutputError
from tabsa.files import reason
from tabsa.training.loop import Evaluation


class Events:
    """Writes evaluations as TensorBoard scalars; does nothing without the package `tensorboard`.

    PyTorch's own writer has a thread, whose errors (a full disk) come late and as tracebacks; this one has none.
    """

    def __init__(self, folder: Path, update: int, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.records: Any = None
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.summary.writer.record_writer import RecordWriter
        except ImportError:
            return
        self.path = folder / f"events.out.tfevents.{int(time.time()):010d}.tabsa"
        try:
            self.records = RecordWriter(self.path.open("ab", buffering=0))
        except OSError as e:
            raise OutputError(f"cannot write {self.path}: {reason(e)}") from e
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        # What a killed run wrote after its last state, at `update`, is hidden, because it is written again.
        start = SessionLog(status=SessionLog.START)
        self._write(Event(wall_time=time.time(), step=update + 1, session_log=start))

    def write(self, evaluation: Evaluation) -> None:
        """One point for the loss and for each figure of each seed; those that are not defined are left out."""
        if self.records is None:
            return
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        points = {}
        for seed, loss, families in zip(self.seeds, evaluation.loss, evaluation.figures, strict=True):
            points[f"loss/{seed}"] = loss
            for family, figures in families.items():
                points |= {f"dev {family} {name}/{seed}": value for name, value in figures.items()}
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in points.items() if math.isfinite(value)]
        self._write(Event(wall_time=time.time(), step=evaluation.update, summary=Summary(value=values)))

    def _write(self, event: Any) -> None:
        try:
            self.records.write(event.SerializeToString())
            self.records.flush()
        except OSError as e:
            raise OutputError(f"cannot write {self.path}: {reason(e)}") from e

    def __enter__(self) -> "Events":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.records is not None:
            self.records.close()
