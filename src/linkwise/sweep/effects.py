"""Samples without effect: numbers of the robot that its motion does not depend on, found before anything is computed.

The right-hand side and the events are traced with a symbol for each number that the samples give, and evaluated at some
states, each number once as in the first row and once as in another. What changes nothing is without effect.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..errors import RobotError
from ..graph import evaluate
from ..robot import Friction
from ..simulate.parameters import among
from .family import kinship
from .family_run import family_problem, loads_of
from .files import note
from .plan import Inputs
from .samples import parameters, varied

FRICTION = {"viscous_friction": "viscous", "coulomb_friction": "coulomb"}
STATES = 5  # at which a number may show its effect
ROUNDING = 1e-10


def check_effects(inputs: Inputs) -> None:
    """A ValueError where friction is swept and does not act; a warning where other numbers change nothing."""
    names = parameters(inputs.samples, inputs.arm)
    if inputs.vary is not None or not names:
        return
    idle = without_effect(inputs, names)
    drag = Friction.of(inputs.options["friction"])
    for name in idle:
        word = name.rpartition(".")[2]
        if word not in FRICTION:
            continue
        if drag is None:
            raise ValueError(f"the samples have {name!r}, and friction does not act (pass friction=True)")
        if (given := getattr(drag, FRICTION[word])) is not None:
            raise ValueError(
                f"the samples have {name!r}, and friction has {FRICTION[word]}={given!r} for all (expected"
                f" friction=True or a Friction without {FRICTION[word]}, which take the robot's own)"
            )
    others = [name for name in idle if name.rpartition(".")[2] not in FRICTION]
    if others:
        said = ", ".join(map(repr, others))
        note(f"the motion of robot {inputs.arm.name!r} does not depend on {said}, which the samples have")


def without_effect(inputs: Inputs, names: list[str]) -> list[str]:
    differ = {name: swept(inputs.samples[name]) for name in names}
    one = {name: inputs.samples[name][0] for name in names}
    try:
        kin = kinship(partial(varied, inputs.arm), one, differ)
        options = {**inputs.options, **acting(inputs)}
        loads = loads_of(options, 1)
        problem = family_problem(kin.family, options, loads)
        program = problem.program()
    except (TypeError, ValueError, RobotError):  # rotations, axes, exact friction, functions that cannot be traced
        return unread_friction(inputs, names)
    if any(node.op == "select" for node in program.nodes):  # a few states do not show both sides of each
        return unread_friction(inputs, names)
    names = [name for name in names if differ[name].any()]
    rows = {name: np.stack([one[name]] * (1 + len(names))) for name in one}
    for k, name in enumerate(names, 1):
        rows[name][k] = another(inputs.samples[name])
    rng = np.random.default_rng(0)
    states = {"t": rng.random(STATES), "y": rng.uniform(-1.0, 1.0, (STATES, problem.size))}
    constants = np.concatenate([load.reshape(1, -1) for load in loads.values()], axis=1) if loads else np.zeros((1, 0))
    numbers = np.concatenate([np.repeat(constants, len(names) + 1, axis=0), kin.numbers(rows)], axis=1)[:, None]
    given = {**states, **problem.given(numbers)}
    with np.errstate(all="ignore"):
        found = evaluate(program, *(given[port.name] for port in program.inputs))
    same = [unchanged(np.broadcast_to(each, (len(names) + 1, STATES, each.shape[-1]))) for each in found]
    return [name for k, name in enumerate(names) if all(each[k] for each in same)]


def another(array: np.ndarray) -> np.ndarray:
    """The row that is furthest from the first one; something else where all are the same."""
    apart = np.abs(array - array[0]).reshape(len(array), -1).max(axis=1)
    return np.asarray(array[int(np.argmax(apart))] if np.nan_to_num(apart).max() > 0.0 else array[0] + 1.0)


def unchanged(values: np.ndarray) -> np.ndarray:
    """Which of the rows after the first (rows, states, size) are the first one, but for rounding."""
    size = np.abs(values[0]).max(axis=0) + 1e-300
    return np.asarray((np.abs(values[1:] - values[0]) <= ROUNDING * size).all(axis=(1, 2)))


def swept(array: np.ndarray) -> np.ndarray:
    """Which numbers of a sample are to be symbols: those that differ; a number that is the same in all rows, too."""
    found = (array != array[0]).any(axis=0)
    return np.asarray(found if found.any() or found.ndim else True)


def acting(inputs: Inputs) -> dict[str, Any]:
    """Loads and parameters of the torque function, of one row."""
    rows: dict[str, Any] = {name: inputs.samples[name][:1] for name in ("torque", "wrench") if name in inputs.samples}
    own = {name: np.nan_to_num(array[:1]) for name, array in among(inputs.options["torque"], inputs.samples).items()}
    return {**rows, "parameters": own}


def unread_friction(inputs: Inputs, names: list[str]) -> list[str]:
    """Without a program: the friction of joints, where nobody could read it."""
    drag = Friction.of(inputs.options["friction"])
    if callable(inputs.options["torque"]) or inputs.options["events"]:
        return []
    words = [word for word, own in FRICTION.items() if drag is None or getattr(drag, own) is not None]
    return [name for name in names if name.rpartition(".")[2] in words]
