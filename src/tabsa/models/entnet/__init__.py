"""EntNet and Delayed EntNet: configuration, network, ONNX graph."""
