"""The systems: one folder a family, each with its configuration, its network and its ONNX graph, and one registry."""
