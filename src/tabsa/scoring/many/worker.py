"""What every part is scored with, and how the work on one ended."""

import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tabsa.checkpoint.model_folder import AskedPrecision
from tabsa.errors import ModelError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring import Counts, Request, request_identity


@dataclass(frozen=True, slots=True)
class Job:
    """What every part is scored with."""

    request: Request
    identity: Mapping[str, Any]  # what `tabsa.scoring.request_identity` gave where the job was started
    model: str | None = None  # a folder, or the name of a model in the package
    precision: AskedPrecision = "auto"
    threads: int = 1  # of the model, in each worker

    def load(self) -> Predictor:
        """The model; raises a ModelError where it is not what the job was started with."""
        predictor = load(self.model, threads=self.threads, precision=self.precision)
        here = request_identity(predictor, self.request)
        for name, value in self.identity.items():
            if here.get(name) != value:
                raise ModelError(f"{name} is not the same on {platform.node()} as where the job was started")
        return predictor


class Kind(StrEnum):
    """How the work on a part ended."""

    DONE = "done"
    READ = "read"  # a table is, to its end: it has so many parts
    RETRIED = "tried again"
    FAILED = "failed"  # a later run may do it
    REFUSED = "refused"  # it will not: the table is at fault
    STOP = "stop"  # it will not, for any part


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the work on a part ended, why, and what was done."""

    name: str  # of the output, or of the table
    table: str
    kind: Kind
    why: str = ""
    counts: Counts = dataclasses.field(default_factory=Counts)
    seconds: float = 0.0
    bytes: int = 0  # of the input, that are done with it
    parts: int = 0  # of a table that was read
