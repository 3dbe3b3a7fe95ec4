"""`rollout`: very many trajectories in steps of one length, on the CPU or on a GPU."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Never

import numpy as np

from ..errors import is_integer, one_of
from ..graph import count
from ..kernels.arrays import Arrays
from ..kernels.dispatch import DTYPES
from ..kernels.interface import describe_value
from ..kernels.target import Target, target_by_name
from ..ode.rollout import RolloutCode, Settings, fixed_step_integrators, rollout_of
from ..robot import Friction, Robot
from ..robot.layout import reorder_columns
from .equations import RolloutMotion
from .friction_steps import warn_of_long_steps
from .preparation import check_positive, refuse_others
from .problem import Problem, program_of
from .rollout_inputs import RolloutInputs, rollout_inputs

MAX_OPERATIONS = 30_000  # of the right-hand side: longer code takes minutes to compile
MAX_STEPS = 2**31 - 1
OUTPUTS = ("q_end", "qd_end", "finite", "q", "qd")


@dataclass(frozen=True, eq=False)
class RolloutResult:
    """Trajectories of `lw.rollout`, with the batch's axes in front: NumPy arrays; of the kind of q0 where that is on a
    GPU, or a tensor of torch.

    `q_end` (..., nq) and `qd_end` (..., n) are the states after the last step. `q` (..., samples, nq) and `qd`
    (..., samples, n) are those at the times `t`: at the start and after every so many steps; None without `every`.
    `finite` (...) is how many steps each trajectory made with finite numbers: all of them, unless it was lost; its
    numbers are NaN from there on. `steps` and `dt` are those that were asked for.
    """

    robot: Robot
    steps: int
    dt: float
    t: np.ndarray | None
    q: Any
    qd: Any
    q_end: Any
    qd_end: Any
    finite: Any

    def __repr__(self) -> str:
        batch = "one trajectory" if not self.finite.shape else f"trajectories {tuple(self.finite.shape)}"
        samples = "" if self.t is None else f", {len(self.t)} samples of each"
        lost = np.count_nonzero(self.finite < self.steps) if isinstance(self.finite, np.ndarray) else 0
        if lost:
            samples += f"; {lost} without finite numbers at the end"
        return f"<rollout of robot {self.robot.name!r}: {batch}, {self.steps} steps of {self.dt:g} s{samples}>"


class Options(NamedTuple):
    """The options of a rollout."""

    steps: int
    dt: float
    torque: Any = None
    table: Any = None
    hold: int = 1
    wrench: Any = None
    friction: bool | Friction = False
    parameters: Mapping[str, Any] | None = None
    integrator: str = "rk4"
    every: int | None = None
    target: str = "cpu"
    dtype: str | None = None
    threads: int | None = None
    stream: Any = None
    out: RolloutResult | None = None


def rollout(
    robot: Robot,
    q0: Any,
    qd0: Any = None,
    *,
    steps: int,
    dt: float | None = None,
    torque: Any = None,
    table: Any = None,
    hold: int = 1,
    wrench: Any = None,
    friction: bool | Friction = False,
    parameters: Mapping[str, Any] | None = None,
    integrator: str = "rk4",
    every: int | None = None,
    target: str = "cpu",
    dtype: str | None = None,
    threads: int | None = None,
    stream: Any = None,
    out: RolloutResult | None = None,
    **unknown: Never,
) -> RolloutResult:
    """Very many trajectories from q0 and qd0 (..., n), at rest without qd0, over so many steps of `dt` seconds.

    For trajectories whose errors and events matter, see `simulate`; here all make the same steps, with their states in
    registers. `torque` is None, constant torques (..., n), or a function torque(robot, t, q, qd) over `lw` pieces,
    which is traced anew at each call (`lw.compile(lw.rollout, ...)`: once); `table` are torques (..., rows, n) that are
    added, each row held over `hold` steps: as many rows as there are steps, or a hold-th of that, rounded up.
    `wrench` is constant, as for `inverse_dynamics`: (..., 6) on the tip or (..., m, 6) on every link of m, beside a
    batch (1, m, 6) where they are the same for all trajectories. `friction` is as for `simulate`, with `smooth` above
    0; a warning says where steps are too long for it. `parameters` are numbers, by name, for what the torque function
    takes after qd and for the symbols of the robot (`lw.symbols`: masses, payloads, friction): an array is for all
    trajectories as it stands; `lw.per_trajectory(array)` has the batch's axes in front, a value for each. `every` asks
    for samples: the start, and after every so many steps.

    With `target="cuda"` a GPU computes each trajectory in a thread: arrays of torch, CuPy, JAX and Numba are read where
    they are, and results are of their kind, on their stream, or on `stream`; NumPy arrays are copied to it and back.
    The bits are those of the CPU, where these are computed in vectors, on `threads`. `dtype` is that of q0 if it has
    float32 or float64, otherwise float64. `out` is the result of an earlier rollout of the same size, whose arrays are
    written again; on a GPU, of arrays that are there.

    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> fall = lw.rollout(arm, np.zeros((1000, 3)), steps=200, dt=5e-3, every=50)
    >>> fall.q.shape, fall.q_end.shape, fall.t
    ((1000, 5, 3), (1000, 3), array([0.  , 0.25, 0.5 , 0.75, 1.  ]))
    """
    refuse_unknown(unknown)
    if dt is None:
        raise TypeError("dt is missing (expected seconds, the length of every step)")
    options = Options(
        steps, dt, torque, table, hold, wrench, friction, parameters, integrator, every, target, dtype, threads,
        stream, out,
    )  # fmt: skip
    return run_rollout(robot, q0, qd0, options, warn_of_long_steps, compile_rollout_code)


def run_rollout(
    robot: Robot,
    q0: Any,
    qd0: Any,
    options: Options,
    warn_of_steps: Callable[..., Any] | None,
    solver: Callable[..., RolloutCode],
) -> RolloutResult:
    """As `rollout`; friction, if there is any, is looked at by that function, and `solver` has the machine code."""
    target = target_by_name(options.target)
    target.check_run(options.threads, options.stream)
    one_of(options.integrator, fixed_step_integrators(), "integrator")
    length, steps = check_positive(dt=options.dt)["dt"], check_count("steps", options.steps)
    settings = Settings(steps, *sampling(options.every, steps), length, check_count("hold", options.hold))
    if settings.hold > 1 and options.table is None:
        raise ValueError(f"hold is {options.hold}, and there is no table (expected table=..., whose rows are held)")
    q0, qd0 = reorder_columns(robot, "q0", q0), reorder_columns(robot, "qd0", qd0)
    if options.dtype is not None:
        one_of(options.dtype, DTYPES, "dtype")
    arrays = target.arrays(q0, options.dtype, options.stream)
    if not np.dtype(arrays.dtype).type(length):
        raise ValueError(f"dt is {length}, which is 0 in {arrays.dtype} (expected a longer one)")
    inputs = rollout_inputs(
        robot,
        arrays,
        q0,
        qd0,
        -(-steps // settings.hold),
        torque=options.torque,
        table=options.table,
        wrench=options.wrench,
        friction=options.friction,
        parameters=options.parameters,
    )
    if warn_of_steps is not None and inputs.problem.friction is not None:
        warn_of_steps(robot, inputs.problem.friction, length, options.integrator, inputs.symbols)
    program = solver(inputs.problem, options.integrator, inputs.table, arrays.dtype, target)
    results = output_arrays(arrays, inputs, settings, options.out)
    trajectories = math.prod(inputs.batch)
    if trajectories:
        several = program.most(trajectories) < settings.steps
        sizes = [(trajectories, size) for size in (robot.nq, robot.n)] if several else []
        between = [arrays.temporary("it is launched in parts", size, arrays.dtype) for size in sizes]
        program.fill(arrays, trajectories, settings, inputs.rows, results, between, options.threads)
    q_end, qd_end, finite, q, qd = map(arrays.result_for_caller, results)
    times = np.arange(settings.samples) * (settings.every * length) if settings.every else None
    if times is None:
        q = qd = None
    return RolloutResult(robot, settings.steps, length, times, q, qd, q_end, qd_end, finite)


rollout.motion = RolloutMotion()  # type: ignore[attr-defined]


def refuse_unknown(names: Iterable[str], function: object = "lw.rollout", known: Sequence[str] = ()) -> None:
    """Raise an error for a name that is no argument of `rollout`, or of another function that has most of them."""
    every = [name for name in inspect.signature(rollout).parameters if name not in ("robot", "unknown")]
    refuse_others(names, function, known or every)


def check_count(name: str, value: Any) -> int:
    if not is_integer(value):
        raise TypeError(f"{name} is {value!r} (expected a whole number)")
    if not 1 <= value <= MAX_STEPS:
        raise ValueError(f"{name} is {value} (expected a whole number from 1 to {MAX_STEPS:,})")
    return int(value)


def sampling(every: Any, steps: int) -> tuple[int, int]:
    """After how many steps there is a sample, and how many there are with that at the start."""
    if every is None:
        return 0, 0
    after = check_count("every", every)
    return after, steps // after + 1


@lru_cache(maxsize=64)
def compile_rollout_code(problem: Problem, integrator: str, table: str, dtype: str, target: Target) -> RolloutCode:
    """The compiled rollout of a problem whose functions are frozen."""
    program = program_of(problem)
    operations = count(program).total
    if operations > MAX_OPERATIONS:
        raise ValueError(
            f"the right-hand side has {operations:,} operations (rollouts take at most {MAX_OPERATIONS:,}; expected a"
            " robot of fewer joints, or lw.simulate)"
        )
    what = rollout_of(program, integrator, problem.robot.nq, problem.robot.quaternions, table)
    return target.rollout(what, dtype)


def output_arrays(arrays: Arrays, inputs: RolloutInputs, settings: Settings, out: RolloutResult | None) -> list[Any]:
    """Arrays for the results, in the order of the machine code: new ones, or those of an earlier rollout."""
    robot, batch = inputs.problem.robot, inputs.batch
    samples = (*batch, settings.samples)
    shapes = [(*batch, robot.nq), (*batch, robot.n), batch, (*samples, robot.nq), (*samples, robot.n)]
    kinds = [arrays.dtype, arrays.dtype, "int32", arrays.dtype, arrays.dtype]
    if out is None:
        return [arrays.temporary("there is no out", *each) for each in zip(shapes, kinds, strict=True)]
    if not isinstance(out, RolloutResult):
        raise TypeError(f"out is {describe_value(out)} (expected what an earlier lw.rollout returned)")
    found = []
    for name, shape, kind in zip(OUTPUTS, shapes, kinds, strict=True):
        array = getattr(out, name)
        none = name in ("q", "qd") and not settings.samples
        found.append(arrays.new(shape, kind) if none else arrays.output_array(f"out.{name}", array, shape, kind))
    separate_arrays(arrays, inputs.rows, found)
    return found


def separate_arrays(arrays: Arrays, rows: list[tuple[Any, int]], results: Sequence[Any]) -> None:
    """Trajectories would be written over what others read: states at the start, q0 and qd0, are copied before that."""
    places = [arrays.extent(array) for array in results]
    for k, (start, end) in enumerate(places):
        for name, (other, other_end) in zip(OUTPUTS, places[:k], strict=False):
            if max(start, other) < min(end, other_end):
                raise ValueError(f"out.{OUTPUTS[k]} shares memory with out.{name} (expected arrays of their own)")
    for k, (array, stride) in enumerate(rows):
        start, end = arrays.extent(array)
        shared = [start < other_end and other < end for other, other_end in places]
        if any(shared) and k >= 2:
            name = OUTPUTS[shared.index(True)]
            raise ValueError(f"out.{name} shares memory with an input (expected a copy of the input)")
        if any(shared):
            rows[k] = arrays.copy(array), stride
