"""Check the arguments of a sweep before anything is written, and make its jobs.

A job has all that is needed to compute a chunk, in this process or another.

Samples without effect are numbers on which the motion does not depend. They are looked for before a sweep begins: the
right-hand side and the events are traced with a symbol for each number of the samples, and evaluated at some states,
with each number as in the first row and as in another row. A number that changes nothing has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..api.states import stack_wrenches
from ..api.wrenches import wrench_frames
from ..errors import RobotError, SingularError, SweepWarning, UntraceableFunctionError, is_integer, near_miss, one_of
from ..graph import evaluate
from ..graph.derivative import CHOICES
from ..kernels.interface import numpy_array
from ..lazy import cached_property
from ..printing import warn
from ..robot import Friction, Robot, from_table, require_robot
from ..robot.configurations import neutral
from ..robot.joint import FRICTION_NUMBERS
from ..robot.named_arrays import PerTrajectory
from ..robot.symbols import refuse_symbols
from ..simulation.parameters import PREFIX, parameters_of, torque_parameters
from ..simulation.preparation import check_positive, refuse_others, sample_times
from ..simulation.problem import program_of
from ..simulation.sampling import history_of
from ..simulation.simulation import arguments, simulate
from ..version import __version__
from .family import FamilyMap, Vary, chunks_of_robots, family_map, family_problem, loads_of
from .folder import Columns
from .samples import KNOWN, Samples, check_samples, table_entries

NOT_OPTIONS = (
    "robot",
    "q0",
    "qd0",
    "duration",
    "progress",
    "parameters",
    "base",
    "interpolation",
)  # arguments of `simulate` that are no options
SWEEP_ARGUMENTS = ("robot", "rows", "folder", "duration", "engine", "chunk", "keep", "vary", "files", "progress")
LOADS = ("torque", "wrench")
KEEP = ("samples", "ends")
ROWS = 5  # whose robots are compared for all of them
FRICTION = {field: name for name, field in FRICTION_NUMBERS.items()}  # arguments of `Friction` by entries
STATES = 5  # at which effects are looked for
ROUNDING = 1e-10


@dataclass(frozen=True)
class Inputs:
    """The checked arguments of a sweep."""

    robot: Robot
    samples: Samples
    duration: float | None  # or among the samples
    chunk: int
    keep: str
    options: dict[str, Any]
    vary: Vary | None = None

    @cached_property
    def entries(self) -> list[str]:
        """The samples that are entries of the robot's table."""
        return table_entries(self.samples, self.robot)

    @cached_property
    def varying(self) -> Samples:
        """For each entry of the table, the mask of numbers that differ between rows; {} if none does."""
        masks = {name: (self.samples[name] != self.samples[name][0]).any(axis=0) for name in self.entries}
        return masks if any(mask.any() for mask in masks.values()) else {}

    @cached_property
    def family_map(self) -> FamilyMap | None:
        """The family of all robots, if their tables determine it."""
        if self.vary is not None or not self.varying:
            return None
        try:
            return family_map(self.robot, {name: self.samples[name][0] for name in self.varying}, self.varying)
        except (TypeError, RobotError):  # rotations and axes cannot be symbols; errors are those of rows
            return None

    @cached_property
    def some_robots(self) -> dict[str, Robot | None]:
        """The robots of some rows if their family is not known; None for rows that give no robot."""
        if self.family_map is not None or (self.vary is None and not self.varying):
            return {}
        rows = sorted({int(k) for k in np.linspace(0, len(self.samples["q0"]) - 1, ROWS)})
        return {str(k): self._robot(k) for k in rows}

    def _robot(self, k: int) -> Robot | None:
        row = {name: array[[k]] for name, array in self.samples.items()}
        try:
            (only,) = chunks_of_robots(self.robot, row, self.vary, None, {}, set())
            return only.robot(0)
        except Exception:  # of a user's function
            return None

    @cached_property
    def robot_of_table(self) -> Robot:
        """The robot made from its table alone."""
        return from_table(self.robot.rows, self.robot.convention, self.robot.gravity, self.robot.name)

    @cached_property
    def first_parameters(self) -> Samples:
        """The parameters of the torque function in the first row, with 0 for numbers that are not finite."""
        swept = torque_parameters(self.options["torque"], self.samples)
        return {name: np.where(np.isfinite(array[0]), array[0], 0.0) for name, array in swept.items()}


