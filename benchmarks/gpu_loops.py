"""Loops over links on a GPU, for `gpu.py`: states a second beside straight-line code, and the bits of the CPU."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from report import Claim, Section, Table

import linkwise as lw
from linkwise.api.compiling import spec_of
from linkwise.targets.cuda.driver import LOCAL_BYTES, REGISTERS, device
from linkwise.targets.cuda.memory import DeviceArray
from linkwise.targets.cuda.target import CudaTarget

Race = Callable[[dict[str, Callable[[], None]]], dict[str, list[float]]]  # launches -> seconds of each, by turns
TASKS = {"inverse dynamics": lw.inverse_dynamics, "forward dynamics": lw.forward_dynamics}
ROBOTS = ("chain 100", "humanoid", "g1", "chain 30", "chain 20", "tree 30", "chain 12", "chain 1000")
MOST_STRAIGHT = 13_000  # operations: the driver takes long to compile more
FORMS = {
    "straight": ("straight", CudaTarget()),
    "loops": ("loops", CudaTarget()),
    "loops, 2 blocks": ("loops", CudaTarget(blocks=2)),
    "loops, 4 blocks": ("loops", CudaTarget(blocks=4)),
}


def robot(label: str) -> lw.Robot:
    kind, _, joints = label.partition(" ")
    if not joints:
        return lw.load(label)
    return lw.random_tree(int(joints)) if kind == "tree" else lw.chain(int(joints))


class Entrant:
    """A kernel with its arrays on the GPU, a few numbers repeated."""

    def __init__(self, spec: Any, states: int) -> None:
        self.made: Any = spec.target.kernel(spec)
        dtype, rng = spec.dtype, np.random.default_rng(0)
        inputs, outputs = ([(states, *argument.shape) for argument in part] for part in self.made.interface[:2])
        few = [rng.uniform(-2.0, 2.0, (min(states, 4096), *shape[1:])).astype(dtype) for shape in inputs]
        self.arrays = [
            DeviceArray(device(0), shape, dtype).copy_from(np.resize(x, shape))
            for shape, x in zip(inputs, few, strict=True)
        ]
        self.arrays += [DeviceArray(device(0), shape, dtype) for shape in outputs]
        self.states, self.pointers = states, [x.pointer for x in self.arrays]

    def __call__(self) -> None:
        self.made._part(0, self.states, self.pointers, 0)

    @property
    def about(self) -> str:
        module = self.made.code.module(0)
        return f"{module.attribute(REGISTERS)} registers, {module.attribute(LOCAL_BYTES)} B"


def loops(section: Section, race: Race, memory: int, robots: tuple[str, ...] = ROBOTS) -> None:
    """Forms of a kernel take turns, on arrays of so many bytes."""
    rows, different = [], []
    for label in robots:
        arm = robot(label)
        for task, function in TASKS.items():
            for dtype in ("float32", "float64"):
                states = max(40, memory // (4 * arm.n * np.dtype(dtype).itemsize))
                specs = {
                    name: spec_of(function, arm, dtype, {}, form, target=target)
                    for name, (form, target) in FORMS.items()
                }
                if arm.n > 60 or specs["straight"].count.total > MOST_STRAIGHT:
                    del specs["straight"]
                entrants = {name: Entrant(spec, states) for name, spec in specs.items()}
                times = race(dict(entrants))
                rates = {name: states / statistics.median(seconds) for name, seconds in times.items()}
                cells = [
                    f"{rates[name] * 1e-6:,.1f} ({entrants[name].about})" if name in rates else "" for name in FORMS
                ]
                rows.append([f"{label}, {task}", dtype, f"{states:,}", *cells])
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
                if not same_bits(entrants["loops"].made):
                    different.append(f"{label}, {task}, {dtype}")
    text = "Loops over links on the GPU: the bits of the CPU's loops"
    said = f"{len(rows)} kernels, {len(different)} different{': ' + '; '.join(different) if different else ''}"
    section.claims.append(Claim(text, said, "**not held**" if different else "held"))
    caption = "Loops over links beside straight-line code, 1e6 states/s (registers, spilled bytes):"
    section.tables.append(Table(caption, ["", "dtype", "states", *FORMS], rows))


def same_bits(made: Any, count: int = 2051) -> bool:
    spec, dtype, rng = made.spec, made.interface.dtype, np.random.default_rng(1)
    count = max(10, min(count, 500_000 // spec.robot.n))
    given = [rng.uniform(-3.0, 3.0, (count, *x.shape)) for x in made.interface.inputs]
    given[0][count // 2 :] *= 10.0 ** rng.uniform(-3.0, 12.0, given[0][count // 2 :].shape)
    given[-1][7, 0], given[0][3, -1] = np.nan, np.inf
    given = [x.astype(dtype) for x in given]
    here = lw.compile(spec.function, spec.robot, dtype=dtype, form="loops")
    here._explain = None  # large angles may make states singular
    found = made(*(DeviceArray(device(0), x.shape, dtype).copy_from(x) for x in given)).copy_to_host()
    return np.array_equal(found, here(*given), equal_nan=True)
