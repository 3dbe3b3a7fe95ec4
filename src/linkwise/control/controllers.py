"""Controllers, each a torque function that can be traced.

    pd_gravity         τ = g(q) + kp (q* - q) - kd q̇
    computed_torque    τ = I(q) (q̈* + kd (q̇* - q̇) + kp (q* - q)) + C(q, q̇) + g(q)
    diagonal_control   τ = g(q) + L* kp L*ᵀ (q* - q) - L kd ν         ν = Lᵀ q̇,  I = L Lᵀ,  L = U D^½,  L* = L(q*)

What they do, friction and limits aside:

    pd_gravity         V = ½ q̇ᵀ I q̇ + ½ eᵀ kp e         V̇ = - Σ kd q̇²         e = q* - q, q* at rest
    computed_torque    ë + kd ė + kp e = 0               each joint for itself, wherever it is
    diagonal_control   V = ½ νᵀν + ½ eᵀ L* kp L*ᵀ e      V̇ = - Σ kd ν²

The last is kozlowski1995, (40), with ε = L⁻¹ (τ - g) in ν̇ + C(q, ν) = ε: νᵀ C = 0, so the Coriolis forces need not be
compensated for V to fall. Where they are (`coriolis=True`, τ also has L C), ν̇ = L⁻¹ (spring) - kd ν: without springs
each ν_i falls as e^(-kd t) by itself. Near q*, in x = L*ᵀ (q - q*), both are ẍ + kd ẋ + kp x = 0, each x_i for itself.

Of orientations the error is a rotation vector (`control.errors`), and the torque of springs J⁻ᵀ K e. Under computed
torque its rate ω_e = R ω* - ω falls as ω̇_e + kd ω_e + kp e = 0: as above where it turns about one axis, as from rest.

Joints without a drive (`passive`) have torques of zero. Under computed torque the others' errors are as above: with p
the passive and a the driven ones,

    I_pp q̈_p = - I_pa q̈_a - h_p,     q̈_a = q̈* + kd ė + kp e,     h = C(q, q̇) + g(q)

which is collocated partial linearization: M. W. Spong, Partial Feedback Linearization of Underactuated Mechanical
Systems, IROS 1994.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api.functions import bias_torque, gravity_torque, inertia_matrix, inverse_dynamics, kinetic_energy
from ..api.matrices import mass_factor
from ..api.quasi import normalized
from ..robot import Friction, Robot
from ..spatial.dense import cholesky_solve
from .drives import JointNumbers, Law, configuration, function_name, joint_names, numbers, per_joint, undriven
from .errors import PositionError, joined
from .references import arrays_of

Trajectory = Callable[[Any], Any]  # t -> q, qd, qdd


@dataclass(frozen=True, repr=False)
class PDGravity(Law):
    """g(q) + kp (target - q) - kd qd"""

    target: JointNumbers
    kp: JointNumbers
    kd: JointNumbers
    model: Robot | None = None
    passive: tuple[str, ...] = ()
    constructor_name = "pd_gravity"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        kp, kd = (per_joint(self, name, robot) for name in ("kp", "kd"))
        error = self.error(robot, q)
        tau = gravity_torque(self.model or robot, q) + error.torque(kp * error.vector) - kd * np.asarray(qd)
        passive = undriven(self, robot)
        return without(tau, passive) if passive else tau

    def error(self, robot: Robot, q: Any) -> PositionError:
        return PositionError(robot, q, configuration(self, "target", robot))

    def lyapunov(self, robot: Robot, q: Any, qd: Any) -> Any:
        """V, which never increases where every joint is driven: (...)."""
        if self.passive:
            raise ValueError(f"{self!r} has no Lyapunov function: gravity moves the passive joints (expected none)")
        spring = 0.5 * (per_joint(self, "kp", robot) * self.error(robot, q).vector ** 2).sum(-1)
        return kinetic_energy(robot, q, qd) + spring


def pd_gravity(target: Any, kp: Any, kd: Any, *, model: Robot | None = None, passive: Iterable[str] = ()) -> PDGravity:
    """Springs and dampers that pull every joint to its target, gravity compensated: g(q) + kp (target - q) - kd q̇.

    `target` is a configuration, nq numbers. `kp` (N m/rad or N/m) and `kd` (N m s/rad or N s/m) are a number for all
    degrees of freedom or one for each of n. The error of an orientation is the rotation vector to its target, in the
    body's frame. `model` is the robot as the controller believes it to be, if not the one that is simulated. `passive`
    are the names of joints without a drive, such as a free base: their torques are zero.

    >>> import linkwise as lw
    >>> arm, hold = lw.load("planar3"), lw.control.pd_gravity([0.5, -0.3, 0.2], kp=60, kd=20)
    >>> hold
    pd_gravity(target=(0.5, -0.3, 0.2), kp=60.0, kd=20.0)
    >>> lw.simulate(arm, [0, 0, 0], [0, 0, 0], 20, torque=hold).q[-1].round(4)
    array([ 0.5, -0.3,  0.2])
    """
    return PDGravity(numbers("target", target), *gains(kp, kd), model, joint_names("passive", passive))


@dataclass(frozen=True, repr=False)
class ComputedTorque(Law):
    """I(q) (qdd* + kd (qd* - qd) + kp (q* - q)) + C(q, qd) + g(q), where q*(t) is the reference."""

    reference: JointNumbers | Trajectory
    kp: JointNumbers
    kd: JointNumbers
    model: Robot | None = None
    passive: tuple[str, ...] = ()
    friction: Friction | None = None
    constructor_name = "computed_torque"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        kp, kd = (per_joint(self, name, robot) for name in ("kp", "kd"))
        wanted, *motion = desired_motion(self, robot, t)
        qd, error, passive = np.asarray(qd), PositionError(robot, q, wanted), undriven(self, robot)
        rate, acceleration = error.brought(qd, *motion)
        command = acceleration + kd * (rate - qd) + kp * error.vector
        model, friction = self.model or robot, self.friction or False
        if passive:
            command = with_passive(model, q, qd, command, passive, self.friction)
        tau = inverse_dynamics(model, q, qd, command, friction=friction)
        return without(tau, passive) if passive else tau


def computed_torque(
    reference: Any,
    kp: Any,
    kd: Any,
    *,
    model: Robot | None = None,
    passive: Iterable[str] = (),
    friction: bool | Friction = False,
) -> ComputedTorque:
    """Inverse dynamics of the acceleration that lets each joint's error die out as ë + kd ė + kp e = 0.

    `reference` is a target, or a trajectory: one of Linkwise's, which hold their ends, or a function of t that gives q,
    qd and qdd without branches.
    `kp` (1/s²) and `kd` (1/s) are a number for all degrees of freedom or one for each; kd = 2 √kp is the fastest
    without overshoot. The error of an orientation is the rotation vector to its target, in the body's frame.
    `model` is the robot as the controller believes it to be, if not the one that is simulated. `passive` are the names
    of joints without a drive, such as a free base: their torques are zero, and the errors of the others die out as
    said, whatever the passive ones do. What the reference says of these is not used. `friction` is what the law
    compensates, at the rates that are measured: True for the friction of the model's table, or a `Friction`.

    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> def swing(t):
    ...     return np.array([np.sin(t), t, t * t / 2]), np.array([np.cos(t), 1.0, t]), np.array([-np.sin(t), 0.0, 1.0])
    >>> run = lw.simulate(arm, [0, 0, 0], [1, 1, 0], 2, torque=lw.control.computed_torque(swing, kp=100, kd=20))
    >>> bool(abs(run.q[-1] - swing(2.0)[0]).max() < 1e-7)
    True
    """
    target = reference if callable(reference) else numbers("reference", reference)
    return ComputedTorque(target, *gains(kp, kd), model, joint_names("passive", passive), Friction.of(friction))


def desired_motion(law: Any, robot: Robot, t: Any) -> tuple[Any, Any, Any]:
    """Position, rate and acceleration that the `reference` of a law wants at t."""
    if not callable(law.reference):
        return configuration(law, "reference", robot), np.zeros(robot.n), np.zeros(robot.n)
    name = f"the trajectory {function_name(law.reference)}"
    motion = arrays_of(law.reference(t), name)
    if [part.shape for part in motion] != [(robot.nq,), (robot.n,), (robot.n,)]:
        shapes = ", ".join(str(part.shape) for part in motion)
        each = f"each ({robot.n},)" if robot.nq == robot.n else f"({robot.nq},), ({robot.n},), ({robot.n},)"
        made = (
            "; trajectories of this robot need robot=..., such as lw.trajectories.cycloid(..., robot=arm)"
            if robot.quaternions
            else ""
        )
        raise ValueError(f"{name} gave shapes {shapes} (expected q, qd and qdd, {each}{made})")
    q, qd, qdd = motion
    return q, qd, qdd


@dataclass(frozen=True, repr=False)
class DiagonalControl(Law):
    """g(q) + L* kp L*' (target - q) - L kd nu, where nu = L' qd, I(q) = L L', L* = L(target)."""

    target: JointNumbers
    kp: JointNumbers
    kd: JointNumbers
    coriolis: bool = False
    model: Robot | None = None
    constructor_name = "diagonal_control"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        model, nu = self.model or robot, normalized
        velocity = nu.velocity(model, q, qd)
        force = -(per_joint(self, "kd", robot) * velocity)
        if self.coriolis:
            force = force + nu.coriolis(model, q, velocity, gravity=False)
        error = self.error(robot, q)
        spring = error.torque(self.stiffness(model) @ error.vector)
        return gravity_torque(model, q) + spring + nu.joint_torque(model, q, force)

    def error(self, robot: Robot, q: Any) -> PositionError:
        return PositionError(robot, q, configuration(self, "target", robot))

    def stiffness(self, robot: Robot) -> Any:
        """L* kp L*ᵀ: (n, n)."""
        factor = mass_factor(robot, configuration(self, "target", robot))
        return (factor * per_joint(self, "kp", robot)) @ factor.T

    def lyapunov(self, robot: Robot, q: Any, qd: Any) -> Any:
        """V, which falls by Σ kd ν² each second: (...); it may jump where an orientation passes half a turn."""
        error = self.error(robot, q).vector
        spring = 0.5 * (error * (error @ self.stiffness(self.model or robot))).sum(-1)
        return kinetic_energy(robot, q, qd) + spring


