"""WebAssembly modules: how large they are, and how long a call takes in node, in wasmtime and in machine code.

python benchmarks/wasm.py [--robots fr3 humanoid] [--rounds 7]

A call computes one state, by addresses: in node the loop is JavaScript, in wasmtime and in machine code it is
a batch of 1,000 states on one thread, so that Python's own time hardly counts. Times are those of the fastest round.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw

FUNCTIONS = (lw.inverse_dynamics, lw.forward_dynamics)
STATES = 1000
SCRIPT = """
import { readFileSync } from "node:fs";
const [folder, rounds] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(`${folder}/module.wasm`));
const about = JSON.parse(new TextDecoder().decode(WebAssembly.Module.customSections(module, "linkwise")[0]));
const { memory, heap, run, work_bytes } = (await WebAssembly.instantiate(module)).exports;
const robot = readFileSync(`${folder}/robot.bin`), state = readFileSync(`${folder}/state.bin`);
memory.grow(32);
let free = heap.value, taken = 0;
const place = (bytes) => { const at = free; free = Math.ceil((free + bytes) / 16) * 16; return at; };
const places = [];
for (const argument of about.arguments) {
  const at = "offset" in argument ? argument.offset
    : argument.role === "robot" ? place(robot.length)
    : argument.role === "work" ? place(work_bytes(places[0])) : place(8192);
  places.push(at);
  const bytes = new Uint8Array(memory.buffer);
  if (argument.role === "robot" && !("offset" in argument)) bytes.set(robot, at);
  if (argument.role === "input") {
    const [, n, nq] = robot.length ? new Int32Array(robot.buffer, robot.byteOffset, 16) : [];
    const size = 8 * argument.shape.reduce((size, x) => size * ({ n, nq }[x] ?? x), 1);
    bytes.set(state.subarray(taken, taken + size), at);
    taken += size;
  }
}
const calls = (count) => { for (let k = 0; k < count; k++) run(1, ...places); };
const warm = performance.now() + 1000;  // V8 optimizes meanwhile, in another thread
while (performance.now() < warm) calls(100);
const times = [];
for (let k = 0; k < 20 * rounds; k++) {
  const begin = performance.now();
  calls(200);
  times.push((performance.now() - begin) * 5);
}
console.log(JSON.stringify(times));
"""


def in_node(module: bytes, record: bytes, state: list[np.ndarray], rounds: int) -> float | None:
    """Microseconds for a call; None without node."""
    node = shutil.which("node")
    if node is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        parts = {"module.wasm": module, "robot.bin": record, "state.bin": b"".join(x.tobytes() for x in state)}
        for name, data in {**parts, "run.mjs": SCRIPT.encode()}.items():
            (Path(folder) / name).write_bytes(data)
        arguments = [node, str(Path(folder) / "run.mjs"), folder, str(rounds)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return min(json.loads(done.stdout))


def of_kernel(make: Callable[[], Any], states: list[np.ndarray], rounds: int) -> float | None:
    """Microseconds for a state of a batch; None where the kernel cannot be made."""
    try:
        kernel = make()
    except ImportError:
        return None
    out = kernel(*states, threads=1)
    times = []
    for _ in range(20 * rounds):
        begin = time.perf_counter()
        kernel(*states, threads=1, out=out)
        times.append((time.perf_counter() - begin) / len(out) * 1e6)
    return min(times)


def cells(values: list[float | None]) -> str:
    return " | ".join("-" if x is None else f"{x:.2f}" for x in values)


def measure(robots: list[str], rounds: int = 7, states: int = STATES) -> list[str]:
    """The rows of a table."""
    rng = np.random.default_rng(0)
    rows = [
        "| function | robot | module | bytes | gzip | node, µs | wasmtime, µs | native, µs |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for function in FUNCTIONS:
        universal = lw.wasm(function)
        for name in robots:
            arm = lw.load(name)
            q = np.array([lw.random_configuration(arm, rng) for _ in range(states)])
            batch = [q, *rng.normal(size=(2, states, arm.n))]
            one = [x[0] for x in batch]
            for form in ("straight", "loops", "any robot"):
                if form != "straight" and arm.couplings:
                    continue
                anyone = form == "any robot"
                module = universal if anyone else lw.wasm(function, arm, form=form)
                times = [in_node(module, module.robot(arm) if anyone else b"", one, rounds)]
                for target in ("wasm", "cpu"):
                    made = lambda t=target: lw.compile(function, arm, form=form, target=t)  # noqa: E731, B023
                    times.append(None if anyone else of_kernel(made, batch, rounds))
                size = f"{len(module):,} | {len(gzip.compress(module)):,}"
                rows.append(f"| {function.__name__} | {name} | {form} | {size} | {cells(times)} |")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="*", default=["fr3", "humanoid"])
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    print("\n".join(measure(chosen.robots, chosen.rounds)))
