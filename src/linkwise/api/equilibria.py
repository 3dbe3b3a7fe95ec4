"""Equilibria: configurations and torques at which a robot stays at rest.

At rest the torques are g(q), that of gravity less those of the external wrenches. What is asked for are equations of
some joints, g_i(q) = τ_i, in the unknown q: of passive joints, where τ_i = 0, or of all where the torques are given.
They are solved by Levenberg and Marquardt's method with the shortest steps along the velocities, so that what is found
is near the start,

    ξ = -Jᵀ (J Jᵀ + λ 1)⁻¹ r        r = g - τ of these joints, J = ∂r/∂q
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import EquilibriumError
from ..robot import Robot
from ..trace import Input
from .derivatives import Derivative, derivative
from .functions import bias_torque, gravity_torque
from .integration import integrate
from .states import Array, States

TorqueFunction = Callable[..., Any]
ITERATIONS = 100
SMALLEST, LARGEST = 1e-12, 1e6  # of λ, beside the largest diagonal element of J Jᵀ
LONGEST = 0.5  # rad or m that a joint moves in a step: what is found is then near the start
KICK, KICKS = 0.1, 3  # rad or m, at random, where steps lead nowhere: as for an arm stretched out to the side


class Equilibrium(NamedTuple):
    """A configuration (..., nq), and the torques of the drives (..., n) that hold the robot there."""

    q: np.ndarray
    tau: np.ndarray


def equilibrium(
    arm: Robot,
    q: Array,
    tau: Array | TorqueFunction | None = None,
    *,
    passive: str | Sequence[str] | None = None,
    wrench: Array | None = None,
    point: Array | None = None,
    tolerance: float = 1e-9,
) -> Equilibrium:
    """The equilibrium at q, or near it: the configuration (..., nq) and the torques (..., n) of the drives.

    Without `tau` the drives give whatever torque they need. If all joints have drives, q itself is the answer, with
    the torque of gravity (and of the external `wrench`, as for `lw.inverse_dynamics`). Joints that are `passive`, by
    name, have no drive: q is changed, as little as possible, until nothing moves them. By default these are the free
    joints of a base, so that a robot that floats under gravity has no equilibrium unless wrenches hold it.
    With `tau`, (..., n), q is changed until these torques hold the robot; `tau` may also be a torque function of
    (arm, t, q, qd), as for `lw.simulate`: springs, or a controller that sags.

    Equations are solved to `tolerance`, N·m and N, times the largest torque at the start where that is more than 1;
    `lw.EquilibriumError` says which joint is not in balance otherwise. What is found may be unstable (the eigenvalues
    of A of `lw.linearize` tell), and limits of the joints are not looked at.

    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> np.allclose(lw.equilibrium(arm, [0.1, 0.2, 0.3]).tau, lw.gravity_torque(arm, [0.1, 0.2, 0.3]))
    True
    >>> hanging = lw.equilibrium(arm, [-1.2, 0.3, 0.2], passive=arm.names)     # nothing is driven: it hangs down
    >>> hanging.q.round(6) + 0.0
    array([-1.570796,  0.      ,  0.      ])
    """
    law = tau if callable(tau) else None
    arrays = {"q": q} if tau is None or law else {"q": q, "tau": tau}
    states = States(arm, arrays, wrench, True, point=point)
    if not states.numeric or arm.non_floats:
        raise TypeError(
            "equilibrium takes NumPy arrays and a robot of numbers (expected numbers: lw.bind puts them in)"
        )
    if not 0.0 < tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance!r} (expected more than 0)")
    equations = passive_coordinates(arm, passive) if tau is None else np.arange(arm.n)
    if tau is not None and passive is not None:
        raise ValueError("passive is given beside tau (expected one: tau has a number for every joint, 0 if passive)")
    named = [("q", (arm.nq,)), *([("tau", (arm.n,))] if "tau" in arrays else []), *states.acting]
    given = [states.rows(name, shape).astype(float).reshape(-1, *shape) for name, shape in named]
    found, torque = solved(arm, unbalanced(arm, law, named[1:]), given, equations, tolerance, states.batch)
    if law is not None:
        for k, configuration in enumerate(found):  # one by one, as `lw.simulate` calls it
            torque[k] = law(arm, 0.0, configuration, np.zeros(arm.n))
    elif tau is not None:
        torque = given[1]
    return Equilibrium(found.reshape(*states.batch, arm.nq), np.reshape(torque, (*states.batch, arm.n)))


def passive_coordinates(arm: Robot, passive: str | Sequence[str] | None) -> np.ndarray:
    """The positions in tau of joints without a drive."""
    names = [joint.name for joint in arm.free_joints] if passive is None else passive
    names = [names] if isinstance(names, str) else list(names)
    return np.array([i for name in dict.fromkeys(names) for i in range(*arm.v_slice(name).indices(arm.n))], dtype=int)


def unbalanced(arm: Robot, law: TorqueFunction | None, inputs: Sequence[tuple[str, tuple[int, ...]]]) -> Derivative:
    """g(q) less the torques that are given, and its derivative by q; without a user's function made once."""
    key = ("unbalanced", tuple(inputs))
    if law is None and key in arm.cache:
        return arm.cache[key]  # type: ignore[no-any-return]

    def difference(arm: Robot, q: Any, tau: Any = 0.0, **loads: Any) -> Any:
        torque = bias_torque(arm, q, np.zeros(arm.n), **loads) if loads else gravity_torque(arm, q)
        return torque - tau - (0.0 if law is None else law(arm, 0.0, q, np.zeros(arm.n)))

    keywords: dict[str, Any] = {name: Input(*shape) for name, shape in inputs}
    slope = derivative(difference, arm, "q", value=True, **keywords)
    if law is None:
        arm.cache[key] = slope
    return slope


