"""Every kernel of the library's robots assembles for NVIDIA's GPUs, in as many registers as the golden file says."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import linkwise as lw
import ptxas
from effort import rest_slow

pytest.importorskip("llvmlite")
WHERE = ptxas.command()
UPDATE = "python tests/helpers/ptxas.py writes the golden file anew"


KINDS = [
    *((ptxas.kernels, name) for name in lw.LIBRARY),
    *((ptxas.rollouts, name) for name in ptxas.ROLLOUTS),
    *((ptxas.loops, name) for name in ptxas.LOOPS),
]
QUICK = [(ptxas.kernels, "planar3"), (ptxas.rollouts, "planar3")]


@pytest.mark.skipif(WHERE is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc")
@pytest.mark.parametrize(("figures_of", "name"), rest_slow(KINDS, QUICK))
def test_kernels_assemble_as_in_the_golden_file(figures_of: Callable[..., Any], name: str) -> None:
    assert WHERE is not None
    golden = ptxas.golden()
    for kernel, figures in figures_of(WHERE, name).items():
        if golden["versions"] == ptxas.versions(WHERE):
            assert figures == golden["kernels"][kernel], f"{kernel}: {UPDATE}"
        else:  # another compiler: the figures are near those
            assert figures["registers"] <= golden["kernels"][kernel]["registers"] * 1.25 + 8, kernel


@pytest.mark.slow
@pytest.mark.skipif(WHERE is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc")
def test_launches_of_rounds_assemble_and_only_the_one_that_joins_pairs_spills() -> None:
    assert WHERE is not None
    robot = lw.random_tree(20, seed=2, joints="RPH")
    kernel: Any = lw.compile(lw.forward_dynamics, robot, target="cuda", method="parallel")
    texts = [code.ptx for code in kernel.code.codes] + [code.ptx for code, _ in kernel.code.gathers.values()]
    for architecture in ptxas.ARCHITECTURES:
        spilled = [ptxas.assembled(WHERE, text, architecture)["spilled"] for text in texts]
        assert sum(each > 0 for each in spilled) <= 1
        assert max(spilled) < 3000


def test_the_golden_file_has_every_robot_and_short_ones_hardly_spill() -> None:
    golden = ptxas.golden()
    assert ptxas.written(golden) == ptxas.GOLDEN.read_text(encoding="utf-8")
    assert json.loads(ptxas.written(golden)) == golden
    assert {name.split()[0] for name in golden["kernels"]} == set(lw.LIBRARY), UPDATE
    whole = {name: golden["kernels"][name]["spilled"] for name in golden["kernels"] if " loops " in name}
    assert max(whole.values()) <= 64
    short = {name for name in lw.LIBRARY if lw.load(name).n <= 7}
    spilled = {name: figures["spilled"] for name, figures in golden["kernels"].items() if name.split()[0] in short}
    assert max(spilled.values()) <= 64  # bytes, where ptxas trades them for more threads at a time
