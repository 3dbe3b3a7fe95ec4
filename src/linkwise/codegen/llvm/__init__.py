"""LLVM assembly: programs, loops over links, sine and cosine, integrators."""
