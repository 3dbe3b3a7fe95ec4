"""Controllers as torque functions that can be traced, and the motions that they follow.

    pd_gravity         τ = g(q) + kp (q* - q) - kd q̇
    computed_torque    τ = I(q) (q̈* + kd (q̇* - q̇) + kp (q* - q)) + C(q, q̇) + g(q)
    diagonal_control   τ = g(q) + L* kp L*ᵀ (q* - q) - L kd ν         ν = Lᵀ q̇,  I = L Lᵀ,  L = U D^½,  L* = L(q*)
      of a motion      τ = L (ν̇ᵣ + b (νᵣ - ν) + C(q, ν))              νᵣ = Lᵀ (q̇* + a e),  a + b = kd,  a b = kp

Without friction and torque limits, with e = q* - q:

    pd_gravity         V = ½ q̇ᵀ I q̇ + ½ eᵀ kp e         V̇ = - Σ kd q̇²         q* at rest
    computed_torque    ë + kd ė + kp e = 0               joints decoupled, in every configuration
    diagonal_control   V = ½ νᵀν + ½ eᵀ L* kp L*ᵀ e      V̇ = - Σ kd ν²
      of a motion      s = νᵣ - ν = Lᵀ (ė + a e)         ṡ_i = - b_i s_i

`diagonal_control` is kozlowski1995, (40), with ε = L⁻¹ (τ - g) in ν̇ + C(q, ν) = ε. Since νᵀ C = 0, V falls without
compensation of the Coriolis forces. With it (`coriolis=True`, τ also has L C), ν̇ = L⁻¹ (spring) - kd ν: without springs
each ν_i falls as e^(-kd t). Near q*, x = L*ᵀ (q - q*) obeys ẍ + kd ẋ + kp x = 0 in both cases, component by component.

Of a motion, (40) with ε = ν̇ᵣ + b s + C is ṡ = - b s: each s_i falls as e^(-b_i t), and e follows, ė = - a e + L⁻ᵀ s. In
ξ it is (44), κ = D (ξ̇ᵣ + b σ) + C(q, ξ), with σ = Uᵀ (ė + a e). Either C is what inverse dynamics of q̈ᵣ lacks: with
w = q̇ᵣ - q̇ = ė + a e,

    τ = I q̈ᵣ + C q̇ + g + L (L̇ᵀ w + b Lᵀ w)           τ = I q̈ᵣ + C q̇ + g + U D (U̇ᵀ w + b Uᵀ w)

The error of an orientation is a rotation vector (`control.drives`), and its spring torque is J⁻ᵀ K e. Under computed
torque the error rate ω_e = R ω* - ω obeys ω̇_e + kd ω_e + kp e = 0. This is the equation above if the rotation error
keeps one axis, as it does from rest.

Joints without a drive (`passive`) have zero torque. Under computed torque the errors of the driven joints obey the
equation above. With p for passive and a for driven joints,

    I_pp q̈_p = - I_pa q̈_a - h_p,     q̈_a = q̈* + kd ė + kp e,     h = C(q, q̇) + g(q)

This is collocated partial linearization: M. W. Spong, Partial Feedback Linearization of Underactuated Mechanical
Systems, IROS 1994.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..api.functions import bias_torque, gravity_torque, inertia_matrix, inverse_dynamics, kinetic_energy
from ..api.matrices import mass_factor, udu
from ..api.quasi import normalized, unnormalized
from ..errors import is_real, one_of
from ..robot import Friction, Robot
from ..robot.named_arrays import refuse_labels
from ..spatial.dense import cholesky_solve
from .drives import (
    JointNumbers,
    Law,
    PositionError,
    check_joint_names,
    check_numbers,
    function_name,
    law_configuration,
    passive_degrees,
    per_joint,
    stack_last_axis,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Trajectory = Callable[[Any], tuple[Any, Any, Any]]  # t -> q, qd, qdd
QuasiName = Literal["normalized", "unnormalized"]
QUASI_COORDINATES = {"normalized": normalized, "unnormalized": unnormalized}
ROUNDING = 1e-12  # of kd, relative to 2 √kp


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
        passive = passive_degrees(self, robot)
        return zero_passive(tau, passive) if passive else tau

    def error(self, robot: Robot, q: Any) -> PositionError:
        return PositionError(robot, q, law_configuration(self, "target", robot))

    def lyapunov(self, robot: Robot, q: Any, qd: Any) -> Any:
        """V, which never increases if every joint is driven: (...)."""
        if self.passive:
            raise ValueError(
                f"{self!r} has no Lyapunov function: gravity moves the passive joints (expected a robot without"
                " gravity)"
            )
        spring = 0.5 * (per_joint(self, "kp", robot) * self.error(robot, q).vector ** 2).sum(-1)
        return kinetic_energy(robot, q, qd) + spring


def pd_gravity(
    target: ArrayLike, kp: ArrayLike, kd: ArrayLike, *, model: Robot | None = None, passive: Iterable[str] = ()
) -> PDGravity:
    """PD control with gravity compensation: τ = g(q) + kp (target - q) - kd q̇.

    The error of an orientation is the rotation vector to its target, in the body's frame.

    Parameters
    ----------
    target : array_like
        Configuration (nq,) in rad and m.
    kp, kd : array_like
        Stiffness in N m/rad or N/m and damping in N m s/rad or N s/m: one number, or (n,).
    model : Robot, optional
        The controller's model, if it differs from the simulated robot.
    passive : iterable of str, optional
        Joints without a drive, such as a free base. Their torque is zero.

    Returns
    -------
    PDGravity
        A torque function. Its method `lyapunov(robot, q, qd)` gives V.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm, hold = lw.load("planar3"), lw.control.pd_gravity([0.5, -0.3, 0.2], kp=60, kd=20)
    >>> hold
    pd_gravity(target=(0.5, -0.3, 0.2), kp=60.0, kd=20.0)
    >>> lw.simulate(arm, [0, 0, 0], [0, 0, 0], 20, torque=hold).q[-1].round(4)
    array([ 0.5, -0.3,  0.2])
    """
    return PDGravity(check_numbers("target", target), *gains(kp, kd), model, check_joint_names("passive", passive))


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
        target, *motion = desired_motion(self, robot, t, q)
        qd, error, passive = np.asarray(qd), PositionError(robot, q, target), passive_degrees(self, robot)
        rate, acceleration = error.reference_in_body_axes(qd, *motion)
        command = acceleration + kd * (rate - qd) + kp * error.vector
        model, friction = self.model or robot, self.friction or False
        if passive:
            command = complete_accelerations(model, q, qd, command, passive, self.friction)
        tau = inverse_dynamics(model, q, qd, command, friction=friction)
        return zero_passive(tau, passive) if passive else tau


def computed_torque(
    reference: ArrayLike | Trajectory,
    kp: ArrayLike,
    kd: ArrayLike,
    *,
    model: Robot | None = None,
    passive: Iterable[str] = (),
    friction: bool | Friction = False,
) -> ComputedTorque:
    """Computed-torque control: the error e of each joint obeys ë + kd ė + kp e = 0.

    The error of an orientation is the rotation vector to its target, in the body's frame.

    Parameters
    ----------
    reference : array_like or function
        Configuration (nq,), or a trajectory of `lw.trajectories`, or a function of t that gives q, qd and qdd
        without branches.
    kp, kd : array_like
        Gains in 1/s² and 1/s: one number, or (n,). kd = 2 √kp is the fastest response without overshoot.
    model : Robot, optional
        The controller's model, if it differs from the simulated robot.
    passive : iterable of str, optional
        Joints without a drive, such as a free base. Their torque is zero and their reference is ignored; the
        errors of the other joints still obey the equation above.
    friction : bool or Friction, optional
        Friction to compensate, at the measured rates. True: the friction of the model's table.

    Returns
    -------
    ComputedTorque
        A torque function.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> def swing(t):
    ...     return np.array([np.sin(t), t, t * t / 2]), np.array([np.cos(t), 1.0, t]), np.array([-np.sin(t), 0.0, 1.0])
    >>> run = lw.simulate(arm, [0, 0, 0], [1, 1, 0], 2, torque=lw.control.computed_torque(swing, kp=100, kd=20))
    >>> bool(abs(run.q[-1] - swing(2.0)[0]).max() < 1e-7)
    True
    """
    target = reference if callable(reference) else check_numbers("reference", reference)
    return ComputedTorque(target, *gains(kp, kd), model, check_joint_names("passive", passive), Friction.of(friction))


def desired_motion(law: Any, robot: Robot, t: Any, q: Any, field: str = "reference") -> tuple[Any, Any, Any]:
    """q, qd and qdd of a law's reference at t, one time or an array of them for states q, one after the other."""
    if np.ndim(t):
        times, states = np.shape(t), np.shape(q)[:-1]
        if any(a != b and 1 not in (a, b) for a, b in zip(times[::-1], states[::-1], strict=False)):
            raise ValueError(f"t has shape {times} (expected one time for each of the states {states}, or one for all)")
        every = [desired_motion(law, robot, time, q, field) for time in np.ravel(t)]
        sizes = (robot.nq, robot.n, robot.n)
        parts = zip(*every, strict=True) if every else [()] * 3
        target, qd, qdd = (np.reshape(part, (*times, size)) for part, size in zip(parts, sizes, strict=True))
        return target, qd, qdd
    reference = getattr(law, field)
    if not callable(reference):
        return law_configuration(law, field, robot), np.zeros(robot.n), np.zeros(robot.n)
    name = f"the trajectory {function_name(reference)}"
    motion = motion_arrays(reference(t), name)
    if [part.shape for part in motion] != [(robot.nq,), (robot.n,), (robot.n,)]:
        shapes = ", ".join(str(part.shape) for part in motion)
        each = f"each ({robot.n},)" if robot.nq == robot.n else f"({robot.nq},), ({robot.n},), ({robot.n},)"
        hint = "; trajectories of this robot need robot=..., such as lw.trajectories.cycloid(..., robot=arm)"
        raise ValueError(
            f"{name} gave shapes {shapes} (expected q, qd and qdd, {each}{hint if robot.quaternions else ''})"
        )
    target, qd, qdd = motion
    return target, qd, qdd


