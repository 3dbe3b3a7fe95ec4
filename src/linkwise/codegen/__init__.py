"""Programs as source text: LLVM assembly, C, Python. Imports no compiler."""
