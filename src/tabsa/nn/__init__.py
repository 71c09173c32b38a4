"""Bricks: the memory's step, its scan over a sentence, and small layers. They never import models."""
