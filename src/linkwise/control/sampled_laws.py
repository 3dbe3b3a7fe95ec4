"""Sampled control: a law that is computed at equal times and held in between, as a computer does it.

    t_k = k T:    τ, z ← law(robot, t_k, q, q̇, z)          τ acts unchanged until t_k + T; z is the law's memory

    pid           z ← z + T ki e         τ = kp e + z + kd (ṙ - q̇), at most ± most,     e = r - q

While the torque of a joint is at its limit, its z does not grow any further beyond it (conditional integration):
otherwise it would have to be unwound first when the error changes its sign. r is the reference; of orientations e is a
rotation vector, see `control.errors`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..api.functions import gravity_torque
from ..api.torque_functions import check_arguments, host_array
from ..robot import Robot
from .controllers import Trajectory, desired_motion, gains
from .drives import JointNumbers, Law, TorqueFunction, checked, function_name, numbers, per_joint
from .errors import PositionError

Step = Callable[..., Any]  # law(robot, t, q, qd, state) -> torques, next state


@dataclass(frozen=True, repr=False)
class Sampled(Law):
    """A law that is computed every `dt` seconds; `state` is what its memory holds at first, None if it has none."""

    law: TorqueFunction | Step
    dt: float
    state: JointNumbers | None = None
    constructor_name = "sampled"
    parameters: ClassVar[tuple[str, ...]] = ()  # of `simulate`: none

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        raise TypeError(
            f"{self!r} holds its torque from one sample to the next, so it is no function of the state: give it to"
            " lw.simulate itself or in a sum (limits go inside: lw.control.sampled(lw.control.limited(law, most),"
            " dt)); one sample is law.step(robot, t, q, qd, state)"
        )

    def initial_state(self, robot: Robot) -> np.ndarray:
        """What the memory holds at first; a single number is that of every degree of freedom."""
        if self.state is None:
            return np.zeros(0)
        return np.full(robot.n, self.state) if isinstance(self.state, float) else np.array(self.state, dtype=float)

    def step(self, robot: Robot, t: Any, q: Any, qd: Any, state: Any = None) -> Any:
        """One sample: the torques from t on, and what the memory holds then.

        A law without a memory takes no state, and gives the torques alone. It can be compiled and exported, by
        `lw.compile` and `lw.c_source`; state is then an input with as many numbers as the memory has.
        """
        if self.state is None:
            tau = checked(self.law, robot, t, q, qd)
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
        tau, following = checked(lambda *_: returned[0], robot, t, q, qd), np.asarray(returned[1])
        if following.shape != np.shape(state):
            raise ValueError(
                f"{function_name(self.law)} gave a state of shape {following.shape} (expected {np.shape(state)}, as at"
                " first)"
            )
        return tau, following

    def memory_shape(self, robot: Robot) -> dict[str, tuple[int, ...] | None]:
        """What tracing has to know of `step`."""
        return {"state": None if self.state is None else self.initial_state(robot).shape}

    step.input_shapes = memory_shape  # type: ignore[attr-defined]
    step.result_names = ("tau", "state_next")  # type: ignore[attr-defined]

    @property
    def how_to_call(self) -> str:
        """For the head of generated code."""
        memory = "it has no memory" if self.state is None else f"state is {self.state} at first, then state_next"
        return f"Call it every {self.dt!r} s, and keep tau until the next call; {memory}."

    def _arguments(self) -> Iterator[str]:
        yield function_name(self.law)
        yield f"dt={self.dt!r}"
        if self.state is not None:
            yield f"state={self.state!r}"


def sampled(law: TorqueFunction | Step, dt: float, state: Any = None) -> Sampled:
    """A torque function as a computer runs it: computed every `dt` seconds, from t = 0 on, and held in between.

    With `state`, the numbers that the law remembers at first, it is law(robot, t, q, qd, state) and gives the torques
    and the next state; a single number is one for each degree of freedom. `lw.simulate` compiles laws that can be
    traced; any other Python function will do too, and is called once for each sample. Sampled laws with periods of
    their own, and laws that act all the time, add up: `lw.control.sampled(law, 0.001) + lw.control.springs(20)`.

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
    return Sampled(law, positive("dt", dt), None if state is None else numbers("state", state))


def positive(name: str, value: Any) -> float:
    number = numbers(name, value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(number, float) or number <= 0.0:
        raise ValueError(f"{name} is {value!r} (expected seconds, more than 0)")
    return number


@dataclass(frozen=True, repr=False)
class PID(Law):
    """kp e + z + kd (rate wanted - qd), with z the sum of dt ki e; its state is z."""

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
        wanted, *motion = desired_motion(self, robot, t)
        error = PositionError(robot, q, wanted)
        rate, _ = error.brought(qd, *motion)
        grown = state + self.dt * ki * error.vector
        rest = kd * (rate - qd)
        if self.gravity:
            rest = rest + gravity_torque(self.model or robot, q)
        tau = error.torque(kp * error.vector + grown) + rest
        if np.isinf(most).all():
            return tau, grown
        outward = ((tau > most) & (error.vector > 0.0)) | ((tau < -most) & (error.vector < 0.0))
        return np.clip(tau, -most, most), np.where(outward, state, grown)


def pid(
    reference: Any,
    kp: Any,
    ki: Any,
    kd: Any,
    dt: float,
    *,
    most: Any = math.inf,
    gravity: bool = False,
    model: Robot | None = None,
) -> Sampled:
    """PID control of every joint, sampled: kp e + ki ∫ e + kd ė, computed every `dt` seconds and held in between.

    `reference` is a target or a trajectory, as for `computed_torque`. `kp` (N m/rad or N/m), `ki` (N m/(rad s) or
    N/(m s)) and `kd` (N m s/rad or N s/m) are a number for all degrees of freedom or one for each of n, and so is
    `most`, the largest torque; the integral does not wind up beyond it. `gravity=True` adds g(q), of `model` if that is
    not the robot itself.

    >>> import linkwise as lw
    >>> gains = {"kp": [60, 40, 10], "ki": [120, 80, 20], "kd": [4, 2, 0.3]}
    >>> hold = lw.control.pid([0.5, -0.3, 0.2], **gains, dt=0.002, most=20)
    >>> lw.simulate(lw.load("planar3"), [0, 0, 0], duration=4, torque=hold).q[-1].round(2)
    array([ 0.5, -0.3,  0.2])
    """
    target = reference if callable(reference) else numbers("reference", reference)
    if not isinstance(gravity, bool):
        raise TypeError(f"gravity is {gravity!r} (expected True or False)")
    proportional, derivative = gains(kp, kd)
    integral, seconds = numbers("ki", ki, least=0.0), positive("dt", dt)
    limit = numbers("most", most, least=0.0, infinite=True)
    law = PID(target, proportional, integral, derivative, seconds, limit, gravity, model)
    return Sampled(law, seconds, 0.0)
