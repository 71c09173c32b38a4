"""Datasets: public ones, the user's own files, what looks wrong with them, and where data lies."""
