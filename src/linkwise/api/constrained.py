"""Robots with frames that are held, as public functions: accelerations, impacts, the inertia of a task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..dynamics import constrained, fewest, kinematics
from ..dynamics.constrained import Constrained, Seat
from ..errors import SingularError, one_of
from ..robot import Friction, Robot
from ..spatial import Twist, Vector, sub
from ..spatial.dense import Column, Dense, apply
from ..tracing.tracing import NamedRows
from .call import PublicFunction
from .functions import differences, external_wrenches, joint_torques, sums
from .kinematics import moving_frame, place_on_link
from .states import AXES, Array, ComponentAxes, States, as_array, library_of, reference_array

Hold = Literal["point", "pose"]
Holds = tuple[tuple[str, Hold], ...]  # a frame, and what of it is held
MOTIONS = ("acceleration", "velocity")  # of frames
ROWS: dict[str, slice] = {"point": slice(3, 6), "pose": slice(0, 6)}  # of the frame's Jacobian


class ConstrainedMotion(NamedTuple):
    """The result of `lw.constrained_dynamics`."""

    qdd: Array
    """(..., n)"""
    wrenches: Mapping[str, Array]
    """The wrenches that hold the frames, by frame, (..., 6): moment about its origin, then force, in base axes."""


class Impact(NamedTuple):
    """The result of `lw.impact`."""

    qd: Array
    """(..., n), after the impact"""
    impulses: Mapping[str, Array]
    """The impulses by frame, (..., 6): of the moment about its origin, then of the force, in base axes."""


class TaskInertia(NamedTuple):
    """The result of `lw.task_inertia` with `qd`."""

    inertia: Array
    """Λ, (..., 6, 6)"""
    bias: Array
    """μ, (..., 6): the wrench on the frame for which it does not accelerate, gravity included"""
    inverse: Array
    """J̄, (..., n, 6), the dynamically consistent inverse of the Jacobian"""
    projection: Array
    """N = 1 - J̄ J, (..., n, n): torques Nᵀ τ do not accelerate the frame"""


def check_holds(robot: Robot, fixed: Any, name: str = "fixed") -> Holds:
    """The frames with what of them is held, each of which must be on a link; those given by name alone are points."""
    ordered = isinstance(fixed, Iterable) and not isinstance(fixed, (str, set, frozenset))
    items = () if not ordered else fixed.items() if isinstance(fixed, Mapping) else fixed
    holds: Holds = tuple((item, "point") if isinstance(item, str) else item for item in items)
    if not holds or not all(isinstance(hold, (tuple, list)) and len(hold) == 2 for hold in holds):
        example = f"{{{robot.names[-1]!r}: 'point'}}"
        raise TypeError(f"{name} is {fixed!r} (expected frames, such as {example}, or a list of names, of points)")
    frames = [frame for frame, _ in holds]
    for frame, hold in holds:
        one_of(hold, ROWS, f"{name}[{frame!r}]")
        moving_frame(robot, frame)
        if frames.count(frame) > 1:
            raise ValueError(f"{name} has {frame!r} twice (expected each frame once)")
    return tuple((frame, hold) for frame, hold in holds)


def size_of(hold: Hold) -> int:
    """How many velocities of a frame are held."""
    return len(range(6)[ROWS[hold]])


def row_count(holds: Holds) -> int:
    return sum(size_of(hold) for _, hold in holds)


def seats(robot: Robot, holds: Holds) -> list[Seat]:
    places = [(*robot.seat(robot.frame(frame)), ROWS[hold]) for frame, hold in holds]
    return [Seat(link, pose.translation, rows) for link, pose, rows in places]


def frame_jacobian(states: States, holds: Holds) -> Dense:
    """K, for the rates of the joints."""
    rows = constrained.jacobians(states.links, states.positions(), seats(states.robot, holds))
    return [states.coordinates.torques(row) for row in rows]  # J G


def inertia_of(states: States) -> Dense:
    matrix: Dense = states.coordinates.matrix(fewest.composite_matrix(states.links, states.positions()))
    return matrix


def bias_motion(states: States) -> tuple[Column, Column, Column]:
    """Coordinates, rates and accelerations of the links where qdd is zero."""
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    return states.positions(), states.rates(), still


def bias_torques(states: States) -> Column:
    motion = bias_motion(states)
    return joint_torques(states, fewest.inverse_dynamics(states.links, *motion, external_wrenches(states)))


def wrench_rows(holds: Holds, multipliers: Column) -> Dense:
    """Six numbers for each frame, of the multipliers; a point transmits no moment."""
    rows, left = [], list(multipliers)
    for _, hold in holds:
        count = size_of(hold)
        rows.append([*[0.0] * (6 - count), *left[:count]])
        left = left[count:]
    return rows


def of_frames(robot: Robot, holds: Holds, values: Any, name: str) -> Any:
    """The numbers of a mapping by frame in one array, with zeros for frames that it lacks."""
    if not isinstance(values, Mapping):
        return values
    unknown = [frame for frame in values if frame not in dict(holds)]
    if unknown:
        raise ValueError(f"{name} has {unknown[0]!r} (expected frames of fixed: {', '.join(dict(holds))})")
    xp = library_of(list(values.values()))
    first = None if xp is np else reference_array(xp, list(values.values()))
    parts = []
    for frame, hold in holds:
        size = size_of(hold)
        label = f"{name}[{frame!r}]"
        parts.append(as_array(xp, values.get(frame, [0.0] * size), label, first))
        if tuple(parts[-1].shape[-1:]) != (size,):
            raise ValueError(f"{label} has shape {tuple(parts[-1].shape)} (expected (..., {size}): {hold!r} is held)")
    batch = np.broadcast_shapes(*(tuple(part.shape[:-1]) for part in parts))
    return xp.concatenate([xp.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], -1)


def by_frame(holds: Holds, array: Array) -> Mapping[str, Array]:
    """Six-vectors (..., frames, 6) by frame; of torch and JAX in a container that their transformations return."""
    if library_of([array]) is not np:
        return OrderedDict((frame, array[..., k, :]) for k, (frame, _) in enumerate(holds))
    return NamedRows([frame for frame, _ in holds], array)


def refuse_unmet(states: States, holds: Holds, errors: Column, sizes: Column) -> None:
    """Raise an error that names the first state, and a frame of it, that does not move as wanted.

    `sizes` are those of the terms that the errors are differences of.
    """
    with np.errstate(all="ignore"):
        rows, terms = (states.join(x, (len(errors),)) for x in (errors, sizes))
        unmet = np.argwhere(abs(rows) > np.sqrt(np.finfo(rows.dtype).eps) * terms.max(axis=-1, keepdims=True))
    if len(unmet):
        *state, row = map(int, unmet[0])
        frame = [frame for frame, hold in holds for _ in range(size_of(hold))][row]
        raise SingularError(
            f"robot {states.robot.name!r}: the frame {frame!r} cannot move as it should",
            " (its constraints contradict others, or no motion of the joints moves the frame that way)",
            tuple(state),
        )


def magnitudes(*columns: Column) -> Column:
    """|a| + |b| + ..."""
    return [sum(map(abs, row)) for row in zip(*columns, strict=True)]


def terms_of(matrix: Dense, *columns: Column) -> Column:
    """The terms of products with the matrix, all taken as positive."""
    return apply([[abs(x) for x in row] for row in matrix], magnitudes(*columns))


def normalize_constraints(robot: Robot, *, fixed: Any, **options: Any) -> dict[str, Any]:
    """The frames that are held, and their prescribed motions in one array."""
    holds = check_holds(robot, fixed)
    wanted = {name: of_frames(robot, holds, options[name], name) for name in MOTIONS if name in options}
    return {**options, "fixed": holds, **wanted}


def wanted_rates(states: States, holds: Holds, name: str) -> Column:
    return states.scalars(name) if name in states.arrays else [0.0] * row_count(holds)


def driving_torques(states: States, law: Friction | None) -> Column:
    """φ"""
    tau = states.scalars("tau")
    if law is not None:
        tau = differences(tau, law.torques(states.robot, states.scalars("qd"), applied=tau))
    return differences(tau, bias_torques(states))


def frame_drift(states: States, holds: Holds) -> Column:
    """K̇ q̇"""
    return constrained.frame_rates(states.links, *bias_motion(states), seats(states.robot, holds))


def constrained_motion(states: States, fixed: Holds, law: Friction | None) -> tuple[Column, Dense]:
    wanted = differences(wanted_rates(states, fixed, "acceleration"), frame_drift(states, fixed))
    system = Constrained.of(inertia_of(states), frame_jacobian(states, fixed))
    qdd, multipliers = system.accelerations(driving_torques(states, law), wanted)
    return qdd, wrench_rows(fixed, multipliers)


def pack_motion(
    results: Sequence[Array], states: States | None, fixed: Holds, check: bool, law: Friction | None = None
) -> ConstrainedMotion:
    qdd, wrenches = results
    if check and states is not None and states.numeric:
        columns, K = [qdd[..., k] for k in range(states.robot.n)], frame_jacobian(states, fixed)
        wanted, drift = wanted_rates(states, fixed, "acceleration"), frame_drift(states, fixed)
        free = fewest.udu_solve(inertia_of(states), driving_torques(states, law))
        errors = differences(sums(apply(K, columns), drift), wanted)
        refuse_unmet(states, fixed, errors, magnitudes(wanted, drift, terms_of(K, columns, free)))
    return ConstrainedMotion(qdd, by_frame(fixed, wrenches))


@PublicFunction(
    lambda robot, fixed, **_: [("n",), (len(fixed), 6)],
    constrained_motion,
    divides=True,
    normalize_options=normalize_constraints,
    optional_arrays={"acceleration": lambda robot, fixed, **_: (row_count(fixed),)},
    pack=pack_motion,
    published="constrained-dynamics",
    result_names=("qdd", "wrenches"),
)
def constrained_dynamics(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    fixed: Iterable[str] | Mapping[str, Hold] | None = None,
    acceleration: Mapping[str, Array] | Array | None = None,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    check: bool = False,
) -> ConstrainedMotion:
    """Accelerations under the torques tau while frames are held, and the wrenches that hold them.

        I q̈ + bias = τ + Σ Jᵀ w      J q̈ + J̇ q̇ = a

    Of redundant constraints, such as four feet that must not turn, the wrenches are the shortest, as columns of
    numbers in N and N·m. Constraints that contradict each other are met with the smallest squares of errors.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, tau : array_like, (..., n)
    fixed : mapping of str to {"point", "pose"} or sequence of str
        By the name of a frame or link what is held of it: its origin, or its orientation too. Names alone are points.
    acceleration : mapping of str to array_like, optional
        By frame (..., 3) for a point, or (..., 6) for a pose, angular first: the acceleration of the frame's origin,
        and the angular acceleration, in base axes. By default zero. Also one array (..., rows) of all frames, in the
        order of `fixed`; of this form is the argument of compiled functions.
    wrench, point, axes, friction
        As for `lw.forward_dynamics`.
    check : bool
        Refuse numbers that are not finite, and constraints that no motion of the joints fulfils.

    Returns
    -------
    ConstrainedMotion
        Named tuple of qdd (..., n) and `wrenches`, a mapping by frame, (..., 6): what holds the frame exerts on the
        robot, moment about the frame's origin, then force, in base axes. Where a point is held the moment is zero.
        Compiled functions return the wrenches as one array (..., frames, 6).

    Raises
    ------
    SingularError
        If nothing resists the motion of a joint; with `check`, if constraints cannot be fulfilled.

    Examples
    --------
    >>> import linkwise as lw
    >>> dog = lw.load("go1")
    >>> feet = dict.fromkeys(["FL_foot", "FR_foot", "RL_foot", "RR_foot"], "point")
    >>> q = lw.neutral(dog)
    >>> for leg in ("FL", "FR", "RL", "RR"):
    ...     q[dog.q_slice(f"{leg}_thigh_joint")], q[dog.q_slice(f"{leg}_calf_joint")] = 0.8, -1.6
    >>> motion = lw.constrained_dynamics(dog, q, [0] * dog.n, [0] * dog.n, fixed=feet)
    >>> sum(w[5] for w in motion.wrenches.values()) < lw.total_mass(dog) * 9.81      # it sinks
    np.True_
    """


def impact_velocities(states: States, fixed: Holds) -> tuple[Column, Dense]:
    system = Constrained.of(inertia_of(states), frame_jacobian(states, fixed))
    qd, impulses = system.velocities(states.scalars("qd"), wanted_rates(states, fixed, "velocity"))
    return qd, wrench_rows(fixed, impulses)


def pack_impact(results: Sequence[Array], states: States | None, fixed: Holds, check: bool) -> Impact:
    qd, impulses = results
    if check and states is not None and states.numeric:
        columns, K = [qd[..., k] for k in range(states.robot.n)], frame_jacobian(states, fixed)
        wanted = wanted_rates(states, fixed, "velocity")
        errors = differences(apply(K, columns), wanted)
        refuse_unmet(states, fixed, errors, magnitudes(wanted, terms_of(K, columns, states.scalars("qd"))))
    return Impact(qd, by_frame(fixed, impulses))


@PublicFunction(
    lambda robot, fixed, **_: [("n",), (len(fixed), 6)],
    impact_velocities,
    divides=True,
    normalize_options=normalize_constraints,
    optional_arrays={"velocity": lambda robot, fixed, **_: (row_count(fixed),)},
    pack=pack_impact,
    published="constrained-dynamics",
    result_names=("qd_after", "impulses"),
)
def impact(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    *,
    fixed: Iterable[str] | Mapping[str, Hold] | None = None,
    velocity: Mapping[str, Array] | Array | None = None,
    check: bool = False,
) -> Impact:
    """Velocities after an inelastic impact that stops frames, and the impulses.

        I (q̇⁺ - q̇) = Σ Jᵀ p      J q̇⁺ = v

    Kinetic energy is lost, as little as the constraints allow. Redundant constraints as in `lw.constrained_dynamics`.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
        Before the impact.
    fixed : mapping of str to {"point", "pose"} or sequence of str
        By the name of a frame or link what the impact stops: its origin, or its orientation too. Names alone are
        points.
    velocity : mapping of str to array_like, optional
        By frame the velocity after the impact, (..., 3) for a point, or (..., 6) for a pose, angular first, in base
        axes; by default zero. Of a foot that rebounds it is -e times the velocity before. Also one array (..., rows).
    check : bool
        Refuse numbers that are not finite, and velocities that no motion of the joints has.

    Returns
    -------
    Impact
        Named tuple of qd (..., n) and `impulses`, a mapping by frame, (..., 6) as the wrenches of
        `lw.constrained_dynamics`, times s.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> after = lw.impact(arm, [0, 0.5, 0.5], [1, 1, 1], fixed={arm.names[-1]: "point"})
    >>> bool(lw.kinetic_energy(arm, [0, 0.5, 0.5], after.qd) < lw.kinetic_energy(arm, [0, 0.5, 0.5], [1, 1, 1]))
    True
    """


def check_task(robot: Robot, frame: str | None, axes: str) -> dict[str, Any]:
    one_of(axes, AXES, "axes")
    ((name, _),) = check_holds(robot, {robot.names[-1] if frame is None else frame: "pose"}, "frame")
    return {"frame": name, "axes": axes}


def task_system(states: States, frame: str, axes: str) -> Constrained:
    place = place_on_link(states.robot, frame, axes, None, "frame")
    rows = kinematics.jacobian(states.links, states.positions(), *place)
    return Constrained.of(inertia_of(states), [states.coordinates.torques(row) for row in rows])


def task_drift(states: States, frame: str, axes: str) -> Column:
    """K̇ q̇, the components along the axes of the acceleration at zero qdd."""
    drift = frame_drift(states, ((frame, "pose"),))
    link, _, own = place_on_link(states.robot, frame, axes, None, "frame")
    if own is None:
        return drift
    turn = kinematics.poses(states.links, states.positions())[link].axes.then(own)
    return list(kinematics.turned_back(turn, Twist(Vector(*drift[:3]), Vector(*drift[3:]))))


def task_matrix(states: States, frame: str, axes: str) -> Dense:
    return task_system(states, frame, axes).gram.pseudoinverse()


@PublicFunction((6, 6), task_matrix, divides=True, normalize_options=check_task, published="constrained-dynamics")
def task_inertia_matrix(
    robot: Robot, q: Array, *, frame: str | None = None, axes: ComponentAxes = "base", check: bool = False
) -> Array:
    """Λ, (..., 6, 6)."""


def task_terms(states: States, frame: str, axes: str) -> tuple[Any, ...]:
    system = task_system(states, frame, axes)
    inertia = system.gram.pseudoinverse()
    rates = [sub(0.0, x) for x in task_drift(states, frame, axes)]
    bias = system.task_bias(inertia, bias_torques(states), rates)
    inverse = system.task_inverse(inertia)
    return inertia, bias, inverse, system.task_projection(inverse)


@PublicFunction(
    [(6, 6), (6,), ("n", 6), ("n", "n")],
    task_terms,
    divides=True,
    normalize_options=check_task,
    pack=TaskInertia._make,
    published="constrained-dynamics",
    result_names=("inertia", "bias", "inverse", "projection"),
)
def task_dynamics(  # type: ignore[empty-body]
    robot: Robot, q: Array, qd: Array, *, frame: str | None = None, axes: ComponentAxes = "base", check: bool = False
) -> TaskInertia:
    """All terms."""


def task_inertia(
    robot: Robot,
    q: Array,
    qd: Array | None = None,
    *,
    frame: str | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> Array | TaskInertia:
    """The inertia that a frame shows to a wrench on it; with `qd` all terms of operational space.

        Λ = (J I⁻¹ Jᵀ)⁻¹      F = Λ a + μ      τ = Jᵀ F + Nᵀ τ₀

    The torques τ give the frame the acceleration a, whatever τ₀ is. In directions in which the joints cannot move the
    frame, Λ would be infinite; there it is zero: Λ is the pseudoinverse.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n), optional
        Rates; with them the result is a named tuple.
    frame : str, optional
        Name of a frame or link; by default the last link.
    axes : {"base", "frame"}
        Components of wrenches and accelerations along the axes of the base, or of the frame.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., 6, 6)
        Λ. With `qd` a `TaskInertia`: `inertia` Λ, `bias` μ (..., 6), `inverse` J̄ (..., n, 6), the dynamically
        consistent inverse I⁻¹ Jᵀ Λ, and `projection` N = 1 - J̄ J (..., n, n). Angular parts come first.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm, q, qd = lw.load("puma560"), [0, 0.3, 0.4, 0, 0.5, 0], [0.1] * 6
    >>> task, J = lw.task_inertia(arm, q, qd), lw.jacobian(arm, q)
    >>> np.allclose(J @ task.inverse, np.eye(6))
    True
    """
    if qd is None:
        return task_inertia_matrix(robot, q, frame=frame, axes=axes, check=check)
    return task_dynamics(robot, q, qd, frame=frame, axes=axes, check=check)


vars(task_inertia).update(published="constrained-dynamics", result_names=("inertia", "bias", "inverse", "projection"))
