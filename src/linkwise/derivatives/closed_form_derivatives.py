"""Derivatives of inverse and forward dynamics in closed form: public functions, and their use by `derivative`; the
Riemann symbols of the inertia metric.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..api.call import PublicFunction
from ..api.functions import differences, external_loads, external_wrenches, forward_dynamics, sums
from ..api.momentum import positions_at_origin
from ..api.states import Array, ComponentAxes, States
from ..dynamics import composite, fewest, forward_derivatives, inverse_derivatives, second_derivatives
from ..dynamics.curvature import riemann_symbols
from ..dynamics.subtrees import Load
from ..graph import Port, Program
from ..kernels.sources import qualified_name
from ..robot import PerRobot, Robot
from ..spatial import Scalars, mul
from ..spatial.dense import UDU, apply
from ..tracing import trace
from ..tracing.tracing import are_inputs, function_name
from .derived import Packed

if TYPE_CHECKING:
    from .second_order import SecondOrder


def torque_derivatives(states: States) -> Any:
    return inverse_derivatives.inverse_dynamics_derivatives(states.robot, *states.motion(), link_loads(states))


@PublicFunction([("n", "n")] * 2, lambda states: torque_derivatives(states)[:2], published="derivatives")
def inverse_dynamics_derivatives(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> tuple[Array, Array]:
    """∂τ/∂q and ∂τ/∂qd of inverse dynamics, in closed form.

    ∂τ/∂qdd is `lw.inertia_matrix`. The derivative by q is along the velocities, as in `lw.derivative`: for a ball
    joint along small rotations about the body's own axes. Friction is not included.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    wrench, point, axes, check
        As for `lw.inverse_dynamics`. The wrench keeps its components, in the base frame or in those of frames; its
        point moves with the link.

    Returns
    -------
    by_q, by_qd : Array, (..., n, n)
        [i, j] is torque i by coordinate j.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 3))
    >>> by_q, by_qd = lw.inverse_dynamics_derivatives(arm, q, qd, qdd)
    >>> np.allclose(by_q, lw.derivative(lw.inverse_dynamics, arm, "q")(q, qd, qdd))
    True
    """


def acceleration_derivatives(states: States) -> Any:
    return forward_derivatives.forward_dynamics_derivatives(
        states.robot, *motion_under_torques(states), link_loads(states)
    )


@PublicFunction([("n", "n")] * 3, acceleration_derivatives, divides=True, published="derivatives")
def forward_dynamics_derivatives(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    *,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> tuple[Array, Array, Array]:
    """∂q̈/∂q, ∂q̈/∂qd and ∂q̈/∂τ of forward dynamics, in closed form.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, tau : array_like, (..., n)
    wrench, point, axes, check
        As for `lw.inverse_dynamics_derivatives`.

    Returns
    -------
    by_q, by_qd, by_tau : Array, (..., n, n)
        [i, j] is acceleration i by coordinate j, along the velocities; by_tau is the inverse of the inertia matrix.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q, qd, tau = np.random.default_rng(0).normal(size=(3, 3))
    >>> by_q, by_qd, by_tau = lw.forward_dynamics_derivatives(arm, q, qd, tau)
    >>> np.allclose(by_qd, lw.derivative(lw.forward_dynamics, arm, "qd")(q, qd, tau))
    True
    """


def torque_second_derivatives(states: States) -> Any:
    motion = positions_at_origin(states), states.rates(), states.accelerations()
    return second_derivatives.second_derivatives(states.robot, *motion, link_loads(states))


@PublicFunction([("n", "n", "n")] * 4, torque_second_derivatives, published="second-derivatives")
def inverse_dynamics_second_derivatives(  # type: ignore[empty-body]
    robot: Robot, q: Array, qd: Array, qdd: Array, *, check: bool = False
) -> tuple[Array, Array, Array, Array]:
    """∂²τ/∂q², ∂²τ/∂q∂qd, ∂²τ/∂qd² and ∂I/∂q of inverse dynamics, in closed form.

    ∂²τ/∂q∂qdd is ∂I/∂q with its last two indices exchanged; the other second derivatives vanish.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, qdd : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    q_q, q_qd, qd_qd, inertia_by_q : Array, (..., n, n, n)
        [i, j, k] is torque i by coordinates j and k (q_qd: by q_j and qd_k); in inertia_by_q, element i, j by q_k.
        Derivatives by q are along the velocities; within a ball joint along j first, then along k.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 3))
    >>> q_q, q_qd, qd_qd, inertia_by_q = lw.inverse_dynamics_second_derivatives(arm, q, qd, qdd)
    >>> np.allclose(inertia_by_q, lw.derivative(lw.inertia_matrix, arm, "q")(q))
    True
    """


def forward_dynamics_second_derivatives(
    robot: Robot, q: Array, qd: Array, tau: Array, *, check: bool = False
) -> tuple[Array, Array, Array, Array]:
    """∂²q̈/∂q², ∂²q̈/∂q∂qd, ∂²q̈/∂qd² and ∂²q̈/∂q∂τ of forward dynamics.

    From I q̈ = τ - bias, differentiated twice.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
    qd, tau : array_like, (..., n)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    q_q, q_qd, qd_qd, q_tau : Array, (..., n, n, n)
        [i, j, k] is acceleration i by coordinates j and k, as in `lw.inverse_dynamics_second_derivatives`.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q, qd, tau = np.random.default_rng(0).normal(size=(3, 3))
    >>> q_q, q_qd, qd_qd, q_tau = lw.forward_dynamics_second_derivatives(arm, q, qd, tau)
    >>> np.allclose(q_tau, lw.derivative(lw.derivative(lw.forward_dynamics, arm, "q"), arm, "tau")(q, qd, tau))
    True
    """
    states = States(robot, {"q": q, "qd": qd, "tau": tau}, check=check)
    if not states.numeric or robot.non_floats:
        return second_derivatives_by_products(robot, q, qd, tau)
    arrays = list(states.arrays.values())
    if packed_second_derivatives(robot).kernel(arrays) is None:
        return second_derivatives_by_products(robot, q, qd, tau)
    kernel = compiled_second_order(robot, np.result_type(*arrays).name)
    result: tuple[Array, Array, Array, Array] = kernel(*arrays)
    return result


@PerRobot
def packed_second_derivatives(robot: Robot) -> Packed:
    """The distinct second derivatives of inverse dynamics; made once for a robot."""
    return Packed(inverse_dynamics_second_derivatives, robot, {})


@PerRobot
def compiled_second_order(robot: Robot, dtype: str) -> SecondOrder:
    """Compiled once for a robot."""
    from .second_order import SecondOrder  # imported only when something is compiled

    return SecondOrder(robot, packed_second_derivatives(robot), dtype)


vars(forward_dynamics_second_derivatives).update(
    compiled_for=compiled_second_order,  # the result of `lw.compile`
    published="second-derivatives",
)


def second_derivatives_by_products(robot: Robot, q: Array, qd: Array, tau: Array) -> tuple[Array, Array, Array, Array]:
    """Second derivatives of forward dynamics from those of inverse dynamics, on arrays of any kind."""
    by_q, by_qd, by_tau = forward_dynamics_derivatives(robot, q, qd, tau)
    qdd = forward_dynamics(robot, q, qd, tau)
    q_q, q_qd, qd_qd, inertia = inverse_dynamics_second_derivatives(robot, q, qd, qdd)
    by_columns = inertia.swapaxes(-1, -2)  # [i, k, l]: of I_il by q_k

    def contract(slope: Array) -> Array:
        """[i, j, k]: Σ ∂I_il/∂q_j slope_lk"""
        return by_columns @ slope[..., None, :, :]

    def apply_inverse(tensor: Array) -> Array:
        """-I⁻¹ times the tensor"""
        flat = tensor.reshape((*tensor.shape[:-3], robot.n, robot.n * robot.n))
        return (-by_tau @ flat).reshape(tensor.shape)

    mixed = contract(by_q)
    total = q_q + mixed + mixed.swapaxes(-1, -2)
    return (
        apply_inverse(total),
        apply_inverse(q_qd + contract(by_qd)),
        apply_inverse(qd_qd),
        apply_inverse(contract(by_tau)),
    )


def link_loads(states: States) -> list[Load]:
    """The sum of the external wrenches on each link; those along the axes of a frame turn with the link."""
    links = states.links.links
    totals, turns = [Load.zero()] * len(links), states.at is not None and states.at.axes == "frame"
    for link, wrench, at in external_loads(states):
        totals[link] = totals[link] + Load.at(wrench, links[link].com if at is None else at, turns)
    return totals


def motion_under_torques(states: States) -> tuple[Scalars, Scalars, Scalars]:
    """q, q̇ and q̈ of the links under the torques tau, by factors and derivatives that are needed anyway.

    I q̈ = τ - static - ½ (∂τ/∂q̇) q̇, where ∂τ/∂q̇ does not depend on q̈: the Coriolis torques are quadratic in q̇.
    """
    robot, coordinates = states.robot, states.coordinates
    q, rates, v = states.positions(), states.rates(), states.scalars("qd")
    still, nothing = [0.0] * len(robot.links), [Load.zero()] * len(robot.links)
    _, by_qd, inertia = inverse_derivatives.inverse_dynamics_derivatives(robot, q, rates, still, nothing)
    static = fewest.inverse_dynamics(states.links, q, still, still, external_wrenches(states))
    half = [mul(0.5, x) for x in v]
    bias = sums(coordinates.torques(static), apply(by_qd, half))
    qdd = UDU.of(inertia).solve(differences(states.scalars("tau"), bias))
    return q, rates, coordinates.accelerations(v, qdd)


class ClosedForm(NamedTuple):
    """A function that computes all derivatives, and the arguments that its results are taken by, in order."""

    function: Callable[..., Any]
    by: tuple[str, ...]


@PublicFunction([("n", "n")] * 3, torque_derivatives)
def inverse_dynamics_all_derivatives(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | Mapping[str, Array] | None = None,
    point: Array | None = None,
    axes: ComponentAxes = "base",
    check: bool = False,
) -> Array:
    """∂τ/∂q, ∂τ/∂qd and ∂τ/∂qdd, which share their composite bodies."""


CLOSED_FORMS = {  # by the names of the functions
    "inverse_dynamics": ClosedForm(inverse_dynamics_all_derivatives, ("q", "qd", "qdd")),
    "forward_dynamics": ClosedForm(forward_dynamics_derivatives, ("q", "qd", "tau")),
}
LOADS = ("wrench", "point")  # options of the closed forms, as inputs; wrenches by frame have axes


def has_closed_form(function: Callable[..., Any], wrt: Sequence[str], keywords: Mapping[str, Any]) -> bool:
    """Whether a call with these options has derivatives in closed form."""
    form = CLOSED_FORMS.get(function_name(function))
    if form is None or qualified_name(function) is None or not set(wrt) <= set(form.by):
        return False
    loads = {name: value for name, value in keywords.items() if name != "axes"}
    return all(name in LOADS and are_inputs(value) for name, value in loads.items())


def closed_form(
    function: Callable[..., Any], robot: Robot, wrt: Sequence[str], keywords: Mapping[str, Any], value: bool
) -> Program:
    """The program of the derivatives by `wrt`; with `value` the function's own results come first."""
    name, form = function_name(function), CLOSED_FORMS[function_name(function)]

    def derivatives_of(robot: Robot, **arrays: Any) -> tuple[Any, ...]:
        derivatives = dict(zip(form.by, form.function(robot, **arrays), strict=True))
        results = (function(robot, **arrays),) if value else ()
        return (*results, *(derivatives[each] for each in wrt))

    vars(derivatives_of)["__signature__"] = inspect.signature(function)
    program = trace(derivatives_of, robot, **keywords)
    names = [*([name] if value else []), *(f"d_{name}_d_{each}" for each in wrt)]
    outputs = tuple(Port(each, port.shape) for each, port in zip(names, program.outputs, strict=True))
    return replace(program, outputs=outputs)


