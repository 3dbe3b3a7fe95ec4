"""Linear models of a robot about its states: ẋ = A x + B u, or x_{k+1} = A x_k + B u_k.

x = (ξ, δv) is the deviation of configuration and velocities, u = δτ that of the torques:

    ξ̇  = δv - ω × ξ                                     for the three directions of each ball joint at ω; others, ξ̇ = δv
    δv̇ = (∂v̇/∂q) ξ + (∂v̇/∂v) δv + (∂v̇/∂τ) δτ

With friction τ is less by f(v): the derivatives are taken at τ - f, and ∂v̇/∂v has -(∂v̇/∂τ) (∂f/∂v) besides. If u is
held for a time dt, the state after it is that of exp([A B; 0 0] dt) = [A_k B_k; 0 1]: A_k = exp(A dt), B_k = φ(A dt)
B dt with φ(X) = ∫₀¹ exp(s X) ds. Both are computed for many matrices at once by Taylor's series, scaling and squaring:

    φ(X) = Σ X^k / (k + 1)!         exp(X) = 1 + X φ(X)
    G = exp(X) - 1                  exp(2X) - 1 = 2 G + G²                  φ(2X) = φ(X) + φ(X) G / 2

A series of degree m for φ is that of degree m + 1 for the exponential: its error, seen as a change of X, is about
|X|^(m+1) / (m+2)! of X, less than 2⁻⁵³ for the 1-norms of `DEGREES`. Larger matrices are halved first, and squared
afterwards. The series is summed with few products (Paterson and Stockmeyer, SIAM J. Comput. 2 (1973)): polynomials of
degree b - 1 in X are the coefficients of one in X^b. G instead of the exponential is squared, since 1 would round off
the digits of small elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from ..api.call import PublicFunction
from ..api.functions import differences, inverse_dynamics
from ..api.states import Array, ComponentAxes, States, component
from ..api.torque_functions import check_arguments, evaluate_torques
from ..equality import ComparesArrays
from ..errors import is_real
from ..printing import warn
from ..robot import Friction, Robot
from ..robot.scales import torque_scales
from ..spatial import Scalar, mul, sub
from .closed_form_derivatives import forward_dynamics_derivatives
from .graph_derivatives import derivative

NO_FORCE = 1e-9  # relative to the magnitudes of all loads on a joint: rounding


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
    robot: Robot,
    q: Array,
    qd: Array | None = None,
    tau: Array | Callable[..., Any] | None = None,
    dt: float | None = None,
    *,
    wrench: Array | Mapping[str, Array] | None = None,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    check: bool = False,
) -> LinearModel:
    """The linear model about each state: ẋ = A x + B u, or with `dt` x_{k+1} = A x_k + B u_k.

    x = (ξ, δv): ξ is the deviation of the configuration along the velocities, as `lw.difference` has it, δv that of
    the velocities; u is the deviation of the torques from `tau`.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd : array_like, (..., n), optional
        By default the robot is at rest.
    tau : array_like, (..., n), or callable, optional
        By default the torques at which nothing accelerates. A free joint has no drive: a base that would fall needs
        `tau`, or a `wrench` that holds it. With a torque function of (robot, t, q, qd), taken at t = 0, the model is
        that of the closed loop.
    dt : float, optional
        Step in s with constant torques; exact for the continuous A and B.
    wrench, point, axes, friction, check
        As for `lw.forward_dynamics`. Smoothed Coulomb friction c at rest is a damper of c / smooth, hundreds of
        N·m·s/rad, valid for tiny rates alone; for control design use the viscous part, `lw.Friction(coulomb=0)`.
        `lw.Friction(smooth=0)` adds only its viscous part.

    Returns
    -------
    LinearModel
        Named tuple of A (..., 2n, 2n) and B (..., 2n, n).

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q = [0.1, 0.2, 0.3]
    >>> A, B = lw.linearize(arm, q)                        # at rest, held by the torques of gravity
    >>> np.allclose(B[3:], lw.inverse_inertia_matrix(arm, q)), np.allclose(A[:3, 3:], np.eye(3))
    (True, True)
    """
    step = check_dt(dt)
    if qd is None:
        qd = zero_rates(q, robot)
    if tau is None:
        tau = steady_torques(robot, q, qd, friction, wrench=wrench, point=point, axes=axes)
    if callable(tau):
        check_arguments(tau)
        loads = {"wrench": wrench, "point": point, "axes": axes, "friction": friction, "check": check}
        model = closed_loop(robot, q, qd, tau, **loads)
    elif wrench is None and point is None and friction is False and not check:  # the fast path
        model = LinearModel(*linear_model(robot, q, qd, tau))
    else:
        warn_about_friction_at_rest(robot, qd, Friction.of(friction))
        model = LinearModel(
            *linear_model(robot, q, qd, tau, wrench, point=point, axes=axes, friction=friction, check=check)
        )
    return model if step is None else discretize(*model, step)


vars(linearize).update(traced_inputs=("qd", "tau"), result_names=("A", "B"))


def zero_rates(q: Array, robot: Robot) -> np.ndarray:
    """Rates of zero in the dtype of q; wrong robots are refused later."""
    return np.zeros(
        getattr(robot, "n", 0), dtype=q.dtype if isinstance(q, np.ndarray) and q.dtype.kind == "f" else float
    )


def steady_torques(robot: Robot, q: Array, qd: Array, friction: bool | Friction, **loads: Any) -> Array:
    """The torques at which no velocity changes."""
    tau = inverse_dynamics(robot, q, qd, zero_rates(q, robot), friction=friction, **loads)
    free = [i for joint in robot.free_joints for i in range(*joint.v.indices(robot.n))]
    if free and isinstance(tau, np.ndarray) and tau.dtype.kind == "f":
        states = States(robot, {"q": q, "qd": qd}, **loads)
        shapes = [("q", (robot.nq,)), ("qd", (robot.n,)), *states.load_shapes]
        rows = {name: states.rows(name, shape).reshape(-1, *shape) for name, shape in shapes}
        allowed = max(NO_FORCE, 64.0 * float(np.finfo(tau.dtype).eps)) * torque_scales(robot, **rows, **states.frames)
        needed = np.abs(tau).reshape(-1, robot.n)
        needed = np.where(needed > allowed, needed, 0.0).max(axis=0, initial=0.0)
        worst = max(free, key=lambda i: needed[i])
        if needed[worst]:
            raise ValueError(
                f"robot {robot.name!r}: {robot.v_names[worst]!r} needs {needed[worst]:.3g} {robot.effort_units[worst]}"
                " not to accelerate, but a base that floats has no drive (expected tau=..., or wrench=... that"
                " holds it)"
            )
    return tau


def closed_loop(robot: Robot, q: Array, qd: Array, law: Callable[..., Any], **loads: Any) -> LinearModel:
    """A + B K and B, for δτ = K (ξ, δv) + u of the torque function."""

    def initial_torques(robot: Robot, q: Any, qd: Any) -> Any:
        return evaluate_torques(law, robot, 0.0, q, qd)

    tau, by_q, by_qd = derivative(initial_torques, robot, ("q", "qd"), value=True)(q, qd)
    A, B = linearize(robot, q, qd, tau, **loads)
    return LinearModel(A + B @ np.concatenate([by_q, by_qd], axis=-1), B)


def warn_about_friction_at_rest(robot: Robot, qd: Array, law: Friction | None) -> None:
    """Warn where smoothed Coulomb friction is only a stiff damper."""
    rates = np.asarray(qd) if isinstance(qd, (np.ndarray, list, tuple)) else np.empty(0, dtype=object)
    if (
        law is None
        or not law.smooth
        or robot.non_floats
        or rates.dtype.kind not in "fi"
        or rates.shape[-1:] != (robot.n,)
    ):
        return
    levels = law.at_rest(robot)
    slow = ((np.abs(rates) < 0.01 * law.smooth) & (levels > 0.0)).reshape(-1, robot.n).any(axis=0)
    if slow.any():
        k = int(np.argmax(slow))
        unit = "N s/m" if robot.effort_units[k] == "N" else "N m s/rad"
        warn(
            f"robot {robot.name!r}: at rest the smoothed Coulomb friction of {robot.v_names[k]!r} is a damper of"
            f" {levels[k] / law.smooth:.3g} {unit} in this linear model, which holds for rates far below {law.smooth:g}"
            " alone (expected lw.Friction(coulomb=0), the viscous part, to design a controller)"
        )


def check_dt(dt: object) -> float | None:
    if dt is None:
        return None
    if not is_real(dt) or not 0.0 < dt < np.inf:
        raise ValueError(f"dt is {dt!r} (expected seconds, more than 0, or None for the continuous model)")
    return float(dt)


def matrices(states: States, law: Friction | None) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    robot, n, rates = states.robot, states.robot.n, states.scalars("qd")
    torques = states.scalars("tau")
    if law is not None:
        torques = differences(torques, law.torques(robot, rates, applied=torques))
    loads = {**{name: states.argument(name) for name, _ in states.load_shapes}, **states.frames}
    slopes = plain_slopes(robot, states.argument("q"), states.argument("qd"), states.join(torques, (n,)), **loads)
    by_q, by_qd, by_tau = ([[component(x, i, j) for j in range(n)] for i in range(n)] for x in slopes)
    if law is not None:
        shares = law.shares(robot, rates, torques)  # of a torque at the drive what reaches the load
        by_tau = [[mul(b, share) for b, share in zip(row, shares, strict=True)] for row in by_tau]
        drag = law.slopes(robot, rates, torques)
        pairs = zip(by_qd, by_tau, strict=True)
        by_qd = [[sub(x, mul(b, d)) for x, b, d in zip(row, inverse, drag, strict=True)] for row, inverse in pairs]
    one = [[float(i == j) for j in range(n)] for i in range(n)]
    above = [[*row, *unit] for row, unit in zip(ball_coupling(robot, rates), one, strict=True)]
    below = [[*row, *more] for row, more in zip(by_q, by_qd, strict=True)]
    return above + below, [[0.0] * n for _ in range(n)] + by_tau


@PublicFunction([("2n", "2n"), ("2n", "n")], matrices, divides=True)
def linear_model(
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    friction: bool | Friction = False,
    check: bool = False,
) -> Array:
    """A and B of the continuous model."""


plain_slopes: Any = vars(forward_dynamics_derivatives)["plain"]


def ball_coupling(robot: Robot, rates: list[Any]) -> list[list[Scalar]]:
    """The matrix of ξ̇ = ... ξ: -[ω]× for each ball joint."""
    matrix: list[list[Scalar]] = [[0.0] * robot.n for _ in range(robot.n)]
    for ball in robot.balls:
        x = robot.slots[ball].v
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            matrix[x + i][x + j] = rates[x + k]
            matrix[x + j][x + i] = -rates[x + k]
    return matrix


def discretize(A: Array, B: Array, dt: float) -> LinearModel:
    """The model of one step dt with constant torques."""
    if not isinstance(A, np.ndarray) or A.dtype.kind != "f":
        raise TypeError("with dt, linearize takes NumPy arrays of numbers (without dt also torch, JAX and symbols)")
    return LinearModel(*zero_order_hold(A, B, dt), dt)


DEGREES = ((5, 2, 9e-3), (8, 3, 0.09), (11, 4, 0.306), (15, 4, 0.81))  # degree m, width b, largest 1-norm
WIDEST = max(width for _, width, _ in DEGREES)
LARGEST = DEGREES[-1][-1]
CHUNK = 100_000  # bytes of the matrices processed together, so that they stay in the cache


def zero_order_hold(A: np.ndarray, B: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(A dt) and φ(A dt) B dt for A (..., n, n) and B (..., n, m); NaN where one of them is not finite."""
    n, m = B.shape[-2:]
    flat, inputs = A.reshape(-1, n, n), B.reshape(-1, n, m)
    state_matrix, input_matrix = np.empty(flat.shape, flat.dtype), np.empty(inputs.shape, inputs.dtype)
    size = max(1, min(len(flat), CHUNK // max(1, 8 * n * n)))
    workspace = Workspace(size, n)
    with np.errstate(all="ignore"):
        norm = norms(flat, size) * dt
        for chunk, degree, width in chunks(norm, size):
            X = np.multiply(flat[chunk], dt, dtype=float)
            exponential, integral = workspace.exponential(X, norm[chunk], degree, width)
            driven = integral @ np.multiply(inputs[chunk], dt, dtype=float)
            if not (np.isfinite(exponential).all() and np.isfinite(driven).all()):
                blank = ~(np.isfinite(exponential).all(axis=(-2, -1)) & np.isfinite(driven).all(axis=(-2, -1)))
                exponential[blank], driven[blank] = np.nan, np.nan
            state_matrix[chunk], input_matrix[chunk] = exponential, driven
    return state_matrix.reshape(A.shape), input_matrix.reshape(B.shape)


def norms(matrices: np.ndarray, size: int) -> np.ndarray:
    """The 1-norms: the largest column sums."""
    result = np.empty(len(matrices))
    for start in range(0, len(matrices), size):
        part = slice(start, start + size)
        result[part] = np.abs(matrices[part]).sum(axis=-2, dtype=float).max(axis=-1, initial=0.0)
    return result


def chunks(norm: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """The matrices to process together, in the order of their norms, with the degree and width of their series."""
    order = np.argsort(norm)  # those that are not finite come last
    ends = np.searchsorted(norm[order], [high for _, _, high in DEGREES[:-1]], side="right")
    for (degree, width, _), first, last in zip(DEGREES, [0, *ends], [*ends, len(order)], strict=True):
        for start in range(first, last, size):
            yield order[start : min(start + size, last)], degree, width


class Workspace:
    """Memory for `count` matrices. Allocating it for each product would take longer than the products."""

    def __init__(self, count: int, n: int) -> None:
        self.powers, self.terms = np.empty((2, count * WIDEST, n, n))
        self.high, self.G, self.sum, self.product = np.empty((4, count, n, n))
        self.one = np.eye(n)

    def exponential(self, X: np.ndarray, norm: np.ndarray, degree: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """exp(X) and φ(X), valid until the next call. The matrices are in the order of their norms; X is changed."""
        halvings = np.where(np.isfinite(norm), np.maximum(0, np.ceil(np.log2(norm / LARGEST))), 0.0).astype(int)
        if halvings.any():
            X *= (0.5**halvings)[:, None, None]
        integral = self.series(X, degree, width)
        G = np.matmul(X, integral, out=self.G[: len(X)])
        for k in range(int(halvings.max(initial=0))):
            more = slice(int(np.argmax(halvings > k)), None)
            product = self.product[: len(X)][more]
            np.matmul(integral[more], G[more], out=product)
            product *= 0.5
            integral[more] += product
            np.matmul(G[more], G[more], out=product)
            G[more] *= 2.0
            G[more] += product
        G += self.one
        return G, integral

    def series(self, X: np.ndarray, degree: int, width: int) -> np.ndarray:
        """Σ X^k / (k + 1)!, for k to the degree."""
        factors = np.array([1.0 / factorial(k + 1) for k in range(degree + 1)]).reshape(-1, width)
        count, n, rows = len(X), X.shape[-1], len(factors)
        powers = self.powers[: count * width].reshape(count, width, n, n)
        powers[:, 0], powers[:, 1] = self.one, X
        for k in range(2, width):
            np.matmul(powers[:, k - 1], X, out=powers[:, k])
        high = np.matmul(powers[:, -1], X, out=self.high[:count])
        terms = self.terms[: count * rows].reshape(count, rows, n, n)
        np.matmul(factors, powers.reshape(count, width, n * n), out=terms.reshape(count, rows, n * n))
        result, product = terms[:, -1], self.product[:count]
        for k in reversed(range(rows - 1)):
            np.matmul(result, high, out=product)
            result = np.add(product, terms[:, k], out=self.sum[:count])
        return result
