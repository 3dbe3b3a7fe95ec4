"""The public functions. Each takes the robot first, then arrays (..., n) of any batch shape, and returns arrays.

NumPy arrays, lists, torch tensors and JAX arrays come back as their own kind, differentiable where the library is;
object arrays of symbols, of graph nodes or of many-digit numbers run the same text. Every function takes `check=True`
to refuse numbers that are not finite; without it, a state that contains one gives NaN throughout its result, and the
other states are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..dynamics import centres, composite, elimination, energy, fewest, kinematics, newton_euler, parallel
from ..errors import one_of
from ..kernels.lock import LOCK
from ..robot import Friction, Link, Robot
from ..robot.entries import vector3
from ..spatial import Scalars, Vector, Wrench, add, sub
from .base_motion import BaseMotion, base_motion, base_parts, base_velocity
from .call import Call, fast, public
from .method_table import algorithm
from .singular import explained, refuse_singular
from .states import Array, States


@fast
def inverse_dynamics(
    arm: Robot,
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
) -> Call:
    """Joint torques (revolute, N·m) and forces (prismatic, N) that give the accelerations qdd: (..., n).

    Gravity and the drives' inertia are in; friction is with `friction=True`, by the robot's own coefficients, or with
    an `lw.Friction`. `method` is one of `lw.methods`.
    `wrench` is an external wrench, moment then force, in the base frame at the centre of mass: (..., 6) on the tip link
    or (..., m, 6) on every link, m being `len(arm.names)`. The number of axes tells which: beside a batch, wrenches on
    every link have its axes too, (1, m, 6) where they are the same in all states; (m, 6) are m wrenches on the tip.
    `point` is where it acts instead, in the table frame of the link (that of `lw.poses`): (..., 3) on the tip link,
    (..., m, 3) on every link. `base` prescribes the motion of the base (Newton-Euler only).

    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.inverse_dynamics(arm, q=[0, 0, 0], qd=[0, 0, 0], qdd=[0, 0, 0])
    array([4.34583, 1.54998, 0.32373])
    """
    if base is not None:
        if method not in (None, "newton-euler"):
            raise ValueError(f"method {method!r} has no moving base (expected method='newton-euler' with base=...)")
        method = "newton-euler"
    plain, law = algorithm(inverse_dynamics, method), Friction.of(friction)
    states = States(arm, {"q": q, "qd": qd, "qdd": qdd}, wrench, check, base_parts(base), point)

    def torques() -> list[Any]:
        moving = {} if base is None else {"base": base_motion(states, base)}
        motion = states.positions(), states.rates(), states.accelerations()
        tau = joint_torques(states, plain(states.links, *motion, external_wrenches(states), **moving))
        return tau if law is None else sums(tau, law.torques(arm, states.scalars("qd")))

    options = {"method": method, "friction": law} if base is None else None
    return Call(inverse_dynamics, states, torques, (arm.n,), options)


@fast
def forward_dynamics(
    arm: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    method: str | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> Call:
    """Joint accelerations under the torques tau: (..., n). `wrench`, `point` and `friction` as for `inverse_dynamics`.

    `method="fewest"` takes the method that needs the fewest operations on this robot, by counting; beyond 60 links,
    where counting takes long, "articulated-regrouped", whose operations grow as the number of links.

    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> lw.forward_dynamics(arm, q=[0, 0, 0], qd=[0, 0, 0], tau=[4.34583, 1.54998, 0.32373]).round(9) + 0.0
    array([0., 0., 0.])
    """
    plain, law = algorithm(forward_dynamics, method, arm), Friction.of(friction)
    states = States(arm, {"q": q, "qd": qd, "tau": tau}, wrench, check, point=point)

    def accelerations() -> list[Any]:
        torques = states.scalars("tau")
        if law is not None:
            torques = differences(torques, law.torques(arm, states.scalars("qd")))
        if plain is parallel.forward_dynamics:  # in O(log n) rounds with wrenches too
            with LOCK:  # late: other methods need none of it
                from .side_by_side import for_links
            external = external_wrenches(states, for_links(states, parallel.in_link_frames))
            return plain_accelerations(states, for_links(states, plain), torques, external)
        return plain_accelerations(states, plain, torques, external_wrenches(states))

    options = {"method": method, "friction": law}
    return Call(forward_dynamics, states, accelerations, (arm.n,), options, divides=True)


@fast
def inertia_matrix(arm: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Call:
    """The generalized inertia matrix I(q): (..., n, n), symmetric, positive definite.

    >>> import linkwise as lw
    >>> lw.inertia_matrix(lw.load("gantry"), [0, 0, 0]).diagonal()
    array([12.,  7.,  3.])
    """
    plain = algorithm(inertia_matrix, method, arm)
    states, options = States(arm, {"q": q}, check=check), {"method": method}
    compute = states.applied(lambda *of_links: states.coordinates.matrix(plain(*of_links)), "q")
    return Call(inertia_matrix, states, compute, (arm.n, arm.n), options, divides=True)


def udu(arm: Robot, q: Array, *, method: str | None = None, check: bool = False) -> tuple[Array, Array]:
    """The factors of I = U D Uᵀ: U (..., n, n), unit upper triangular, and the diagonal of D (..., n), all positive.

    By the recursion of the articulated bodies, or with `method="elimination"` from the elements of I, as in formulas.

    >>> import linkwise as lw
    >>> U, D = lw.udu(lw.load("planar3"), [0.1, 0.2, 0.3])
    >>> U.shape, D.shape
    ((3, 3), (3,))
    """
    plain = algorithm(udu, method, arm)
    states = States(arm, {"q": q}, check=check)
    with np.errstate(all="ignore"), explained(states):
        if arm.couplings:
            matrix = composite.inertia_matrix(states.links, states.positions())
            upper, diagonal = elimination.udu_of(states.coordinates.matrix(matrix))
        else:
            upper, diagonal = plain(arm, states.positions())
        factors = states.join(upper, (arm.n, arm.n)), states.join(diagonal, (arm.n,))
    refuse_singular(states, np.where(factors[1] == 0.0, np.nan, factors[1]) if states.numeric else factors[1])
    return factors


@fast
def bias_torque(
    arm: Robot,
    q: Array,
    qd: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    method: str | None = None,
    check: bool = False,
) -> Call:
    """The torques at zero acceleration, C(q, qd) qd + g(q), less those of the external wrench: (..., n).

    By any `method` of inverse dynamics; `wrench` and `point` as there.
    """
    plain = algorithm(bias_torque, method)
    states = States(arm, {"q": q, "qd": qd}, wrench, check, point=point)

    def torques() -> Any:
        rates = states.scalars("qd")
        still = states.coordinates.accelerations(rates, [0.0] * arm.n)
        links, external = states.links, external_wrenches(states)
        return joint_torques(states, plain(links, states.positions(), states.rates(), still, external))

    return Call(bias_torque, states, torques, (arm.n,), {"method": method})


@fast
def gravity_torque(arm: Robot, q: Array, *, method: str | None = None, check: bool = False) -> Call:
    """The torques that hold the robot still against gravity, g(q): (..., n). By any `method` of inverse dynamics."""
    plain = algorithm(gravity_torque, method)
    states = States(arm, {"q": q}, check=check)
    still, nothing = [0.0] * len(arm.links), [Wrench.zero()] * len(arm.links)

    def torques() -> Any:
        return states.coordinates.torques(plain(states.links, states.positions(), still, still, nothing))

    return Call(gravity_torque, states, torques, (arm.n,), {"method": method})


@fast
def kinetic_energy(arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Call:
    """Kinetic energy, that of the drives' inertia included, in J: (...)."""
    states = States(arm, {"q": q, "qd": qd}, check=check)
    return Call(kinetic_energy, states, states.applied(energy.kinetic_energy, "q", "qd"), (), {})


