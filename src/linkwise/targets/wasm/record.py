"""A robot as data: the record that modules of loops take; see `targets.wasm.frame`."""

from __future__ import annotations

import numpy as np

from ...kernels.interface import Links
from ...kernels.spec import LinkRows
from ...robot import Robot
from ...tracing.loop_tracing import tree_of
from ...tracing.universal import link_kinds, link_table
from .frame import PLACES, RECORD
from .module import aligned

MAGIC = int.from_bytes(b"LWR1", "little")
HEADER = 64  # bytes


def record_of_robot(robot: Robot, dtype: str) -> bytes:
    """For modules that take any robot."""
    order, tree = tree_of(robot, link_kinds(robot))
    table = link_table(robot)[order]
    return record(table, tree, np.array(robot.gravity), LinkRows(robot).positions, robot.nq, dtype)


def record_of_links(links: Links, dtype: str, rearranged: bool = True) -> bytes:
    """For a module of one robot's own; whether `Links.rows` has rearranged the arrays already."""
    n = len(links.table)
    places, nq = np.repeat(np.arange(n)[:, None], PLACES, axis=1), n
    if links.rows is not None:
        own = links.rows.positions
        places, nq = (PLACES * places + own - own[:, :1], PLACES * n) if rearranged else (own, int(own.max()) + 1)
    gravity = np.zeros(3) if links.gravity is None else links.gravity
    return record(links.table, links.tree, gravity, places, nq, dtype)


def record(table: np.ndarray, tree: np.ndarray, gravity: np.ndarray, places: np.ndarray, nq: int, dtype: str) -> bytes:
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
        body += part.tobytes().ljust(aligned(part.nbytes), b"\0")
    header["bytes"] = HEADER + len(body)
    numbers = np.array([header[name] for name in RECORD], "<i4").tobytes()
    return numbers.ljust(HEADER, b"\0") + body
