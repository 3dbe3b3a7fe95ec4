"""Laws that move a frame of the robot, or hold it like a spring: torque functions that can be traced.

    operational_space    τ = I u + C q̇ + g + Jᵀ F      F = Λ (a - J̇ q̇ - J u)      a = a* + kd (v* - v) + kp e
    impedance            τ = g + Jᵀ (K e + D (v* - v))

J is the Jacobian of the frame, v = J q̇ its twist, angular part first, Λ = (J I⁻¹ Jᵀ)⁻¹ its inertia, all in the axes of
the base; e is the error to the target: the rotation vector of R* Rᵀ, and p* - p.

Operational space is O. Khatib, A Unified Approach for Motion and Force Control of Robot Manipulators: The Operational
Space Formulation, IEEE Journal of Robotics and Automation 3, 1987, with its null space in accelerations: since

    q̈ = u + I⁻¹ Jᵀ F = (1 - J̄ J) u + J̄ (a - J̇ q̇)      J̄ = I⁻¹ Jᵀ Λ      J q̈ + J̇ q̇ = a

the frame has the acceleration a whatever u is, and u = kp (q₀ - q) - kd q̇ moves only what the frame leaves free. The
error of a position obeys ë + kd ė + kp e = 0. That of an orientation obeys it while its axis stays the same.

Impedance is N. Hogan, Impedance Control: An Approach to Manipulation, Journal of Dynamic Systems, Measurement, and
Control 107, 1985, without a change of inertia. With a target at rest

    V = ½ q̇ᵀ I q̇ + ½ eᵀ K e      V̇ = - vᵀ D v

so that the robot with it is passive, also where J loses rank. For this the moment is the gradient of ½ eᵀ K e: K e is
J⁻ᵀ K e of `drives`, in the axes of the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..api.functions import gravity_torque, inertia_matrix, inverse_dynamics, kinetic_energy
from ..api.kinematic_step import turn_of_rotation
from ..api.kinematics import jacobian, jacobian_rate, poses
from ..errors import SingularError, one_of
from ..robot import Robot
from ..robot.named_arrays import plain_numbers
from ..spatial import Vector
from .controllers import gains
from .drives import (
    JointNumbers,
    Law,
    PositionError,
    along_error,
    check_numbers,
    function_name,
    law_configuration,
    per_joint,
    stack_last_axis,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Component = Literal["rx", "ry", "rz", "x", "y", "z"]
COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")
Place = tuple[float, ...] | tuple[tuple[float, ...], ...]  # a point, or the rows of a pose
Motion = Callable[[Any], tuple[Any, Any, Any]]  # t -> pose, twist and its rate; or point, velocity, acceleration
SHAPES = {(3,): 3, (4, 4): 6}  # of targets: how many numbers their velocities have
ORTHOGONAL = 1e-6  # how far the axes of a target may be from orthogonal ones


class Task(NamedTuple):
    """The state of a frame and its target: arrays whose last axis has the components of the task."""

    error: np.ndarray
    rate_error: np.ndarray  # v* - v
    acceleration: np.ndarray  # a*
    jacobian: np.ndarray  # (..., components, n)


def task_of(law: Any, robot: Robot, t: Any, q: Any, qd: Any) -> Task:
    check_drives(law, robot)
    target, velocity, acceleration = law_target(law, t)
    pose = poses(robot, q, frame=law.frame)
    J = jacobian(robot, q, frame=law.frame)
    offset = target[..., :3, 3] if target.shape[-2:] == (4, 4) else target
    error = offset - pose[..., :3, 3]
    if target.shape[-2:] == (4, 4):
        turn = target[..., :3, :3] @ np.swapaxes(pose[..., :3, :3], -1, -2)
        error = np.concatenate([np.broadcast_to(rotation_vector(turn), error.shape), error], axis=-1)
    J = J[..., 6 - error.shape[-1] :, :]
    return Task(error, velocity - times(J, qd), acceleration, J)


def check_drives(law: Any, robot: Robot) -> None:
    free = [joint.name for joint in robot.moving if joint.kind.name == "free"]
    if free:
        raise ValueError(
            f"{law.constructor_name}: the free joint {free[0]!r} of robot {robot.name!r} has no drive (expected a robot"
            " all of whose joints have drives)"
        )


def law_target(law: Any, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The place of a law's target, its velocity and its acceleration."""
    if not callable(law.target):
        place = np.asanyarray(law.target)
        zero = np.zeros(SHAPES[place.shape])
        return place, zero, zero
    name = f"{law.constructor_name}: the motion {function_name(law.target)}"
    parts = law.target(t)
    if not isinstance(parts, (tuple, list)) or len(parts) != 3:
        raise ValueError(f"{name} gave {parts!r} (expected a tuple of place, velocity and acceleration)")
    place, velocity, acceleration = map(np.asanyarray, parts)
    size = SHAPES.get(place.shape)
    if size is None or velocity.shape != (size,) or acceleration.shape != (size,):
        shapes = ", ".join(str(part.shape) for part in (place, velocity, acceleration))
        raise ValueError(f"{name} gave shapes {shapes} (expected (4, 4), (6,), (6,) of poses, or (3,) each of points)")
    return place, velocity, acceleration


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Axis times angle, at most π, of rotations (..., 3, 3)."""
    return stack_last_axis(turn_of_rotation([[R[..., i, j] for j in range(3)] for i in range(3)]))


def times(matrix: Any, vector: Any) -> Any:
    """Matrices (..., m, n) times vectors (..., n)."""
    return (matrix @ np.asanyarray(vector)[..., None])[..., 0]


def transposed(matrix: Any) -> Any:
    return np.swapaxes(matrix, -1, -2)


@dataclass(frozen=True, repr=False)
class OperationalSpace(Law):
    """I u + C + g + Jᵀ Λ (a - J̇ q̇ - J u)"""

    frame: str
    target: Place | Motion
    kp: JointNumbers
    kd: JointNumbers
    components: tuple[str, ...] | None = None
    posture: JointNumbers | None = None
    posture_kp: JointNumbers = 0.0
    posture_kd: JointNumbers = 0.0
    model: Robot | None = None
    constructor_name = "operational_space"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        model = self.model or robot
        task = task_of(self, model, t, q, qd)
        rows = self.rows(task)
        J, drift = task.jacobian[..., rows, :], times(jacobian_rate(model, q, qd, frame=self.frame), qd)
        kp, kd = (per_component(self, name, len(rows)) for name in ("kp", "kd"))
        command = task.acceleration[..., rows] + kd * task.rate_error[..., rows] + kp * task.error[..., rows]
        u = self.posture_acceleration(model, q, qd)
        rest = command - drift[..., [row - task.error.shape[-1] for row in rows]] - times(J, u)
        try:
            spread = J @ np.linalg.solve(inertia_matrix(model, q), transposed(J))
            force = np.linalg.solve(spread, rest[..., None])[..., 0]
        except np.linalg.LinAlgError:
            names = ", ".join(self.components or COMPONENTS[-task.error.shape[-1] :])
            raise SingularError(
                f"operational_space: robot {model.name!r} cannot move frame {self.frame!r} in all of {names}",
                " (expected components= in which it can)",
            ) from None
        return inverse_dynamics(model, q, qd, u) + times(transposed(J), force)

    def rows(self, task: Task) -> list[int]:
        """The places of the components in the arrays of the task."""
        available = COMPONENTS[-task.error.shape[-1] :]
        names = self.components or available
        for name in names:
            one_of(name, available, f"{self.constructor_name}: components")
        return [available.index(name) for name in names]

    def posture_acceleration(self, robot: Robot, q: Any, qd: Any) -> Any:
        """u"""
        kp, kd = (per_joint(self, name, robot) for name in ("posture_kp", "posture_kd"))
        damped = -kd * np.asanyarray(qd)
        if self.posture is None:
            return damped
        return damped + kp * PositionError(robot, q, law_configuration(self, "posture", robot)).vector


def operational_space(
    frame: str,
    target: ArrayLike | Motion,
    kp: ArrayLike,
    kd: ArrayLike,
    *,
    components: Iterable[Component] | None = None,
    posture: ArrayLike | None = None,
    posture_kp: ArrayLike = 0.0,
    posture_kd: ArrayLike = 0.0,
    model: Robot | None = None,
) -> OperationalSpace:
    """Operational-space control: a frame moves to a target as ë + kd ė + kp e = 0, the rest follows a posture.

    In the null space of the frame joints accelerate by posture_kp (posture - q) - posture_kd q̇.
    Torques grow without bound towards poses in which the frame cannot move in one of the components.

    Parameters
    ----------
    frame : str
        Name of a frame or link of the robot.
    target : array_like or function
        A pose (4, 4) or a point (3,) in the base frame; or a function of t without branches that gives a pose, its
        twist (6,), angular part first, and the rate of the twist, or position, velocity and acceleration of a point.
    kp, kd : array_like
        Gains in 1/s² and 1/s: one number, or one for each of the components.
    components : iterable of {"rx", "ry", "rz", "x", "y", "z"}, optional
        The components along the axes of the base that are controlled; by default all of a pose or of a point.
    posture : array_like, optional
        Configuration (nq,) for what the frame leaves free, with `posture_kp`. Without one there are only the dampers.
    posture_kp, posture_kd : array_like, optional
        Gains in 1/s² and 1/s: one number, or (n,). A robot with more joints than components needs dampers.
    model : Robot, optional
        The controller's model, if it differs from the simulated robot.

    Returns
    -------
    OperationalSpace
        A torque function.

    Raises
    ------
    ValueError
        For a posture without `posture_kp`, or the reverse. When it is called: if the robot has a free joint, which has
        no drive.
    SingularError
        When it is called, if the robot cannot move the frame in one of the components.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> law = lw.control.operational_space("link3", [0.5, 0.4, 0], 100, 20, components=("x", "y"), posture_kd=5)
    >>> run = lw.simulate(arm, [0.4, 0.6, 0.5], duration=1.5, torque=law)
    >>> lw.poses(arm, run.q[-1], frame="link3")[:3, 3].round(4)
    array([0.5, 0.4, 0. ])
    """
    place = check_target(target)
    names = None if components is None else tuple(components)
    for name in names or ():
        one_of(name, COMPONENTS, "components")
    if names is not None and (not names or len(set(names)) < len(names)):
        raise ValueError(f"components is {names!r} (expected one or several of {', '.join(COMPONENTS)}, each once)")
    rest = None if posture is None else check_numbers("posture", posture)
    posture_gains = (
        check_numbers("posture_kp", posture_kp, least=0.0),
        check_numbers("posture_kd", posture_kd, least=0.0),
    )
    if posture is not None and not np.any(posture_gains[0]):
        raise ValueError(f"posture is {rest!r}, and posture_kp is {posture_gains[0]!r} (expected a gain that is not 0)")
    if posture is None and np.any(posture_gains[0]):
        raise ValueError(
            f"posture_kp is {posture_gains[0]!r} without a posture (expected posture=..., or no posture_kp)"
        )
    return OperationalSpace(check_frame(frame), place, *gains(kp, kd), names, rest, *posture_gains, model)


@dataclass(frozen=True, repr=False)
class Impedance(Law):
    """g + Jᵀ (K e + D (v* - v))"""

    frame: str
    target: Place | Motion
    stiffness: JointNumbers
    damping: JointNumbers
    model: Robot | None = None
    constructor_name = "impedance"

    def _torques(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        model = self.model or robot
        task = task_of(self, model, t, q, qd)
        count = task.error.shape[-1]
        stiffness, damping = (per_component(self, name, count) for name in ("stiffness", "damping"))
        force = stiffness * task.error
        if count == len(COMPONENTS):
            force = np.concatenate([moment_of(task.error[..., :3], force[..., :3]), force[..., 3:]], axis=-1)
        return gravity_torque(model, q) + times(transposed(task.jacobian), force + damping * task.rate_error)

    def lyapunov(self, robot: Robot, q: Any, qd: Any) -> Any:
        """V = ½ q̇ᵀ I q̇ + ½ eᵀ K e, which never increases: (...). It may jump when an error passes half a turn."""
        if callable(self.target):
            raise ValueError(f"{self!r} has no Lyapunov function: its target moves (expected a target at rest)")
        error = task_of(self, self.model or robot, 0.0, np.asarray(q), np.asarray(qd)).error
        spring = 0.5 * (per_component(self, "stiffness", error.shape[-1]) * error**2).sum(-1)
        return kinetic_energy(robot, q, qd) + spring


def impedance(
    frame: str,
    target: ArrayLike | Motion,
    stiffness: ArrayLike,
    damping: ArrayLike,
    *,
    model: Robot | None = None,
) -> Impedance:
    """Impedance control: springs and dampers between a frame and its target, τ = g + Jᵀ (K e + D (v* - v)).

    The robot keeps its inertia. With a target at rest it is passive, whatever it touches and also at singular poses.
    What the frame leaves free is undamped: add `lw.control.springs(0, damping=...)`.

    Parameters
    ----------
    frame : str
        Name of a frame or link of the robot.
    target : array_like or function
        As for `lw.control.operational_space`. Of a motion the accelerations are not used.
    stiffness, damping : array_like
        N m/rad and N/m, N m s/rad and N s/m along the axes of the base: one number, or six of a pose, angular part
        first, or three of a point. 0 leaves a component free.
    model : Robot, optional
        The controller's model, if it differs from the simulated robot.

    Returns
    -------
    Impedance
        A torque function. Its method `lyapunov(robot, q, qd)` gives V.

    Raises
    ------
    ValueError
        When it is called, if the robot has a free joint, which has no drive.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> law = lw.control.impedance("link3", [0.5, 0.4, 0], stiffness=60, damping=8) + lw.control.springs(0, damping=0.1)
    >>> run = lw.simulate(arm, [0.4, 0.6, 0.5], duration=4, torque=law)
    >>> lw.poses(arm, run.q[-1], frame="link3")[:3, 3].round(3)
    array([0.5, 0.4, 0. ])
    """
    springs = check_numbers("stiffness", stiffness, least=0.0), check_numbers("damping", damping, least=0.0)
    return Impedance(check_frame(frame), check_target(target), *springs, model)


def moment_of(error: Any, gradient: Any) -> Any:
    """J⁻ᵀ f: the moment on the body, in the axes of the base, for f the gradient by the rotation vector (..., 3)."""
    e, f = (Vector(*(x[..., i] for i in range(3))) for x in (error, gradient))
    return stack_last_axis([*along_error(e, f, -0.5)])


def per_component(law: Any, name: str, count: int) -> np.ndarray:
    """A law's field, one number for each component."""
    array = np.asarray(getattr(law, name))
    if array.shape not in ((), (count,)):
        raise ValueError(
            f"{law.constructor_name}: {name} has {array.size} numbers (expected one, or one for each of {count}"
            " components)"
        )
    return np.broadcast_to(array, (count,))


def check_frame(frame: Any) -> str:
    if not isinstance(frame, str):
        raise TypeError(f"frame is {frame!r} (expected the name of a frame or link)")
    return frame


def check_target(target: Any) -> Place | Motion:
    """A point, the rows of a pose, or a function of t."""
    if callable(target):
        return target  # type: ignore[no-any-return]
    place = plain_numbers("target", target, "a point (3,), a pose (4, 4) or a function of t")
    if place.shape not in SHAPES or not np.isfinite(place).all():
        raise ValueError(f"target is {target!r} (expected finite numbers: a point (3,) or a pose (4, 4))")
    if place.shape == (3,):
        return tuple(place.tolist())
    axes = place[:3, :3]
    turned = np.abs(axes @ axes.T - np.eye(3)).max() < ORTHOGONAL and np.linalg.det(axes) > 0.0
    if not turned or place[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise ValueError(
            f"target is {target!r} (expected a pose: a rotation (3, 3), a position, and the row 0, 0, 0, 1)"
        )
    return tuple(map(tuple, place.tolist()))
