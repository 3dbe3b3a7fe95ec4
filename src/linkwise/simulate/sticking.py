"""Dry friction that is exact: joints that slide, stick and break loose.

Every joint with dry friction has a mode m: it slides forward (1) or backward (-1), or it sticks (0). With f the torques
that act, bias and viscous friction taken off, and c the level of friction,

    I q̈ = f - c m     in the rows of joints that slide           q̈_i = 0     of joints that stick
    h_i = f_i - (I q̈)_i                                          what friction holds of a joint that sticks

The equations are smooth as long as modes last: until m_i q̇_i < 0, or until |h_i| exceeds s_i, the level at rest. Then
the modes are decided anew, by the state alone. A joint that moves slides as it moves; for those at rest, q̈ minimises

    ½ q̈ᵀ I q̈ - q̈ᵀ f + Σ s_i |q̈_i|

which is strictly convex: there is one solution, however many joints stop and break loose at once. q̈_i = 0 means that
joint i sticks. It is found by exchanging modes: of all joints whose accelerations contradict them, and, should that go
in circles, of the first of these only (as Murty, Opsearch 11, 1974, solves complementarity problems).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import api
from ..robot import Friction, Robot
from ..spatial import add, dot_product, mul, sign, sqrt, sub
from ..spatial.dense import cholesky_solve

Point = tuple[Any, ...]  # three numbers, or three for each link
TINY = 1e-200  # a joint at rest does not yet move against its mode
MARGIN = 1e-12  # of the torques in sight: what they are rounded by never breaks a joint loose
NEAR = 1e-8  # of the level of friction, or in rad/s or m/s: the least that is told from 0 within a step
ROUGHLY = 1e-4  # the error that is allowed the integral of nearness
TOGETHER = 20  # rounds in which all joints change their modes; after that one at a time
ROUNDS = 200  # and as many again for each joint


class Held(NamedTuple):
    """What follows from a state and modes; the lists are for the joints that may stick."""

    qdd: list[Any]
    drag: Any  # of all joints
    hold: list[Any]
    slack: list[Any]  # how much more friction could hold


class Decided(NamedTuple):
    mode: np.ndarray  # (count, n)
    qdd: np.ndarray  # (count, n)
    open: np.ndarray  # (count,): a joint for which no mode was found, or -1


@dataclass(frozen=True)
class Sticking:
    """Exact friction; of which joints, and the level at rest of each joint of the robot."""

    friction: Friction
    joints: tuple[int, ...]
    level: tuple[float, ...]
    point: Point | None = None  # where the wrench acts

    @staticmethod
    def of(arm: Robot, friction: Friction | None, point: Point | None = None) -> Sticking | None:
        """None where no joint may stick."""
        joints = () if friction is None else friction.dry(arm)
        if not friction or not joints:
            return None
        return Sticking(friction, joints, tuple(friction.at_rest(arm).tolist()), point)

    def held(self, arm: Robot, q: Any, qd: Any, applied: Any, wrench: Any, mode: Any) -> Held:
        """Forward dynamics with joints that stick, for one state, over generic scalars."""
        inertia, bias = api.inertia_matrix(arm, q), api.bias_torque(arm, q, qd, wrench, point=self.point)
        drag, push = self.friction.torque(arm, qd, mode), applied - bias
        free = [mode[i] * mode[i] if i in self.joints else 1.0 for i in range(arm.n)]
        rows = [[mul(mul(free[i], free[j]), inertia[i][j]) for j in range(arm.n)] for i in range(arm.n)]
        for i in self.joints:
            rows[i][i] = add(mul(free[i], inertia[i][i]), 1.0 - free[i])
        right = [mul(x, y) for x, y in zip(free, push - drag, strict=True)]
        backward = slice(None, None, -1)  # from the tips on, the zeros of a tree stay zeros
        qdd = cholesky_solve([row[backward] for row in rows[backward]], right[backward])[backward]
        hold, slack = [], []
        for i in self.joints:
            moved = dot_product(inertia[i], qdd)
            hold.append(sub(push[i], moved))
            scale = self.level[i] + absolute(applied[i]) + absolute(bias[i]) + absolute(moved)
            slack.append(self.level[i] - absolute(hold[-1]) + MARGIN * scale)
        return Held(qdd, drag, hold, slack)

    def lasts(self, qd: Any, mode: Any, slack: list[Any], t: Any, since: Any) -> Any:
        """½ as long as all modes last, below 0 otherwise; more at the time itself at which they were decided."""
        total: Any = 0.5
        for i, left in zip(self.joints, slack, strict=True):
            free = mode[i] * mode[i]
            total = total + (sign(mode[i] * qd[i] + TINY * free + (1.0 - free) * left) - 1.0)
        return total + 2.0 * len(self.joints) * (1.0 - sign(t - since))

    def nearness(self, qd: Any, mode: Any, found: Held) -> Any:
        """How soon a mode may end. Its integral, roughly followed, keeps steps from leaping over that.

        q̇ q̈ / (q̇² + ε²), the rate of ½ log(q̇² + ε²)     of joints that slide
        1 / √((1 - (h/s)²)² + ε²)                         of joints that stick
        """
        total: Any = 0.0
        for i, torque in zip(self.joints, found.hold, strict=True):
            total = total + qd[i] * found.qdd[i] / (qd[i] * qd[i] + NEAR * NEAR)
            if self.level[i] > 0.0:
                left = 1.0 - (torque / self.level[i]) ** 2
                total = total + (1.0 - mode[i] * mode[i]) / sqrt(left * left + NEAR * NEAR)
        return total

    def decided(self, arm: Robot, q: np.ndarray, qd: np.ndarray, applied: np.ndarray, wrench: Any) -> Decided:
        """The modes and accelerations of states (count, n) by themselves."""
        inertia, bias = api.inertia_matrix(arm, q), api.bias_torque(arm, q, qd, wrench, point=self.point)
        may = np.isin(np.arange(arm.n), self.joints)
        mode = np.where(may, np.sign(qd), 1.0)
        qdd, left = np.empty_like(mode), np.empty(len(mode), dtype=int)
        fixed = applied - bias - self.friction.torque(arm, qd, mode)  # of joints at rest no friction
        scale, level = np.abs(applied) + np.abs(bias) + self.level, np.array(self.level)
        for k in range(len(mode)):
            qdd[k], left[k] = exchange(inertia[k], fixed[k], level, mode[k], may & (qd[k] == 0.0), scale[k])
        return Decided(mode, qdd, left)

    def accelerations(
        self, arm: Robot, q: np.ndarray, qd: np.ndarray, applied: np.ndarray, wrench: np.ndarray | None
    ) -> np.ndarray:
        """Of states (..., n)."""
        if wrench is not None:
            own = wrench.shape[q.ndim - 1 :]
            wrench = np.broadcast_to(wrench, (*q.shape[:-1], *own)).reshape((-1, *own))
        states = [x.reshape(-1, arm.n) for x in (q, qd, applied)]
        return self.decided(arm, states[0], states[1], states[2], wrench).qdd.reshape(q.shape)


def absolute(x: Any) -> Any:
    return x * sign(x)


def exchange(
    inertia: np.ndarray, fixed: np.ndarray, level: np.ndarray, mode: np.ndarray, resting: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, int]:
    """Accelerations of one state; the modes of joints at rest are changed in place until none contradicts them."""
    wrong = np.zeros_like(resting)
    for tried in range(ROUNDS * (1 + len(mode))):
        free = mode != 0.0
        qdd = np.zeros_like(fixed)
        net = fixed - np.where(resting, level * mode, 0.0)
        try:
            qdd[free] = np.linalg.solve(inertia[np.ix_(free, free)], net[free])
        except np.linalg.LinAlgError:
            qdd[free] = np.nan  # nothing resists the motion of a joint: the integration will say so
        moved = inertia @ qdd
        hold = fixed - moved
        breaks = resting & ~free & (np.abs(hold) > level + 0.5 * MARGIN * (scale + np.abs(moved)))
        wrong = breaks | (resting & free & (mode * qdd <= 0.0))
        if not wrong.any():
            return qdd, -1
        if tried >= TOGETHER:
            wrong[np.argmax(wrong) + 1 :] = False
        mode[wrong] = np.where(free, 0.0, np.sign(hold))[wrong]
    return qdd, int(np.argmax(wrong))