def check_rotors(robot: Robot) -> None:
    """Raise an error for a ball joint with a rotor: its metric is not the sum of those of particles and of rotors."""
    if robot.rotors_in_balls:
        raise ValueError(
            f"robot {robot.name!r} has a ball joint with rotor inertia (expected rotors on joints of one degree of"
            " freedom: a rotor about three axes has a curvature of its own)"
        )


def symbols(states: States) -> Any:
    q = positions_at_origin(states)
    inertia = states.coordinates.matrix(composite.inertia_matrix(states.links, q))
    return riemann_symbols(states.robot, q, inertia)


@PublicFunction(("n",) * 4, symbols, divides=True, check_robot=check_rotors, published="curvature", result_names=("R",))
def curvature(robot: Robot, q: Array, *, check: bool = False) -> Array:
    """The Riemann symbols of the first kind, R_ijkl, of the metric that the inertia matrix I(q) is.

    They vanish for all q if and only if I = Lᵀ L with L q̇ the rate of some coordinates Q(q). In these the robot moves
    as free unit masses do: the normalized quasi-velocities would be integrable. With the Christoffel symbols of the
    first kind Γ_ij,k = ½ (∂I_jk/∂q_i + ∂I_ik/∂q_j - ∂I_ij/∂q_k),

        R_ijkl = ½ (∂²I_il/∂q_j∂q_k + ∂²I_jk/∂q_i∂q_l - ∂²I_ik/∂q_j∂q_l - ∂²I_jl/∂q_i∂q_k)
                 + Γ_il · I⁻¹ Γ_jk - Γ_ik · I⁻¹ Γ_jl

    The sign is the one with which a sphere has R_ijij > 0: R_ijij / (I_ii I_jj - I_ij²) is the curvature of the
    surface on which joints i and j move. The result is exact, by Gauss's equation, without differences.

    Parameters
    ----------
    robot : Robot
        With ball and free joints the components are along the velocities, as in `lw.derivative`.
    q : array_like, (..., nq)
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    Array, (..., n, n, n, n)
        R_ijkl = -R_jikl = -R_ijlk = R_klij, and R_ijkl + R_iklj + R_iljk = 0. Units follow the joints: kg m² if all
        are revolute.

    Raises
    ------
    ValueError
        If a ball joint has a rotor inertia.
    SingularError
        If nothing resists the motion of a joint.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> np.abs(lw.curvature(lw.load("gantry"), [0.1, 0.2, 0.3])).max()       # three slides: flat
    np.float64(0.0)
    >>> R = lw.curvature(lw.load("stanford"), [0, 1.2, 0.1, 0, 0.5, 0])
    >>> R.shape, bool(np.abs(R).max() > 1.0), bool(np.allclose(R, -R.swapaxes(0, 1)))
    ((6, 6, 6, 6), True, True)
    """
