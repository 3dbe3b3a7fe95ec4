"""Counts of the stages of a recursion, in the order in which the literature lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import linkwise as lw
from linkwise import dynamics
from linkwise.dynamics import (
    denoc_centres,
    diagonal,
    kinematics,
    newton_euler,
    newton_euler_centres,
    operators,
    quasi,
    table_frames,
    udu,
)
from linkwise.graph import Graph, Node
from linkwise.spatial import ArticulatedInertia, Placement, Twist, Vector, Wrench, cross, mul, power, sub

from .cases import CASES, FAMILIES, KINDS, NOWHERE, general

Stage = tuple[str, list[Any]]


def staged(stages: Iterator[Stage]) -> dict[str, lw.results.Count]:
    """For each stage, the operations that it needs and no earlier stage did. A name may come again: they add up."""
    seen: set[int] = set()
    ops: dict[str, Counter[str]] = {}
    for name, values in stages:
        waiting = [value for value in values if isinstance(value, Node)]
        here = ops.setdefault(name, Counter())
        while waiting:
            node = waiting.pop()
            if node.index not in seen:
                seen.add(node.index)
                here[node.op] += 1
                waiting.extend(node.args)
    return {name: as_count(found) for name, found in ops.items()}


def as_count(ops: Counter[str]) -> lw.results.Count:
    functions = sum(ops[name] for name in ("sin", "cos", "sign", "sqrt"))
    return lw.results.Count(ops["mul"], ops["add"] + ops["sub"], ops["div"], functions, ops["neg"])


def inputs(tape: Graph, n: int, *names: str) -> list[list[Node]]:
    return [[tape.input(name, i) for i in range(n)] for name in names]


def components(inertia: ArticulatedInertia) -> list[Any]:
    return [*inertia.angular.upper, *(x for row in inertia.coupling.rows for x in row), *inertia.linear.upper]


def turns(arm: lw.Robot, q: Sequence[Any]) -> list[Any]:
    """The rotations of the joints alone: sines and cosines."""
    motions = [link.joint.motion(q_i) for link, q_i in zip(arm.links, q, strict=True)]
    return [x for motion in motions for row in motion.axes.rows for x in row]


def newton_euler_stages(arm: lw.Robot) -> Iterator[Stage]:
    """The rows of angeles Tables 7.1 and 7.2, in their order."""
    q, qd, qdd = inputs(Graph(), arm.n, "q", "qd", "qdd")
    poses, still = operators.link_poses(arm, q), Wrench.zero()
    V, motions = kinematics.twists(arm, q, qd), newton_euler.link_motions(arm, q, qd, qdd)
    yield "Q", turns(arm, q)
    place = Vector.zero()
    for link, pose in zip(arm.links, poses, strict=True):
        place = pose.rotation.T @ (place + pose.translation)
        yield "c", [*(place + link.com)]
    yield "ω", [x for v in V for x in v.angular]
    yield "ċ", [x for link, v in zip(arm.links, V, strict=True) for x in v.linear + cross(v.angular, link.com)]
    yield "ω̇", [x for m in motions for x in m.angular_acceleration]
    each = zip(arm.links, motions, strict=True)
    yield "c̈", [x for link, m in each for x in newton_euler.centre_acceleration(link, m)]
    carried = still
    for link, motion in reversed(list(zip(arm.links, motions, strict=True))):
        wrench, passed = newton_euler.support(link, carried, motion, still)
        tip = link.index == arm.n - 1
        yield "φ", [*carried.force]
        yield "f of the tip" if tip else "f", [*wrench.force]
        yield "n of the tip" if tip else "n", [*wrench.moment]
        carried = passed


def centre_inputs(arm: lw.Robot, tape: Graph) -> tuple[list[table_frames.TableLink], list[Vector], list[Wrench]]:
    """As angeles counts: levers that no product of constants is known of, a base that moves (c, ω, ċ, ω̇, c̈), and a
    wrench on the tip."""
    names = [f"delta{link}" for link in range(arm.n)]
    names += ["position", "omega", "velocity", "omega_dot", "acceleration", "moment", "force"]
    vectors = [Vector.of(x) for x in inputs(tape, 3, *names)]
    tables = zip(table_frames.table_links(arm), vectors, strict=False)
    wrenches = [*[Wrench.zero()] * (arm.n - 1), Wrench(*vectors[-2:])]
    return [body._replace(delta=delta) for body, delta in tables], vectors[arm.n : -2], wrenches


def centre_stages(arm: lw.Robot) -> Iterator[Stage]:
    """The rows of angeles Tables 7.1 and 7.2 in the frames of the book, counted as it counts."""
    tape = Graph()
    q, qd, qdd = inputs(tape, arm.n, "q", "qd", "qdd")
    bodies, base, wrenches = centre_inputs(arm, tape)
    start = newton_euler_centres.starting_from(*base)
    motions = newton_euler_centres.outward_recursions(arm, bodies, q, qd, qdd, start)
    turns = [motion.turn.joint.then(Placement(motion.turn.after, Vector.zero()).axes) for motion in motions]
    yield "Q", [x for turn in turns for row in turn.rows for x in row]
    for k, name in enumerate(("c", "ω", "ċ", "ω̇", "c̈"), 2):
        yield name, [x for motion in motions for x in motion[k]]
    loads = newton_euler_centres.inward_recursions(arm, bodies, motions, wrenches)
    tip = arm.n - 1
    for k in reversed(range(arm.n)):
        yield "φ", [] if k == tip else [*motions[k + 1].turn.outward(loads[k + 1].wrench.force)]
        yield "f of the tip" if k == tip else "f", [*loads[k].wrench.force]
        yield "n of the tip" if k == tip else "n", [*loads[k].wrench.moment]
    yield "τ", [power(link.joint.axis, load.at_joint) for link, load in zip(arm.links, loads, strict=True)]


@cache
def recursion_about_centres(n: int, seed: int = 0) -> lw.results.Count:
    """RIDIM of saha1999jam in its frames, with the inputs of `centre_stages`."""
    arm, tape = lw.chain(n, seed=seed), Graph()
    q, qd, qdd = inputs(tape, n, "q", "qd", "qdd")
    bodies, (_, omega, velocity, omega_dot, acceleration), wrenches = centre_inputs(arm, tape)
    start = denoc_centres.starting_from(Twist(omega, velocity), Twist(omega_dot, acceleration))
    gammas = denoc_centres.recursion(arm, bodies, start, q, qd, qdd, wrenches)
    torques = [power(body.axis, gamma) for body, gamma in zip(bodies, gammas, strict=True)]
    return staged(iter([("τ", torques)]))["τ"]


def diagonal_stages(arm: lw.Robot, kind: quasi.Unnormalized) -> Iterator[Stage]:
    """The rows of kozlowski1995 Table 2. The last stage must be the very nodes of the plain text, or this fails."""
    q, velocity, tau = inputs(Graph(), arm.n, "q", "velocity", "tau")
    bodies = udu.articulated_bodies(arm, q)
    yield "sines", turns(arm, q)
    for body in reversed(bodies):
        yield "P", components(body.inertia)
        yield "G", [body.inverse_pivot, *body.psi]
    xi = [mul(kind.inverse_scale(body), v) for body, v in zip(bodies, velocity, strict=True)]
    motions = diagonal.from_quasi_velocities(arm, bodies, xi)
    yield from outward_stages(bodies, motions)
    b = operators.bias_wrenches(arm, q, [m.twist for m in motions], [Wrench.zero()] * arm.n)
    yield "b", [x for each in b for x in each]
    force: list[Any] = []
    yield from inward_stages(arm, bodies, kind, tau, force)
    rates = diagonal.rates(arm, bodies, motions)
    for link, body, motion in zip(arm.links, bodies, motions, strict=True):
        yield "X", components(body.inertia.carried(link.joint.axis * motion.qd))
    yield "λ̇", [x for rate in rates for x in components(rate.lambda_dot)]
    coriolis = kind.coriolis_of(arm, bodies, motions, b, "recursive")
    yield "y, C", coriolis
    rate = [kind.rate(*each) for each in zip(bodies, force, coriolis, strict=True)]
    plain = kind.acceleration(arm, q, velocity, tau, [Wrench.zero()] * arm.n)
    if not all(x is y for x, y in zip(rate, plain, strict=True)):
        raise AssertionError(
            f"the stages of {kind.name} are no longer those of linkwise.dynamics: bring them up to date"
        )
    yield "rate", rate


def outward_stages(bodies: Sequence[udu.Articulated], motions: Sequence[diagonal.Moving]) -> Iterator[Stage]:
    before = diagonal.STILL.twist
    for body, motion in zip(bodies, motions, strict=True):
        yield "V⁺", [*before.angular, *(before.linear + cross(before.angular, body.pose.translation))]
        yield "V", [*motion.above]
        yield "θ̇", [motion.qd]
        yield "V", [*motion.twist]
        before = motion.twist


def inward_stages(
    arm: lw.Robot, bodies: Sequence[udu.Articulated], kind: quasi.Unnormalized, tau: Sequence[Any], force: list[Any]
) -> Iterator[Stage]:
    """z, quasi-force and z⁺ of each link; the quasi-forces are put into `force`, base first."""
    z = Wrench.zero()
    for link, body, tau_i in reversed(list(zip(arm.links, bodies, tau, strict=True))):
        kappa = sub(tau_i, power(link.joint.axis, z))
        force.insert(0, mul(kind.inverse_scale(body), kappa))
        yield "z", [*z]
        yield "force", [force[0]]
        left, turn = z + body.psi * kappa, body.pose.rotation
        if link.parent >= 0:
            yield "z⁺", [*(turn @ left.moment), *(turn @ left.force)]
        z = left.to_parent(body.pose)


@cache
def newton_euler_counts(joints: str, n: int, seed: int = 0) -> dict[str, lw.results.Count]:
    return staged(newton_euler_stages(lw.chain(n, seed=seed, joints=joints)))


@cache
def centre_counts(joints: str, n: int, seed: int = 0) -> dict[str, lw.results.Count]:
    return staged(centre_stages(lw.chain(n, seed=seed, joints=joints)))


@cache
def diagonal_counts(kind: str, family: str, weight: bool, n: int, seed: int = 0) -> dict[str, lw.results.Count]:
    arm = FAMILIES[family](n, seed)
    return staged(diagonal_stages(arm if weight else arm.with_gravity(NOWHERE), getattr(quasi, kind)))


def newton_euler_stage(stages: Sequence[str], n: int, seed: int = 0) -> lw.results.Count:
    return together(newton_euler_counts("R", n, seed), stages)


def centre_stage(stages: Sequence[str], n: int, seed: int = 0) -> lw.results.Count:
    return together(centre_counts("R", n, seed), stages)


def diagonal_stage(kind: str, family: str, stages: Sequence[str], n: int, seed: int = 0) -> lw.results.Count:
    return together(diagonal_counts(kind, family, True, n, seed), stages)


def weightless_stage(stage: str, n: int, seed: int = 0) -> lw.results.Count:
    return diagonal_counts("normalized", "chain", False, n, seed)[stage]


def together(counts: dict[str, lw.results.Count], stages: Sequence[str]) -> lw.results.Count:
    chosen = [counts[stage] for stage in stages]
    return lw.results.Count(*(sum(getattr(c, kind) for c in chosen) for kind in (*KINDS, "negations")))


@cache
def weightless(label: str, n: int, seed: int = 0) -> lw.results.Count:
    return CASES[label].count(general(n, seed).with_gravity(NOWHERE))


@cache
def unbiased(method: str, n: int, seed: int = 0) -> lw.results.Count:
    """Forward dynamics without its bias: at rest and without gravity, where the bias folds away."""
    algorithm = dynamics.ALL_FORWARD_DYNAMICS[method]

    def acceleration(arm: lw.Robot, q: Any, tau: Any) -> Any:
        return algorithm(arm, list(q), [0.0] * arm.n, list(tau), [Wrench.zero()] * arm.n)

    return lw.count(acceleration, general(n, seed).with_gravity(NOWHERE))
