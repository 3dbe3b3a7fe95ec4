"""Long robots: their dynamics in compiled loops over the links, while NumPy drives the steps.

Straight-line code of a right-hand side grows with the robot, and the time to compile it faster than that. Loops compile
in a moment, whatever the number of links; see `kernels.dispatch`. Functions of the user are called as they are, for one
state after another.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..api.compiling import compile as compiled_kernel
from ..api.functions import bias_torque, forward_dynamics, gravity_torque
from ..api.method_table import LOOP_METHODS
from ..kernels.dispatch import MAX_STRAIGHT_LINKS
from ..robot import Robot
from ..tracing import Input
from .problem import Problem
from .sticking import Point

MOST_OPERATIONS = 40_000  # of a right-hand side: more than that of a fall of a chain of MAX_STRAIGHT_LINKS links


def is_long(robot: Robot) -> bool:
    """Whether straight-line code is not even tried."""
    return robot.n > MAX_STRAIGHT_LINKS


def loops_for(problem: Problem) -> LoopDynamics | None:
    """The compiled loops of a problem, or None where its dynamics cannot loop over the links."""
    robot = problem.robot
    plain = problem.coordinates == "joint" and problem.sticking is None and not (robot.non_floats or robot.couplings)
    if not plain or (problem.method or "fewest") not in LOOP_METHODS["forward_dynamics"]:
        return None
    return loop_dynamics(problem.robot, problem.method, problem.wrench, problem.point)


@lru_cache(maxsize=16)
def loop_dynamics(
    robot: Robot, method: str | None, wrench: tuple[int, ...] | None, point: Point | None
) -> LoopDynamics:
    return LoopDynamics(robot, method, wrench, point)


class LoopDynamics:
    """The functions of `api.functions` that a right-hand side calls, for one robot, as compiled loops."""

    def __init__(self, robot: Robot, method: str | None, wrench: tuple[int, ...] | None, point: Point | None) -> None:
        self.bodies = len(robot.names)
        self.tip = [joint.link for joint in robot.moving].index(robot.leaves[0])
        self.on_tip = wrench == (6,)
        loads: dict[str, Any] = {"wrench": Input(self.bodies, 6)} if wrench else {}
        self.points: list[np.ndarray] = []
        if point is not None:
            loads["point"] = Input(self.bodies, 3)
            self.points = [np.zeros((self.bodies, 3))]
            self.points[0][self.tip if self.on_tip else ...] = point
        asked: dict[str, Any] = {"method": method} if method else {}
        self.forward = compiled_kernel(forward_dynamics, robot, form="loops", **asked, **loads)
        if wrench:
            self.gravity = compiled_kernel(gravity_torque, robot, form="loops")
            self.bias = compiled_kernel(bias_torque, robot, form="loops", **loads)

    def forward_dynamics(self, _: Robot, q: Any, qd: Any, tau: Any, wrench: Any = None, **__: Any) -> Any:
        """Method and point are those that it was made for."""
        return self.forward(q, qd, tau, *self.loads(q, wrench))

    def gravity_torque(self, _: Robot, q: Any) -> Any:
        return self.gravity(q)

    def bias_torque(self, _: Robot, q: Any, qd: Any, wrench: Any, *, point: Any) -> Any:
        return self.bias(q, qd, *self.loads(q, wrench))

    def loads(self, q: np.ndarray, wrench: Any) -> list[np.ndarray]:
        """A wrench on every link (..., n, 6), from such, or from one on the tip; and the points, if there are any."""
        if wrench is None:
            return []
        if not self.on_tip:
            return [wrench, *self.points]
        every = np.zeros((*q.shape[:-1], self.bodies, 6))
        every[..., self.tip, :] = wrench
        return [every, *self.points]
