"""Sampled control: a law that is evaluated every T seconds; its torque is constant in between (zero-order hold).

    t_k = k T:    τ, z ← law(robot, t_k, q, q̇, z)          τ acts until t_k + T; z is the law's memory

    pid           z ← z + T ki e         τ = kp e + z + kd (ṙ - q̇), at most ± most,     e = r - q

Anti-windup: while the torque of a joint is at its limit, its z does not grow further in that direction (conditional
integration). r is the reference; the error of an orientation is a rotation vector, see `control.drives`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..api.functions import gravity_torque
from ..api.torque_functions import check_arguments, host_array
from ..robot import Robot
from .controllers import Trajectory, desired_motion, gains
from .drives import (
    JointNumbers,
    Law,
    PositionError,
    TorqueFunction,
    check_numbers,
    evaluate_law,
    function_name,
    per_joint,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Step = Callable[..., Any]  # law(robot, t, q, qd, state) -> torques, next state


@dataclass(frozen=True, repr=False)
class Sampled(Law):
    """A law that is evaluated every `dt` seconds; `state` is its initial memory, None if it has no memory."""

    law: TorqueFunction | Step
    dt: float
    state: JointNumbers | None = None
    constructor_name = "sampled"
    parameters: ClassVar[tuple[str, ...]] = ()  # of `simulate`: none

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        raise TypeError(
            f"{self!r} holds its torque from one sample to the next, so it is not a function of the state: pass it to"
            " lw.simulate, alone or in a sum (limits go inside: lw.control.sampled(lw.control.limited(law, most),"
            " dt)); law.step(robot, t, q, qd, state) computes one sample"
        )

    def initial_state(self, robot: Robot) -> np.ndarray:
        """The initial memory; a single number holds for every degree of freedom."""
        if self.state is None:
            return np.zeros(0)
        return np.full(robot.n, self.state) if isinstance(self.state, float) else np.array(self.state, dtype=float)

    def step(self, robot: Robot, t: Any, q: Any, qd: Any, state: Any = None) -> Any:
        """One sample: the torques from t on, and the next state.

        A law without memory takes no state and returns the torques alone. `lw.compile` and `lw.c_source` accept this
        method; state is then an input.
        """
        if self.state is None:
            tau = evaluate_law(self.law, robot, t, q, qd)
            return tau if state is None else (tau, state)
        size = self.initial_state(robot).shape
        if np.shape(state)[-1:] != size:
            raise ValueError(
                f"{function_name(self.law)}: state has shape {np.shape(state)} (expected the {size[0]} numbers of its"
                " memory)"
            )
        returned = self.law(robot, t, q, qd, state)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise ValueError(
                f"{function_name(self.law)} returned {returned!r} (expected torques and the next state: a law with"
                " state= gives both)"
            )
        tau, following = evaluate_law(lambda *_: returned[0], robot, t, q, qd), np.asarray(returned[1])
        if following.shape != np.shape(state):
            raise ValueError(
                f"{function_name(self.law)} gave a state of shape {following.shape} (expected {np.shape(state)}, the"
                " shape of the first)"
            )
        return tau, following

    def memory_shape(self, robot: Robot) -> dict[str, tuple[int, ...] | None]:
        """The shape of `state`, for tracing `step`."""
        return {"state": None if self.state is None else self.initial_state(robot).shape}

    step.input_shapes = memory_shape  # type: ignore[attr-defined]
    step.result_names = ("tau", "state_next")  # type: ignore[attr-defined]

    @property
    def how_to_call(self) -> str:
        """A comment for generated code."""
        memory = "it has no memory" if self.state is None else f"state is {self.state} at first, then state_next"
        return f"Call it every {self.dt!r} s, and keep tau until the next call; {memory}."

    def _arguments(self) -> Iterator[str]:
        yield function_name(self.law)
        yield f"dt={self.dt!r}"
        if self.state is not None:
            yield f"state={self.state!r}"


def sampled(law: TorqueFunction | Step, dt: float, state: ArrayLike | None = None) -> Sampled:
    """Sample a torque function: evaluated every `dt` seconds from t = 0 on, constant in between.

    `lw.simulate` compiles laws that can be traced and calls any other Python function once per sample. Sampled and
    continuous laws can be added: `lw.control.sampled(law, 0.001) + lw.control.springs(20)`.

    Parameters
    ----------
    law : function
        law(robot, t, q, qd) gives the torques; with `state`, law(robot, t, q, qd, state) gives the torques and the
        next state.
    dt : float
        Sampling period in s.
    state : array_like, optional
        Initial memory of the law. A single number holds for every degree of freedom.

    Returns
    -------
    Sampled
        For `torque=` of `lw.simulate`. `step(robot, t, q, qd, state)` is one sample.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm, target = lw.load("planar3"), np.array([0.5, -0.3, 0.2])
    >>> kp, kd = np.array([60, 40, 10]), np.array([4, 2, 0.3])
    >>> def law(arm, t, q, qd, total):                    # its memory: the sum of the errors
    ...     total = total + 0.002 * (target - q)
    ...     return kp * (target - q + 2 * total) - kd * qd, total
    >>> lw.simulate(arm, [0, 0, 0], duration=4, torque=lw.control.sampled(law, dt=0.002, state=0)).q[-1].round(2)
    array([ 0.5, -0.3,  0.2])
    """
    if not callable(law):
        raise TypeError(f"law is {law!r} (expected a function law(robot, t, q, qd))")
    if isinstance(law, Sampled):
        raise TypeError(f"law is {law!r}, which is sampled already (expected a function law(robot, t, q, qd))")
    hint = "" if state is not None else "; state= gives a sampled law its memory"
    check_arguments(law, memory=state is not None, hint=hint)
    return Sampled(law, check_positive("dt", dt), None if state is None else check_numbers("state", state))


def check_positive(name: str, value: Any) -> float:
    number = check_numbers(name, value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(number, float) or number <= 0.0:
        raise ValueError(f"{name} is {value!r} (expected seconds, more than 0)")
    return number


@dataclass(frozen=True, repr=False)
class PID(Law):
    """kp e + z + kd (reference rate - qd), with z the sum of dt ki e; its state is z."""

    reference: JointNumbers | Trajectory
    kp: JointNumbers
    ki: JointNumbers
    kd: JointNumbers
    dt: float
    most: JointNumbers = math.inf
    gravity: bool = False
    model: Robot | None = None
    constructor_name = "pid"
    traced_inputs: ClassVar[tuple[str, ...]] = ("state",)  # never a constant

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any, state: Any = 0.0) -> Any:
        q, qd = host_array("q", q), host_array("qd", qd)
        kp, ki, kd, most = (per_joint(self, name, robot) for name in ("kp", "ki", "kd", "most"))
        target, *motion = desired_motion(self, robot, t, q)
        error = PositionError(robot, q, target)
        rate, _ = error.reference_in_body_axes(qd, *motion)
        integral = state + self.dt * ki * error.vector
        rest = kd * (rate - qd)
        if self.gravity:
            rest = rest + gravity_torque(self.model or robot, q)
        tau = error.torque(kp * error.vector + integral) + rest
        if np.isinf(most).all():
            return tau, integral
        saturated = ((tau > most) & (error.vector > 0.0)) | ((tau < -most) & (error.vector < 0.0))
        return np.clip(tau, -most, most), np.where(saturated, state, integral)


def pid(
    reference: ArrayLike | Trajectory,
    kp: ArrayLike,
    ki: ArrayLike,
    kd: ArrayLike,
    dt: float,
    *,
    most: ArrayLike = math.inf,
    gravity: bool = False,
    model: Robot | None = None,
) -> Sampled:
    """Sampled PID control: τ = kp e + ki ∫ e + kd ė, evaluated every `dt` seconds, constant in between.

    Parameters
    ----------
    reference : array_like or function
        Configuration (nq,), or a trajectory as for `computed_torque`.
    kp, ki, kd : array_like
        Gains in N m/rad, N m/(rad s), N m s/rad (N/m, ... of sliding joints): one number, or (n,).
    dt : float
        Sampling period in s.
    most : array_like, optional
        Torque limit in N m or N: one number, or (n,). The integral does not wind up beyond it.
    gravity : bool, optional
        Add g(q).
    model : Robot, optional
        The model for g(q), if it differs from the simulated robot.

    Returns
    -------
    Sampled
        For `torque=` of `lw.simulate`.

    Examples
    --------
    >>> import linkwise as lw
    >>> gains = {"kp": [60, 40, 10], "ki": [120, 80, 20], "kd": [4, 2, 0.3]}
    >>> hold = lw.control.pid([0.5, -0.3, 0.2], **gains, dt=0.002, most=20)
    >>> lw.simulate(lw.load("planar3"), [0, 0, 0], duration=4, torque=hold).q[-1].round(2)
    array([ 0.5, -0.3,  0.2])
    """
    target = reference if callable(reference) else check_numbers("reference", reference)
    if not isinstance(gravity, bool):
        raise TypeError(f"gravity is {gravity!r} (expected True or False)")
    proportional, derivative = gains(kp, kd)
    integral, seconds = check_numbers("ki", ki, least=0.0), check_positive("dt", dt)
    limit = check_numbers("most", most, least=0.0, infinite=True)
    law = PID(target, proportional, integral, derivative, seconds, limit, gravity, model)
    return Sampled(law, seconds, 0.0)
