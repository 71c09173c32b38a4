"""Score a table: ask a model of every row and write what it says, at constant memory and to be resumed after a kill."""

from tabsa.scoring.job import Progress, rejects_file, request_identity, score
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.targets import read_targets
from tabsa.tables.saving import Counts, is_finished

__all__ = [
    "Counts",
    "Layout",
    "Progress",
    "Request",
    "is_finished",
    "read_targets",
    "rejects_file",
    "request_identity",
    "score",
]
