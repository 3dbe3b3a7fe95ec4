"""Programs as CUDA kernels in LLVM assembly, for `nvptx64`: a thread computes one state."""
