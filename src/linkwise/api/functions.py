"""Dynamics as public functions. Each takes the robot, then arrays (..., n) of any batch shape, and returns arrays.

Results are of the caller's library (NumPy, torch, JAX), differentiable where the library is. Object arrays of symbols,
graph nodes or many-digit numbers run the same text. `check=True` refuses numbers that are not finite; without it a
state that contains one has NaN as its result, and other states are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..dynamics import CONTRACTIONS, energy, fewest, kinematics, newton_euler
from ..dynamics import udu as factors
from ..errors import one_of
from ..graph.matrices import remember
from ..kernels.lock import LOCK
from ..robot import Friction, Robot
from ..spatial import Scalars, Vector, Wrench, add, sub
from .call import BaseMotion, PublicFunction, base_motion, moving_base
from .method_table import method_name
from .states import AXES, Array, ComponentAxes, States


def inverse_dynamics_torques(
    states: States, algorithm: Any, law: Friction | None, base: BaseMotion | None
) -> list[Any]:
    moving = moving_base(states, base)
    tau = joint_torques(states, algorithm(states.links, *states.motion(), external_wrenches(states), **moving))
    return tau if law is None else sums(tau, law.torques(states.robot, states.scalars("qd"), load=tau))


@PublicFunction(
    ("n",),
    inverse_dynamics_torques,
    takes_base_motion=True,
    result_names=("tau", "wrenches", "missing"),  # the last two of contacts
)
def inverse_dynamics(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    method: str | None = None,
    base: BaseMotion | None = None,
    friction: bool | Friction = False,
    contacts: Iterable[str] | Mapping[str, Literal["point", "pose"]] | None = None,
    check: bool = False,
) -> Array:
    """Joint torques (revolute, N·m) and forces (prismatic, N) that give the accelerations qdd.

        τ = I(q) q̈ + C(q, q̇) q̇ + g(q) - Jᵀ w

    Gravity and the inertia of the drives are included.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
        Angles in rad, displacements in m; quaternions (w, x, y, z) of ball and free joints.
    qd, qdd : array_like, (..., n)
        Joint rates and accelerations.
    wrench : mapping from str to array_like, or array_like, optional
        External moment, then force. A mapping has (..., 6) for each frame by name, `{"tool0": ...}`, acting at the
        frame's origin. An array acts at mass centres, with components in the base frame: (..., 6) on the tip link,
        or (..., m, 6) on each of the m = len(robot.names) links.
    point : array_like, (..., 3) or (..., m, 3), optional
        Where an array of wrenches acts instead, in the table frame of the link (that of `lw.poses`).
    axes : {"base", "frame"}
        Axes of the components of wrenches by frame: those of the base, or of each frame.
    method : str, optional
        One of `lw.methods(lw.inverse_dynamics)`.
    base : BaseMotion, optional
        Prescribed motion of the base; gravity stays `robot.gravity` along the base's axes.
    friction : bool or Friction
        True adds joint friction with the robot's own coefficients.
    contacts : sequence of str or mapping of str to {"point", "pose"}, optional
        Frames or links of a robot with a free joint on its base that touch the ground: points, or flat feet, which
        transmit moments too. The result is then a named tuple: tau with zeros at the free joint, and the least forces
        of the ground that make it possible.
    check : bool
        Refuse numbers that are not finite. Otherwise a state with one has NaN as its result.

    Returns
    -------
    Array, (..., n)
        Of the caller's kind: NumPy, torch or JAX. With `contacts` a `Support`: tau (..., n); `wrenches`, a mapping by
        frame of what the ground exerts, (..., 6), moment about the frame's origin, then force, in base axes; `missing`
        (..., 6), what of the torques of the free joint no forces of the contacts can replace.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.inverse_dynamics(arm, q=[0, 0, 0], qd=[0, 0, 0], qdd=[0, 0, 0])
    array([4.34583, 1.54998, 0.32373])
    """
    if contacts is None:
        return None
    if base is not None:
        raise TypeError(f"contacts={contacts!r} and base={base!r} are both given (expected one of them)")
    with LOCK:  # imported late: without contacts it is not needed
        from .contacts import supported
    options = {"point": point, "axes": axes, "friction": friction, "contacts": contacts, "check": check}
    name = method_name(inverse_dynamics, method, robot)
    return supported.call(robot, q, qd, qdd, wrench, algorithm_name=name, **options)


def accelerations(states: States, algorithm: Any, law: Friction | None, base: BaseMotion | None) -> list[Any]:
    torques = states.scalars("tau")
    if law is not None:
        torques = differences(torques, law.torques(states.robot, states.scalars("qd"), applied=torques))
    if algorithm not in CONTRACTIONS:
        return joint_accelerations(states, algorithm, torques, external_wrenches(states), base)
    with LOCK:  # imported late: other methods do not need it
        from .vectorized_links import vectorize_links
    external = external_wrenches(states, vectorize_links(states, CONTRACTIONS[algorithm]))
    return joint_accelerations(states, vectorize_links(states, algorithm), torques, external, base)


@PublicFunction(("n",), accelerations, divides=True, takes_base_motion=True, result_names=("qdd",))
def forward_dynamics(
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    method: str | None = None,
    base: BaseMotion | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> Array:
    """Joint accelerations under the torques tau.

        q̈ = I(q)⁻¹ (τ + Jᵀ w - C(q, q̇) q̇ - g(q))

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, tau : array_like, (..., n)
        Joint rates; torques in N·m, forces in N.
    wrench, point, axes, base, friction, check
        As for `lw.inverse_dynamics`.
    method : str, optional
        One of `lw.methods(lw.forward_dynamics)`. "fewest" is the one with the fewest operations on this robot;
        beyond 60 links, where counting takes long, "articulated-regrouped", which is O(n).

    Returns
    -------
    Array, (..., n)

    Raises
    ------
    SingularError
        If nothing resists the motion of a joint.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.forward_dynamics(arm, q=[0, 0, 0], qd=[0, 0, 0], tau=[4.34583, 1.54998, 0.32373]).round(9) + 0.0
    array([0., 0., 0.])
    """


def inertia(states: States, algorithm: Any) -> Any:
    q = states.positions()
    matrix = states.coordinates.matrix(algorithm(states.links, q))
    if not states.batch:  # where it is traced, solving with it takes what forward dynamics takes
        remember(matrix, lambda: None if states.robot.couplings else factors.solver(states.links.regrouped(), q))
    return matrix


@PublicFunction(("n", "n"), inertia, divides=True, result_names=("inertia",))
def inertia_matrix(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Array:
    """The generalized inertia matrix I(q), symmetric and positive definite.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    method : str, optional
        One of `lw.methods(lw.inertia_matrix)`.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n)

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.inertia_matrix(lw.load("gantry"), [0, 0, 0]).diagonal()
    array([12.,  7.,  3.])
    """


def bias_torques(states: States, algorithm: Any, base: BaseMotion | None) -> Any:
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    motion = states.positions(), states.rates(), still
    return joint_torques(
        states, algorithm(states.links, *motion, external_wrenches(states), **moving_base(states, base))
    )


@PublicFunction(("n",), bias_torques, takes_base_motion=True, result_names=("tau",))
def bias_torque(
    robot: Robot,
    q: Array,
    qd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    method: str | None = None,
    base: BaseMotion | None = None,
    check: bool = False,
) -> Array:
    """The torques at zero acceleration, C(q, qd) qd + g(q), less those of the external wrench.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    wrench, point, axes, method, base, check
        As for `lw.inverse_dynamics`.

    Returns
    -------
    Array, (..., n)
    """


def gravity_torques(states: States, algorithm: Any) -> Any:
    links = len(states.robot.links)
    still, nothing = [0.0] * links, [Wrench.zero()] * links
    return states.coordinates.torques(algorithm(states.links, states.positions(), still, still, nothing))


@PublicFunction(("n",), gravity_torques, result_names=("tau",))
def gravity_torque(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Array:
    """The torques that hold the robot still against gravity, g(q).

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    method, check
        As for `lw.inverse_dynamics`.

    Returns
    -------
    Array, (..., n)
    """


@PublicFunction(
    (),
    lambda states: energy.kinetic_energy(states.links, states.positions(), states.rates()),
    result_names=("energy",),
)
def kinetic_energy(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """Kinetic energy in J, that of the drives' inertia included.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (...)
    """


@PublicFunction((), lambda states: energy.potential_energy(states.links, states.positions()), result_names=("energy",))
def potential_energy(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """Potential energy of gravity in J, zero for masses at the origin of the base frame.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (...)
    """


def joint_wrench_rows(states: States, axes: str, base: BaseMotion | None) -> list[list[Any]]:
    robot, links, angles = states.robot, states.links, states.positions()
    loads = newton_euler.joint_wrenches(links, *states.motion(), external_wrenches(states), base_motion(states, base))
    loads = kinematics.in_joint_frames(links, angles, loads)
    if axes == "base":
        return [list(load) for load in first_link_wrenches(robot, kinematics.in_base_frame(links, angles, loads))]
    turns = [joint.kind.joint_frame.axes.T for joint in robot.moving]
    pairs = zip(turns, first_link_wrenches(robot, loads), strict=True)
    return [[*(turn @ load.moment), *(turn @ load.force)] for turn, load in pairs]


@PublicFunction(("links", 6), joint_wrench_rows, takes_base_motion=True, published="newton-euler")
def joint_wrenches(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    wrench_axes: ComponentAxes = "base",
    base: BaseMotion | None = None,
    check: bool = False,
) -> Array:
    """All six components at each joint: the wrench that a link gets from its parent.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    wrench, point, base, check
        As for `lw.inverse_dynamics`.
    wrench_axes : {"base", "frame"}
        As `axes` of `lw.inverse_dynamics`.
    axes : {"base", "frame"}
        Components of the result along the axes of the base, or along those of the joint frame, whose z is the joint's
        axis if it has one. There the third number of a revolute joint and the sixth of a prismatic one is the torque
        or force of the drive, less what its rotor's inertia takes.

    Returns
    -------
    Array, (..., joints, 6)
        For each of `robot.names` moment, then force; moments about the origin of the joint frame, which is fixed
        to the parent link.
    """
    one_of(axes, AXES, "axes")


def external_wrenches(
    states: States, in_link_frames: Callable[..., list[Wrench]] = kinematics.in_link_frames
) -> list[Wrench]:
    """The external wrench on each link, at its mass centre, in its own frame."""
    links = states.links.links
    totals = [Wrench.zero()] * len(links)
    for link, w, at in external_loads(states, in_link_frames):
        totals[link] = totals[link] + (w if at is None else w.acting_at(at - links[link].com))
    return totals


class ExternalLoad(NamedTuple):
    """A wrench on a link and the point where it acts, both in the link's own frame."""

    link: int
    wrench: Wrench
    at: Vector | None  # None: the mass centre


