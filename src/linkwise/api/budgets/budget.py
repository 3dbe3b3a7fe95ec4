"""`lw.budget`, the terms of torques, and the budgets of the diagonalized equations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ...dynamics import budget as terms_of
from ...dynamics import newton_euler, quasi
from ...dynamics.budget import Terms
from ...dynamics.diagonal import QuasiMotion, from_quasi_velocities
from ...dynamics.udu import Articulated, articulated_bodies
from ...robot import Friction, Robot
from ...spatial import Scalar, Wrench, add, mul, power, sub
from ...spatial.dense import Dense, zeros
from ..call import BaseMotion, PublicFunction, base_motion
from ..functions import differences, external_wrenches, sums
from ..states import Array, ComponentAxes, States
from .result import Budget, BudgetBase, as_numpy, check_times
from .text import Key, TermTable, element_symbol, has_shared_numbers, quasi_force_symbol, term_table


def budget(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    base: BaseMotion | None = None,
    friction: bool | Friction = False,
    t: Array | None = None,
    check: bool = False,
) -> Budget:
    """Each joint's torque, as `lw.inverse_dynamics` gives it, split into its terms.

    The terms are the acceleration of every joint; the bias acceleration and bias force of every link, by the joints
    whose rates they are quadratic in (one: centrifugal; two: Coriolis); the weight of every link; external wrenches;
    the joint's rotor; viscous and Coulomb friction; the motion of the base.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    wrench, point, axes, base, friction, check
        As for `lw.inverse_dynamics`; of a recording on a moving base it is `recording.base`.
    t : array_like, (samples,), optional
        Times of the states along a trajectory, or along each of a batch, for tables and plots.

    Returns
    -------
    Budget
        A named tuple of arrays (..., n, terms). It prints as a table, plots, and answers `why("joint2")`.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> print(lw.budget(arm, q=[0, 0, 0], qd=[1, 0, 0], qdd=[0, 0, 0])["link2"].sentence())
    link2: 1.55 N m = 1.059 gravity of link3 + 0.4905 gravity of link2
    """
    loads: dict[str, Any] = {"point": point, "axes": axes, "base": base}
    arrays: Any = torque_terms(robot, q, qd, qdd, wrench, **loads, friction=friction, check=check)
    return Budget(*arrays, robot=robot, t=t)


vars(budget)["published"] = "budget"


def torque_term_arrays(states: States, law: Friction | None, base: BaseMotion | None) -> tuple[Any, ...]:
    robot, table = states.robot, term_table(states.robot)
    rates, accelerations = states.scalars("qd"), states.scalars("qdd")
    # ball joints: ω̇ instead of θ̈, so the bias accelerations among their own axes are left out
    motion = states.positions(), states.rates(), states.coordinates.rates(accelerations)
    shares = terms_of.shares(states.links, *motion, external_wrenches(states))
    joint_terms = [[0.0] * robot.n for _ in range(3)]
    for axis in (axis for axes in robot.axes for axis in axes):
        joint_terms[0][axis.v] = add(joint_terms[0][axis.v], mul(axis.rotor, accelerations[axis.v]))
    terms = (
        by_joint(table, shares.acceleration),
        by_rates(table, shares.bias_acceleration, table.accelerations),
        by_rates(table, shares.bias_force, table.forces),
        by_link(table, shares.gravity),
        by_link(table, shares.wrench),
    )
    by_base = base_torques(states, motion, base)
    if law is not None:
        load = None
        if law.grows(robot):
            of_joints = zip(*terms, sums(joint_terms[0], by_base), strict=True)
            load = [reduce(add, (x for part in parts for x in part), rest) for *parts, rest in of_joints]
        joint_terms[1:] = (part.torques(robot, rates, load=load) for part in law.parts)
    return *terms, *joint_terms, by_base


def base_torques(states: States, motion: Sequence[Any], base: BaseMotion | None) -> list[Any]:
    """What drives must give against the inertia forces that the motion of the base makes."""
    moving = base_motion(states, base)
    if moving is None:
        return [0.0] * states.robot.n
    q, qd, qdd = motion
    floating, still = states.links.with_gravity((0.0, 0.0, 0.0)), [Wrench.zero()] * states.links.n
    torques = (newton_euler.inverse_dynamics(floating, q, qd, qdd, still, of) for of in (moving, None))
    return states.coordinates.torques(differences(*torques))


def sizes_of_terms(robot: Robot, friction: Friction | None) -> list[tuple[int | str, ...]]:
    table = term_table(robot)
    widths = ("n", len(table.accelerations), len(table.forces), "links", "links")
    return [*(("n", width) for width in widths), *[("n",)] * 4]


@PublicFunction(sizes_of_terms, torque_term_arrays, takes_base_motion=True)
def torque_terms(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    base: BaseMotion | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> Array:
    """The arrays of `budget`."""


def rows(table: TermTable, terms: Terms, width: int, column: Callable[..., int | None]) -> Dense:
    """Terms of links as rows for the torques, each in the column of its indices; a column of None drops the term.

    Torques of coupled joints add up.
    """
    rows = zeros(table.robot.n, width)
    for (k, *indices), value in terms.items():
        place, slot = column(*indices), table.robot.slots[k]
        if place is not None:
            rows[slot.v][place] = add(rows[slot.v][place], mul(slot.ratio, value))
    return rows


def by_joint(table: TermTable, terms: Terms) -> Dense:
    """(n, n): terms by the joint whose motion causes them."""
    return rows(table, terms, table.robot.n, lambda j: table.robot.slots[j].v)


def by_link(table: TermTable, terms: Terms) -> Dense:
    """(n, links)."""
    return rows(table, terms, len(table.robot.names), lambda m: table.owners[m])


def by_rates(table: TermTable, terms: Terms, columns: Mapping[Key, int]) -> Dense:
    """(n, columns): bias terms."""
    return rows(table, terms, len(columns), lambda *indices: columns.get(table.key(*indices)))


def quasi_term_arrays(kind: quasi.Unnormalized, states: States) -> tuple[Any, ...]:
    """The arrays of `QuasiTermArrays`."""
    robot, table = states.robot, term_table(states.robot)
    angles, velocity = states.positions(), states.scalars("velocity")
    bodies = articulated_bodies(robot, angles)
    scales = [kind.inverse_scale(body) for body in bodies]  # D^-½, or 1
    motions = from_quasi_velocities(robot, bodies, [mul(d, x) for d, x in zip(scales, velocity, strict=True)])
    shares = terms_of.quasi_shares(robot, angles, bodies, motions, external_wrenches(states))
    elements = summand_rows(kind, robot, bodies, motions, shares)
    parts = (shares.bias_force, shares.gravity, shares.wrench)
    scaled = ({key: mul(scales[key[0]], value) for key, value in part.items()} for part in parts)
    return elements, sum_summands(elements), velocity, *(by_link(table, part) for part in scaled)


def summand_rows(
    kind: quasi.Unnormalized, robot: Robot, bodies: Sequence[Articulated], motions: Sequence[QuasiMotion], shares: Any
) -> list[Dense]:
    """The summands of (48): [k][i][m]."""
    sums, scales = dict(shares.summands), [kind.inverse_scale(body) for body in bodies]
    for x in robot.balls:
        recentre(sums, robot, x, motions[x + 2].qd, bodies)
    rows = [zeros(robot.n, robot.n) for _ in range(robot.n)]
    for (k, i, m), value in sums.items():
        if k != i or not isinstance(kind, quasi.Normalized):  # c_kk = 0
            rows[k][i][m] = mul(mul(scales[k], value), scales[i])
    return rows


def sum_summands(rows: Sequence[Dense]) -> Dense:
    """c_ki, the sums of the summands."""
    return [[reduce(add, summands, 0.0) for summands in row] for row in rows]


def recentre(sums: dict[tuple[int, ...], Scalar], robot: Robot, x: int, spin: Scalar, bodies: Any) -> None:
    """Add what the moving origin of a ball joint's Euler angles contributes, with its last link: see `api.quasi`."""
    y, z = x + 1, x + 2
    D_x, D_y = bodies[x].pivot, bodies[y].pivot
    U_xy = power(robot.links[x].joint.axis.to_child(bodies[y].pose), bodies[y].psi)
    sums[x, y, z] = sub(sums[x, y, z], mul(D_x, spin))
    sums[y, x, z] = add(sums[y, x, z], mul(D_x, spin))
    sums[x, x, z] = add(sums[x, x, z], mul(mul(D_x, U_xy), spin))
    sums[y, y, z] = sub(sums[y, y, z], mul(mul(D_y, U_xy), spin))


