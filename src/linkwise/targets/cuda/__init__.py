"""The target "cuda": NVIDIA GPUs, by their driver."""