@dataclass(frozen=True, repr=False)
class DiagonalControl(Law):
    """g(q) + L* kp L*' (target - q) - L kd nu, where nu = L' qd, I(q) = L L', L* = L(target)."""

    target: JointNumbers
    kp: JointNumbers
    kd: JointNumbers
    coriolis: bool = False
    model: Robot | None = None
    coordinates: QuasiName = "normalized"
    constructor_name = "diagonal_control"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        model = self.model or robot
        force = -(per_joint(self, "kd", robot) * normalized.velocity(model, q, qd))
        error = self.error(robot, q)
        spring = error.torque(self.stiffness(model) @ error.vector)
        tau = gravity_torque(model, q) + spring + normalized.joint_torque(model, q, force)
        if not self.coriolis:
            return tau
        quasi = QUASI_COORDINATES[self.coordinates]
        coriolis = quasi.coriolis(model, q, quasi.velocity(model, q, qd), gravity=False)
        return tau + quasi.joint_torque(model, q, coriolis)

    def error(self, robot: Robot, q: Any) -> PositionError:
        return PositionError(robot, q, law_configuration(self, "target", robot))

    def stiffness(self, robot: Robot) -> Any:
        """L* kp L*ᵀ: (n, n)."""
        factor = mass_factor(robot, law_configuration(self, "target", robot))
        return (factor * per_joint(self, "kp", robot)) @ factor.T

    def lyapunov(self, robot: Robot, q: Any, qd: Any) -> Any:
        """V, with V̇ = - Σ kd ν²: (...). It may jump when an orientation error passes half a turn."""
        if self.coriolis and self.coordinates != "normalized":
            raise ValueError(
                f"{self!r} has no Lyapunov function: the Coriolis forces of ξ do work (expected coordinates"
                " 'normalized')"
            )
        error = self.error(robot, q).vector
        spring = 0.5 * (error * (error @ self.stiffness(self.model or robot))).sum(-1)
        return kinetic_energy(robot, q, qd) + spring


