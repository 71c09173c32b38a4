"""Fast paths behind the plain layers: packed (CPU), fused (GPU, Triton), and an update as one CUDA graph."""
