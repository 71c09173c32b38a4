"""ONNX graphs: building, opening and running them."""