@dataclass(frozen=True, repr=False)
class DiagonalTracking(Law):
    """L (nu_r' + b (nu_r - nu) + C(q, nu)) + gravity, where nu_r = L' (qd* + a e); or the same in xi."""

    target: Trajectory
    kp: JointNumbers
    kd: JointNumbers
    model: Robot | None = None
    coordinates: QuasiName = "normalized"
    constructor_name = "diagonal_control"

    def __post_init__(self) -> None:
        """Raise a ValueError for gains without rates; they may be arrays, of many trajectories."""
        arrays = np.asarray(self.kp), np.asarray(self.kd)
        if any(array.dtype == object for array in arrays):  # parameters that are being traced
            return
        for name, array in zip(("kp", "kd"), arrays, strict=True):
            if not (fine := np.isfinite(array) & (array >= 0.0)).all():
                raise ValueError(f"{name} is {array[~fine][0]} (expected finite numbers from 0 on)")
        kp, kd = np.broadcast_arrays(*arrays)
        slow = kd < 2.0 * np.sqrt(kp) * (1.0 - ROUNDING)
        if slow.any():
            least = 2.0 * np.sqrt(kp[slow][0])
            raise ValueError(f"kd is {kd[slow][0]} (expected at least 2 √kp = {least:g}, so that errors decay)")

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        model, quasi = self.model or robot, QUASI_COORDINATES[self.coordinates]
        error, acceleration = self.rate_error(robot, t, q, qd)
        force = quasi.velocity_rate(model, q, qd, error) + self.rates(robot)[1] * quasi.velocity(model, q, error)
        if self.coordinates == "unnormalized":
            force = udu(model, q)[1] * force
        return inverse_dynamics(model, q, qd, acceleration) + quasi.joint_torque(model, q, force)

    def rate_error(self, robot: Robot, t: Any, q: Any, qd: Any) -> tuple[Any, Any]:
        """w = ė + a e and q̈ᵣ = q̈* + a ė."""
        target, *motion = desired_motion(self, robot, t, q, "target")
        qd, error, slow = np.asarray(qd), PositionError(robot, q, target), self.rates(robot)[0]
        rate, acceleration = error.reference_in_body_axes(qd, *motion)
        return rate - qd + slow * error.vector, acceleration + slow * error.rate(rate - qd)

    def velocity_error(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        """s = Lᵀ (ė + a e), or σ = Uᵀ (ė + a e), of which each component falls as e^(-b t): (..., n)."""
        error, _ = self.rate_error(robot, t, q, qd)
        return QUASI_COORDINATES[self.coordinates].velocity(self.model or robot, q, error)

    def rates(self, robot: Robot) -> tuple[Any, Any]:
        """a and b, the roots of x² - kd x + kp, a <= b: (n,) each, in 1/s; NaN where they are not real."""
        kp, kd = (np.stack([*per_joint(self, name, robot)]) for name in ("kp", "kd"))  # also where they are nodes
        square = kd * kd - 4.0 * kp
        root = np.sqrt(np.where(square < -4.0 * ROUNDING * kd * kd, square, np.maximum(square, 0.0)))
        return 0.5 * (kd - root), 0.5 * (kd + root)


def diagonal_control(
    target: ArrayLike | Trajectory,
    kp: ArrayLike,
    kd: ArrayLike,
    *,
    coordinates: QuasiName = "normalized",
    coriolis: bool = False,
    model: Robot | None = None,
) -> DiagonalControl | DiagonalTracking:
    """Control in the normalized velocities ν = Lᵀ q̇, where I(q) = L Lᵀ: every mass is 1.

    To a target: springs and dampers, τ = g(q) + L* kp L*ᵀ (target - q) - L kd ν. Near the target the motion is that of
    n separate oscillators ẍ + kd ẋ + kp x = 0. The energy falls by Σ kd ν² per second everywhere.

    Along a motion: each component of s = Lᵀ (ė + a e) falls as e^(-b t), everywhere, and e follows: ė + a e = L⁻ᵀ s.
    a and b are the roots of x² - kd x + kp = 0, a <= b. Where L does not change, ë + kd ė + kp e = 0.

    Parameters
    ----------
    target : array_like or function
        Configuration (nq,) in rad and m; or a motion: a trajectory of `lw.trajectories`, or a function of t that gives
        q, qd and qdd without branches.
    kp, kd : array_like
        Gains in 1/s² and 1/s: one number, or (n,). With kp = 0 the law is a brake. Along a motion kd is at least 2 √kp,
        where both rates are kd / 2.
    coordinates : {"normalized", "unnormalized"}, optional
        "unnormalized": the same laws in ξ = Uᵀ q̇, I = U D Uᵀ. Along a motion σ = Uᵀ (ė + a e) then falls. To a
        target this matters only with `coriolis`.
    coriolis : bool, optional
        For a target: compensate C(q, ν) too. With kp = 0, each ν_i then decays by itself. For a motion it is
        always compensated.
    model : Robot, optional
        The controller's model, if it differs from the simulated robot.

    Returns
    -------
    DiagonalControl or DiagonalTracking
        A torque function. To a target its method `lyapunov(robot, q, qd)` gives V, along a motion
        `velocity_error(robot, t, q, qd)` gives s.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm, brake = lw.load("planar3"), lw.control.diagonal_control([0, 0, 0], kp=0, kd=3)
    >>> run = lw.simulate(arm, [0, 1, 1], [1, -1, 2], 1, torque=brake)
    >>> kinetic = lw.kinetic_energy(arm, run.q, run.qd)
    >>> bool(np.allclose(kinetic, kinetic[0] * np.exp(-6 * run.t), rtol=1e-5))
    True

    >>> track = lw.control.diagonal_control(lw.trajectories.quintic([0, 0, 0], [1, -0.5, 0.3], 2), kp=25, kd=10)
    >>> run = lw.simulate(arm, [0.1, -0.2, 0.3], [0, 0, 0], 2, torque=track)
    >>> start, end = (track.velocity_error(arm, run.t[k], run.q[k], run.qd[k]) for k in (0, 250))     # 250: t = 1
    >>> bool(np.allclose(end, start * np.exp(-5 * run.t[250]), atol=1e-8))
    True
    """
    if not isinstance(coriolis, bool):
        raise TypeError(f"coriolis is {coriolis!r} (expected True or False)")
    one_of(coordinates, tuple(QUASI_COORDINATES), "coordinates")
    if not callable(target):
        return DiagonalControl(check_numbers("target", target), *gains(kp, kd), coriolis, model, coordinates)
    if coriolis:
        raise ValueError(
            "coriolis is True, and target is a motion, along which C is always compensated (expected False)"
        )
    return DiagonalTracking(target, *gains(kp, kd), model, coordinates)


@dataclass(frozen=True)
class Held:
    """`motion(t)` up to `end`; from then on its last position, at rest."""

    motion: Callable[[Any], Any]
    end: float

    @property
    def __name__(self) -> str:
        return f"held {getattr(self.motion, '__name__', 'motion')}"

    def __call__(self, t: Any) -> tuple[Any, Any, Any]:
        motion = self.motion(np.minimum(t, self.end))
        if not isinstance(motion, (tuple, list)) or len(motion) != 3:
            raise ValueError(f"{self.__name__}: the motion gave {motion!r} (expected three arrays: q, qd and qdd)")
        q, qd, qdd = motion_arrays(motion, self.__name__)
        at_rest = t > self.end
        if np.ndim(t) and qd.ndim > np.ndim(t):  # an array of times: a row of joints for each
            at_rest = np.asarray(at_rest)[..., None]
        return q, np.where(at_rest, np.zeros(qd.shape), qd), np.where(at_rest, np.zeros(qdd.shape), qdd)


def held(motion: Trajectory, end: float) -> Held:
    """A motion that stays at rest after its end: from `end` on, q is constant and qd, qdd are 0.

    The trajectories of `lw.trajectories` already do so.

    Parameters
    ----------
    motion : function
        motion(t) gives q, qd and qdd. If it can be traced, the result can be traced.
    end : float
        Time in s.

    Returns
    -------
    Held
        A function of t, for `computed_torque` and `pid`.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> def swing(t):
    ...     return np.array([np.sin(t)]), np.array([np.cos(t)]), np.array([-np.sin(t)])
    >>> lw.control.held(swing, np.pi / 2)(10.0)
    (array([1.]), array([0.]), array([0.]))
    """
    if not callable(motion):
        raise TypeError(f"motion is {motion!r} (expected a function of t that gives q, qd and qdd)")
    if not is_real(end) or not end >= 0.0 or end == float("inf"):
        raise ValueError(f"end is {end!r} (expected a time in seconds)")
    return Held(motion, float(end))


def motion_arrays(motion: Iterable[Any], function: str) -> list[np.ndarray]:
    """q, qd and qdd from a function of t, as arrays; arrays with names are refused."""
    parts = list(motion)
    for name, part in zip(("q", "qd", "qdd"), parts, strict=False):  # fewer have the wrong shapes
        refuse_labels(f"{name} of {function}", part)
    return [np.asarray(part) for part in parts]


def complete_accelerations(
    robot: Robot, q: Any, qd: Any, command: Any, passive: tuple[int, ...], friction: Friction | None = None
) -> Any:
    """`command` with the accelerations of the passive joints: I_pp q̈_p = - I_pa q̈_a - h_p."""
    inertia, bias = inertia_matrix(robot, q), bias_torque(robot, q, qd)
    if friction is not None:
        bias = bias + friction.torque(robot, qd, applied=np.zeros(robot.n))  # passive joints have no drive
    parts = [command[..., i] for i in range(robot.n)]
    driven = [i for i in range(robot.n) if i not in passive]
    right = [-bias[..., i] - sum(inertia[..., i, j] * parts[j] for j in driven) for i in passive]
    accelerations = cholesky_solve([[inertia[..., i, j] for j in passive] for i in passive], right)
    for i, acceleration in zip(passive, accelerations, strict=True):
        parts[i] = acceleration
    return stack_last_axis(parts)


def zero_passive(tau: Any, passive: tuple[int, ...]) -> Any:
    """The torques with zeros for the passive joints."""
    return stack_last_axis([0.0 if i in passive else tau[..., i] for i in range(tau.shape[-1])])


def gains(kp: Any, kd: Any) -> tuple[JointNumbers, JointNumbers]:
    stiffness, damping = check_numbers("kp", kp, least=0.0), check_numbers("kd", kd, least=0.0)
    sizes = np.size(stiffness), np.size(damping)
    if 1 not in sizes and sizes[0] != sizes[1]:
        raise ValueError(f"kp has {sizes[0]} numbers and kd has {sizes[1]} (expected one each, or one for each joint)")
    return stiffness, damping
