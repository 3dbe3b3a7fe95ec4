"""Torques of two robots at the same states, and of intermediate models: robot a with some parameters of robot b.

Shared coordinates are those of the joints that both robots have, in the order and with the meaning of robot a. States
are mapped from there to each robot and torques back, with the same power. Torques are computed by the plain algorithms:
results do not depend on what has been compiled, and parameters may be arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..dynamics import composite, denoc, newton_euler
from ..formats.joint_forms import axes_of, concatenate, multiply_quaternions, quaternion_of, rotate
from ..robot import Link, Robot
from ..spatial import Placement, Rotation, Vector, Wrench
from .alignment import Alignment, JointAlignment
from .skeleton import WIDTHS, Array, Skeleton, Unit, inertia_of, inverse, matrix, neutral_motion, transform_body


class States(NamedTuple):
    q: Array
    v: Array
    a: Array


class Follower(NamedTuple):
    """A coupled joint: q = ratio q of the leader + offset."""

    unit: int
    leader: int
    ratio: float
    offset: float


@dataclass(frozen=True)
class SharedCoordinates:
    """The slices of each unit in the shared coordinates."""

    q: tuple[slice, ...]
    v: tuple[slice, ...]
    nq: int
    n: int
    followers: tuple[Follower, ...]
    couplings: Array  # G: v = G v_independent


def shared_coordinates(a: Skeleton, places: dict[int, int]) -> SharedCoordinates:
    """`places` maps units of the whole robot to units of `a`, which has only the shared ones."""
    widths = [WIDTHS.get(unit.kind, (1, 1)) for unit in a.units]
    ends = np.cumsum([(0, 0), *widths], axis=0).tolist()
    q, v = (tuple(slice(ends[k][x], ends[k + 1][x]) for k in range(len(widths))) for x in (0, 1))
    followers = tuple(
        Follower(k, places[unit.coupling[0]], *unit.coupling[1:])
        for k, unit in enumerate(a.units)
        if unit.coupling is not None and unit.coupling[0] in places
    )
    G = np.eye(ends[-1][1])
    for k, leader, ratio, _ in followers:
        G[v[k].start] = 0.0
        G[v[k].start, v[leader].start] = ratio
    G = np.delete(G, [v[follower.unit].start for follower in followers], axis=1)
    return SharedCoordinates(q, v, ends[-1][0], ends[-1][1], followers, G)


def coordinate_unit(unit: Unit, size: float) -> float:
    """The scale of a coordinate of one degree of freedom: 1 rad, or the robot's size."""
    return 1.0 if unit.joint.angular else size


def velocity_units(a: Skeleton, shared: SharedCoordinates, size: float) -> Array:
    """The scale of each velocity."""
    units = np.ones(shared.n)
    for unit, part in zip(a.units, shared.v, strict=True):
        units[part] = [*[size] * 3, *[1.0] * 3] if unit.kind == "free" else coordinate_unit(unit, size)
    return units


def independent_units(a: Skeleton, shared: SharedCoordinates, size: float) -> Array:
    """The scale of each velocity of independent joints."""
    followers = [shared.v[follower.unit].start for follower in shared.followers]
    return np.delete(velocity_units(a, shared, size), followers)


def random_states(a: Skeleton, shared: SharedCoordinates, count: int, seed: int, size: float) -> States:
    """Random angles, displacements within half the robot's size; coupled joints follow their leaders."""
    rng = np.random.default_rng(seed)
    q = np.zeros((count, shared.nq))
    for unit, part in zip(a.units, shared.q, strict=True):
        most = np.pi if unit.joint.angular else 0.5 * size
        values = rng.uniform(-most, most, (count, part.stop - part.start))
        if unit.kind in WIDTHS:
            values = rng.normal(size=values.shape)
            values[:, :-4] *= size
            values[:, -4:] /= np.linalg.norm(values[:, -4:], axis=-1, keepdims=True)
        q[:, part] = values
    for k, leader, ratio, offset in shared.followers:
        q[:, shared.q[k]] = ratio * q[:, shared.q[leader]] + offset
    units = independent_units(a, shared, size)
    v, acc = (rng.normal(size=(count, len(units))) * units @ shared.couplings.T for _ in range(2))
    return States(q, v, acc)


