"""The public functions. Each takes the robot first, then arrays (..., n) of any batch shape, and returns arrays.

NumPy arrays, lists, torch tensors and JAX arrays come back as their own kind, differentiable where the library is;
object arrays of symbols, of graph nodes or of many-digit numbers run the same text. Every function takes `check=True`
to refuse numbers that are not finite; without it, a state that contains one gives NaN throughout its result, and the
other states are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from ..dynamics import CONTRACTIONS, centres, composite, elimination, energy, fewest, kinematics, newton_euler
from ..errors import is_integer, one_of
from ..kernels.lock import LOCK
from ..robot import Friction, Link, Robot
from ..robot.entries import vector3
from ..spatial import Scalars, Vector, Wrench, add, sub
from .base_motion import BaseMotion, base_motion, base_velocity
from .call import PublicFunction
from .states import Array, States

ComponentAxes = Literal["base", "frame"]  # the axes along which components are: of the base, or of a frame itself
AXES = get_args(ComponentAxes)


def inverse_dynamics_torques(
    states: States, algorithm: Any, law: Friction | None, base: BaseMotion | None
) -> list[Any]:
    moving = {} if base is None else {"base": base_motion(states, base)}
    tau = joint_torques(states, algorithm(states.links, *states.motion(), external_wrenches(states), **moving))
    return tau if law is None else sums(tau, law.torques(states.robot, states.scalars("qd")))


@PublicFunction(("n",), inverse_dynamics_torques, takes_base_motion=True, fast=True, result_names=("tau",))
def inverse_dynamics(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    method: str | None = None,
    base: BaseMotion | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> Array:
    """Joint torques (revolute, N·m) and forces (prismatic, N) that give the accelerations qdd: (..., n).

    Gravity and the drives' inertia are in; friction is with `friction=True`, by the robot's own coefficients, or with
    an `lw.Friction`. `method` is one of `lw.methods`.
    `wrench` is an external wrench, moment then force, in the base frame at the centre of mass: (..., 6) on the tip link
    or (..., m, 6) on every link, m being `len(robot.names)`. The number of axes tells which: beside a batch, wrenches
    on every link have its axes too, (1, m, 6) where they are the same in all states; (m, 6) are m wrenches on the tip.
    `point` is where it acts instead, in the table frame of the link (that of `lw.poses`): (..., 3) on the tip link,
    (..., m, 3) on every link. `base` prescribes the motion of the base (Newton-Euler only).

    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.inverse_dynamics(arm, q=[0, 0, 0], qd=[0, 0, 0], qdd=[0, 0, 0])
    array([4.34583, 1.54998, 0.32373])
    """


def accelerations(states: States, algorithm: Any, law: Friction | None) -> list[Any]:
    torques = states.scalars("tau")
    if law is not None:
        torques = differences(torques, law.torques(states.robot, states.scalars("qd")))
    if algorithm not in CONTRACTIONS:
        return joint_accelerations(states, algorithm, torques, external_wrenches(states))
    with LOCK:  # late: other methods need none of it
        from .side_by_side import vectorize_links
    external = external_wrenches(states, vectorize_links(states, CONTRACTIONS[algorithm]))
    return joint_accelerations(states, vectorize_links(states, algorithm), torques, external)


@PublicFunction(("n",), accelerations, divides=True, fast=True, result_names=("qdd",))
def forward_dynamics(
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    method: str | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> Array:
    """Joint accelerations under the torques tau: (..., n). `wrench`, `point` and `friction` as for `inverse_dynamics`.

    `method="fewest"` takes the method that needs the fewest operations on this robot, by counting; beyond 60 links,
    where counting takes long, "articulated-regrouped", whose operations grow as the number of links.

    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.forward_dynamics(arm, q=[0, 0, 0], qd=[0, 0, 0], tau=[4.34583, 1.54998, 0.32373]).round(9) + 0.0
    array([0., 0., 0.])
    """


def inertia(states: States, algorithm: Any) -> Any:
    return states.coordinates.matrix(algorithm(states.links, states.positions()))


@PublicFunction(("n", "n"), inertia, divides=True, fast=True, result_names=("inertia",))
def inertia_matrix(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Array:
    """The generalized inertia matrix I(q): (..., n, n), symmetric, positive definite.

    >>> import linkwise as lw
    >>> lw.inertia_matrix(lw.load("gantry"), [0, 0, 0]).diagonal()
    array([12.,  7.,  3.])
    """


def udu_factors(states: States, algorithm: Any) -> tuple[Any, list[Any]]:
    robot, q = states.robot, states.positions()
    if robot.couplings:
        matrix = states.coordinates.matrix(composite.inertia_matrix(states.links, q))
        upper, diagonal = elimination.udu_of(matrix)
    else:
        upper, diagonal = algorithm(robot, q)
    return upper, [np.where(x == 0.0, np.nan, x) for x in diagonal] if states.numeric else diagonal  # 0: singular


@PublicFunction([("n", "n"), ("n",)], udu_factors, divides=True, compiled=False, result_names=("U", "D"))
def udu(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> tuple[Array, Array]:  # type: ignore[empty-body]
    """The factors of I = U D Uᵀ: U (..., n, n), unit upper triangular, and the diagonal of D (..., n), all positive.

    By the recursion of the articulated bodies, or with `method="elimination"` from the elements of I, as in formulas.

    >>> import linkwise as lw
    >>> U, D = lw.formulations.udu(lw.load("planar3"), [0.1, 0.2, 0.3])
    >>> U.shape, D.shape
    ((3, 3), (3,))
    """


def bias_torques(states: States, algorithm: Any) -> Any:
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    motion = states.positions(), states.rates(), still
    return joint_torques(states, algorithm(states.links, *motion, external_wrenches(states)))


@PublicFunction(("n",), bias_torques, fast=True, result_names=("tau",))
def bias_torque(
    robot: Robot,
    q: Array,
    qd: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    method: str | None = None,
    check: bool = False,
) -> Array:
    """The torques at zero acceleration, C(q, qd) qd + g(q), less those of the external wrench: (..., n).

    By any `method` of inverse dynamics; `wrench` and `point` as there.
    """


def gravity_torques(states: States, algorithm: Any) -> Any:
    links = len(states.robot.links)
    still, nothing = [0.0] * links, [Wrench.zero()] * links
    return states.coordinates.torques(algorithm(states.links, states.positions(), still, still, nothing))


@PublicFunction(("n",), gravity_torques, fast=True, result_names=("tau",))
def gravity_torque(robot: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Array:
    """The torques that hold the robot still against gravity, g(q): (..., n). By any `method` of inverse dynamics."""


@PublicFunction(
    (),
    lambda states: energy.kinetic_energy(states.links, states.positions(), states.rates()),
    fast=True,
    result_names=("energy",),
)
def kinetic_energy(robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
    """Kinetic energy, that of the drives' inertia included, in J: (...)."""