def default_options() -> dict[str, Any]:
    """The options of `simulate` with their defaults."""
    return {name: default for name, default in arguments().items() if name not in NOT_OPTIONS}


def check_inputs(
    robot: Robot, samples: Mapping[str, Any], duration: Any, chunk: Any, keep: str, vary: Vary | None, options: Any
) -> Inputs:
    require_robot(robot)
    refuse_symbols(robot)
    if robot.non_floats:
        raise TypeError(f"robot {robot.name!r} has numbers such as {robot.non_floats[0]!r} (expected floats)")
    if not is_integer(chunk) or chunk < 1:
        raise ValueError(f"chunk is {chunk!r} (expected a whole number of trajectories, at least 1)")
    one_of(keep, KEEP, "keep")
    if vary is not None and not callable(vary):
        raise TypeError(f"vary is {vary!r} (expected a function of a robot and a row that returns a robot)")
    usual = default_options()
    refuse_others(options, "lw.sweep", [*SWEEP_ARGUMENTS, *usual])
    options = {**usual, **options}
    if history_of(robot, options["torque"], "cubic") is not None:
        raise ValueError(
            "torque is a history, which sweeps do not have (expected a torque function of t; or lw.simulate, where"
            " torques (k, ..., n) have the axes of a batch)"
        )
    arrays = check_samples(robot, samples, check_parameter_names(options["torque"], samples), vary is not None)
    if isinstance(options["wrench"], Mapping) and options["wrench"]:
        frames = wrench_frames(robot, options["wrench"], options["point"], options["axes"])
        options |= {"wrench": stack_wrenches(options["wrench"], numpy_array), "point": frames}
    for name, axes in zip(LOADS, (1, 2), strict=True):
        load = options[name]
        if load is None:
            continue
        if name in arrays:
            raise ValueError(f"{name} is given twice: as a sample and as an option (expected one of them)")
        if not callable(load) and np.ndim(load) > axes:
            raise ValueError(
                f"{name} has shape {np.shape(load)} (expected one for all trajectories; put others in the samples)"
            )
        if name == "wrench" and np.ndim(load) == 2:
            options[name] = np.asarray(load)[None]  # on every link, not a batch of them
    if ("duration" in arrays) == (duration is not None):
        where = "twice: as a sample and as an argument" if duration is not None else "nowhere"
        raise ValueError(f"duration is given {where} (expected duration=..., or a sample of that name)")
    end = None if duration is None else check_positive(duration=duration)["duration"]
    inputs = Inputs(robot, arrays, end, int(chunk), keep, options, vary)
    if any(name != "gravity" for name in inputs.entries) and inputs.robot_of_table != robot:
        raise ValueError(f"robot {robot.name!r} was changed after it was made from its table (expected vary=... then)")
    return inputs


def check_parameter_names(torque: Any, samples: Any) -> dict[str, bool]:
    """The names of the parameters of the torque function, and whether each needs a sample."""
    names = parameters_of(torque)
    for name, needed in names.items():
        if name in KNOWN and (needed or name in samples):
            problem = ", which is the name of another sample (expected another name)"
        elif needed and name not in samples:
            others = [each for each in samples if each not in (*KNOWN, *names) and near_miss(each, [name])]
            problem = f"{''.join(f', and the samples have {each!r}' for each in others[:1])}"
            problem += " (expected a sample of that name, or a default)"
        else:
            continue
        raise ValueError(f"the torque function has a parameter {name!r}{problem}")
    return names


