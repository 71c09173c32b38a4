"""Fast paths behind the plain layers: packed (CPU), and an update as one CUDA graph."""
