"""Use a model: text, targets and aspects in, opinions out. Needs numpy and onnxruntime, not PyTorch."""