def external_loads(
    states: States, in_link_frames: Callable[..., list[Wrench]] = kinematics.in_link_frames
) -> list[ExternalLoad]:
    """The external wrenches on the links, of which a link may have several."""
    robot, rows = states.links, states.wrenches()
    links = [link for link, _ in rows]
    wrenches = [Wrench(Vector(*six[:3]), Vector(*six[3:])) for _, six in rows]
    places: list[Vector | None] = [None] * len(rows)
    if states.at is not None:
        seats = [states.robot.seat(states.robot.frame(name))[1] for name in states.at.names]
        places = [seat.translation for seat in seats]
        if states.at.axes == "frame":
            turns = [seat.axes for seat in seats]
            turned = [Wrench(R @ w.moment, R @ w.force) for R, w in zip(turns, wrenches, strict=True)]
            return list(map(ExternalLoad, links, turned, places))
    elif points := states.points():
        places = [robot.links[link].frame.point(Vector(*at)) for link, at in zip(links, points, strict=True)]
    waiting = dict(enumerate(links))
    while waiting:  # at most one wrench of each link at a time
        row_of = {link: row for row, link in reversed(waiting.items())}
        in_base = [wrenches[row_of[k]] if k in row_of else Wrench.zero() for k in range(len(robot.links))]
        turned = in_link_frames(robot, states.positions(), in_base)
        for link, row in row_of.items():
            wrenches[row] = turned[link]
            del waiting[row]
    return list(map(ExternalLoad, links, wrenches, places))


