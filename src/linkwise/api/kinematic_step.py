"""One step of inverse kinematics: frames of a robot toward their targets, within the limits of its joints.

    e = (θ, p* - p)                       θ the rotation vector of R* Rᵀ; weighted, lengths in the size of the robot
    δ = J_fᵀ (J_f J_fᵀ + λ 1)⁻¹ e         λ = μ eᵀ e
    δ' = δ + J_fᵀ (J_f J_fᵀ + λ 1)⁻¹ (e(q + δ) - (e - J δ))

J_f has the columns of the coordinates that may move; where there are more equations than coordinates δ is computed as
(J_fᵀ J_f + λ 1)⁻¹ J_fᵀ e, which is the same. A coordinate at a limit beyond which the gradient points may not move. One
that δ would take beyond its limit stops there, and the others are solved for again with what is left of e. δ' corrects
δ to second order: it follows curved valleys, as near singular poses. Of q, q + δ and q + δ' the one with the smallest
eᵀ e is the result, and μ falls or rises with the ratio of the decrease to that of the linear equations.

K. Levenberg, Quarterly of Applied Mathematics 2, 1944; D. W. Marquardt, SIAM Journal 11, 1963. With λ proportional to
eᵀ e convergence is quadratic also where J loses rank: N. Yamashita, M. Fukushima, Computing Supplement 15, 2001; in
inverse kinematics T. Sugihara, IEEE Transactions on Robotics 27, 2011.

Jᵀ e is the gradient of -½ eᵀ e, since θ is an eigenvector of what maps angular velocities to its rates; with different
weights of the components of θ it is so at e = 0 alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from ..dynamics import kinematics
from ..graph.linear_algebra import choose
from ..robot import Robot
from ..robot.configurations import travel_limits
from ..robot.scales import coordinate_scales, reach
from ..spatial import Scalar, add, dot_product, mul, sub, turn_between
from ..spatial.dense import UDU, Column, Dense, apply, product, transposed
from ..spatial.scalar import sqrt
from .call import PublicFunction
from .constrained import Holds, frame_jacobian, row_count
from .functions import differences, sums
from .kinematics import coordinate_ranges, frame_pose, rotate
from .states import Array, States, component

Limits = dict[int, tuple[int, Scalar, Scalar]]  # by the place in qd: the place in q, the lowest and the highest number
NUMBERS = {"point": 3, "pose": 12}  # of a target: the rows of the rotation, then the position
LEAST = 1e-12  # of λ, relative to the trace of the matrix
POOR, GOOD = 0.25, 0.75  # shares of the predicted decrease below which μ rises, above which it falls
RISE, FALL = 4.0, 0.125
SMALLEST, LARGEST = 1e-8, 1e8  # of μ


class Place(NamedTuple):
    """A configuration with its errors: weighted, their square, and the largest angle in rad or distance in m."""

    q: Column
    errors: Column
    square: Scalar
    residual: Scalar


def turn_of_rotation(R: Sequence[Sequence[Scalar]]) -> tuple[Scalar, ...]:
    """Axis times angle, at most π, of the rotation with these rows.

    Each column is the quaternion times four times one of its numbers. That of the largest number is taken.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    columns = (
        (1.0 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        (zy - yz, 1.0 + xx - yy - zz, xy + yx, xz + zx),
        (xz - zx, xy + yx, 1.0 - xx + yy - zz, yz + zy),
        (yx - xy, xz + zx, yz + zy, 1.0 - xx - yy + zz),
    )
    quaternion, largest = columns[0], columns[0][0]
    for k in (1, 2, 3):
        larger = columns[k][k] > largest
        quaternion = tuple(choose(larger, x, y) for x, y in zip(columns[k], quaternion, strict=True))
        largest = choose(larger, columns[k][k], largest)
    return turn_between((1.0, 0.0, 0.0, 0.0), quaternion)


def place_at(states: States, frames: Holds, q: Column) -> Place:
    poses = kinematics.poses(states.links, states.coordinates.positions(q))
    numbers, weights, unit = states.scalars("goal"), states.scalars("weights"), 1.0 / reach(states.robot)
    errors: Column = []
    squares: Column = []
    for frame, hold in frames:
        pose = frame_pose(states.robot, poses, frame)
        vectors = []
        if hold == "pose":
            turn = product([numbers[k : k + 3] for k in (0, 3, 6)], transposed([*map(list, pose.axes.rows)]))
            vectors, numbers = [(turn_of_rotation(turn), 1.0)], numbers[9:]
        vectors.append((tuple(differences(numbers[:3], [*pose.translation])), unit))
        numbers = numbers[3:]
        for vector, scale in vectors:
            counted = [choose(w > 0.0, mul(x, x), 0.0) for x, w in zip(vector, weights, strict=False)]
            squares.append(reduce(add, counted))
            errors += [mul(mul(w, scale), x) for x, w in zip(vector, weights, strict=False)]
            weights = weights[3:]
    largest = reduce(lambda a, b: choose(a < b, b, a), squares)
    return Place(q, errors, dot_product(errors, errors), sqrt(largest))


def nearer(a: Place, b: Place) -> Place:
    """b where its errors are smaller, otherwise a."""
    smaller = b.square < a.square
    columns = ([choose(smaller, y, x) for x, y in zip(*pair, strict=True)] for pair in zip(a[:2], b[:2], strict=True))
    return Place(*columns, *(choose(smaller, y, x) for x, y in zip(a[2:], b[2:], strict=True)))


def weighted_jacobian(states: States, frames: Holds, sizes: Column) -> Dense:
    """J: how the weighted errors fall with the coordinates, in units of the robot."""
    unit = 1.0 / reach(states.robot)
    units = [x for _, hold in frames for x in [1.0] * (3 if hold == "pose" else 0) + [unit] * 3]
    scales = [mul(w, x) for w, x in zip(states.scalars("weights"), units, strict=True)]
    rows = zip(scales, frame_jacobian(states, frames), strict=True)
    return [[mul(scale, mul(size, x)) for size, x in zip(sizes, row, strict=True)] for scale, row in rows]


def solver(J: Dense, may_move: Column, damping: Scalar) -> Callable[[Column], Column]:
    """The map from e to δ, which is 0 in the coordinates for which `may_move` is not 1."""
    moving = [[mul(m, x) for m, x in zip(may_move, row, strict=True)] for row in J]
    back = transposed(moving)
    wide = len(J) <= len(may_move)
    matrix = product(moving, back) if wide else product(back, moving)
    trace = reduce(add, (matrix[k][k] for k in range(len(matrix))))
    damping = add(add(damping, mul(LEAST, trace)), SMALLEST * LEAST)  # never 0
    for k, row in enumerate(matrix):
        row[k] = add(row[k], damping)
    factors = UDU.of(matrix)
    if wide:
        return lambda e: apply(back, factors.solve(e))
    return lambda e: factors.solve(apply(back, e))


def limits_of(robot: Robot, margin: Scalar) -> Limits:
    """The limits less the margin; None where there is none."""
    limits: Limits = {}
    for link, slot in robot.driving:
        if link.joint.width == 1:
            low, high = travel_limits(robot, link)
            lowest = low + margin if math.isfinite(low) else None
            highest = high - margin if math.isfinite(high) else None
            if lowest is not None or highest is not None:
                limits[slot.v] = (slot.q, lowest, highest)
    return limits


def passed(low: Scalar, high: Scalar, x: Scalar) -> list[tuple[Scalar, Any]]:
    """The limits, each with the condition that x is beyond it."""
    below = [] if low is None else [(low, x < low)]
    return below if high is None else [*below, (high, x > high)]


def free_to_move(robot: Robot, limits: Limits, q: Column, gradient: Column) -> Column:
    """1 for coordinates that may move, 0 for those at a limit beyond which the gradient points."""
    may_move: Column = [1.0] * robot.n
    for v, (place, low, high) in limits.items():
        if low is not None:
            may_move[v] = choose((q[place] <= low) & (gradient[v] < 0.0), 0.0, may_move[v])
        if high is not None:
            may_move[v] = choose((q[place] >= high) & (gradient[v] > 0.0), 0.0, may_move[v])
    return may_move


def moved(robot: Robot, limits: Limits, q: Column, velocity: Column) -> Column:
    """The configuration after a step, by the rule of `lw.integrate`, within the limits."""
    result: Column = []
    moves = iter(velocity)
    for first, width in coordinate_ranges(robot):
        part = q[first : first + width]
        result += rotate(part, [next(moves) for _ in range(3)]) if width > 1 else [add(part[0], next(moves))]
    for place, low, high in limits.values():
        for end, beyond in passed(low, high, result[place]):
            result[place] = choose(beyond, end, result[place])
    return result


def configuration_step(states: States, frames: Holds) -> tuple[Column, Scalar, Scalar, Scalar]:
    robot, q = states.robot, states.scalars("q")
    mu, margin = (component(states.arrays[name]) for name in ("damping", "margin"))
    sizes: Column = coordinate_scales(robot).tolist()
    limits = limits_of(robot, margin)
    here, J = place_at(states, frames, q), weighted_jacobian(states, frames, sizes)
    e, damping = here.errors, mul(mu, here.square)
    may_move = free_to_move(robot, limits, q, apply(transposed(J), e))
    solve = solver(J, may_move, damping)
    step = solve(e)
    if limits:
        stops: Column = [0.0] * robot.n
        for v, (place, low, high) in limits.items():
            for end, beyond in passed(low, high, add(q[place], mul(sizes[v], step[v]))):
                stops[v] = choose(beyond, mul(1.0 / sizes[v], sub(end, q[place])), stops[v])
                may_move[v] = choose(beyond, 0.0, may_move[v])
        solve = solver(J, may_move, damping)
        step = sums(stops, solve(differences(e, apply(J, stops))))
    left = differences(e, apply(J, step))

    def place_after(step: Column) -> Place:
        return place_at(states, frames, moved(robot, limits, q, [mul(*x) for x in zip(sizes, step, strict=True)]))

    straight = place_after(step)
    curved = place_after(sums(step, solve(differences(straight.errors, left))))
    best = nearer(here, nearer(straight, curved))
    gained, promised = sub(here.square, best.square), sub(here.square, dot_product(left, left))
    risen = choose(gained < POOR * promised, RISE * mu, mu)
    changed = choose((gained > GOOD * promised) & (gained > 0.0), FALL * mu, choose(gained > 0.0, risen, RISE * mu))
    bounded = choose(changed < SMALLEST, SMALLEST, choose(changed > LARGEST, LARGEST, changed))
    return best.q, bounded, best.square, best.residual


@PublicFunction(
    [("nq",), (), (), ()],
    configuration_step,
    normalize_options=lambda robot, **options: options,
    optional_arrays={
        "goal": lambda robot, frames, **_: (sum(NUMBERS[hold] for _, hold in frames),),
        "weights": lambda robot, frames, **_: (row_count(frames),),
        "damping": lambda robot, **_: (),
        "margin": lambda robot, **_: (),
    },
    result_names=("q_next", "damping_next", "square", "residual"),
)
def inverse_kinematics_step(  # type: ignore[empty-body]
    robot: Robot,
    q: Array,
    *,
    frames: Holds = (),
    goal: Array | None = None,
    weights: Array | None = None,
    damping: Array | None = None,
    margin: Array | None = None,
    check: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """One step of `lw.inverse_kinematics`, for controllers and generated code.

    Repeated from q and a damping of 0.1 it leads to a configuration at which the frames meet their targets, if there
    is one near; the next step then takes the q and the damping that this one returns.

    Parameters
    ----------
    robot : Robot
    q : array_like, (..., nq)
        Within the limits.
    frames : tuple of (str, {"point", "pose"})
        Frames, and what is given of each.
    goal : array_like, (..., numbers)
        Of each frame the nine numbers of the rotation, row by row, if its pose is given, and the position.
    weights : array_like, (..., rows)
        Of the components of each error, three or six, angular first, in the axes of the base.
    damping : array_like, (...)
        At first 0.1.
    margin : array_like, (...)
        Distance of joints from their limits in rad or m: 0, or -1e9 for no limits.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    q, damping, square, residual : Array
        The next configuration (..., nq) and damping (...); of that configuration the square of the weighted errors
        (...), and the largest angle in rad or distance in m (...).

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> goal = lw.poses(arm, [0.3, 0.5, 0.4], frame="link3")[:3, 3]
    >>> q, damping = [0.2, 0.6, 0.5], 0.1
    >>> given = {"frames": (("link3", "point"),), "goal": goal, "weights": [1, 1, 1], "margin": 0.0}
    >>> for _ in range(6):
    ...     q, damping, square, residual = lw.control.inverse_kinematics_step(arm, q, damping=damping, **given)
    >>> bool(residual < 1e-12)
    True
    """