def try_options(inputs: Inputs) -> None:
    """Simulate a moment at rest, so that errors in the options are raised before anything is written.

    If the robots are a family, the program of this robot would be compiled in vain: then no trajectory is simulated,
    and the functions are called once.
    """
    longest = float(inputs.samples["duration"].max()) if inputs.duration is None else inputs.duration
    longest = longest if longest > 0 else 1.0  # no duration is valid: each row has an error
    if np.ndim(inputs.options["samples"]):
        sample_times(inputs.options["samples"], longest)
    kept_times("samples", inputs.options, longest)
    family = inputs.family_map is not None and inputs.options["compiled"] is None
    count = 0 if family else 1
    at_zero, still, parameters = neutral(inputs.robot), np.zeros(inputs.robot.n), inputs.first_parameters
    rest = np.tile(at_zero, (count, 1)), np.tile(still, (count, 1))
    options = {**inputs.options, "samples": 2, "progress": False}
    options |= {name: np.zeros((count, *inputs.samples[name].shape[1:])) for name in LOADS if name in inputs.samples}
    options |= {"parameters": {name: PerTrajectory(np.stack([array])[:count]) for name, array in parameters.items()}}
    if not family:
        with suppress(SingularError):  # the robots of the samples may be others
            simulate(inputs.robot, *rest, 1e-6 * longest, **options)
        return
    problem = simulate(
        inputs.robot, *rest, 1e-6 * longest, **{**options, "compiled": False, "target": "cpu"}
    ).acting.problem
    with suppress(UntraceableFunctionError):
        problem = problem.with_traced_functions()
    problem.call_functions(at_zero, still, {PREFIX + name: array for name, array in parameters.items()})


def check_effects(inputs: Inputs) -> None:
    """Raise a ValueError if swept friction does not act; warn of other samples without effect."""
    if inputs.vary is not None or not inputs.entries:
        return
    idle = idle_entries(inputs)
    friction = Friction.of(inputs.options["friction"])
    for name in idle:
        key = name.rpartition(".")[2]
        if key not in FRICTION:
            continue
        if friction is None:
            raise ValueError(f"the samples have {name!r}, and friction does not act (pass friction=True)")
        if argument := friction.argument(FRICTION[key]):
            raise ValueError(
                f"the samples have {name!r}, and friction has {argument}={getattr(friction, argument)!r} for all"
                f" (expected friction=True or a Friction without {argument}, which take the robot's own)"
            )
    others = [name for name in idle if name.rpartition(".")[2] not in FRICTION]
    if others:
        names = ", ".join(map(repr, others))
        warn(
            f"the motion of robot {inputs.robot.name!r} does not depend on {names}, which the samples have",
            SweepWarning,
        )


def idle_entries(inputs: Inputs) -> list[str]:
    """The names of the entries that change neither the right-hand side nor an event."""
    varying = {name: symbol_mask(inputs.samples[name]) for name in inputs.entries}
    first = {name: inputs.samples[name][0] for name in inputs.entries}
    try:
        robots = family_map_for(inputs, first, varying)
        loads = {name: inputs.samples[name][:1] for name in LOADS if name in inputs.samples}
        parameters = {name: PerTrajectory(array[None]) for name, array in inputs.first_parameters.items()}
        options = {**inputs.options, **loads, "parameters": parameters}
        loads = loads_of(options, 1)
        problem = family_problem(robots.family, options, loads, inputs.robot).with_traced_functions()
        program = program_of(problem)
    except (TypeError, ValueError, RobotError):  # rotations, axes, exact friction, untraceable functions
        return unread_friction(inputs)
    if any(node.op in CHOICES for node in program.nodes):  # a few states do not show both sides of each
        return unread_friction(inputs)
    names = [name for name in inputs.entries if varying[name].any()]
    rows = {name: np.stack([first[name]] * (1 + len(names))) for name in first}
    for k, name in enumerate(names, 1):
        rows[name][k] = furthest_row(inputs.samples[name])
    rng = np.random.default_rng(0)
    states = {"t": rng.random(STATES), "y": rng.uniform(-1.0, 1.0, (STATES, problem.size))}
    constants = np.concatenate([load.reshape(1, -1) for load in loads.values()], axis=1) if loads else np.zeros((1, 0))
    numbers = np.concatenate([np.repeat(constants, len(names) + 1, axis=0), robots.numbers(rows)], axis=1)[:, None]
    values = {**states, **problem.parameters_by_name(numbers)}
    with np.errstate(all="ignore"):
        results = evaluate(program, *(values[port.name] for port in program.inputs))
    same = [unchanged_rows(np.broadcast_to(x, (len(names) + 1, STATES, x.shape[-1]))) for x in results]
    return [name for k, name in enumerate(names) if all(result[k] for result in same)]


