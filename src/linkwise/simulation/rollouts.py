"""`lw.rollout`: very many trajectories in steps of one length, on the CPU or a GPU."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Never

import numpy as np

from ..api.call import BaseMotion
from ..api.states import Array, ComponentAxes
from ..control.drives import TorqueFunction
from ..errors import is_integer, one_of
from ..graph import count
from ..kernels.arrays import Arrays
from ..kernels.dispatch import DTYPES
from ..kernels.interface import describe_value
from ..kernels.target import Target, target_by_name
from ..ode.rollout import RolloutCode, Settings, fixed_step_integrators, rollout_of
from ..robot import Friction, Robot, require_robot
from ..robot.layout import reorder_columns
from ..trajectories.torque_history import with_its_loads
from .base_motions import MotionOfTime, warn_of_other_rates
from .equations import RolloutMotion
from .friction_steps import warn_of_long_steps
from .preparation import check_positive, refuse_others
from .problem import Problem, program_of
from .rollout_inputs import RolloutInputs, rollout_inputs
from .sampling import history_of

if TYPE_CHECKING:
    from ..api.compiling import DType

MAX_OPERATIONS = 30_000  # of the right-hand side: longer code takes minutes to compile
MAX_STEPS = 2**31 - 1
SAME_TIME = 1e-6  # steps by which a time of a table may be off: digits of a file
OUTPUTS = ("q_end", "qd_end", "finite", "q", "qd")


@dataclass(frozen=True, eq=False)
class RolloutResult:
    """The trajectories of a rollout, with the batch's axes in front.

    Arrays are those of NumPy or, if q0 was a tensor or on a GPU, of the kind of q0.

    Parameters
    ----------
    robot : Robot
    steps, dt : int, float
        The number of steps and the length of each, in seconds.
    t : ndarray, (samples,), or None
        Times of the samples: the start, and after every so many steps; None without `every`.
    q, qd : array, (..., samples, nq) and (..., samples, n), or None
        The states at these times.
    q_end, qd_end : array, (..., nq) and (..., n)
        The states after the last step.
    finite : array of int, (...)
        The steps that each trajectory made with finite numbers. Its later numbers are NaN.
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
    axes: str = "base"
    friction: bool | Friction = False
    base: Any = None
    parameters: Mapping[str, Any] | None = None
    integrator: str = "rk4"
    every: int | None = None
    target: str = "cpu"
    dtype: str | None = None
    threads: int | None = None
    stream: Any = None
    out: RolloutResult | None = None
    interpolation: Literal["held"] | None = None


def rollout(
    robot: Robot,
    q0: Array,
    qd0: Array | None = None,
    *,
    steps: int | None = None,
    dt: float | None = None,
    torque: Array | TorqueFunction | None = None,
    table: Array | None = None,
    hold: int = 1,
    wrench: Array | Mapping[str, Array] | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    base: BaseMotion | MotionOfTime | None = None,
    parameters: Mapping[str, Array] | None = None,
    integrator: str = "rk4",
    every: int | None = None,
    target: Literal["cpu", "cuda"] = "cpu",
    dtype: DType | None = None,
    threads: int | None = None,
    stream: Any = None,
    out: RolloutResult | None = None,
    interpolation: Literal["held"] | None = None,
    **unknown: Never,
) -> RolloutResult:
    """Integrate very many trajectories in steps of one length, with their states in registers.

    For trajectories whose errors and events matter, see `simulate`.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : array_like, (..., nq) and (..., n)
        Start in rad, m and rad/s, m/s; qd0 is zero by default.
    steps, dt : int, float
        The number of steps, and the length of each in seconds.
    torque : array_like, (..., n), or callable, optional
        Constant torques, or torque(robot, t, q, qd) written with `lw`, which is traced at each call, or once by
        `lw.compile(lw.rollout, ...)`.
    table : array_like, (..., rows, n), optional
        Torques that are added to those of a function. Each row acts for `hold` steps; rows = steps / hold, rounded up.
    hold : int
    interpolation : {"held"}, optional
        Required if `torque` is a history, as for `lw.simulate`, with equal time steps: each row is held.
    wrench, axes : mapping or array_like, (..., 6) or (..., m, 6), optional
        Constant external wrenches, by frame or in an array, as for `inverse_dynamics`.
    friction : bool or Friction
        As for `simulate`, with `smooth` above 0. A warning says if the steps are too long for it.
    base : BaseMotion or callable, optional
        Prescribed motion of the base, as for `simulate`.
    parameters : mapping from str to array_like, optional
        Numbers for arguments of the torque function after qd, and for symbols of the robot. An array is for all
        trajectories, unless it is `lw.per_trajectory(array)`.
    integrator : str
        One of `lw.methods(lw.rollout)`.
    every : int, optional
        Sample the start, and the states after every so many steps.
    target : {"cpu", "cuda"}
        "cuda" computes each trajectory in a GPU thread, and results equal those of the CPU bit for bit. Arrays of
        torch, CuPy, JAX and Numba are read where they are; those of NumPy are copied to the GPU and back.
    dtype : {"float64", "float32"}, optional
        By default that of q0.
    threads : int, optional
        Number of threads of the CPU.
    stream : optional
        Stream of the GPU; by default that of the arrays' library.
    out : RolloutResult, optional
        An earlier result of the same size, whose arrays are overwritten.

    Returns
    -------
    RolloutResult

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> fall = lw.rollout(arm, np.zeros((1000, 3)), steps=200, dt=5e-3, every=50)
    >>> fall.q.shape, fall.q_end.shape, fall.t
    ((1000, 5, 3), (1000, 3), array([0.  , 0.25, 0.5 , 0.75, 1.  ]))
    """
    require_robot(robot)
    if unknown:
        refuse_unknown(unknown)
    if dt is None:
        raise TypeError("dt is missing (expected seconds, the length of every step)")
    if steps is None:
        raise TypeError("steps is missing (expected the number of steps: duration / dt)")
    options = Options(
        steps, dt, torque, table, hold, wrench, axes, friction, base, parameters, integrator, every, target, dtype,
        threads, stream, out, interpolation,
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
    """As `rollout`, with other functions to warn of steps that are too long for friction and to compile."""
    target = target_by_name(options.target)
    target.check_run(options.threads, options.stream)
    one_of(options.integrator, fixed_step_integrators(), "integrator")
    length, steps = check_positive(dt=options.dt)["dt"], check_count("steps", options.steps)
    options = with_history_as_table(robot, options, length, steps)
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
        axes=options.axes,
        friction=options.friction,
        base=options.base,
        parameters=options.parameters,
    )
    if warn_of_steps is not None and inputs.problem.friction is not None:
        warn_of_steps(robot, inputs.problem.friction, length, options.integrator, inputs.symbols)
    warn_of_other_rates(inputs.problem.base, robot, steps * length)
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