class QuasiTermArrays(NamedTuple):
    summands: Array  # (..., n, n, n)
    c: Array  # (..., n, n)
    velocity: Array  # (..., n)
    bias_force: Array  # (..., n, links)
    gravity: Array  # (..., n, links)
    wrench: Array  # (..., n, links)


class QuasiBudget(BudgetBase, QuasiTermArrays):
    """The terms of C(θ, ν) or C(θ, ξ): a tuple of arrays with names, and views of them.

    `c` (..., n, n) are the elements c_ki of Kozłowski's equation (48), c_ki = -c_ik off the diagonal; `summands`
    (..., n, n, n) are their summands, [..., k, i, m] that of joint m. `elements` are c_ki ν_i (or ξ_i), with the
    `velocity` of the call. `bias_force`, `gravity` and `wrench` are by link. `elements` and these three add up to
    C, `total`. Tables and plots as of `lw.results.Budget`: by elements, by their summands, or by kinds.
    """

    kind: str
    views = ("elements", "sums", "kinds")

    def __new__(cls, *arrays: Array, robot: Robot | None = None, kind: str = "", t: Array | None = None) -> QuasiBudget:
        budget = super().__new__(cls, *arrays)
        if robot is not None:
            budget.robot, budget.kind, budget.t = robot, kind, check_times(t, tuple(budget.gravity.shape[:-2]))
        return budget

    def _with_arrays(self, arrays: Iterable[Array], t: Array | None) -> QuasiBudget:
        return QuasiBudget(*arrays, robot=self.robot, kind=self.kind, t=t)

    @property
    def total(self) -> Array:
        """C(θ, ν) or C(θ, ξ), with gravity and wrenches in it: (..., n)."""
        _, _, _, bias_force, gravity, wrench = tuple(self)
        return self.elements.sum(-1) + bias_force.sum(-1) + gravity.sum(-1) + wrench.sum(-1)

    @property
    def elements(self) -> Array:
        """The products c_ki ν_i, or c_ki ξ_i, with k as the row: (..., n, n)."""
        return self.c * self.velocity[..., None, :]

    @property
    def letter(self) -> str:
        return "ν" if self.kind == "normalized" else "ξ"

    @property
    def symbol(self) -> str:
        return f"C(θ, {self.letter})"

    @property
    def what(self) -> str:
        return f"{self.symbol}, {self.kind},"

    def units(self) -> tuple[str, ...]:
        return ("√J/s",) * self.robot.n if self.kind == "normalized" else self.robot.effort_units

    def limits(self) -> Sequence[float]:
        return [math.inf] * self.robot.n

    @property
    def values(self) -> np.ndarray:
        """(..., n, terms): the summands of every element times the velocity, then bias forces, gravity, wrenches."""
        summands, _, velocity, *others = (as_numpy(part) for part in tuple(self))
        products = summands * velocity[..., None, :, None]
        return np.concatenate([products.reshape((*products.shape[:-2], -1)), *others], axis=-1)

    def groups(self, by: str) -> dict[str, list[int]]:
        names, links, columns = self.robot.v_names, self.robot.names, dict[str, list[int]]()
        for i, joint in enumerate(names):
            for m, other in enumerate(names):
                term = f"c {self.letter} of {joint}"
                label = {"elements": term, "sums": f"{term}, summand of {other}", "kinds": f"c {self.letter}"}[by]
                columns.setdefault(label, []).append(i * len(names) + m)
        start = len(names) ** 2
        for part, what in enumerate(("bias force of", "gravity of", "wrench on")):
            for m, link in enumerate(links):
                label = what.rpartition(" ")[0] if by == "kinds" else f"{what} {link}"
                columns.setdefault(label, []).append(start + part * len(links) + m)
        return columns

    def symbols(self, k: int, by: str) -> dict[str, str]:
        if by == "kinds" or not has_shared_numbers(self.robot):
            return {}
        n, scaled, symbols = self.robot.n, self.kind == "normalized", dict[str, str]()
        for label, (column, *_) in self.groups(by).items():
            if column < n * n:
                i, m = divmod(column, n)
                symbols[label] = element_symbol(k, i, m if by == "sums" else -1, scaled)
            else:
                part, m = divmod(column - n * n, n)
                symbols[label] = quasi_force_symbol(("bias force", "gravity", "wrench")[part], k, m, scaled)
        return symbols

    def _latex_symbol(self, k: int) -> str:
        letter = r"\nu" if self.kind == "normalized" else r"\xi"
        return rf"C(\theta, {letter})_{{{k + 1}}}"
