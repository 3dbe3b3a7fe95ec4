"""WebAssembly modules as self-describing files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...codegen.llvm.loops import LoopText
from ...errors import RobotError
from ...kernels.interface import Argument, Interface, Links
from ...kernels.kernel import metadata, read_metadata
from ...kernels.llvm import load_or_compile, load_or_compile_as
from ...kernels.sources import plain_of
from ...kernels.spec import KernelSpec, LinkRows, LoopSpec
from ...robot import Robot, require_robot
from ...robot.kinds import link_joints
from ...tracing.loop_tracing import tree_of
from ...tracing.tracing import function_name
from ...tracing.universal import link_columns, link_kinds, link_table, trace_universal
from .frame import PLACES, RECORD, work_numbers
from .module import align, heap_of, with_data, with_interface
from .target import WasmTarget

# A robot as data: the record that modules of loops take; see `targets.wasm.frame`.

MAGIC = int.from_bytes(b"LWR1", "little")
HEADER = 64  # bytes


def record_of_robot(robot: Robot, dtype: str) -> bytes:
    """The record of a robot, for modules that take any robot."""
    require_robot(robot)
    if robot.couplings or not robot.n or robot.non_floats:
        reason = "coupled joints" if robot.couplings else "numbers that are no floats" if robot.n else "no joints"
        raise RobotError(
            f"robot {robot.name!r} has {reason}, for which there is no form with loops (expected lw.wasm(function,"
            " robot), a module of its own)"
        )
    order, tree = tree_of(robot, link_kinds(robot))
    return robot_record(
        link_table(robot)[order], tree, np.array(robot.gravity), LinkRows(robot).positions, robot.nq, dtype
    )


def record_of_links(links: Links, dtype: str, rearranged: bool = True) -> bytes:
    """The record for a module of one robot. `rearranged`: whether `Links.rows` rearranges the arrays."""
    n = len(links.table)
    places, nq = np.repeat(np.arange(n)[:, None], PLACES, axis=1), n
    if links.rows is not None:
        columns = links.rows.positions
        if rearranged:
            places, nq = PLACES * places + columns - columns[:, :1], PLACES * n
        else:
            places, nq = columns, int(columns.max()) + 1
    gravity = np.zeros(3) if links.gravity is None else links.gravity
    return robot_record(links.table, links.tree, gravity, places, nq, dtype)


def robot_record(
    table: np.ndarray, tree: np.ndarray, gravity: np.ndarray, places: np.ndarray, nq: int, dtype: str
) -> bytes:
    parts = {
        "gravity": gravity.astype(dtype),
        "table": table.astype(dtype),
        "tree": tree.astype(np.int32),
        "places": places.astype(np.int32),
    }
    header = dict.fromkeys(RECORD, 0) | {"magic": MAGIC, "n": len(table), "nq": nq, "levels": int(tree[0, 0])}
    header |= {"columns": table.shape[1], "itemsize": np.dtype(dtype).itemsize}
    body = b""
    for name, part in parts.items():
        header[name] = HEADER + len(body)
        body += part.tobytes().ljust(align(part.nbytes), b"\0")
    header["bytes"] = HEADER + len(body)
    numbers = np.array([header[name] for name in RECORD], "<i4").tobytes()
    return numbers.ljust(HEADER, b"\0") + body


VERSION = 1  # of the interface


def robot_module(spec: KernelSpec) -> bytes:
    """The module of a spec, whose memory has places for the robot and for the arrays of one state."""
    code = load_or_compile_as(spec.key, spec.cached, spec.target, lambda: spec.text, lambda: metadata(spec))
    known = code.from_cache and spec.identity
    interface = read_metadata(code.metadata, spec.dtype)[1] if known else spec.interface
    itemsize = np.dtype(spec.dtype).itemsize
    described: list[dict[str, Any]] = []
    record, work, start = b"", 0, heap_of(code.binary)
    if isinstance(spec, LoopSpec):
        if spec.links.rows is not None and any(len(argument.shape) > 1 for argument in interface.inputs):
            raise ValueError(
                f"robot {spec.robot.name!r} has joints of several degrees of freedom, for which loops take no wrenches"
                " (expected form='straight')"
            )
        record = record_of_links(spec.links, spec.dtype, rearranged=False)
        work = itemsize * work_numbers(spec.loop_text, spec.robot.n, int(spec.rolled.tree[0, 0]))
        described += [
            {"name": "robot", "role": "robot", "offset": start},
            {"name": "work", "role": "work", "offset": align(start + len(record))},
        ]
    places, arrays = describe_arrays(interface), 0
    moved = with_data(code.binary, record, work, 0)
    for entry, size in places:
        described.append({**entry, "offset": heap_of(moved) + arrays})
        arrays += align(size * itemsize)
    module = with_data(code.binary, record, work, arrays)
    about = {"robot": spec.robot.name, "method": spec.keywords.get("method"), "arguments": described}
    return with_interface(module, module_header(spec.function, spec.dtype) | about)


def describe_arrays(interface: Interface) -> list[tuple[dict[str, Any], int]]:
    """The description of each array, and its size."""

    def entry(argument: Argument, role: str) -> tuple[dict[str, Any], int]:
        return {"name": argument.name, "role": role, "shape": list(argument.shape)}, argument.size

    inputs = [entry(argument, "input") for argument in interface.inputs]
    return [*inputs, *(entry(argument, "output") for argument in interface.outputs)]


Arrays = dict[str, tuple[int, ...]]  # names, and shapes for one link


def universal_loops(function: Callable[..., Any], arrays: Arrays, keywords: dict[str, Any]) -> LoopText:
    """The loops of a function for any robot."""
    widened: Arrays = {name: (PLACES,) if name == "q" else shape for name, shape in arrays.items()}
    return LoopText(trace_universal(plain_of(function), widened, **keywords), False)


def universal_module(function: Callable[..., Any], arrays: Arrays, dtype: str, keywords: dict[str, Any]) -> bytes:
    """The module of a function for any robot."""
    loops, target = universal_loops(function, arrays, keywords), WasmTarget()
    code = load_or_compile("universal", target.text(loops, Interface((), (), dtype, 0)), target)
    (result,) = loops.program.outputs
    described: list[dict[str, Any]] = [{"name": "robot", "role": "robot"}, {"name": "work", "role": "work"}]
    for name, shape in arrays.items():
        described.append({"name": name, "role": "input", "shape": ["nq" if name == "q" else "n", *shape]})
    described.append({"name": function_name(function), "role": "output", "shape": ["n", *result.shape]})
    record = {"header": RECORD, "columns": link_columns(), "kinds": [kind.__name__ for kind in link_joints()]}
    about = {"robot": None, "method": keywords.get("method"), "arguments": described, "record": record}
    return with_interface(code.binary, module_header(function, dtype) | about)


def module_header(function: Callable[..., Any], dtype: str) -> dict[str, Any]:
    return {"version": VERSION, "function": function_name(function), "dtype": dtype}
