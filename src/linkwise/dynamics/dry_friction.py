"""Dry friction that is exact: forward dynamics of joints that slide, stick and break loose, their modes being given.

Every joint with dry friction has a mode m: it slides forward (1) or backward (-1), or it sticks (0). With f the torques
that act, bias taken off, and d those of friction where joints slide, which contains c m, c being its level,

    I q̈ = f - d      in the rows of joints that slide           q̈_i = 0     of joints that stick            (1)
    h_i = f_i - (I q̈)_i                                         what friction holds of a joint that sticks    (2)

Rows and columns of joints that stick are cleared by m_i² = 0, and their diagonal is 1, so that one system serves all
modes. The equations are smooth as long as modes last, which is until

    m_i q̇_i < 0      of joints that slide        |h_i| > s_i      of joints that stick, s being the level at rest   (3)

Where friction is stronger in one direction, h_i is counted from the middle of what holds, its `offset`.

How soon a mode may end is the rate of a number that is integrated along; steps do not leap over what it shows:

    q̇ q̈ / (q̇² + ε²), the rate of ½ log(q̇² + ε²)     of joints that slide                                   (4)
    1 / √((1 - (h/s)²)² + ε²)                         of joints that stick                                   (5)

`joints` are those that may stick; others slide. Inertia matrix, torques and rates are in the order of the links.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..spatial import Scalar, Scalars, add, dot_product, mul, sign, sqrt, sub
from ..spatial.dense import Dense, cholesky_solve

TINY = 1e-200  # a joint at rest does not yet move against its mode
MARGIN = 1e-12  # relative to the torques that act: their rounding errors never break a joint loose
NEAR = 1e-8  # ε, of the level of friction, or in rad/s or m/s: the least that a step distinguishes from 0


class Held(NamedTuple):
    """What follows from a state and modes; `hold` and `slack` are for the joints that may stick."""

    qdd: list[Scalar]
    hold: list[Scalar]
    slack: list[Scalar]  # how much more friction could hold


def forward_dynamics(
    inertia: Dense,
    applied: Scalars,
    bias: Scalars,
    drag: Scalars,
    mode: Scalars,
    joints: Sequence[int],
    level: Sequence[float],
    offset: Sequence[float],
) -> Held:
    n = len(inertia)
    push = [sub(x, y) for x, y in zip(applied, bias, strict=True)]
    free = [mode[i] * mode[i] if i in joints else 1.0 for i in range(n)]
    rows = [[mul(mul(free[i], free[j]), inertia[i][j]) for j in range(n)] for i in range(n)]
    for i in joints:
        rows[i][i] = add(mul(free[i], inertia[i][i]), 1.0 - free[i])
    right = [mul(x, sub(y, z)) for x, y, z in zip(free, push, drag, strict=True)]
    backward = slice(None, None, -1)  # from the tips on, the zeros of a tree stay zeros
    qdd = cholesky_solve([row[backward] for row in rows[backward]], right[backward])[backward]  # (1)
    hold, slack = [], []
    for i in joints:
        moved = dot_product(inertia[i], qdd)
        hold.append(sub(sub(push[i], moved), offset[i]))  # (2)
        scale = level[i] + absolute(applied[i]) + absolute(bias[i]) + absolute(moved)
        slack.append(level[i] - absolute(hold[-1]) + MARGIN * scale)
    return Held(qdd, hold, slack)


def lasts(qd: Scalars, mode: Scalars, slack: Scalars, joints: Sequence[int], t: Scalar, since: Scalar) -> Scalar:
    """½ as long as all modes last (3), below 0 otherwise; more at the time itself at which they were decided."""
    total: Scalar = 0.5
    for i, left in zip(joints, slack, strict=True):
        free = mode[i] * mode[i]
        total = total + (sign(mode[i] * qd[i] + TINY * free + (1.0 - free) * left) - 1.0)
    return total + 2.0 * len(joints) * (1.0 - sign(t - since))


def nearness(qd: Scalars, mode: Scalars, held: Held, joints: Sequence[int], level: Sequence[float]) -> Scalar:
    total: Scalar = 0.0
    for i, torque in zip(joints, held.hold, strict=True):
        total = total + qd[i] * held.qdd[i] / (qd[i] * qd[i] + NEAR * NEAR)  # (4)
        if level[i] > 0.0:
            left = 1.0 - (torque / level[i]) ** 2
            total = total + (1.0 - mode[i] * mode[i]) / sqrt(left * left + NEAR * NEAR)  # (5)
    return total


def absolute(x: Scalar) -> Scalar:
    return x * sign(x)