def family_map_for(inputs: Inputs, first: Samples, varying: Samples) -> FamilyMap:
    """The family map of the sweep if it has these symbols, otherwise a new one."""
    known = inputs.family_map
    if known is not None and all(np.array_equal(known.varying[name], which) for name, which in varying.items()):
        return known
    return family_map(inputs.robot, first, varying)


def symbol_mask(array: np.ndarray) -> np.ndarray:
    """The mask of numbers that become symbols: those that differ between rows, and every single number."""
    differ = (array != array[0]).any(axis=0)
    return np.asarray(differ if differ.any() or differ.ndim else True)


def furthest_row(array: np.ndarray) -> np.ndarray:
    """The row furthest from the first one; if all are the same, the first plus 1."""
    apart = np.abs(array - array[0]).reshape(len(array), -1).max(axis=1)
    return np.asarray(array[int(np.argmax(apart))] if np.nan_to_num(apart).max() > 0.0 else array[0] + 1.0)


def unchanged_rows(values: np.ndarray) -> np.ndarray:
    """Which rows after the first (rows, states, size) equal the first one, but for rounding."""
    size = np.abs(values[0]).max(axis=0) + 1e-300
    return np.asarray((np.abs(values[1:] - values[0]) <= ROUNDING * size).all(axis=(1, 2)))


def unread_friction(inputs: Inputs) -> list[str]:
    """Without a program: the names of friction coefficients that do not act and that no function can read."""
    friction = Friction.of(inputs.options["friction"])
    if callable(inputs.options["torque"]) or inputs.options["events"]:
        return []
    keys = [key for key, name in FRICTION.items() if friction is None or friction.argument(name)]
    return [name for name in inputs.entries if name.rpartition(".")[2] in keys]


def kept_times(keep: str, options: Mapping[str, Any], duration: float) -> np.ndarray:
    """The times of one trajectory: those of `samples=` up to its duration, or so many at equal distances."""
    if keep != "samples":
        return np.zeros(0)
    samples = options["samples"]
    if np.ndim(samples):
        times = np.asarray(samples, dtype=float)
        return sample_times(times, max(duration, float(times[-1])))[times <= duration]
    return sample_times(samples, duration)


def most_times(keep: str, options: Mapping[str, Any]) -> int:
    """The number of times of a trajectory that reaches all of them."""
    samples = options["samples"]
    return len(samples) if keep == "samples" and np.ndim(samples) else len(kept_times(keep, options, 1.0))


@dataclass(frozen=True)
class Job:
    """A chunk to compute: the inputs with its rows alone, and the family of all robots if it is known."""

    index: int
    inputs: Inputs
    family_map: FamilyMap | None
    version: str = __version__  # of the process of the sweep


@dataclass(frozen=True)
class Outcome:
    """The result of a job: columns, or the text of an error; and a message for the user, if any."""

    index: int
    columns: Columns = field(default_factory=dict)
    error: str = ""
    message: str = ""


def jobs(inputs: Inputs, chunks: Iterable[int]) -> Iterator[Job]:
    """The jobs of these chunks."""
    for k in chunks:
        part = slice(k * inputs.chunk, (k + 1) * inputs.chunk)
        rows = {name: np.ascontiguousarray(array[part]) for name, array in inputs.samples.items()}
        yield Job(k, replace(inputs, samples=rows), inputs.family_map)
