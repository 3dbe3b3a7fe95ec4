"""The target "cuda": kernels on NVIDIA GPUs, by LLVM and the driver alone."""
