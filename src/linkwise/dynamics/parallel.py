"""Forward dynamics in O(log n) rounds, for trees. β is the parent of link i.

Articulated bodies are a Riccati recursion, and the steps of such a recursion can be joined in any order, as those of a
Kalman smoother (Särkkä and García-Fernández 2021). In mechanics that is divide and conquer (Featherstone 1999); the
first method of O(log n) rounds is by cyclic reduction (Fijany, Sharf and D'Eleuterio 1995). Contractions of the tree
(`robot.contraction`) give

    v_i = X_i v_β + S_i q̇_i          steps (X, S q̇), joined: X = X_2 X_1, S q̇ = X_2 (S q̇)_1 + (S q̇)_2          (1)
    R_i = R_β R_i(q_i)               turns, for wrenches with components in the base frame                   (2)
    a_β and z_i                      links as stretches (`stretch`), each freed from its own joint alone     (3)

and then, with c, U, D and u of the link alone as in `articulated`,

    q̈_i = (u_i - U_iᵀ (X_i a_β + c_i)) / D_i + z_i                                                           (4)

D of a link alone may be zero or small. So each link borrows an inertia, the same in all directions, as large as that of
the next body beyond, and the stretch that begins there gives it back: z makes up for it. Results do not depend on the
loan, except by rounding. Link i: in its own frame about O_i, so that no digits are lost far from the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..robot import Contraction, Link, Robot, contracted, of_tree
from ..spatial import (
    ArticulatedInertia,
    Matrix,
    Placement,
    Rotation,
    Scalar,
    Scalars,
    Symmetric,
    Twist,
    Vector,
    Wrench,
    add,
    is_zero,
    mul,
    power,
    sub,
)
from .articulated import Freed, LinkVelocity, Solved, accelerate, free, move
from .newton_euler import LinkMotion, base_twists
from .stretch import STILL, Axis, Stretch, beside, between, series


class Step(NamedTuple):
    pose: Placement
    twist: Twist


class Loan(NamedTuple):
    """An inertia that is the same in all directions, and the one that is given back for the parent."""

    mass: Scalar
    tensor: Scalar
    returned_mass: Scalar
    returned_tensor: Scalar


AXES = tuple(Vector(*(float(i == k) for i in range(3))) for k in range(3))
UNITS = (*(Twist(axis, Vector.zero()) for axis in AXES), *(Twist(Vector.zero(), axis) for axis in AXES))


def outward_steps(first: Step, second: Step) -> tuple[Step, Step]:
    twist = first.twist.to_child(second.pose) + second.twist
    return first, Step(first.pose.then(second.pose), twist)  # (1)


STEPS = Contraction(
    outward_steps, lambda step, _: step, lambda step, v, _: (v.to_child(step.pose) + step.twist, (), ()), nothing=()
)
TURNS = Contraction(
    lambda one, two: (one, one.then(two)), lambda turn, _: turn, lambda turn, R, _: (R.then(turn), (), ()), nothing=()
)
STRETCHES = Contraction(series, beside, between, nothing=STILL)


def velocities(robot: Robot, q: Scalars, qd: Scalars, base: Twist) -> list[LinkVelocity]:
    poses = [link.pose(q_i) for link, q_i in zip(robot.links, q, strict=True)]
    rates = [link.joint.axis * qd_i for link, qd_i in zip(robot.links, qd, strict=True)]
    steps = [Step(Placement(pose.axes, pose.translation), rate) for pose, rate in zip(poses, rates, strict=True)]
    parents = [v for v, _ in contracted(robot, STEPS, base, steps)]
    still = LinkVelocity(Placement.identity(), Twist.zero(), Twist.zero())
    links = zip(robot.links, parents, q, qd, strict=True)
    return [move(link, still._replace(twist=parent), q_i, qd_i) for link, parent, q_i, qd_i in links]


def in_link_frames(robot: Robot, q: Scalars, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """Wrenches with components in the base frame, turned into the frames of their links."""
    turns = [link.pose(q_i).axes for link, q_i in zip(robot.links, q, strict=True)]
    parents = contracted(robot, TURNS, Rotation.identity(), turns)
    inward = [R.then(turn).T for (R, _), turn in zip(parents, turns, strict=True)]  # (2)
    return [Wrench(R @ w.moment, R @ w.force) for R, w in zip(inward, wrenches, strict=True)]


def loans(links: Sequence[Link]) -> list[Loan]:
    """Of the next body beyond each link, its mass and a third of the trace of its tensor about its own origin."""
    borrowed: dict[int, tuple[Scalar, Scalar]] = {}
    lender: dict[int, int] = {}
    nothing = (0.0, 0.0)
    for link in reversed(links):
        mass, tensor = link.rigid.mass, link.rigid.tensor
        mean = mul(add(add(tensor.xx, tensor.yy), tensor.zz), 1.0 / 3.0)
        if is_zero(mass) and is_zero(mean):
            mass, mean = borrowed.get(link.index, nothing)
        borrowed[link.parent] = mean if is_zero(mass) else mass, mass if is_zero(mean) else mean
        lender[link.parent] = link.index
    lent = [borrowed[k.parent] if k.parent >= 0 and lender[k.parent] == k.index else nothing for k in links]
    return [Loan(*borrowed.get(link.index, nothing), *own) for link, own in zip(links, lent, strict=True)]


def isotropic(mass: Scalar, tensor: Scalar) -> Freed:
    inertia = ArticulatedInertia(Symmetric.diagonal(tensor), Matrix.zero(), Symmetric.diagonal(mass))
    return Freed(inertia, Wrench.zero())


def alone(link: Link, loan: Loan, motion: LinkVelocity, tau: Scalar, external: Wrench) -> tuple[Solved, Stretch]:
    """A link as a stretch."""
    solved, head = free(link, isotropic(loan.mass, loan.tensor), motion, tau, external)
    head = head + isotropic(sub(0.0, loan.returned_mass), sub(0.0, loan.returned_tensor))
    axis, share = link.joint.axis, link.joint.share(solved.U, solved.inverse)
    columns = [x.to_child(motion.pose) for x in UNITS]
    drift = motion.bias + axis * mul(sub(solved.u, power(motion.bias, solved.U)), solved.inverse)
    passage = tuple(x - axis * power(x, share) for x in columns)
    return solved, Stretch(head, passage, drift, (Axis(axis, solved.inverse),))


def acceleration(link: Link, motion: LinkVelocity, solved: Solved, x: Twist, z: Scalars) -> Scalar:
    qdd = accelerate(link, (x, 0.0), motion, solved)[1]
    return add(qdd, z[0])  # (4)


def forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, external: Sequence[Wrench], base: LinkMotion | None = None
) -> list[Scalar]:
    twist, rate = base_twists(base)
    motions = velocities(robot, q, qd, twist)
    given = zip(robot.links, of_tree(robot, loans), motions, tau, external, strict=True)
    freed = [alone(*each) for each in given]
    lift = Twist(Vector.zero(), -Vector.of(robot.gravity)) + rate
    ends = contracted(robot, STRETCHES, lift, [stretch for _, stretch in freed])  # (3)
    links = zip(robot.links, motions, freed, ends, strict=True)
    return [acceleration(link, motion, solved, x, z) for link, motion, (solved, _), (x, z) in links]