def diagonal_control(
    target: Any, kp: Any, kd: Any, *, coriolis: bool = False, model: Robot | None = None
) -> DiagonalControl:
    """Springs and dampers in the diagonalized velocities ν: g(q) + L* kp L*ᵀ (target - q) - L kd ν.

    `kp` (1/s²) and `kd` (1/s) are a number for all or one for each ν_i: in ν every mass is 1. Near the target the
    motion is that of n separate oscillators ẍ + kd ẋ + kp x = 0; anywhere, the energy falls by Σ kd ν² each second.
    With kp = 0 it is a brake. `coriolis=True` compensates C(q, ν) too: each ν_i is then braked by itself. `model` is
    the robot as the controller believes it to be, if not the one that is simulated.

    >>> import numpy as np, linkwise as lw
    >>> arm, brake = lw.load("planar3"), lw.control.diagonal_control([0, 0, 0], kp=0, kd=3)
    >>> run = lw.simulate(arm, [0, 1, 1], [1, -1, 2], 1, torque=brake)
    >>> kinetic = lw.kinetic_energy(arm, run.q, run.qd)
    >>> bool(np.allclose(kinetic, kinetic[0] * np.exp(-6 * run.t), rtol=1e-5))
    True
    """
    if not isinstance(coriolis, bool):
        raise TypeError(f"coriolis is {coriolis!r} (expected True or False)")
    return DiagonalControl(numbers("target", target), *gains(kp, kd), coriolis, model)


