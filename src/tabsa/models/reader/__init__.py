"""The reader: a contextual encoder that reads a text once and answers any question about it."""
