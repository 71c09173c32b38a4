"""Training: one loop for every neural model, from a configuration to a model folder (`fit`)."""
