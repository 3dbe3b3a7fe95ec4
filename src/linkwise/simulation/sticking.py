"""Decide from the state which joints stick. The equations with given modes are `dynamics.dry_friction`.

A moving joint slides in the direction of its rate. For joints at rest q̈ minimises the function below, where f are the
torques minus bias and friction of the moving joints, and s is the level of friction at rest:

    ½ q̈ᵀ I q̈ - q̈ᵀ f + Σ s_i |q̈_i|

It is strictly convex, so there is one solution, however many joints stop and break loose at once. q̈_i = 0 means that
joint i sticks. The algorithm changes the modes of all joints whose accelerations contradict them; if that goes in
circles, of the first of these only (as Murty, Opsearch 11, 1974, solves complementarity problems).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..api.call import BaseMotion
from ..api.functions import bias_torque, inertia_matrix
from ..api.wrenches import OnTip
from ..dynamics import dry_friction
from ..dynamics.dry_friction import MARGIN, Held
from ..robot import Friction, Robot, WrenchFrames

Point = tuple[Any, ...]  # three numbers, or three for each link
NEARNESS_TOLERANCE = 1e-4  # of the integral of nearness
MAX_JOINT_ROUNDS = 20  # rounds in which all joints change their modes; after that one at a time
ROUNDS = 200  # and as many again for each joint


class ModeDecision(NamedTuple):
    """Modes and accelerations of states."""

    mode: np.ndarray  # (count, n)
    qdd: np.ndarray  # (count, n)
    open: np.ndarray  # (count,): a joint for which no mode was found, or -1


@dataclass(frozen=True)
class Sticking:
    """Exact friction: the joints that may stick, and the level of friction at rest of each joint of the robot."""

    friction: Friction
    joints: tuple[int, ...]
    level: tuple[float, ...]
    offset: tuple[float, ...]  # of what friction holds; see `Friction.offsets`
    point: Point | WrenchFrames | None = None  # where the wrench acts

    @staticmethod
    def of(robot: Robot, friction: Friction | None, point: Point | WrenchFrames | None = None) -> Sticking | None:
        """The friction of joints that may stick; None if there are none."""
        joints = () if friction is None else friction.dry(robot)
        if not friction or not joints:
            return None
        friction.refuse_load(robot, "and is exact (expected smooth above 0, or lw.Friction(load=0, smooth=0))")
        level, offset = (tuple(x.tolist()) for x in (friction.at_rest(robot), friction.offsets(robot)))
        return Sticking(friction, joints, level, offset, point)

    def constrained_dynamics(
        self, robot: Robot, q: Any, qd: Any, applied: Any, wrench: Any, mode: Any, base: BaseMotion | None = None
    ) -> Held:
        """Forward dynamics with given modes, for one state of generic scalars."""
        inertia, bias = inertia_matrix(robot, q), bias_torque(robot, q, qd, wrench, point=self.point, base=base)
        drag = list(self.friction.torque(robot, qd, mode))
        return dry_friction.forward_dynamics(inertia, applied, bias, drag, mode, self.joints, self.level, self.offset)

    def lasts(self, qd: Any, mode: Any, slack: Any, t: Any, since: Any) -> Any:
        return dry_friction.lasts(qd, mode, slack, self.joints, t, since)

    def nearness(self, qd: Any, mode: Any, held: Held) -> Any:
        return dry_friction.nearness(qd, mode, held, self.joints, self.level)

    def decide_modes(
        self,
        robot: Robot,
        q: np.ndarray,
        qd: np.ndarray,
        applied: np.ndarray,
        wrench: Any,
        base: BaseMotion | None = None,
    ) -> ModeDecision:
        """Decide the modes and accelerations of states (count, n)."""
        point: Any = OnTip(self.point) if wrench is not None and wrench.ndim == 2 else self.point
        inertia, bias = inertia_matrix(robot, q), bias_torque(robot, q, qd, wrench, point=point, base=base)
        may = np.isin(np.arange(robot.n), self.joints)
        mode = np.where(may, np.sign(qd), 1.0)
        qdd, left = np.empty_like(mode), np.empty(len(mode), dtype=int)
        fixed = applied - bias - self.friction.torque(robot, qd, mode)  # joints at rest have no friction here
        fixed -= np.where(may & (qd == 0.0), self.offset, 0.0)
        scale, level = np.abs(applied) + np.abs(bias) + self.level, np.array(self.level)
        for k in range(len(mode)):
            qdd[k], left[k] = exchange_modes(inertia[k], fixed[k], level, mode[k], may & (qd[k] == 0.0), scale[k])
        return ModeDecision(mode, qdd, left)

    def accelerations(
        self,
        robot: Robot,
        q: np.ndarray,
        qd: np.ndarray,
        applied: np.ndarray,
        wrench: np.ndarray | None,
        base: BaseMotion | None = None,
    ) -> np.ndarray:
        """The accelerations of states (..., n); the motion of the base has one axis for all of them."""
        if wrench is not None:
            shape = wrench.shape[q.ndim - 1 :]
            wrench = np.broadcast_to(wrench, (*q.shape[:-1], *shape)).reshape((-1, *shape))
        states = [x.reshape(-1, x.shape[-1]) for x in (q, qd, applied)]
        return self.decide_modes(robot, states[0], states[1], states[2], wrench, base).qdd.reshape(qd.shape)


def exchange_modes(
    inertia: np.ndarray, fixed: np.ndarray, level: np.ndarray, mode: np.ndarray, resting: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, int]:
    """Change the modes of joints at rest in place until none contradicts its acceleration; return accelerations.

    The second result is a joint for which no mode was found, or -1.
    """
    wrong = np.zeros_like(resting)
    for tried in range(ROUNDS * (1 + len(mode))):
        free = mode != 0.0
        qdd = np.zeros_like(fixed)
        net = fixed - np.where(resting, level * mode, 0.0)
        try:
            qdd[free] = np.linalg.solve(inertia[np.ix_(free, free)], net[free])
        except np.linalg.LinAlgError:
            qdd[free] = np.nan  # singular: the integration raises an error
        moved = inertia @ qdd
        hold = fixed - moved
        breaks = resting & ~free & (np.abs(hold) > level + 0.5 * MARGIN * (scale + np.abs(moved)))
        wrong = breaks | (resting & free & (mode * qdd <= 0.0))
        if not wrong.any():
            return qdd, -1
        if tried >= MAX_JOINT_ROUNDS:
            wrong[np.argmax(wrong) + 1 :] = False
        mode[wrong] = np.where(free, 0.0, np.sign(hold))[wrong]
    return qdd, int(np.argmax(wrong))
