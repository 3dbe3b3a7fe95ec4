"""Linear models of a robot about its states: ẋ = A x + B u, or x_{k+1} = A x_k + B u_k.

x = (ξ, δv) is the deviation of configuration and velocities, u = δτ that of the torques:

    ξ̇  = δv - ω × ξ                                     for the three directions of each ball joint at ω; others, ξ̇ = δv
    δv̇ = (∂v̇/∂q) ξ + (∂v̇/∂v) δv + (∂v̇/∂τ) δτ

With friction τ is less by f(v): the derivatives are taken at τ - f, and ∂v̇/∂v has -(∂v̇/∂τ) (∂f/∂v) besides. If u is
held for a time dt, the state after it is that of exp([A B; 0 0] dt) = [A_k B_k; 0 1]: A_k = exp(A dt), B_k = φ(A dt)
B dt with φ(X) = ∫₀¹ exp(s X) ds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..api.call import Declared
from ..api.functions import differences, inverse_dynamics
from ..api.states import Array, States, component
from ..api.torque_functions import check_arguments, checked_torques
from ..errors import is_real
from ..notices import warn
from ..robot import Friction, Robot
from ..robot.scales import torque_scales
from ..spatial import Scalar, mul, sub
from .closed_form_derivatives import forward_dynamics_derivatives
from .equilibria import ComparesArrays
from .graph_derivatives import derivative
from .matrix_exponential import held

NO_FORCE = 1e-9  # beside the magnitudes of all that acts on a joint: rounding


class StateAndInputMatrix(NamedTuple):
    A: Array
    B: Array


class LinearModel(ComparesArrays, StateAndInputMatrix):
    """A (..., 2n, 2n) and B (..., 2n, n) of ẋ = A x + B u; or, with a step `dt`, of x_{k+1} = A x_k + B u_k."""

    dt: float | None

    def __new__(cls, A: Array, B: Array, dt: float | None = None) -> LinearModel:
        pair = super().__new__(cls, A, B)
        pair.dt = dt
        return pair

    def __repr__(self) -> str:
        kind = "continuous" if self.dt is None else f"dt = {self.dt:g} s"
        return f"<LinearModel, {kind}: A {tuple(self.A.shape)}, B {tuple(self.B.shape)}>"


def linearize(
    arm: Robot,
    q: Array,
    qd: Array | None = None,
    tau: Array | Callable[..., Any] | None = None,
    dt: float | None = None,
    *,
    wrench: Array | None = None,
    point: Array | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> LinearModel:
    """The linear model about each state: A (..., 2n, 2n) and B (..., 2n, n) of ẋ = A x + B u.

    x = (ξ, δv): ξ is the deviation of the configuration along the velocities (`lw.difference(arm, q, q + deviation)`),
    δv that of the velocities; u is the deviation of the torques from `tau`. With `dt` the model is x_{k+1} = A x_k +
    B u_k for torques that are held for the time dt, exact for the continuous A and B. `wrench`, `point` and `friction`
    as for `lw.forward_dynamics`; `lw.Friction(smooth=0)`, the sign of the rate, adds nothing but its viscous part.
    Smoothed Coulomb friction c at rest is a damper of c / smooth, hundreds of N·m·s/rad, which holds for tiny rates
    alone: to design a controller give the viscous part, `lw.Friction(coulomb=0)`.

    Without `qd` the robot is at rest; without `tau` the torques are those with which nothing accelerates, at rest those
    that hold it there: `lw.linearize(arm, q)` is the model for a regulator at q. A free joint has no drive, so that a
    base that would fall needs a `tau`, or a `wrench` that holds it.

    `tau` may also be a torque function of (arm, t, q, qd), as for `lw.simulate`, at t = 0: the model is then that of
    the closed loop, and u is the deviation of torques beside those of the law.

    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q = [0.1, 0.2, 0.3]
    >>> A, B = lw.linearize(arm, q)                        # at rest, held by the torques of gravity
    >>> np.allclose(B[3:], lw.inverse_inertia_matrix(arm, q)), np.allclose(A[:3, 3:], np.eye(3))
    (True, True)
    """
    step = step_of(dt)
    if qd is None:
        qd = zeros_beside(q, arm)
    if tau is None:
        tau = steady_torques(arm, q, qd, wrench, point, friction)
    if callable(tau):
        check_arguments(tau)
        loads = {"wrench": wrench, "point": point, "friction": friction, "check": check}
        model = closed_loop(arm, q, qd, tau, **loads)
    elif wrench is None and point is None and friction is False and not check:  # the fast path
        model = LinearModel(*linear_model(arm, q, qd, tau))
    else:
        warn_of_friction_at_rest(arm, qd, Friction.of(friction))
        model = LinearModel(*linear_model(arm, q, qd, tau, wrench, point=point, friction=friction, check=check))
    return model if step is None else discretised(*model, step)


vars(linearize).update(traced_inputs=("qd", "tau"), result_names=("A", "B"))


def zeros_beside(q: Array, arm: Robot) -> np.ndarray:
    """Rates of zero that leave the precision of q as it is; what is no robot is refused later."""
    return np.zeros(getattr(arm, "n", 0), dtype=q.dtype if isinstance(q, np.ndarray) and q.dtype.kind == "f" else float)


def steady_torques(
    arm: Robot, q: Array, qd: Array, wrench: Array | None, point: Array | None, friction: bool | Friction
) -> Array:
    """The torques with which no velocity changes."""
    tau = inverse_dynamics(arm, q, qd, zeros_beside(q, arm), wrench, point=point, friction=friction)
    free = [i for joint in arm.free_joints for i in range(*joint.v.indices(arm.n))]
    if free and isinstance(tau, np.ndarray) and tau.dtype.kind == "f":
        states = States(arm, {"q": q, "qd": qd}, wrench, point=point)
        named = [("q", (arm.nq,)), ("qd", (arm.n,)), *states.acting]
        rows = {name: states.rows(name, shape).reshape(-1, *shape) for name, shape in named}
        allowed = max(NO_FORCE, 64.0 * float(np.finfo(tau.dtype).eps)) * torque_scales(arm, **rows)
        needed = np.abs(tau).reshape(-1, arm.n)
        needed = np.where(needed > allowed, needed, 0.0).max(axis=0, initial=0.0)
        worst = max(free, key=lambda i: needed[i])
        if needed[worst]:
            raise ValueError(
                f"robot {arm.name!r}: {arm.v_names[worst]!r} needs {needed[worst]:.3g} {arm.effort_units[worst]} not to"
                " accelerate, but a base that floats has no drive (expected tau=..., or wrench=... that holds it)"
            )
    return tau


def closed_loop(arm: Robot, q: Array, qd: Array, law: Callable[..., Any], **loads: Any) -> LinearModel:
    """With δτ = K (ξ, δv) + u of the law: A + B K, and B."""

    def at_first(arm: Robot, q: Any, qd: Any) -> Any:
        return checked_torques(law, arm, 0.0, q, qd)

    tau, by_q, by_qd = derivative(at_first, arm, ("q", "qd"), value=True)(q, qd)
    A, B = linearize(arm, q, qd, tau, **loads)
    return LinearModel(A + B @ np.concatenate([by_q, by_qd], axis=-1), B)


def warn_of_friction_at_rest(arm: Robot, qd: Array, law: Friction | None) -> None:
    """Where smoothed Coulomb friction is nothing but a stiff damper."""
    rates = np.asarray(qd) if isinstance(qd, (np.ndarray, list, tuple)) else np.empty(0, dtype=object)
    if law is None or not law.smooth or arm.non_floats or rates.dtype.kind not in "fi" or rates.shape[-1:] != (arm.n,):
        return
    levels = law.at_rest(arm)
    slow = ((np.abs(rates) < 0.01 * law.smooth) & (levels > 0.0)).reshape(-1, arm.n).any(axis=0)
    if slow.any():
        k = int(np.argmax(slow))
        unit = "N s/m" if arm.effort_units[k] == "N" else "N m s/rad"
        warn(
            f"robot {arm.name!r}: at rest the smoothed Coulomb friction of {arm.v_names[k]!r} is a damper of"
            f" {levels[k] / law.smooth:.3g} {unit} in this linear model, which holds for rates far below {law.smooth:g}"
            " alone (expected lw.Friction(coulomb=0), the viscous part, to design a controller)"
        )


def step_of(dt: object) -> float | None:
    if dt is None:
        return None
    if not is_real(dt) or not 0.0 < dt < np.inf:
        raise ValueError(f"dt is {dt!r} (expected seconds, more than 0, or None for the continuous model)")
    return float(dt)


def matrices(states: States, law: Friction | None) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    arm, n, rates = states.robot, states.robot.n, states.scalars("qd")
    torques = states.scalars("tau") if law is None else differences(states.scalars("tau"), law.torques(arm, rates))
    loads = {name: states.own(name) for name, _ in states.acting}
    slopes = plain_slopes(arm, states.own("q"), states.own("qd"), states.join(torques, (n,)), **loads)
    by_q, by_qd, by_tau = ([[component(x, i, j) for j in range(n)] for i in range(n)] for x in slopes)
    if law is not None:
        drag = law.slopes(arm, rates)
        pairs = zip(by_qd, by_tau, strict=True)
        by_qd = [[sub(x, mul(b, d)) for x, b, d in zip(row, own, drag, strict=True)] for row, own in pairs]
    one = [[float(i == j) for j in range(n)] for i in range(n)]
    above = [[*row, *unit] for row, unit in zip(turning(arm, rates), one, strict=True)]
    below = [[*row, *more] for row, more in zip(by_q, by_qd, strict=True)]
    return above + below, [[0.0] * n for _ in range(n)] + by_tau


@Declared([("2n", "2n"), ("2n", "n")], matrices, divides=True, fast=True)
def linear_model(
    arm: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    *,
    point: Array | None = None,
    friction: bool | Friction = False,
    check: bool = False,
) -> Array:
    """A and B of the continuous model."""


plain_slopes: Any = vars(forward_dynamics_derivatives)["plain"]


def turning(arm: Robot, rates: list[Any]) -> list[list[Scalar]]:
    """What ξ̇ has of ξ: -[ω]× for each ball joint."""
    matrix: list[list[Scalar]] = [[0.0] * arm.n for _ in range(arm.n)]
    for ball in arm.balls:
        x = arm.slots[ball].v
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            matrix[x + i][x + j] = rates[x + k]
            matrix[x + j][x + i] = -rates[x + k]
    return matrix


def discretised(A: Array, B: Array, dt: float) -> LinearModel:
    """The model of one step of dt, in which the torques are held."""
    if not isinstance(A, np.ndarray) or A.dtype.kind != "f":
        raise TypeError("with dt, linearize takes NumPy arrays of numbers (without, also torch, JAX and symbols)")
    return LinearModel(*held(A, B, dt), dt)
