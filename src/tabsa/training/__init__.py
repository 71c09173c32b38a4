"""Training: one loop for every neural model, its optimisers, its configuration and its run folder."""