def with_history_as_table(robot: Robot, options: Options, dt: float, steps: int) -> Options:
    """The options with a held torque history as a table of torques."""
    history = None if callable(options.torque) else history_of(robot, options.torque, "held")
    if history is None:
        if options.interpolation is not None:
            raise ValueError(f"interpolation is {options.interpolation!r} (expected a torque history: torque=(t, tau))")
        return options
    if options.interpolation != "held":
        raise ValueError(
            f"torque is a history, and interpolation is {options.interpolation!r} (expected 'held': a rollout holds"
            " each row; lw.simulate also interpolates)"
        )
    if options.table is not None or options.hold != 1:
        raise ValueError("torque is a history, which is a table (expected no table= and no hold=)")
    hold = max(1, round(float(history.t[1]) / dt))
    even = np.arange(len(history.t)) * (hold * dt)
    if np.abs(history.t - even).max() > SAME_TIME * dt:
        raise ValueError(
            f"torque: the times t are not {hold * dt:g} s apart (expected equal multiples of dt = {dt:g} s, so that"
            " rows are held over full steps; lw.simulate takes any times)"
        )
    with_its_loads(history, base=options.base, wrench=options.wrench)
    rows = -(-steps // hold)
    if rows >= len(history.t):
        raise ValueError(
            f"steps is {steps} (expected at most {hold * (len(history.t) - 1)}: the torque history ends at"
            f" {history.duration:g} s)"
        )
    return options._replace(torque=None, table=np.moveaxis(history.tau[:rows], 0, -2), hold=hold)


rollout.motion = RolloutMotion()  # type: ignore[attr-defined]


def refuse_unknown(names: Iterable[str], function: object = "lw.rollout", known: Sequence[str] = ()) -> None:
    """Raise a TypeError if a name is not an argument of `rollout`, or of a function with the arguments `known`."""
    every = [name for name in inspect.signature(rollout).parameters if name not in ("robot", "unknown")]
    refuse_others(names, function, known or every)


def check_count(name: str, value: Any) -> int:
    if not is_integer(value):
        raise TypeError(f"{name} is {value!r} (expected a whole number)")
    if not 1 <= value <= MAX_STEPS:
        raise ValueError(f"{name} is {value} (expected a whole number from 1 to {MAX_STEPS:,})")
    return int(value)


def sampling(every: Any, steps: int) -> tuple[int, int]:
    """The steps between samples, and the number of samples, the start included; zeros if there are none."""
    if every is None:
        return 0, 0
    after = check_count("every", every)
    return after, steps // after + 1


@lru_cache(maxsize=64)
def compile_rollout_code(problem: Problem, integrator: str, table: str, dtype: str, target: Target) -> RolloutCode:
    """The compiled rollout of a problem with traced functions."""
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
        raise TypeError(f"out is {describe_value(out)} (expected the result of an earlier lw.rollout)")
    out_arrays = []
    for name, shape, kind in zip(OUTPUTS, shapes, kinds, strict=True):
        array = getattr(out, name)
        none = name in ("q", "qd") and not settings.samples
        out_arrays.append(arrays.new(shape, kind) if none else arrays.output_array(f"out.{name}", array, shape, kind))
    separate_arrays(arrays, inputs.rows, out_arrays)
    return out_arrays


def separate_arrays(arrays: Arrays, rows: list[tuple[Any, int]], results: Sequence[Any]) -> None:
    """Copy q0 and qd0 where results would overwrite them; raise a ValueError if results overlap anything else."""
    places = [arrays.extent(array) for array in results]
    for k, (start, end) in enumerate(places):
        for name, (other, other_end) in zip(OUTPUTS, places[:k], strict=False):
            if max(start, other) < min(end, other_end):
                raise ValueError(f"out.{OUTPUTS[k]} shares memory with out.{name} (expected separate arrays)")
    for k, (array, stride) in enumerate(rows):
        start, end = arrays.extent(array)
        shared = [start < other_end and other < end for other, other_end in places]
        if any(shared) and k >= 2:
            name = OUTPUTS[shared.index(True)]
            raise ValueError(f"out.{name} shares memory with an input (expected a copy of the input)")
        if any(shared):
            rows[k] = arrays.copy(array), stride
