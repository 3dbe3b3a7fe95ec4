"""The states of one robot in the coordinates of the other, and torques back: the power stays the same.

Shared coordinates are those of the joints that both robots have, in the order and with the meaning of robot a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..spatial import quaternion_product, rotation_of
from .alignment import Alignment, JointAlignment
from .rigid import Array, inverse
from .skeleton import WIDTHS, Skeleton, Unit


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
    """Where the numbers of each unit are in the shared coordinates."""

    q: tuple[slice, ...]
    v: tuple[slice, ...]
    nq: int
    n: int
    followers: tuple[Follower, ...]
    couplings: Array  # G: v = G v_own; the columns are the joints that move on their own


def shared_coordinates(a: Skeleton, places: dict[int, int]) -> SharedCoordinates:
    """`places`: units of the whole robot -> units of `a`, which has the shared ones alone."""
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
    """What a coordinate of a joint of one degree of freedom is measured by: 1 rad, or the robot's size."""
    return 1.0 if unit.joint.angular else size


def velocity_units(a: Skeleton, shared: SharedCoordinates, size: float) -> Array:
    """The same for each velocity."""
    units = np.ones(shared.n)
    for unit, part in zip(a.units, shared.v, strict=True):
        units[part] = [*[size] * 3, *[1.0] * 3] if unit.kind == "free" else coordinate_unit(unit, size)
    return units


def own_units(a: Skeleton, shared: SharedCoordinates, size: float) -> Array:
    """The same for each velocity of joints that move on their own."""
    followers = [shared.v[follower.unit].start for follower in shared.followers]
    return np.delete(velocity_units(a, shared, size), followers)


def random_states(a: Skeleton, shared: SharedCoordinates, count: int, seed: int, size: float) -> States:
    """Angles of all sizes, displacements within half the robot's size; coupled joints as they must be."""
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
    units = own_units(a, shared, size)
    v, acc = (rng.normal(size=(count, len(units))) * units @ shared.couplings.T for _ in range(2))
    return States(q, v, acc)


class StateMap:
    """From shared coordinates to those of a whole robot, whose joints all move on their own; others stay at zero."""

    def __init__(
        self, robot: Skeleton, units: Sequence[Unit], shared: SharedCoordinates, alignment: Alignment | None = None
    ) -> None:
        whole = robot.robot.uncoupled
        self.nq, self.n, self.shared, self.units = whole.nq, whole.n, shared, units
        self.joints: list[JointAlignment | None] = [None] * len(units) if alignment is None else list(alignment.joints)
        self.neutral = np.zeros(self.nq)
        self.neutral[list(whole.quaternions)] = 1.0

    def only(self, kept: Sequence[int]) -> StateMap:
        """The map with the alignment of these units alone; of the others q_b = q_a."""
        less = object.__new__(StateMap)
        less.__dict__.update(self.__dict__)
        less.joints = [joint if k in kept else None for k, joint in enumerate(self.joints)]
        return less

    def states(self, states: States) -> States:
        shape = states.q.shape[:-1]
        q, v, acc = np.tile(self.neutral, (*shape, 1)), np.zeros((*shape, self.n)), np.zeros((*shape, self.n))
        for k, unit in enumerate(self.units):
            own = States(
                states.q[..., self.shared.q[k]], states.v[..., self.shared.v[k]], states.a[..., self.shared.v[k]]
            )
            mapped = joint_states(unit, self.joints[k], own)
            q[..., unit.q], v[..., unit.v], acc[..., unit.v] = mapped
        return States(q, v, acc)

    def torques(self, states: States, tau: Array) -> Array:
        """In shared coordinates, of joints that move on their own."""
        shared = np.zeros((*tau.shape[:-1], self.shared.n))
        for k, unit in enumerate(self.units):
            own = joint_torques(unit, self.joints[k], states.q[..., self.shared.q[k]], tau[..., unit.v])
            shared[..., self.shared.v[k]] = own
        return np.asarray(shared @ self.shared.couplings)


def joint_states(unit: Unit, joint: JointAlignment | None, own: States) -> States:
    if joint is None:
        return own
    if unit.kind not in WIDTHS:
        return States(joint.sign * own.q + joint.zero, joint.sign * own.v, joint.sign * own.a)
    L, T = inverse(joint.M), joint.T
    spin, spin_rate = own.v[..., -3:], own.a[..., -3:]
    quaternion = product(quaternion_of(L), product(own.q[..., -4:], quaternion_of(T)))
    turned = [x @ T[:3, :3] for x in (spin, spin_rate)]
    if unit.kind == "ball":
        return States(quaternion, *turned)
    R, t = rotation(own.q[..., 3:]), T[:3, 3]
    arm, arm_rate = np.cross(spin, t), np.cross(spin_rate, t) + np.cross(spin, np.cross(spin, t))
    q = (own.q[..., :3] + apply(R, t)) @ L[:3, :3].T + L[:3, 3]
    v = (own.v[..., :3] + apply(R, arm)) @ L[:3, :3].T
    acc = (own.a[..., :3] + apply(R, arm_rate)) @ L[:3, :3].T
    return States(*(np.concatenate(pair, axis=-1) for pair in zip((q, v, acc), (quaternion, *turned), strict=True)))


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
    R = rotation(q[..., 3:])
    moment = moment + np.cross(T[:3, 3], apply(np.swapaxes(R, -1, -2), force))
    return np.concatenate([force, moment], axis=-1)


def apply(R: Array, x: Array) -> Array:
    return np.asarray((R @ x[..., None])[..., 0])


def rotation(quaternion: Array) -> Array:
    rows = rotation_of([quaternion[..., k] for k in range(4)]).rows
    return np.stack([np.stack([np.broadcast_to(x, quaternion.shape[:-1]) for x in row], -1) for row in rows], -2)


def product(p: Array, q: Array) -> Array:
    p, q = np.broadcast_arrays(p, q)
    parts = quaternion_product([p[..., k] for k in range(4)], [q[..., k] for k in range(4)])
    return np.stack(parts, axis=-1)


def quaternion_of(T: Array) -> Array:
    """Of a rotation matrix: the column of largest norm of a matrix whose columns are all multiples of it."""
    R = T[:3, :3]
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    K = np.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    )
    column = K[:, np.argmax(np.linalg.norm(K, axis=0))]
    return np.asarray(column / np.linalg.norm(column))
