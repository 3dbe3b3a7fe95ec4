"""Sweeps on a GPU, or begun without one: the size of chunks, and what is said."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.errors import CudaError
from linkwise.targets.cpu.host import HostTarget
from linkwise.targets.cuda.target import CudaTarget
from short_sweeps import PLANAR, REST, SEVEN

pytest.importorskip("llvmlite")


def test_a_gpu_gets_larger_chunks_unless_the_sweep_was_begun(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HostTarget, "chunk", 3)
    monkeypatch.setattr(CudaTarget, "chunk", 5)
    here = lw.sweep(PLANAR, SEVEN, tmp_path / "cpu", 0.05, **REST)
    there = lw.sweep(PLANAR, SEVEN, tmp_path / "gpu", 0.05, **REST, target="cuda")
    assert (here.chunks, there.chunks) == (3, 2)
    (tmp_path / "cpu" / "chunk-00001.npz").unlink()
    continued = lw.sweep(PLANAR, SEVEN, tmp_path / "cpu", 0.05, **REST, target="cuda")
    assert (continued.chunks, continued.done) == (3, [0, 1, 2])
    assert np.array_equal(continued.read()["q_end"], there.read()["q_end"])


def test_a_machine_without_a_gpu_is_no_failure_of_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lw.sweep(PLANAR, SEVEN, tmp_path, 0.05, **REST, chunk=4)
    (tmp_path / "chunk-00001.npz").unlink()

    def none(ordinal: int) -> Any:
        raise CudaError("there is no CUDA driver")

    monkeypatch.setattr("linkwise.targets.cuda.target.device", none)
    with raises(CudaError, "CUDA"):
        lw.sweep(PLANAR, SEVEN, tmp_path, 0.05, **REST, target="cuda")
    assert lw.sweeps.open_sweep(tmp_path).failed == {}


def test_the_link_of_a_joint_is_named(tmp_path: Path) -> None:
    samples = {"q0": np.zeros((2, 6)), "elbow_joint.viscous_friction": [0.1, 0.2]}
    with raises(ValueError, "'forearm_link.viscous_friction'"):
        lw.sweep(lw.load("ur5e"), samples, tmp_path, 0.1, friction=True)