def joint_torques(states: States, tau: Scalars) -> list[Any]:
    """The torques of the joints, from the torques that an algorithm gives for the links."""
    if states.robot.rotors_in_balls:
        tau = sums(tau, states.coordinates.rotor_torques(states.scalars("qd")))
    return states.coordinates.torques(tau)


def joint_accelerations(
    states: States, plain: Any, tau: Scalars, external: list[Wrench], base: BaseMotion | None = None
) -> list[Any]:
    """The accelerations of the coordinates, by an algorithm for uncoupled links."""
    robot, rates, moving = states.robot, states.rates(), moving_base(states, base)
    if robot.couplings:
        return coupled_accelerations(states, tau, external, **moving)
    if robot.rotors_in_balls:
        tau = differences(tau, states.coordinates.rotor_torques(rates))
    accelerations = plain(robot, states.positions(), rates, tau, external, **moving)
    return states.coordinates.joint_accelerations(rates, accelerations)


def coupled_accelerations(
    states: States, tau: Scalars, external: list[Wrench], base: newton_euler.LinkMotion | None = None
) -> list[Any]:
    """With coupled joints: solves Gᵀ I G q̈ = τ - Gᵀ bias."""
    links, q, rates = states.links, states.positions(), states.rates()
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    bias = joint_torques(states, fewest.inverse_dynamics(links, q, rates, still, external, base))
    matrix = states.coordinates.matrix(fewest.composite_matrix(links, q))
    return fewest.udu_solve(matrix, differences(tau, bias))


def first_link_wrenches(robot: Robot, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """The wrench at each joint of the table: that of its first link, since the links within a joint have no mass."""
    return [wrenches[joint.first] for joint in robot.moving]


def sums(a: Scalars, b: Scalars) -> list[Any]:
    return [add(*pair) for pair in zip(a, b, strict=True)]


def differences(a: Scalars, b: Scalars) -> list[Any]:
    return [sub(*pair) for pair in zip(a, b, strict=True)]


def refuse_coupled(robot: Robot, what: str) -> None:
    """Raise an error that names the coupled joint, for formulations without a form for them."""
    if isinstance(robot, Robot) and robot.couplings:
        joint = robot.links[robot.couplings[0].link].name
        raise ValueError(
            f"robot {robot.name!r}, joint {joint!r} is coupled: {what} have no form for coupled joints (expected joints"
            " that move on their own)"
        )
