"""SenticLSTM: configuration, network, ONNX graph."""