def solved(
    arm: Robot, balance: Derivative, given: list[np.ndarray], equations: np.ndarray, tolerance: float, batch: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The configurations, and what is not in balance there: (count, nq) and (count, n), zero where there are equations.

    Every state has its own λ. It falls where a step makes the residual smaller, and rises where not.
    """
    q, rest = given[0], given[1:]
    residual, slope = balance(q, *rest)
    allowed = tolerance * np.maximum(1.0, np.abs(residual).max(axis=-1, initial=0.0))
    random = np.random.default_rng(0)
    for attempt in range(1 + KICKS if len(equations) else 0):
        damping = np.full(len(q), 1e-3)
        for _ in range(ITERATIONS):
            off = unsolved(residual[:, equations], allowed)
            active = np.flatnonzero(off & (damping < LARGEST))
            if not len(active):
                break
            step = shortest_step(residual[active][:, equations], slope[active][:, equations], damping[active])
            moved = integrate(arm, q[active], step)
            r, J = balance(moved, *(array[active] for array in rest))
            better = (r[:, equations] ** 2).sum(-1) < (residual[active][:, equations] ** 2).sum(-1)
            damping[active] = np.where(better, np.maximum(damping[active] / 10.0, SMALLEST), damping[active] * 10.0)
            chosen = active[better]
            q[chosen], residual[chosen], slope[chosen] = moved[better], r[better], J[better]
        stuck = np.flatnonzero(unsolved(residual[:, equations], allowed))
        if not len(stuck) or attempt == KICKS:
            break
        q[stuck] = integrate(arm, q[stuck], KICK * random.uniform(-1.0, 1.0, size=(len(stuck), arm.n)))
        residual[stuck], slope[stuck] = balance(q[stuck], *(array[stuck] for array in rest))
    off = unsolved(residual[:, equations], allowed)
    if off.any():
        raise not_found(arm, int(np.flatnonzero(off)[0]), residual, equations, batch)
    residual[:, equations] = 0.0
    return q, residual


def unsolved(residual: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Which states are off by more than is allowed, or by a number that is NaN."""
    return np.asarray(~(np.abs(residual).max(axis=-1, initial=0.0) <= allowed))


def shortest_step(r: np.ndarray, J: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """-Jᵀ (J Jᵀ + λ 1)⁻¹ r; λ is relative to the largest diagonal element."""
    square = J @ np.swapaxes(J, -1, -2)
    largest = np.maximum(np.einsum("kii->ki", square).max(axis=-1), np.finfo(float).tiny)
    square += (damping * largest)[:, None, None] * np.eye(J.shape[-2])
    step = np.einsum("kij,ki->kj", J, np.linalg.solve(square, r[..., None])[..., 0])
    return np.asarray(-step / np.maximum(1.0, np.abs(step).max(axis=-1, keepdims=True) / LONGEST))


def not_found(
    arm: Robot, state: int, residual: np.ndarray, equations: np.ndarray, batch: tuple[int, ...]
) -> EquilibriumError:
    worst = int(equations[np.abs(residual[state, equations]).argmax()])
    where = f" in state {list(map(int, np.unravel_index(state, batch)))}" if batch else ""
    floats = any(worst in range(*joint.v.indices(arm.n)) for joint in arm.free_joints)
    hint = (
        "wrenches that hold it, wrench=...: a base that floats has no drive" if floats else "torques that can hold it"
    )
    return EquilibriumError(
        f"robot {arm.name!r}: no equilibrium was found{where}: {arm.v_names[worst]!r} is off by"
        f" {residual[state, worst]:.3g} N m or N where the search ended (expected {hint}, or another start)"
    )