@fast
def potential_energy(arm: Robot, q: Array, *, check: bool = False) -> Call:
    """Potential energy of gravity in J, zero for masses at the origin of the base frame: (...)."""
    states = States(arm, {"q": q}, check=check)
    return Call(potential_energy, states, states.applied(energy.potential_energy, "q"), (), {})


def mass_centres(
    arm: Robot, q: Array, qd: Array, qdd: Array, *, base: BaseMotion | None = None, check: bool = False
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of the mass centres of the links `arm.names`, base frame.

    Three arrays (..., links, 3).
    """
    states = States(arm, {"q": q, "qd": qd, "qdd": qdd}, None, check, base_parts(base))
    with np.errstate(all="ignore"):
        moving, velocity = base_motion(states, base), base_velocity(states, base)
        motion = states.positions(), states.rates(), states.accelerations()
        vectors = centres.mass_centres(states.links, *motion, moving, velocity)
        parts = [[list(part[joint.link]) for joint in arm.moving] for part in vectors]
    positions, velocities, accelerations = (states.join(part, (len(arm.names), 3)) for part in parts)
    return positions, velocities, accelerations


@public
def joint_wrenches(
    arm: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    frame: str = "base",
    base: BaseMotion | None = None,
    check: bool = False,
) -> Call:
    """All six components at each joint of `arm.names`, what a link gets from its parent: (..., joints, 6).

    Moment, then force. Moments are about the origin of the joint frame, which stands still in the parent link.
    Components are in the base frame, as those of `wrench` are; or, with `frame="joint"`, in the joint frame, whose z is
    the joint's axis if it has one: there the third number of a revolute joint and the sixth of a prismatic one is the
    torque or force of the drive, less what its rotor's inertia takes. `wrench` and `point` as for `inverse_dynamics`.
    """
    one_of(frame, ("base", "joint"), "frame")
    states = States(arm, {"q": q, "qd": qd, "qdd": qdd}, wrench, check, base_parts(base), point)

    def loads() -> list[list[Any]]:
        moving, external, links = base_motion(states, base), external_wrenches(states), states.links
        angles, rates, accelerations = states.positions(), states.rates(), states.accelerations()
        wrenches = newton_euler.joint_wrenches(links, angles, rates, accelerations, external, moving)
        wrenches = kinematics.in_joint_frames(links, angles, wrenches)
        if frame == "base":
            return [list(load) for load in of_joints(arm, kinematics.in_base_frame(links, angles, wrenches))]
        turns = [joint.kind.joint_frame.axes.T for joint in arm.moving]
        loads = zip(turns, of_joints(arm, wrenches), strict=True)
        return [[*(turn @ load.moment), *(turn @ load.force)] for turn, load in loads]

    return Call(joint_wrenches, states, loads, (len(arm.names), 6), {"frame": frame} if base is None else None)


@public
def poses(arm: Robot, q: Array, *, frames: Iterable[str] | None = None, check: bool = False) -> Call:
    """Homogeneous matrices in the base frame: (..., links, 4, 4), for the table frame (DH: DH frame) of each link.

    The links are `arm.names`. `frames` asks for others by name, those of merged fixed joints among them: (...,
    len(frames), 4, 4).
    """
    states = States(arm, {"q": q}, check=check)
    if isinstance(frames, str):
        raise TypeError(f"frames is {frames!r} (expected a list of names: [{frames!r}])")
    names = arm.names if frames is None else tuple(frames)
    wanted = [] if frames is None else [arm.seat(arm.frame(name)) for name in names]

    def matrices() -> list[list[list[Any]]]:
        links = kinematics.poses(states.links, states.positions())
        if frames is None:
            bodies = ((link, pose) for link, pose in zip(arm.links, links, strict=True) if not link.virtual)
            return [pose.then(link.frame).matrix() for link, pose in bodies]
        placements = [links[link].then(placement) if link >= 0 else placement for link, placement in wanted]
        return [placement.matrix() for placement in placements]

    return Call(poses, states, matrices, (len(names), 4, 4), {"frames": names})


@public
def jacobian(
    arm: Robot, q: Array, *, link: str | int | None = None, point: str | Iterable[float] = "frame", check: bool = False
) -> Call:
    """From joint rates to the twist of a link, angular part first, in the base frame: (..., 6, n).

    `link` is a name (also of a frame on a merged fixed joint) or an index, otherwise the last link; `point` is where
    the linear part is taken: "frame" for the origin of the link's table frame, "com" for its centre of mass, or three
    numbers in that frame.
    """
    states = States(arm, {"q": q}, check=check)
    body, at, options = point_of_link(arm, link, point)

    def columns() -> list[list[Any]]:
        rows = kinematics.jacobian(states.links, states.positions(), body.index, at)
        return [states.coordinates.torques(row) for row in rows]  # J G

    return Call(jacobian, states, columns, (6, arm.n), options)


def point_of_link(
    arm: Robot, link: str | int | None, point: str | Iterable[float]
) -> tuple[Link, Vector, dict[str, Any]]:
    """The link and the point of it that `link` and `point` of `jacobian` mean, and both as options of a kernel."""
    names = arm.names
    count = len(names)
    if link is None:
        link = count - 1
    if isinstance(link, str):
        frame = arm.frame(link)
        if frame.on_base:
            raise ValueError(f"the frame {link!r} of robot {arm.name!r} is fixed to the base, which does not move")
    elif isinstance(link, bool) or not isinstance(link, (int, np.integer)):
        raise TypeError(f"link is {link!r} (expected a name, or a whole number below {count})")
    elif not -count <= link < count:
        raise ValueError(f"link is {link} (expected a name, or a whole number below {count})")
    else:
        frame = arm.frame(names[link])
    index, seat = arm.seat(frame)
    body = arm.links[index]
    if isinstance(point, str):
        one_of(point, ("frame", "com"), "point")
        at = body.com if point == "com" else seat.translation
    else:
        point = vector3({"point": point}, "point")
        at = seat.point(Vector(*point))
    options = {"link": frame.name, "point": point if isinstance(point, str) else tuple(point)}
    return body, at, options


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


def plain_accelerations(states: States, plain: Any, tau: Scalars, external: list[Wrench]) -> list[Any]:
    """The accelerations of the coordinates, by an algorithm for links that move on their own."""
    robot, rates = states.robot, states.rates()
    if robot.couplings:
        return reduced_accelerations(states, tau, external)
    if robot.rotors_in_balls:
        tau = differences(tau, states.coordinates.rotor_torques(rates))
    accelerations = plain(robot, states.positions(), rates, tau, external)
    return states.coordinates.joint_accelerations(rates, accelerations)


def reduced_accelerations(states: States, tau: Scalars, external: list[Wrench]) -> list[Any]:
    """With coupled joints: from Gᵀ I G q̈ = τ - Gᵀ bias."""
    links, q, rates = states.links, states.positions(), states.rates()
    still = states.coordinates.accelerations(states.scalars("qd"), [0.0] * states.robot.n)
    bias = joint_torques(states, fewest.inverse_dynamics(links, q, rates, still, external))
    matrix = states.coordinates.matrix(fewest.composite_matrix(links, q))
    return fewest.udu_solve(matrix, differences(tau, bias))


def of_joints(arm: Robot, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """The wrench at each joint of the table: the links in it have no mass, so it is that of the first."""
    return [wrenches[joint.first] for joint in arm.moving]


def sums(a: Scalars, b: Scalars) -> list[Any]:
    return [add(*pair) for pair in zip(a, b, strict=True)]


def differences(a: Scalars, b: Scalars) -> list[Any]:
    return [sub(*pair) for pair in zip(a, b, strict=True)]


def refuse_coupled(arm: Robot, what: str) -> None:
    """Raise an error that names the joint where a formulation has no form for coupled joints."""
    if isinstance(arm, Robot) and arm.couplings:
        joint = arm.links[arm.couplings[0].link].name
        raise ValueError(
            f"robot {arm.name!r}, joint {joint!r} is coupled: {what} have no form for coupled joints (expected joints"
            " that move on their own)"
        )
