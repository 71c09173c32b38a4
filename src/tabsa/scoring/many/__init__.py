"""Score many tables as one job, on this machine or on a Ray cluster."""

from tabsa.scoring.many.job import Ended, ScoringEngine, Standing, score_parts
from tabsa.scoring.many.local import LocalEngine
from tabsa.scoring.many.parts import Part, find_parts, is_many
from tabsa.scoring.many.worker import Job, Kind, Outcome

__all__ = [
    "Ended",
    "Job",
    "Kind",
    "LocalEngine",
    "Outcome",
    "Part",
    "ScoringEngine",
    "Standing",
    "find_parts",
    "is_many",
    "score_parts",
]
