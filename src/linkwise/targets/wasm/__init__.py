"""The target "wasm": WebAssembly modules."""
