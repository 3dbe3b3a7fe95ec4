"""The spatial operators as matrices: [Kozłowski] (12), (22)-(25), for trees without rotors. Links base first.

    E_Φ, E_Ψ have the blocks (β, i) φ_i, ψ_i, β being the parent of i      Φ = (1 - E_Φ)⁻¹      Ψ = (1 - E_Ψ)⁻¹
    H, M, P, D, G, τ̄ are block diagonal      K = E_Φ G

Their use is described in `operators`, their rates in `operator_rates`. Components in the links' own frames.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..robot import Robot
from ..spatial import Scalars, Twist, Vector, Wrench, cross_wrench
from ..spatial.dense import Dense, diagonal, identity, minus, product, put, transposed, zeros
from .udu import articulated_bodies


class Operators(NamedTuple):
    H: Dense  # n × 6n
    M: Dense
    E_phi: Dense
    phi: Dense
    P: Dense
    D: Dense  # n × n
    G: Dense  # 6n × n
    K: Dense  # 6n × n
    tau_bar: Dense
    E_psi: Dense
    psi: Dense


def block(columns: Sequence[Any]) -> Dense:
    """6 × 6 from six columns."""
    return transposed([list(column) for column in columns])


def of_twists(f: Callable[[Twist], Any]) -> Dense:
    return block([f(Twist(Vector(*u[:3]), Vector(*u[3:]))) for u in identity(6)])


def of_wrenches(f: Callable[[Wrench], Any]) -> Dense:
    return block([f(Wrench(Vector(*u[:3]), Vector(*u[3:]))) for u in identity(6)])


def block_diagonal(blocks: Sequence[Dense]) -> Dense:
    matrix = zeros(sum(map(len, blocks)), sum(len(b[0]) for b in blocks))
    row = column = 0
    for b in blocks:
        put(matrix, b, row, column)
        row, column = row + len(b), column + len(b[0])
    return matrix


def crosses(twists: Iterable[Twist]) -> Dense:
    """diag(t×), for wrenches"""
    return block_diagonal([of_wrenches(partial(cross_wrench, t)) for t in twists])


def to_parents(robot: Robot, blocks: Sequence[Dense]) -> Dense:
    """Block (β, i) is blocks[i]."""
    matrix = zeros(6 * robot.n, 6 * robot.n)
    for link, b in zip(robot.links, blocks, strict=True):
        if link.parent >= 0:
            put(matrix, b, 6 * link.parent, 6 * link.index)
    return matrix


def resolvent(robot: Robot, blocks: Sequence[Dense]) -> Dense:
    """(1 - E)⁻¹ of E = to_parents(blocks): the product of the blocks along the way to the base."""
    matrix = identity(6 * robot.n)
    for link in robot.links:
        path, here = identity(6), link
        while here.parent >= 0:
            path = product(blocks[here.index], path)
            here = robot.links[here.parent]
            put(matrix, path, 6 * here.index, 6 * link.index)
    return matrix


def operators(robot: Robot, q: Scalars) -> Operators:
    bodies = articulated_bodies(robot, q)
    H = block_diagonal([[list(link.joint.axis)] for link in robot.links])
    M = block_diagonal([of_twists(link.body.__matmul__) for link in robot.links])
    P = block_diagonal([of_twists(body.inertia.__matmul__) for body in bodies])
    G = block_diagonal([[[x] for x in body.psi] for body in bodies])
    phis = [of_wrenches(partial(Wrench.to_parent, pose=body.pose)) for body in bodies]
    tau_bar = minus(identity(6 * robot.n), product(G, H))
    taus = [[row[6 * i : 6 * i + 6] for row in tau_bar[6 * i : 6 * i + 6]] for i in range(robot.n)]
    psis = [product(a, b) for a, b in zip(phis, taus, strict=True)]
    E_phi, phi = to_parents(robot, phis), resolvent(robot, phis)
    D = diagonal([body.pivot for body in bodies])
    return Operators(
        H, M, E_phi, phi, P, D, G, product(E_phi, G), tau_bar, to_parents(robot, psis), resolvent(robot, psis)
    )
