"""Score many tables as one job, here or on a Ray cluster: each table is a part, scored as `tabsa.score` scores one."""

from tabsa.scale.cluster import RayPool
from tabsa.scale.dispatch import LocalPool, Pool, Standing
from tabsa.scale.job import Ended, score_parts
from tabsa.scale.parts import Part, find_parts, is_many
from tabsa.scale.worker import Job

__all__ = ["Ended", "Job", "LocalPool", "Part", "Pool", "RayPool", "Standing", "find_parts", "is_many", "score_parts"]
