"""Modules of `lw.wasm` run by wasmtime and by node, from nothing but what they say of themselves."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw

PAGE = 65536
NODE = shutil.which("node")
SCRIPT = Path(__file__).parent / "run_wasm.mjs"


def align(size: int) -> int:
    return -(-size // 16) * 16


def sizes_of(interface: dict[str, Any], record: bytes) -> dict[str, int]:
    """What "n" and "nq" in shapes stand for."""
    header = np.frombuffer(record[:64], "<i4") if record else []
    names = interface.get("record", {}).get("header", [])
    return dict(zip(names, map(int, header), strict=False))


def row_size(argument: dict[str, Any], sizes: dict[str, int]) -> int:
    size = 1
    for x in argument["shape"]:
        size *= sizes[x] if isinstance(x, str) else x
    return size


def by_wasmtime(
    module: lw.results.WasmModule, arrays: list[np.ndarray], record: bytes = b"", count: int = 1
) -> list[np.ndarray]:
    """The outputs, each with a row for each state. `record` is that of the robot, for modules that take any."""
    wasmtime = pytest.importorskip("wasmtime")
    store = wasmtime.Store(wasmtime.Engine())
    exports = wasmtime.Instance(store, wasmtime.Module(store.engine, module), []).exports(store)
    memory, heap = exports["memory"], exports["heap"].value(store)
    interface = module.interface
    sizes, given, addresses, outputs = sizes_of(interface, record), iter(arrays), [], []

    def place(size: int) -> int:
        nonlocal heap
        at, heap = heap, align(heap + size)
        missing = heap - memory.data_len(store)
        if missing > 0:
            memory.grow(store, -(-missing // PAGE))
        return at

    for argument in interface["arguments"]:
        if argument["role"] in ("robot", "work") and "offset" in argument:
            addresses.append(argument["offset"])
        elif argument["role"] == "robot":
            addresses.append(place(len(record)))
            memory.write(store, record, addresses[-1])
        elif argument["role"] == "work":
            addresses.append(place(exports["work_bytes"](store, addresses[-1])))
        elif argument["role"] == "input":
            data = np.ascontiguousarray(next(given), interface["dtype"])
            assert data.size == count * row_size(argument, sizes)
            addresses.append(place(data.nbytes))
            memory.write(store, data.tobytes(), addresses[-1])
        else:
            size = count * row_size(argument, sizes) * np.dtype(interface["dtype"]).itemsize
            addresses.append(place(size))
            outputs.append((addresses[-1], size))
    exports["run"](store, count, *addresses)
    found = [np.frombuffer(bytes(memory.read(store, at, at + size)), interface["dtype"]) for at, size in outputs]
    return [x.reshape(count, -1) for x in found]


def by_node(
    module: lw.results.WasmModule, arrays: list[np.ndarray], record: bytes, count: int, folder: Path
) -> list[np.ndarray]:
    """The same in node, as a page in a browser would do it."""
    if NODE is None:
        pytest.skip("node is not installed")
    dtype = module.interface["dtype"]
    (folder / "module.wasm").write_bytes(module)
    (folder / "robot.bin").write_bytes(record)
    (folder / "inputs.bin").write_bytes(b"".join(np.ascontiguousarray(x, dtype).tobytes() for x in arrays))
    done = subprocess.run([NODE, str(SCRIPT), str(folder), str(count)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [np.frombuffer((folder / name).read_bytes(), dtype).reshape(count, -1) for name in json.loads(done.stdout)]
