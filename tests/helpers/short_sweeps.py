"""Sweeps that take no time."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise.sweeps import folder as sweep_files

PLANAR = lw.load("planar3")
KINDS = ["npz", "parquet"] if sweep_files.has_parquet() else ["npz"]
every_kind = pytest.mark.parametrize("kind", KINDS)
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
STARTS = lw.sweeps.monte_carlo(23, 5, q0=([-1.0] * 3, [1.0] * 3), qd0=([-0.5] * 3, [0.5] * 3))
quick = partial(lw.sweep, robot=PLANAR, rows=STARTS, duration=0.2, chunk=5, samples=4, progress=False)
REST = {"keep": "ends", "files": "npz", "progress": False}
SEVEN = lw.sweeps.monte_carlo(7, 3, q0=([-1.0] * 3, [1.0] * 3))
short = partial(lw.sweep, PLANAR, duration=0.1, **REST)


def low(arm, t, q, qd):
    return q[0] + 0.3


def heavier(mass):
    rows = PLANAR.rows
    rows[1]["mass"] = mass
    return lw.Robot.from_dh(rows, convention="standard", gravity=PLANAR.gravity)


def same(one, other):
    assert list(one) == list(other)
    for name, array in one.items():
        assert array.dtype.kind == other[name].dtype.kind
        np.testing.assert_array_equal(array, other[name], err_msg=name)  # NaN equals NaN


def files_of(folder):
    """Content and time of all finished chunks."""
    paths = [path for path in Path(folder).glob("chunk-*") if path.suffix in (".npz", ".parquet")]
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
