"""The systems: one folder a family, each with its configuration, its network and its ONNX graph, and one registry."""

from tabsa.models.registry import SYSTEMS, System, system_of

__all__ = ["SYSTEMS", "System", "system_of"]
