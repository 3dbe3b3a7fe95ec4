"""Quasi-coordinates: `lw.normalized` (ν, ε) and `lw.unnormalized` (ξ, κ), the same operations for both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dynamics import quasi
from ..robot import Robot
from .call import Call, public
from .functions import differences, external_wrenches, refuse_coupled, sums
from .method_table import algorithm
from .recentring import quasi_rates
from .states import Array, States

if TYPE_CHECKING:
    from ..budgets.quasi_result import QuasiBudget


class QuasiCoordinates:
    """Kozłowski's diagonalized equations of motion.

    normalized:    ν = D^½ Uᵀ qd,   ν̇ + C(q, ν) = ε,   ε = D^-½ U⁻¹ tau,   kinetic energy ½ νᵀν
    unnormalized:  ξ = Uᵀ qd,     D ξ̇ + C(q, ξ) = κ,   κ = U⁻¹ tau,        kinetic energy ½ ξᵀD ξ

    with I = U D Uᵀ the inertia matrix. Without gravity νᵀ C(q, ν) = 0: the Coriolis forces do no work.
    """

    def __init__(self, kind: quasi.Unnormalized) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"linkwise.{self._kind.name}"

    @public
    def velocity(self, arm: Robot, q: Array, qd: Array, *, check: bool = False) -> Call:
        """The quasi-velocities of the joint rates qd: (..., n)."""
        states = States(arm, {"q": q, "qd": qd}, check=check)
        refuse_foreign(arm)
        compute = states.applied(self._kind.velocity, "q", "qd")
        return Call(self.velocity, states, compute, (arm.n,), {}, divides=True)

    @public
    def joint_rates(self, arm: Robot, q: Array, velocity: Array, *, check: bool = False) -> Call:
        """The joint rates of quasi-velocities: (..., n)."""
        states = States(arm, {"q": q, "velocity": velocity}, check=check)
        refuse_foreign(arm)
        compute = states.applied(self._kind.joint_rates, "q", "velocity")
        return Call(self.joint_rates, states, compute, (arm.n,), {}, divides=True)

    @public
    def force(self, arm: Robot, q: Array, tau: Array, *, check: bool = False) -> Call:
        """The quasi-forces of the torques tau: (..., n)."""
        states = States(arm, {"q": q, "tau": tau}, check=check)
        refuse_foreign(arm)
        compute = states.applied(self._kind.force, "q", "tau")
        return Call(self.force, states, compute, (arm.n,), {}, divides=True)

    @public
    def joint_torque(self, arm: Robot, q: Array, force: Array, *, check: bool = False) -> Call:
        """The torques of quasi-forces: (..., n)."""
        states = States(arm, {"q": q, "force": force}, check=check)
        refuse_foreign(arm)
        compute = states.applied(self._kind.joint_torque, "q", "force")
        return Call(self.joint_torque, states, compute, (arm.n,), {}, divides=True)

    @public
    def coriolis(
        self,
        arm: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | None = None,
        *,
        point: Array | None = None,
        gravity: bool = True,
        method: str = "recursive",
        check: bool = False,
    ) -> Call:
        """C(q, velocity), with gravity and the external wrench in it: (..., n).

        `wrench` and `point` as for `lw.inverse_dynamics`. `method` is "recursive", in O(n), or "component", by the sums
        of Kozłowski's equation (48).
        """
        algorithm(self.coriolis, method)  # refuses others
        states = States(arm, {"q": q, "velocity": velocity}, wrench, check, point=point)
        refuse_foreign(arm)
        there = arm if gravity else arm.with_gravity((0.0, 0.0, 0.0))

        def forces() -> list[Any]:
            external, angles, own = external_wrenches(states), states.positions(), states.scalars("velocity")
            forces = self._kind.coriolis(there, angles, own, external, method)
            return differences(forces, quasi_rates(self._kind, arm, angles, own)[1]) if arm.balls else forces

        options = {"gravity": gravity, "method": method}
        return Call(self.coriolis, states, forces, (arm.n,), options, divides=True)

    @public
    def acceleration(
        self,
        arm: Robot,
        q: Array,
        velocity: Array,
        tau: Array,
        wrench: Array | None = None,
        *,
        point: Array | None = None,
        check: bool = False,
    ) -> Call:
        """The rates of the quasi-velocities under the torques tau: (..., n). `wrench` and `point` as for `coriolis`."""
        states = States(arm, {"q": q, "velocity": velocity, "tau": tau}, wrench, check, point=point)
        refuse_foreign(arm)

        def accelerations() -> list[Any]:
            angles, own, torques = states.positions(), states.scalars("velocity"), states.scalars("tau")
            rates = self._kind.acceleration(arm, angles, own, torques, external_wrenches(states))
            return sums(rates, quasi_rates(self._kind, arm, angles, own)[0]) if arm.balls else rates

        return Call(self.acceleration, states, accelerations, (arm.n,), {}, divides=True)

    def budget(
        self,
        arm: Robot,
        q: Array,
        velocity: Array,
        wrench: Array | None = None,
        *,
        point: Array | None = None,
        t: Array | None = None,
        check: bool = False,
    ) -> QuasiBudget:
        """C(q, velocity), as `coriolis` gives it, split into the elements c_ki of Kozłowski's equation (48).

        And these into their sums over m; beside them stand the bias forces, the weights and the wrenches of the links.
        The result is a tuple of arrays with names (`lw.QuasiBudget`) that prints as a table. `wrench` and `point` as
        for `lw.inverse_dynamics`; `t` are the times of states along a trajectory, for tables and plots.
        """
        from . import budget  # imported only when it is used

        terms: budget.QuasiTerms = getattr(budget, self._kind.name)
        return terms.budget(arm, q, velocity, wrench, point=point, t=t, check=check)


def refuse_foreign(arm: Robot) -> None:
    """Raise an error for robots that have no diagonalized equations."""
    refuse_coupled(arm, "quasi-coordinates")
    if arm.rotors_in_balls:
        raise ValueError(
            f"robot {arm.name!r} has a ball joint with rotor inertia: quasi-coordinates have no form for it"
        )


normalized = QuasiCoordinates(quasi.normalized)
unnormalized = QuasiCoordinates(quasi.unnormalized)