@PublicFunction(
    (), lambda states: energy.potential_energy(states.links, states.positions()), fast=True, result_names=("energy",)
)
def potential_energy(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """Potential energy of gravity in J, zero for masses at the origin of the base frame: (...)."""


def centre_motions(states: States, base: BaseMotion | None) -> list[list[list[Any]]]:
    moving, velocity = base_motion(states, base), base_velocity(states, base)
    vectors = centres.mass_centres(states.links, *states.motion(), moving, velocity)
    return [[list(part[joint.link]) for joint in states.robot.moving] for part in vectors]


@PublicFunction([("links", 3)] * 3, centre_motions, compiled=False, takes_base_motion=True)
def mass_centres(
    robot: Robot, q: Array, qd: Array, qdd: Array, *, base: BaseMotion | None = None, check: bool = False
) -> Array:
    """Positions, velocities and accelerations of the mass centres of the links `robot.names`, base frame.

    Three arrays (..., links, 3).
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
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    base: BaseMotion | None = None,
    check: bool = False,
) -> Array:
    """All six components at each joint of `robot.names`, what a link gets from its parent: (..., joints, 6).

    Moment, then force. Moments are about the origin of the joint frame, which stands still in the parent link.
    Components are along the axes of the base, as those of `wrench` are; or, with `axes="frame"`, along those of the
    joint frame, whose z is the joint's axis if it has one: there the third number of a revolute joint and the sixth of
    a prismatic one is the torque or force of the drive, less what its rotor's inertia takes. `wrench` and `point` as
    for `inverse_dynamics`.
    """
    one_of(axes, AXES, "axes")


def pose_matrices(states: States, frames: tuple[str, ...]) -> list[list[list[Any]]]:
    robot, links = states.robot, kinematics.poses(states.links, states.positions())
    if frames == robot.names:
        bodies = ((link, pose) for link, pose in zip(robot.links, links, strict=True) if not link.virtual)
        return [pose.then(link.frame).matrix() for link, pose in bodies]
    seats = (robot.seat(robot.frame(name)) for name in frames)
    return [(links[link].then(placement) if link >= 0 else placement).matrix() for link, placement in seats]


def check_frames(robot: Robot, frames: Iterable[str] | None) -> dict[str, Any]:
    """The names of the frames that are asked for, each of which the robot has."""
    names = robot.names if frames is None else tuple(frames)
    for name in names if frames is not None else ():
        robot.frame(name)
    return {"frames": names}


@PublicFunction(lambda robot, frames: (len(frames), 4, 4), pose_matrices, normalize_options=check_frames)
def poses(robot: Robot, q: Array, *, frames: Iterable[str] | None = None, check: bool = False) -> Array:
    """Homogeneous matrices in the base frame: (..., links, 4, 4), for the table frame (DH: DH frame) of each link.

    The links are `robot.names`. `frames` asks for others by name, those of merged fixed joints among them: (...,
    len(frames), 4, 4).
    """
    if isinstance(frames, str):
        raise TypeError(f"frames is {frames!r} (expected a list of names: [{frames!r}])")


def check_link_and_point(robot: Robot, link: str | int | None, point: str | Iterable[float]) -> dict[str, Any]:
    """The name of the link, or of the frame on it, that `jacobian` is asked for, and the point, checked."""
    names, count = robot.names, len(robot.names)
    if link is None:
        link = count - 1
    if isinstance(link, str):
        if robot.frame(link).on_base:
            raise ValueError(f"the frame {link!r} of robot {robot.name!r} is fixed to the base, which does not move")
    elif not is_integer(link):
        raise TypeError(f"link is {link!r} (expected a name, or a whole number below {count})")
    elif not -count <= link < count:
        raise ValueError(f"link is {link} (expected a name, or a whole number below {count})")
    if isinstance(point, str):
        one_of(point, ("frame", "com"), "point")
    else:
        point = tuple(vector3(point, "point"))
    return {"link": link if isinstance(link, str) else names[link], "point": point}


def jacobian_rows(states: States, link: str, point: Any) -> list[list[Any]]:
    body, at = point_of_link(states.robot, link, point)
    rows = kinematics.jacobian(states.links, states.positions(), body.index, at)
    return [states.coordinates.torques(row) for row in rows]  # J G


@PublicFunction((6, "n"), jacobian_rows, normalize_options=check_link_and_point)
def jacobian(
    robot: Robot,
    q: Array,
    *,
    link: str | int | None = None,
    point: str | Iterable[float] = "frame",
    check: bool = False,
) -> Array:
    """From joint rates to the twist of a link, angular part first, in the base frame: (..., 6, n).

    `link` is a name (also of a frame on a merged fixed joint) or an index, otherwise the last link; `point` is where
    the linear part is taken: "frame" for the origin of the link's table frame, "com" for its centre of mass, or three
    numbers in that frame.
    """


def point_of_link(robot: Robot, link: str, point: Any) -> tuple[Link, Vector]:
    """The link that moves, and where on it the point is that `link_and_point` has checked."""
    index, seat = robot.seat(robot.frame(link))
    body = robot.links[index]
    if point == "com":
        return body, body.com
    return body, seat.translation if point == "frame" else seat.point(Vector(*point))


def external_wrenches(
    states: States, in_link_frames: Callable[..., list[Wrench]] = kinematics.in_link_frames
) -> list[Wrench]:
    """What acts on each link, moved to its mass centre, in its own frame."""
    pairs = zip(states.links.links, external_loads(states, in_link_frames), strict=True)
    return [w if at is None else w.acting_at(at - link.com) for link, (w, at) in pairs]


def external_loads(
    states: States, in_link_frames: Callable[..., list[Wrench]] = kinematics.in_link_frames
) -> list[tuple[Wrench, Vector | None]]:
    """What acts on each link, and at which point; None for the mass centre. Both in the link's own frame."""
    components, robot = states.wrenches(), states.links
    if components is None:
        return [(Wrench.zero(), None)] * robot.n
    in_base_frame = [Wrench(Vector(*six[:3]), Vector(*six[3:])) for six in components]
    wrenches = in_link_frames(robot, states.positions(), in_base_frame)
    points = zip(robot.links, states.points(), strict=True)
    places = [None if at is None else link.frame.point(Vector(*at)) for link, at in points]
    return list(zip(wrenches, places, strict=True))


def joint_torques(states: States, tau: Scalars) -> list[Any]:
    """The torques of the joints, from what an algorithm gives for the links."""
    if states.robot.rotors_in_balls:
        tau = sums(tau, states.coordinates.rotor_torques(states.scalars("qd")))
    return states.coordinates.torques(tau)


def joint_accelerations(states: States, plain: Any, tau: Scalars, external: list[Wrench]) -> list[Any]:
    """The accelerations of the coordinates, by an algorithm for links that move on their own."""
    robot, rates = states.robot, states.rates()
    if robot.couplings:
        return coupled_accelerations(states, tau, external)
    if robot.rotors_in_balls:
        tau = differences(tau, states.coordinates.rotor_torques(rates))
    accelerations = plain(robot, states.positions(), rates, tau, external)
    return states.coordinates.joint_accelerations(rates, accelerations)


def coupled_accelerations(states: States, tau: Scalars, external: list[Wrench]) -> list[Any]:
    """With coupled joints: from Gᵀ I G q̈ = τ - Gᵀ bias."""
    links, q, rates = states.links, states.positions(), states.rates()
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    bias = joint_torques(states, fewest.inverse_dynamics(links, q, rates, still, external))
    matrix = states.coordinates.matrix(fewest.composite_matrix(links, q))
    return fewest.udu_solve(matrix, differences(tau, bias))


def first_link_wrenches(robot: Robot, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """The wrench at each joint of the table: the links in it have no mass, so it is that of the first."""
    return [wrenches[joint.first] for joint in robot.moving]


def sums(a: Scalars, b: Scalars) -> list[Any]:
    return [add(*pair) for pair in zip(a, b, strict=True)]


def differences(a: Scalars, b: Scalars) -> list[Any]:
    return [sub(*pair) for pair in zip(a, b, strict=True)]


def refuse_coupled(robot: Robot, what: str) -> None:
    """Raise an error that names the joint where a formulation has no form for coupled joints."""
    if isinstance(robot, Robot) and robot.couplings:
        joint = robot.links[robot.couplings[0].link].name
        raise ValueError(
            f"robot {robot.name!r}, joint {joint!r} is coupled: {what} have no form for coupled joints (expected joints"
            " that move on their own)"
        )