class StateMap:
    """Maps shared coordinates to those of a robot without couplings; joints that are not shared stay at zero."""

    def __init__(
        self, robot: Skeleton, units: Sequence[Unit], shared: SharedCoordinates, alignment: Alignment | None = None
    ) -> None:
        uncoupled = robot.robot.uncoupled
        self.nq, self.n, self.shared, self.units = uncoupled.nq, uncoupled.n, shared, units
        self.joints: list[JointAlignment | None] = [None] * len(units) if alignment is None else list(alignment.joints)
        self.neutral = np.zeros(self.nq)
        self.neutral[list(uncoupled.quaternions)] = 1.0

    def only(self, kept: Sequence[int]) -> StateMap:
        """The map that aligns only these units; for the others q_b = q_a."""
        restricted = object.__new__(StateMap)
        restricted.__dict__.update(self.__dict__)
        restricted.joints = [joint if k in kept else None for k, joint in enumerate(self.joints)]
        return restricted

    def states(self, states: States) -> States:
        shape = states.q.shape[:-1]
        q, v, acc = np.tile(self.neutral, (*shape, 1)), np.zeros((*shape, self.n)), np.zeros((*shape, self.n))
        for k, unit in enumerate(self.units):
            shared_states = States(
                states.q[..., self.shared.q[k]], states.v[..., self.shared.v[k]], states.a[..., self.shared.v[k]]
            )
            mapped = joint_states(unit, self.joints[k], shared_states)
            q[..., unit.q], v[..., unit.v], acc[..., unit.v] = mapped
        return States(q, v, acc)

    def torques(self, states: States, tau: Array) -> Array:
        """Inertia matrix, gravity, Coriolis and joint torques at each state, in shared coordinates."""
        shared = np.zeros((*tau.shape[:-1], self.shared.n))
        for k, unit in enumerate(self.units):
            joint_tau = joint_torques(unit, self.joints[k], states.q[..., self.shared.q[k]], tau[..., unit.v])
            shared[..., self.shared.v[k]] = joint_tau
        return np.asarray(shared @ self.shared.couplings)


def joint_states(unit: Unit, joint: JointAlignment | None, shared: States) -> States:
    if joint is None:
        return shared
    if unit.kind not in WIDTHS:
        return States(joint.sign * shared.q + joint.zero, joint.sign * shared.v, joint.sign * shared.a)
    L, T = inverse(joint.M), joint.T
    spin, spin_rate = shared.v[..., -3:], shared.a[..., -3:]
    quaternion = multiply_quaternions(
        quaternion_of(L[:3, :3]), multiply_quaternions(shared.q[..., -4:], quaternion_of(T[:3, :3]))
    )
    rotated = [x @ T[:3, :3] for x in (spin, spin_rate)]
    if unit.kind == "ball":
        return States(quaternion, *rotated)
    R, t = axes_of(shared.q), T[:3, 3]
    lever_rate, lever_acceleration = np.cross(spin, t), np.cross(spin_rate, t) + np.cross(spin, np.cross(spin, t))
    q = (shared.q[..., :3] + rotate(R, t)) @ L[:3, :3].T + L[:3, 3]
    v = (shared.v[..., :3] + rotate(R, lever_rate)) @ L[:3, :3].T
    acc = (shared.a[..., :3] + rotate(R, lever_acceleration)) @ L[:3, :3].T
    return States(*(concatenate(*pair) for pair in zip((q, v, acc), (quaternion, *rotated), strict=True)))


def joint_torques(unit: Unit, joint: JointAlignment | None, q: Array, tau: Array) -> Array:
    if joint is None:
        return tau
    if unit.kind not in WIDTHS:
        return np.asarray(joint.sign * tau)
    L, T = inverse(joint.M), joint.T
    moment = tau[..., -3:] @ T[:3, :3].T
    if unit.kind == "ball":
        return np.asarray(moment)
    force = tau[..., :3] @ L[:3, :3]
    R = axes_of(q)
    moment = moment + np.cross(T[:3, 3], rotate(np.swapaxes(R, -1, -2), force))
    return concatenate(force, moment)


@dataclass(frozen=True)
class DynamicParameters:
    """Parameters of the dynamics in the frames of a. Bodies and rotors may have batch axes, the last for states."""

    placements: tuple[Array, ...]
    bodies: tuple[Array, ...]
    rotors: tuple[Any, ...]
    of_joints: tuple[dict[str, float], ...]  # such as the pitch of a screw
    gravity: Array


def parameters_of(a: Skeleton) -> DynamicParameters:
    units = a.units
    return DynamicParameters(
        tuple(unit.placement for unit in units),
        tuple(unit.body for unit in units),
        tuple(unit.joint.rotor_inertia for unit in units),
        tuple(unit.numbers for unit in units),
        a.gravity,
    )


def parameters_of_b(a: Skeleton, b: Skeleton, alignment: Alignment) -> DynamicParameters:
    """The parameters of b in the frames of a."""
    placements, bodies = [], []
    for one, other, joint in zip(a.units, b.units, alignment.joints, strict=True):
        Tp = alignment.joints[one.parent].T if one.parent >= 0 else alignment.base
        placements.append(Tp @ other.placement @ inverse(joint.M))
        bodies.append(transform_body(other.body, joint.T))
    rotors, of_joints = tuple(unit.joint.rotor_inertia for unit in b.units), tuple(unit.numbers for unit in b.units)
    return DynamicParameters(tuple(placements), tuple(bodies), rotors, of_joints, alignment.base[:3, :3] @ b.gravity)


