"""Programs as WebAssembly, in LLVM assembly."""
