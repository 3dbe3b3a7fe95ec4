"""The target "wasm": WebAssembly modules, and kernels that run them."""
