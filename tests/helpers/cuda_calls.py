"""Calls of one kernel by the stand-in for the driver of GPUs, and what they give on a CPU that rounds as it does."""

from typing import Any

import numpy as np
import pytest

import linkwise as lw
from linkwise.targets.cpu.host import host_target

pytest.importorskip("llvmlite")
if not host_target().fused:
    pytest.skip("this processor rounds products before it adds them", allow_module_level=True)
ARM = lw.load("planar3")
STATES = np.random.default_rng(0).normal(size=(3, 40, 3))


def kernel(function: Any = lw.inverse_dynamics, dtype: str = "float64") -> Any:
    return lw.compile(function, ARM, target="cuda", dtype=dtype)


def expected(*arrays: Any, function: Any = lw.inverse_dynamics, dtype: str = "float64") -> Any:
    return lw.compile(function, ARM, dtype=dtype)(*arrays)
