"""Rollouts, trajectories in steps of one length: the part that all targets share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ..codegen.llvm.rollout import Rollout, Stages
from ..graph import Program, count
from .methods import Method, entries, method


class Settings(NamedTuple):
    """The steps of a rollout, its samples and the length of a step."""

    steps: int
    every: int  # 0: no samples
    samples: int  # rows of each trajectory
    step: float
    hold: int = 1  # steps for each row of the table


class Part(NamedTuple):
    """The steps of one call, in the order of the arguments of its machine code."""

    first: int  # step
    stop: int  # the step after its last
    steps: int  # of the whole rollout
    every: int
    until: int  # the next sample
    samples: int
    sample: int  # the index of the next sample; 0: the start is a sample
    hold: int


def parts_of(settings: Settings, most: int) -> Iterator[Part]:
    """Split all steps into parts of at most so many."""
    steps, every, samples, _, hold = settings
    for first in range(0, steps, most):
        until, sample = (every - first % every, first // every + bool(first)) if every else (0, 1)
        yield Part(first, min(first + most, steps), steps, every, until, samples, sample, hold)


class Rows(NamedTuple):
    """The address of an array, and its numbers for each trajectory, 0 if all share them."""

    address: int
    stride: int


class RolloutCode(Protocol):
    """A rollout that a target has compiled."""

    def most(self, trajectories: int) -> int:
        """The most steps of one call."""

    def fill(
        self,
        arrays: Any,
        trajectories: int,
        settings: Settings,
        inputs: Sequence[tuple[Any, int]],
        results: Sequence[Any],
        between: Sequence[Any],
        threads: int | None,
    ) -> None:
        """Fill the results, or start to fill them.

        `arrays` made all arrays. An input has a number of values for each trajectory, 0 if all share them. Inputs are
        those of `Rollout`, results its `outputs`. `between` has buffers for q and qd if several calls make the steps.
        """


def parts_with_arrays(
    settings: Settings,
    most: int,
    sizes: Sequence[int],
    inputs: Sequence[Rows],
    outputs: Sequence[int],
    spare: Sequence[int],
) -> Iterator[tuple[Part, list[Rows], list[int]]]:
    """The arrays of each part. States alternate between `spare` and q_end, qd_end, where the last part ends."""
    states, left = list(inputs[:2]), -(-settings.steps // most)
    for part in parts_of(settings, most):
        left -= 1
        to = list(spare if left % 2 else outputs[:2])
        yield part, [*states, *inputs[2:]], [*to, *outputs[2:]]
        states = [Rows(place, size) for place, size in zip(to, sizes, strict=False)]


def needs_previous_stage_alone(known: Method) -> bool:
    """Whether each stage depends on the previous stage alone."""
    return not any(x for s, row in enumerate(known.a) for j, x in enumerate(row) if j != s - 1)


def fixed_step_integrators() -> list[str]:
    """The methods of rollouts: those that make steps of one length, stage by stage."""
    return [
        name for name, entry in entries().items() if entry.get("fixed") and needs_previous_stage_alone(method(name))
    ]


def rollout_of(
    program: Program, integrator: str, configuration: int, quaternions: tuple[int, ...] = (), table: str = ""
) -> Rollout:
    """The rollout of a program with one of `fixed_step_integrators`; see `codegen.llvm.rollout`."""
    known = method(integrator)
    assert needs_previous_stage_alone(known)
    before = tuple(row[s - 1] for s, row in enumerate(known.a) if s)
    return Rollout(program, Stages(before, known.b, known.c), configuration, quaternions, table)


def cost_of(rollout: Rollout) -> int:
    """The operations of a step."""
    return len(rollout.stages.b) * (count(rollout.program).total + 1)
