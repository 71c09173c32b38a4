"""Score many tables as one job, here or on a Ray cluster: each is a part, scored as `tabsa.scoring` scores one."""

from tabsa.scoring.many.cluster import RayPool
from tabsa.scoring.many.dispatch import LocalPool, Pool, Standing
from tabsa.scoring.many.job import Ended, score_parts
from tabsa.scoring.many.parts import Part, find_parts, is_many
from tabsa.scoring.many.worker import Job

__all__ = ["Ended", "Job", "LocalPool", "Part", "Pool", "RayPool", "Standing", "find_parts", "is_many", "score_parts"]