def with_passive(
    robot: Robot, q: Any, qd: Any, command: Any, passive: tuple[int, ...], friction: Friction | None = None
) -> Any:
    """The accelerations of all joints that follow from those of the driven ones: I_pp q̈_p = - I_pa q̈_a - h_p."""
    inertia, bias = inertia_matrix(robot, q), bias_torque(robot, q, qd)
    if friction is not None:
        bias = bias + friction.torque(robot, qd)
    parts = [command[..., i] for i in range(robot.n)]
    driven = [i for i in range(robot.n) if i not in passive]
    right = [-bias[..., i] - sum(inertia[..., i, j] * parts[j] for j in driven) for i in passive]
    accelerations = cholesky_solve([[inertia[..., i, j] for j in passive] for i in passive], right)
    for i, acceleration in zip(passive, accelerations, strict=True):
        parts[i] = acceleration
    return joined(parts)


def without(tau: Any, passive: tuple[int, ...]) -> Any:
    """The torques with zeros for the passive joints."""
    return joined([0.0 if i in passive else tau[..., i] for i in range(tau.shape[-1])])


def gains(kp: Any, kd: Any) -> tuple[JointNumbers, JointNumbers]:
    return numbers("kp", kp, least=0.0), numbers("kd", kd, least=0.0)
