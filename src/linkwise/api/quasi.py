"""Quasi-coordinates: `normalized` (ν, ε) and `unnormalized` (ξ, κ), the same operations for both."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..dynamics import quasi
from ..robot import Robot
from .call import BaseMotion, PublicFunction, base_motion
from .functions import differences, external_wrenches, refuse_coupled, sums
from .recentring import quasi_rates, recentred_velocity_rate
from .states import Array, States

if TYPE_CHECKING:
    from .budgets.budget import QuasiBudget


def check_quasi_robot(robot: Robot) -> None:
    """Raise an error for robots that have no diagonalized equations."""
    refuse_coupled(robot, "quasi-coordinates")
    if robot.rotors_in_balls:
        raise ValueError(
            f"robot {robot.name!r} has a ball joint with rotor inertia: quasi-coordinates have no form for it"
        )


def quasi_coriolis(self: QuasiCoordinates, states: States, gravity: bool, method: str) -> list[Any]:
    robot, external = states.robot, external_wrenches(states)
    angles, velocity = states.positions(), states.scalars("velocity")
    with_gravity = robot if gravity else robot.with_gravity((0.0, 0.0, 0.0))
    forces = self._kind.coriolis(with_gravity, angles, velocity, external, method)
    return differences(forces, quasi_rates(self._kind, robot, angles, velocity)[1]) if robot.balls else forces


def quasi_acceleration(self: QuasiCoordinates, states: States, base: BaseMotion | None) -> list[Any]:
    robot, angles = states.robot, states.positions()
    velocity, torques = states.scalars("velocity"), states.scalars("tau")
    external, moving = external_wrenches(states), base_motion(states, base)
    rates = self._kind.acceleration(robot, angles, velocity, torques, external, moving)
    return sums(rates, quasi_rates(self._kind, robot, angles, velocity)[0]) if robot.balls else rates


def quasi_terms(self: QuasiCoordinates, states: States) -> tuple[Any, ...]:
    from .budgets.budget import quasi_term_arrays  # imported only when it is used

    return quasi_term_arrays(self._kind, states)


QuasiFunction = partial(PublicFunction, divides=True, check_robot=check_quasi_robot)
JointQuasiFunction = partial(QuasiFunction, ("n",))


class QuasiCoordinates:
    """Kozłowski's diagonalized equations of motion.

    normalized:    ν = D^½ Uᵀ qd,   ν̇ + C(q, ν) = ε,   ε = D^-½ U⁻¹ tau,   kinetic energy ½ νᵀν
    unnormalized:  ξ = Uᵀ qd,     D ξ̇ + C(q, ξ) = κ,   κ = U⁻¹ tau,        kinetic energy ½ ξᵀD ξ

    with I = U D Uᵀ the inertia matrix. Without gravity νᵀ C(q, ν) = 0: the Coriolis forces do no work.
    """

    def __init__(self, kind: quasi.Unnormalized) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"linkwise.formulations.{self._kind.name}"

    def __reduce__(self) -> str:
        return self._kind.name  # pickled and copied as what this module calls it

    @JointQuasiFunction(lambda self, states: self._kind.velocity(states.links, states.positions(), states.rates()))
    def velocity(self, robot: Robot, q: Array, qd: Array, *, check: bool = False) -> Array:
        """The quasi-velocities of the joint rates qd: (..., n)."""

    @JointQuasiFunction(
        lambda self, states: recentred_velocity_rate(
            self._kind, states.robot, states.positions(), states.rates(), states.scalars("w")
        )
    )
    def velocity_rate(self, robot: Robot, q: Array, qd: Array, w: Array, *, check: bool = False) -> Array:
        """The rate of the quasi-velocities of joint rates w that stay the same while the robot moves by qd: (..., n).

        L̇ᵀ w for ν, U̇ᵀ w for ξ. The quasi-velocities of a motion have the rate of qd itself, and the
        quasi-velocities of its accelerations: `velocity_rate(robot, q, qd, qd) + velocity(robot, q, qdd)`.
        """

    @JointQuasiFunction(
        lambda self, states: self._kind.joint_rates(states.links, states.positions(), states.scalars("velocity"))
    )
    def joint_rates(self, robot: Robot, q: Array, velocity: Array, *, check: bool = False) -> Array:
        """The joint rates of quasi-velocities: (..., n)."""

    @JointQuasiFunction(lambda self, states: self._kind.force(states.links, states.positions(), states.scalars("tau")))
    def force(self, robot: Robot, q: Array, tau: Array, *, check: bool = False) -> Array:
        """The quasi-forces of the torques tau: (..., n)."""

    @JointQuasiFunction(
        lambda self, states: self._kind.joint_torque(states.links, states.positions(), states.scalars("force"))
    )
    def joint_torque(self, robot: Robot, q: Array, force: Array, *, check: bool = False) -> Array:
        """The torques of quasi-forces: (..., n)."""

    @JointQuasiFunction(quasi_coriolis)
    def coriolis(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | None = None,
        *,
        point: Array | None = None,
        gravity: bool = True,
        method: Literal["recursive", "component"] = "recursive",
        check: bool = False,
    ) -> Array:
        """C(q, velocity), gravity and the external wrench included.

        Parameters
        ----------
        robot : Robot
        q : array_like, (..., nq)
        velocity : array_like, (..., n)
            Quasi-velocities.
        wrench, point, check
            As for `lw.inverse_dynamics`.
        gravity : bool
            Include gravity.
        method : {"recursive", "component"}
            O(n) recursion, or the sums of Kozłowski's equation (48).

        Returns
        -------
        Array, (..., n)
        """

    @JointQuasiFunction(quasi_acceleration, takes_base_motion=True)
    def acceleration(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        tau: Array,
        wrench: Array | None = None,
        *,
        point: Array | None = None,
        base: BaseMotion | None = None,
        check: bool = False,
    ) -> Array:
        """The rates of the quasi-velocities under the torques tau: (..., n); others as for `lw.forward_dynamics`."""

    def budget(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | None = None,
        *,
        point: Array | None = None,
        t: Array | None = None,
        check: bool = False,
    ) -> QuasiBudget:
        """C(q, velocity), as `coriolis` gives it, split into elements c_ki of Kozłowski's equation (48).

        Parameters
        ----------
        robot : Robot
        q : array_like, (..., nq)
        velocity : array_like, (..., n)
        wrench, point, check
            As for `lw.inverse_dynamics`.
        t : array_like, (samples,), optional
            Times of the states along a trajectory, for tables and plots.

        Returns
        -------
        QuasiBudget
            A named tuple of arrays that prints as a table: the elements with their summands, and the terms of links.
        """
        from .budgets.budget import QuasiBudget

        parts: Any = self._terms(robot, q, velocity, wrench, point, check)
        return QuasiBudget(*parts, robot=robot, kind=self._kind.name, t=t)

    @QuasiFunction([("n", "n", "n"), ("n", "n"), ("n",), *[("n", "links")] * 3], quasi_terms)
    def _terms(
        self,
        robot: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | None = None,
        point: Array | None = None,
        check: bool = False,
    ) -> Array:
        """The arrays of a `QuasiBudget`."""


normalized = QuasiCoordinates(quasi.normalized)
unnormalized = QuasiCoordinates(quasi.unnormalized)
