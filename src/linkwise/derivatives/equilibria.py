"""Equilibria: configurations and torques at which a robot stays at rest.

At rest the torques are g(q), those of gravity less those of the external wrenches. The equations are g_i(q) = τ_i for
passive joints, where τ_i = 0, or for all joints with given torques. The unknowns are the coordinates that may move.
The method of Levenberg and Marquardt takes the shortest steps along the velocities,

    ξ = -Jᵀ (J Jᵀ + λ 1)⁻¹ r        r = g - τ of these joints, J = ∂r/∂q by the unknowns

in units of the robot: angles in rad, lengths relative to its size, and each torque relative to the magnitudes of all
loads on its joint (`torque_scales`). So the solution does not depend on the size or mass of the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.functions import bias_torque, gravity_torque
from ..api.kinematics import difference, integrate
from ..api.states import Array, ComponentAxes, States
from ..api.torque_functions import check_arguments, evaluate_torques, host_array
from ..equality import ComparesArrays
from ..errors import EquilibriumError
from ..robot import PerRobot, Robot, WrenchFrames
from ..robot.scales import coordinate_scales, torque_scales
from ..tracing import Input
from .graph_derivatives import Derivative, derivative

TorqueFunction = Callable[..., Any]
Solution = tuple[np.ndarray, np.ndarray, np.ndarray]  # configurations, residuals, mask of the states that failed
ITERATIONS = 100
MIN_DAMPING, MAX_DAMPING = 1e-12, 1e6  # of λ, relative to the largest diagonal element of J Jᵀ
MAX_STEP = 0.5  # rad, or of the robot's size: short steps usually end near the start
FAR_FROM_START, STARTS = 1.0, 16  # rad, or of the robot's size: farther solutions are compared with other starts
RANDOM_STEP, RANDOM_STEPS = (
    0.1,
    3,
)  # likewise, at random, where steps lead nowhere: as for an arm stretched out to the side
ROUNDING = 1e-9  # rad, of the robot's size, and of the load on a joint: smaller numbers are printed as 0


class ConfigurationAndTorques(NamedTuple):
    q: np.ndarray
    tau: np.ndarray


class Equilibrium(ComparesArrays, ConfigurationAndTorques):
    """A configuration `q` (..., nq), and the torques `tau` of the drives (..., n) that hold the robot there."""

    robot: Robot | None

    def __new__(cls, q: np.ndarray, tau: np.ndarray, robot: Robot | None = None) -> Equilibrium:
        pair = super().__new__(cls, q, tau)
        pair.robot = robot
        return pair

    def __repr__(self) -> str:
        """One state as a table with the names of its numbers."""
        if self.robot is None:
            return f"Equilibrium(q={self.q!r}, tau={self.tau!r})"
        if self.q.ndim > 1:
            return f"<Equilibrium of robot {self.robot.name!r}: q {self.q.shape}, tau {self.tau.shape}>"
        size = coordinate_scales(self.robot)
        sizes = np.array([size[slot.v] for link, slot in self.robot.driving for _ in range(link.joint.width)])
        numbers = np.where(np.abs(self.q) > ROUNDING * sizes, self.q, 0.0)
        q = [f"    {name} = {x:.6g}" for name, x in zip(self.robot.q_names, numbers, strict=True)]
        numbers = np.where(np.abs(self.tau) > ROUNDING * torque_scales(self.robot, self.q[None])[0], self.tau, 0.0)
        units = zip(self.robot.v_names, numbers, self.robot.effort_units, strict=True)
        tau = [f"    {name} = {x:.6g} {unit}" for name, x, unit in units]
        return "\n".join([f"Equilibrium of robot {self.robot.name!r}", "  q", *q, "  tau", *tau])


def equilibrium(
    robot: Robot,
    q: Array,
    tau: Array | TorqueFunction | None = None,
    *,
    passive: str | Sequence[str] | None = None,
    moving: str | Sequence[str] | None = None,
    wrench: Array | Mapping[str, Array] | None = None,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    tolerance: float = 1e-10,
) -> Equilibrium:
    """The equilibrium at q, or near it.

    Without `tau` the result has the torques that hold the robot: joints with drives stay at q, passive joints are moved
    until they need no torque. With `tau`, q is changed until these torques hold the robot. The result is the
    nearest equilibrium found from several starts; it may be unstable (see the eigenvalues of A of `lw.linearize`), and
    joint limits are ignored.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
        The start.
    tau : array_like, (..., n), or callable, optional
        Given torques, or a torque function of (robot, t, q, qd) as for `lw.simulate`.
    passive : str or sequence of str, optional
        Joints without drives; by default the free joints of a base.
    moving : str or sequence of str, optional
        Joints that may be moved instead of the passive ones. With `robot.names` all move, as little as
        possible in total: angles in rad, displacements relative to the robot's size.
    wrench, point, axes : optional
        As for `lw.inverse_dynamics`.
    tolerance : float
        Largest residual relative to the sum of the magnitudes of all loads on a joint: each weight and wrench times its
        distance, the given torque, and its change in 1 rad or the robot's size.

    Returns
    -------
    Equilibrium
        Named tuple of the configuration q (..., nq) and the torques tau (..., n) of the drives.

    Raises
    ------
    EquilibriumError
        Names the joint that is not in balance where the search ended.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> np.allclose(lw.equilibrium(arm, [0.1, 0.2, 0.3]).tau, lw.gravity_torque(arm, [0.1, 0.2, 0.3]))
    True
    >>> hanging = lw.equilibrium(arm, [-1.2, 0.3, 0.2], passive=arm.names)     # nothing is driven: it hangs down
    >>> hanging.q.round(6) + 0.0
    array([-1.570796,  0.      ,  0.      ])
    """
    law = tau if callable(tau) else None
    if law is not None:
        check_arguments(law)
    arrays = {"q": q} if tau is None or law else {"q": q, "tau": tau}
    arrays = {name: host_array(name, array) for name, array in arrays.items()}
    states = States(robot, arrays, wrench, True, point=point, axes=axes)
    if not states.numeric or robot.non_floats:
        raise TypeError(
            "equilibrium takes NumPy arrays and a robot of numbers (expected numbers; lw.bind replaces symbols)"
        )
    if not 0.0 < tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance!r} (expected more than 0)")
    if tau is not None and (passive is not None or moving is not None):
        name = "moving" if passive is None else "passive"
        raise ValueError(
            f"{name} and tau are both given (expected one: tau has a number for every joint, 0 if passive)"
        )
    free = [joint.name for joint in robot.free_joints]
    equations = coordinates_of(robot, free if passive is None else passive) if tau is None else np.arange(robot.n)
    unknowns = equations if moving is None else coordinates_of(robot, moving)
    inputs_and_shapes = [("q", (robot.nq,)), *([("tau", (robot.n,))] if "tau" in arrays else []), *states.load_shapes]
    start_arrays = [states.rows(name, shape).astype(float).reshape(-1, *shape) for name, shape in inputs_and_shapes]
    inputs, names = tuple(inputs_and_shapes[1:]), [name for name, _ in inputs_and_shapes[1:]]
    make_balance = cached_residual_function if law is None else residual_function
    balance = make_balance(robot, law, inputs, states.at)
    problem = Problem(robot, balance, names, states.frames, equations, unknowns, tolerance)
    solution, torque, failed = solve_nearest(problem, start_arrays)
    if failed.any():
        raise equilibrium_error(robot, int(np.flatnonzero(failed)[0]), torque, equations, states.batch, tau is not None)
    torque[:, equations] = 0.0
    if law is not None:
        for k, configuration in enumerate(solution):  # one by one, as `lw.simulate` calls it
            torque[k] = evaluate_torques(law, robot, 0.0, configuration, np.zeros(robot.n))
    elif tau is not None:
        torque = start_arrays[1]
    return Equilibrium(solution.reshape(*states.batch, robot.nq), np.reshape(torque, (*states.batch, robot.n)), robot)


def coordinates_of(robot: Robot, names: str | Sequence[str]) -> np.ndarray:
    """The indices of these joints in tau."""
    names = [names] if isinstance(names, str) else list(names)
    return np.array(
        [i for name in dict.fromkeys(names) for i in range(*robot.v_slice(name).indices(robot.n))], dtype=int
    )


def residual_function(
    robot: Robot, law: TorqueFunction | None, inputs: tuple[tuple[str, tuple[int, ...]], ...], at: WrenchFrames | None
) -> Derivative:
    """g(q) less the given torques, and its derivative by q."""

    def unbalanced_torque(robot: Robot, q: Any, tau: Any = 0.0, **loads: Any) -> Any:
        loads |= {"point": at} if at is not None and loads else {}
        torque = bias_torque(robot, q, np.zeros(robot.n), **loads) if loads else gravity_torque(robot, q)
        applied = tau if law is None else evaluate_torques(law, robot, 0.0, q, np.zeros(robot.n))
        return torque - applied

    keywords: dict[str, Any] = {name: Input(*shape) for name, shape in inputs}
    return derivative(unbalanced_torque, robot, "q", value=True, **keywords)


cached_residual_function = PerRobot(residual_function)  # not for user's functions, which may change


class Problem:
    """The equations, and their scales."""

    def __init__(
        self,
        robot: Robot,
        balance: Derivative,
        names: list[str],  # of the inputs besides q
        frames: Mapping[str, Any],  # where wrenches act, if they are given by frame
        equations: np.ndarray,
        unknowns: np.ndarray,
        tolerance: float,
    ) -> None:
        self.robot, self.balance, self.names, self.frames = robot, balance, names, frames
        self.equations, self.unknowns, self.tolerance = equations, unknowns, tolerance
        self.sizes = coordinate_scales(robot)

    def evaluate(self, q: np.ndarray, rest: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The residual (count, n), its derivative by q in units of `sizes`, and its scale (count, n)."""
        residual, slope = self.balance(q, *rest)
        slope = slope * self.sizes
        loads = dict(zip(self.names, rest, strict=True))
        applied = np.abs(loads.pop("tau", 0.0))
        return (
            residual,
            slope,
            torque_scales(self.robot, q, **loads, **self.frames) + applied + np.abs(slope).sum(axis=-1),
        )

    def unconverged(self, residual: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The states whose residual exceeds the tolerance or is NaN."""
        fine = np.abs(residual) <= self.tolerance * scale
        return np.asarray(~fine[:, self.equations].all(axis=-1))

    def displace(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """From q by a step (..., unknowns) in units of `sizes`."""
        full = np.zeros((*step.shape[:-1], self.robot.n))
        full[..., self.unknowns] = step * self.sizes[self.unknowns]
        return np.asarray(integrate(self.robot, q, full))

    def distance(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(difference(self.robot, q, other) / self.sizes, axis=-1))


def solve_nearest(problem: Problem, start_arrays: list[np.ndarray]) -> Solution:
    """As `solve`; where that failed or ended far from the start, the nearest solution from other starts is taken."""
    start, rest = start_arrays[0], start_arrays[1:]
    solution, torque, failed = solve(problem, start_arrays)
    distance = np.where(failed, np.inf, problem.distance(start, solution))
    far = np.flatnonzero(distance > FAR_FROM_START)
    if not len(far) or not len(problem.equations):
        return solution, torque, failed
    turn = np.random.default_rng(0).uniform(-1.0, 1.0, size=(STARTS, len(problem.unknowns)))
    random_steps = turn * np.minimum(distance[far] / 2.0, FAR_FROM_START)[:, None, None]
    many = np.repeat(far, STARTS)
    starts = problem.displace(start[many], random_steps.reshape(len(many), -1))
    others = solve(problem, [starts, *(array[many] for array in rest)], random_steps=0)
    distances = np.where(others[2], np.inf, problem.distance(start[many], others[0])).reshape(-1, STARTS)
    best = distances.argmin(axis=-1)
    nearer = distances.min(axis=-1) < (1.0 - 1e-6) * distance[far]
    chosen = np.arange(len(far)) * STARTS + best
    for array, other in zip((solution, torque, failed), others, strict=True):
        array[far[nearer]] = other[chosen[nearer]]
    return solution, torque, failed


def solve(problem: Problem, start_arrays: list[np.ndarray], random_steps: int = RANDOM_STEPS) -> Solution:
    """The configurations (count, nq), the residuals there (count, n), and the mask of failures (count,).

    Every state has its own λ. It falls where a step reduces the residual, and rises otherwise.
    """
    q, rest = start_arrays[0].copy(), start_arrays[1:]
    equations, unknowns = problem.equations, problem.unknowns
    residual, slope, scale = problem.evaluate(q, rest)
    unit = np.where(scale > 0.0, scale, 1.0)[:, equations]  # of the equations
    random = np.random.default_rng(0)
    for attempt in range(1 + random_steps if len(equations) else 0):
        damping = np.full(len(q), 1e-3)
        for _ in range(ITERATIONS):
            active = np.flatnonzero(problem.unconverged(residual, scale) & (damping < MAX_DAMPING))
            if not len(active):
                break
            before = residual[active][:, equations] / unit[active]
            jacobian = slope[active][:, equations[:, None], unknowns] / unit[active][..., None]
            trial = problem.displace(q[active], shortest_step(before, jacobian, damping[active]))
            r, J, size = problem.evaluate(trial, [array[active] for array in rest])
            better = ((r[:, equations] / unit[active]) ** 2).sum(-1) < (before**2).sum(-1)
            damping[active] = np.where(better, np.maximum(damping[active] / 10.0, MIN_DAMPING), damping[active] * 10.0)
            chosen = active[better]
            q[chosen], residual[chosen], slope[chosen], scale[chosen] = (
                trial[better],
                r[better],
                J[better],
                size[better],
            )
        stuck = np.flatnonzero(problem.unconverged(residual, scale))
        if not len(stuck) or attempt == random_steps:
            break
        q[stuck] = problem.displace(q[stuck], RANDOM_STEP * random.uniform(-1.0, 1.0, size=(len(stuck), len(unknowns))))
        residual[stuck], slope[stuck], scale[stuck] = problem.evaluate(q[stuck], [array[stuck] for array in rest])
    return q, residual, problem.unconverged(residual, scale)


def shortest_step(r: np.ndarray, J: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """-Jᵀ (J Jᵀ + λ 1)⁻¹ r; λ is relative to the largest diagonal element."""
    square = J @ np.swapaxes(J, -1, -2)
    largest = np.maximum(np.einsum("kii->ki", square).max(axis=-1), np.finfo(float).tiny)
    square += (damping * largest)[:, None, None] * np.eye(J.shape[-2])
    step = np.einsum("kij,ki->kj", J, np.linalg.solve(square, r[..., None])[..., 0])
    return np.asarray(-step / np.maximum(1.0, np.abs(step).max(axis=-1, keepdims=True, initial=0.0) / MAX_STEP))


def equilibrium_error(
    robot: Robot, state: int, residual: np.ndarray, equations: np.ndarray, batch: tuple[int, ...], torques_given: bool
) -> EquilibriumError:
    worst = int(equations[np.abs(residual[state, equations]).argmax()])
    where = f" in state {list(map(int, np.unravel_index(state, batch)))}" if batch else ""
    needs = f"needs {residual[state, worst]:.3g} {robot.effort_units[worst]} to stay"
    if torques_given:
        off = f"is out of balance by {abs(residual[state, worst]):.3g} {robot.effort_units[worst]}"
        problem = f"{off} (expected torques that can hold the robot, or another start q)"
    elif any(worst in range(*joint.v.indices(robot.n)) for joint in robot.free_joints):
        problem = f"{needs}, but a base that floats has no drive (expected wrench=... that holds it, or passive=())"
    else:
        problem = f"{needs}, but is passive (expected another start q, or moving=... with joints that may move besides)"
    return EquilibriumError(
        f"robot {robot.name!r}: no equilibrium was found{where}: where the search ended {robot.v_names[worst]!r}"
        f" {problem}"
    )