def model_robot(a: Skeleton, parameters: DynamicParameters) -> Robot:
    """A robot of the shared joints with these parameters."""
    links: list[Link] = []
    last: dict[int, int] = {-1: -1}
    for k, unit in enumerate(a.units):
        originals = a.robot.links[unit.links]
        rest = np.eye(4)
        for x, link in enumerate(originals):
            rest = rest @ (matrix(link.placement) if x else np.eye(4)) @ neutral_motion(link.joint)
        first = parameters.placements[k] @ inverse(rest)
        for x, link in enumerate(originals):
            changed: dict[str, Any] = {"rotor_inertia": parameters.rotors[k], **parameters.of_joints[k]}
            joint = replace(link.joint, **changed)
            last_link = link is originals[-1]
            links.append(
                replace(
                    link,
                    index=len(links),
                    parent=last[unit.parent] if x == 0 else len(links) - 1,
                    joint=joint,
                    placement=placement(first) if x == 0 else link.placement,
                    grouped=inertia_of(parameters.bodies[k]) if last_link else inertia_of(np.zeros((4, 4))),
                    virtual=not last_link,
                )
            )
        last[k] = len(links) - 1
    gravity = tuple(parameters.gravity[..., k] for k in range(3))
    return Robot(a.robot.name, tuple(links), (), gravity, (), "frames")  # type: ignore[arg-type]


def placement(T: Array) -> Placement:
    return Placement(Rotation(T[:3, :3].tolist()), Vector(*T[:3, 3].tolist()))


def model_torques(a: Skeleton, shared: SharedCoordinates, parameters: DynamicParameters, states: States) -> Array:
    """Torques (..., states, n); the leading axes are those of the parameters."""
    front = [np.shape(body)[:-2] for body in parameters.bodies] + [np.shape(rotor) for rotor in parameters.rotors]
    shape = np.broadcast_shapes(*front, states.q.shape[:-1])
    return np.asarray(stack(scalar_torques(model_robot(a, parameters), states), shape) @ shared.couplings)


def stack(scalars: Any, shape: tuple[int, ...]) -> Array:
    """Stack scalars, or lists of them, into one array (*shape, ...)."""
    if isinstance(scalars, list):
        return np.stack([stack(x, shape) for x in scalars], axis=len(shape))
    return np.broadcast_to(scalars, shape)


def columns(array: Array) -> list[Array]:
    return list(np.moveaxis(array, -1, 0))


def scalar_torques(robot: Robot, states: States) -> list[Any]:
    coordinates = robot.coordinates
    q, v, acc = map(columns, states)
    at_rest = [Wrench.zero()] * len(robot.links)
    motion = coordinates.positions(q), coordinates.rates(v), coordinates.accelerations(v, acc)
    tau = denoc.inverse_dynamics(robot, *motion, at_rest)
    if robot.rotors_in_balls:
        tau = [x + extra for x, extra in zip(tau, coordinates.rotor_torques(v), strict=True)]
    return tau


def torques(robot: Robot, to: StateMap, states: States) -> Array:
    """Torques of a whole robot in shared coordinates."""
    tau = scalar_torques(robot.uncoupled, to.states(states))
    return to.torques(states, stack(tau, states.q.shape[:-1]))


@dataclass(frozen=True)
class Quantities:
    """The compared quantities at each state."""

    inertia: Array
    gravity: Array
    coriolis: Array
    torque: Array


def quantities(robot: Robot, to: StateMap, states: States) -> Quantities:
    """Inertia matrix, gravity, Coriolis and joint torques at each state, in shared coordinates."""
    whole, count, zeros = robot.uncoupled, states.q.shape[:-1], [0.0] * len(robot.links)
    positions = whole.coordinates.positions(columns(to.states(states).q))
    tau = torques(robot, to, states)
    weights = newton_euler.inverse_dynamics(whole, positions, zeros, zeros, [Wrench.zero()] * len(zeros))
    gravity = to.torques(states, stack(weights, count))
    still = States(states.q, states.v, np.zeros_like(states.a))
    bias = torques(robot, to, still)
    M = stack(composite.inertia_matrix(whole, positions), count)
    half = project(M, to, states)
    return Quantities(project(np.swapaxes(half, -1, -2), to, states), gravity, bias - gravity, tau)


def project(M: Array, to: StateMap, states: States) -> Array:
    """Λᵀ M: map the columns of M as torques."""
    columns = [to.torques(states, M[..., k]) for k in range(M.shape[-1])]
    return np.stack(columns, axis=-1)
