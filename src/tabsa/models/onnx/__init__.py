"""What all families build their ONNX graphs from."""
