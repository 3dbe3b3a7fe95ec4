"""Samples without effect: numbers of the robot that its motion does not depend on, checked before a sweep begins.

The right-hand side and the events are traced with a symbol for each number that the samples give, and evaluated at some
states, each number once as in the first row and once as in another. What changes nothing is without effect.
"""

from __future__ import annotations

import numpy as np

from ..errors import RobotError
from ..graph import evaluate
from ..graph.derivative import CHOICES
from ..robot import Friction
from ..simulation.parameters import PerTrajectory
from ..simulation.problem import program_of
from .chunk import family_problem, loads_of
from .family import FamilyMap, family_map
from .folder import warn
from .inputs import LOADS, Inputs
from .samples import Samples

FRICTION = {"viscous_friction": "viscous", "coulomb_friction": "coulomb"}
STATES = 5  # at which a number may show its effect
ROUNDING = 1e-10


def check_effects(inputs: Inputs) -> None:
    """A ValueError where friction is swept and does not act; a warning where other numbers change nothing."""
    if inputs.vary is not None or not inputs.entries:
        return
    idle = without_effect(inputs)
    friction = Friction.of(inputs.options["friction"])
    for name in idle:
        key = name.rpartition(".")[2]
        if key not in FRICTION:
            continue
        if friction is None:
            raise ValueError(f"the samples have {name!r}, and friction does not act (pass friction=True)")
        if (coefficient := getattr(friction, FRICTION[key])) is not None:
            raise ValueError(
                f"the samples have {name!r}, and friction has {FRICTION[key]}={coefficient!r} for all (expected"
                f" friction=True or a Friction without {FRICTION[key]}, which take the robot's own)"
            )
    others = [name for name in idle if name.rpartition(".")[2] not in FRICTION]
    if others:
        names = ", ".join(map(repr, others))
        warn(f"the motion of robot {inputs.arm.name!r} does not depend on {names}, which the samples have")


def without_effect(inputs: Inputs) -> list[str]:
    """The names of the entries that change neither the right-hand side nor an event."""
    varying = {name: tested(inputs.samples[name]) for name in inputs.entries}
    first = {name: inputs.samples[name][0] for name in inputs.entries}
    try:
        robots = map_of(inputs, first, varying)
        loads = {name: inputs.samples[name][:1] for name in LOADS if name in inputs.samples}
        parameters = {name: PerTrajectory(array[None]) for name, array in inputs.first_parameters.items()}
        options = {**inputs.options, **loads, "parameters": parameters}
        loads = loads_of(options, 1)
        problem = family_problem(robots.family, options, loads).traced()
        program = program_of(problem)
    except (TypeError, ValueError, RobotError):  # rotations, axes, exact friction, functions that cannot be traced
        return unread_friction(inputs)
    if any(node.op in CHOICES for node in program.nodes):  # a few states do not show both sides of each
        return unread_friction(inputs)
    names = [name for name in inputs.entries if varying[name].any()]
    rows = {name: np.stack([first[name]] * (1 + len(names))) for name in first}
    for k, name in enumerate(names, 1):
        rows[name][k] = furthest(inputs.samples[name])
    rng = np.random.default_rng(0)
    states = {"t": rng.random(STATES), "y": rng.uniform(-1.0, 1.0, (STATES, problem.size))}
    constants = np.concatenate([load.reshape(1, -1) for load in loads.values()], axis=1) if loads else np.zeros((1, 0))
    numbers = np.concatenate([np.repeat(constants, len(names) + 1, axis=0), robots.numbers(rows)], axis=1)[:, None]
    values = {**states, **problem.parameters_by_name(numbers)}
    with np.errstate(all="ignore"):
        results = evaluate(program, *(values[port.name] for port in program.inputs))
    same = [unchanged(np.broadcast_to(x, (len(names) + 1, STATES, x.shape[-1]))) for x in results]
    return [name for k, name in enumerate(names) if all(result[k] for result in same)]


def map_of(inputs: Inputs, first: Samples, varying: Samples) -> FamilyMap:
    """The sweep's own family where it has the same symbols."""
    known = inputs.family_map
    if known is not None and all(np.array_equal(known.varying[name], which) for name, which in varying.items()):
        return known
    return family_map(inputs.arm, first, varying)


def tested(array: np.ndarray) -> np.ndarray:
    """Which numbers of a sample are to be symbols: those that differ; a number that is the same in all rows, too."""
    differ = (array != array[0]).any(axis=0)
    return np.asarray(differ if differ.any() or differ.ndim else True)


def furthest(array: np.ndarray) -> np.ndarray:
    """The row that is furthest from the first one; something else where all are the same."""
    apart = np.abs(array - array[0]).reshape(len(array), -1).max(axis=1)
    return np.asarray(array[int(np.argmax(apart))] if np.nan_to_num(apart).max() > 0.0 else array[0] + 1.0)


def unchanged(values: np.ndarray) -> np.ndarray:
    """Which of the rows after the first (rows, states, size) are the first one, but for rounding."""
    size = np.abs(values[0]).max(axis=0) + 1e-300
    return np.asarray((np.abs(values[1:] - values[0]) <= ROUNDING * size).all(axis=(1, 2)))


def unread_friction(inputs: Inputs) -> list[str]:
    """Without a program: the friction of joints, where no function could read it."""
    friction = Friction.of(inputs.options["friction"])
    if callable(inputs.options["torque"]) or inputs.options["events"]:
        return []
    keys = [key for key, name in FRICTION.items() if friction is None or getattr(friction, name) is not None]
    return [name for name in inputs.entries if name.rpartition(".")[2] in keys]
