"""Torques of models whose numbers are changed: robot a with some of the numbers of robot b."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..api.functions import gravity_torque, inertia_matrix, inverse_dynamics
from ..dynamics import denoc
from ..kernels.sources import plain_of
from ..robot import Link, Robot
from ..spatial import Placement, Rotation, Vector, Wrench
from .alignment import Alignment
from .rigid import Array, inverse, matrix, moved
from .skeleton import Skeleton, inertia_of, neutral_motion
from .states import SharedCoordinates, StateMap, States


@dataclass(frozen=True)
class Numbers:
    """What the dynamics depends on, in the frames of robot a. Bodies, rotors and gravity may have axes in front."""

    placements: tuple[Array, ...]
    bodies: tuple[Array, ...]
    rotors: tuple[Any, ...]
    of_joints: tuple[dict[str, float], ...]  # such as the pitch of a screw
    gravity: Array


def numbers_of(a: Skeleton) -> Numbers:
    units = a.units
    return Numbers(
        tuple(unit.placement for unit in units),
        tuple(unit.body for unit in units),
        tuple(unit.rotor for unit in units),
        tuple(unit.numbers for unit in units),
        a.gravity,
    )


def numbers_seen(a: Skeleton, b: Skeleton, alignment: Alignment) -> Numbers:
    """The numbers of b in the frames of a."""
    placements, bodies = [], []
    for one, other, joint in zip(a.units, b.units, alignment.joints, strict=True):
        Tp = alignment.joints[one.parent].T if one.parent >= 0 else alignment.base
        placements.append(Tp @ other.placement @ inverse(joint.M))
        bodies.append(moved(other.body, joint.T))
    rotors, of_joints = tuple(unit.rotor for unit in b.units), tuple(unit.numbers for unit in b.units)
    return Numbers(tuple(placements), tuple(bodies), rotors, of_joints, alignment.base[:3, :3] @ b.gravity)


def model(a: Skeleton, numbers: Numbers) -> Robot:
    """A robot of the shared joints with these numbers."""
    links: list[Link] = []
    last: dict[int, int] = {-1: -1}
    for k, unit in enumerate(a.units):
        originals = a.robot.links[unit.links]
        rest = np.eye(4)
        for x, link in enumerate(originals):
            rest = rest @ (matrix(link.placement) if x else np.eye(4)) @ neutral_motion(link.joint)
        first = numbers.placements[k] @ inverse(rest)
        for x, link in enumerate(originals):
            changed: dict[str, Any] = {"rotor_inertia": numbers.rotors[k], **numbers.of_joints[k]}
            joint = replace(link.joint, **changed)
            own = link is originals[-1]
            links.append(
                replace(
                    link,
                    index=len(links),
                    parent=last[unit.parent] if x == 0 else len(links) - 1,
                    joint=joint,
                    placement=placement(first) if x == 0 else link.placement,
                    grouped=inertia_of(numbers.bodies[k]) if own else inertia_of(np.zeros((4, 4))),
                    virtual=not own,
                )
            )
        last[k] = len(links) - 1
    gravity = tuple(numbers.gravity[..., k] for k in range(3))
    return Robot(a.robot.name, tuple(links), (), gravity, (), "frames")  # type: ignore[arg-type]


def placement(T: Array) -> Placement:
    return Placement(Rotation(T[:3, :3].tolist()), Vector(*T[:3, 3].tolist()))


def model_torques(a: Skeleton, shared: SharedCoordinates, numbers: Numbers, states: States) -> Array:
    """(..., states, n), the axes in front those of the numbers."""
    robot = model(a, numbers)
    axes = max(np.ndim(numbers.gravity) - 1, *(np.ndim(body) - 2 for body in numbers.bodies), 0)
    front = [body.shape[:-2] for body in numbers.bodies] + [np.shape(r) for r in numbers.rotors]
    front.append(numbers.gravity.shape[:-1])
    shape = np.broadcast_shapes(*front)
    count = states.q.shape[:-1]
    if axes:
        robot = model(a, expanded(numbers, len(count)))
    tau = [np.broadcast_to(x, (*shape, *count)) for x in scalar_torques(robot, states)]
    return np.asarray(np.stack(tau, axis=-1) @ shared.couplings)


def scalar_torques(robot: Robot, states: States) -> list[Any]:
    """By the algorithm itself: the numbers of the robot may be arrays, which the public function does not take."""
    coordinates = robot.coordinates
    q, v, acc = ([x[..., k] for k in range(x.shape[-1])] for x in states)
    at_rest = [Wrench.zero()] * len(robot.links)
    motion = coordinates.positions(q), coordinates.rates(v), coordinates.accelerations(v, acc)
    tau = denoc.inverse_dynamics(robot, *motion, at_rest)
    if robot.rotors_in_balls:
        tau = [x + extra for x, extra in zip(tau, coordinates.rotor_torques(v), strict=True)]
    return tau


def expanded(numbers: Numbers, axes: int) -> Numbers:
    """With axes of length one for the states, behind those of the numbers."""

    def more(x: Any, own: int) -> Any:
        x = np.asarray(x)
        front = x.shape[: x.ndim - own]
        return x.reshape((*front, *(1,) * axes, *x.shape[x.ndim - own :])) if front else x

    bodies = tuple(more(body, 2) for body in numbers.bodies)
    rotors = tuple(more(rotor, 0) if np.ndim(rotor) else rotor for rotor in numbers.rotors)
    return replace(numbers, bodies=bodies, rotors=rotors, gravity=more(numbers.gravity, 1))


def torques(robot: Robot, to: StateMap, states: States) -> Array:
    """Of a whole robot, in shared coordinates."""
    tau = plain_of(inverse_dynamics)(robot.uncoupled, *to.states(states), method="denoc")
    return to.torques(states, np.asarray(tau))


@dataclass(frozen=True)
class Quantities:
    """What is compared, at each state."""

    inertia: Array
    gravity: Array
    coriolis: Array
    torque: Array


def quantities(robot: Robot, to: StateMap, states: States) -> Quantities:
    """In shared coordinates, of joints that move on their own."""
    whole = robot.uncoupled
    mapped = to.states(states)
    tau = torques(robot, to, states)
    gravity = to.torques(states, np.asarray(plain_of(gravity_torque)(whole, mapped.q)))
    still = States(states.q, states.v, np.zeros_like(states.a))
    bias = torques(robot, to, still)
    M = np.asarray(plain_of(inertia_matrix)(whole, mapped.q))
    half = projected(M, to, states)
    return Quantities(projected(np.swapaxes(half, -1, -2), to, states), gravity, bias - gravity, tau)


def projected(M: Array, to: StateMap, states: States) -> Array:
    """Λᵀ M, the columns of M as torques."""
    columns = [to.torques(states, M[..., k]) for k in range(M.shape[-1])]
    return np.stack(columns, axis=-1)
