"""Score a table: ask a model of every row and write what it says, at constant memory and to be resumed after a kill."""

from tabsa.score.job import Progress, asked, rejects_file, score
from tabsa.score.request import Layout, Request
from tabsa.score.saving import Counts
from tabsa.score.targets import read_targets

__all__ = ["Counts", "Layout", "Progress", "Request", "asked", "read_targets", "rejects_file", "score"]
