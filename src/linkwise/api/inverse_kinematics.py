"""Inverse kinematics: configurations at which frames of a robot are at their targets.

All targets are followed at once, each with its own damping, by `kinematic_step`. A target ends where the residual is
small, or where its errors no longer fall. Targets that are not reached from q0 are tried again from random
configurations, which are the same for all targets: from the nearest ones, at once. Each target is independent of the
others in its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..equality import ComparesArrays
from ..errors import is_integer
from ..kernels.interface import broadcast
from ..printing import align_columns
from ..robot import Robot
from ..robot.configurations import random_configuration, travel_limits
from ..robot.named_arrays import plain_numbers
from ..robot.scales import reach
from .constrained import Holds, size_of
from .kinematic_step import inverse_kinematics_step
from .kinematics import moving_frame, poses
from .states import Array, States

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TOLERANCE = 1e-10  # rad and m
DAMPING = 0.1  # μ at first
MAX_STEPS = 100
PATIENCE, LEAST_FALL = 10, 0.7  # eᵀ e falls below this share of what it was so many steps ago, or the descent ends
WAVES, CANDIDATES = 2, 8  # waves of starts; the starts of a wave are the nearest of 8 times as many
NO_LIMITS = -1e9  # rad or m
ORTHOGONAL = 1e-6  # how far the axes of a target may be from orthogonal ones
SHOWN = 8  # rows of a table
LIMITS, OUT_OF_REACH = "limits", "out of reach"


class Configurations(NamedTuple):
    q: Array
    residual: Array
    reached: Array
    reason: Array


class InverseKinematics(ComparesArrays, Configurations):
    """The result of `lw.inverse_kinematics`.

    Attributes
    ----------
    q : Array, (..., nq)
        Within the limits. Where a target is not reached, the configuration with the smallest weighted errors.
    residual : Array, (...)
        The largest angle in rad or distance in m between a frame and its target.
    reached : Array, (...)
        Whether the residual is at most 1e-10.
    reason : Array, (...)
        "" where it is reached. "limits": configurations beyond the limits of joints reach it. "out of reach": no start
        led there, also without limits.
    """

    robot: Robot

    def __new__(cls, q: Any, residual: Any, reached: Any, reason: Any, robot: Robot) -> InverseKinematics:
        result = super().__new__(cls, q, residual, reached, reason)
        result.robot = robot
        return result

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.robot)

    def __repr__(self) -> str:
        count, reached = np.size(self.reached), int(np.sum(self.reached))
        lines = [f"Inverse kinematics of robot {self.robot.name!r}: {reached} of {count} targets reached"]
        if np.ndim(self.reached) == 0:
            lines += [f"  {name} = {x:.6g}" for name, x in zip(self.robot.q_names, self.q, strict=True)]
            return "\n".join([*lines, f"  residual {self.residual:.1e} {self.reason}".rstrip()])
        missed = np.argwhere(~self.reached)
        rows = [[str(list(map(int, k))), f"{self.residual[*k]:.2g}", str(self.reason[*k])] for k in missed[:SHOWN]]
        if rows:
            lines += [f"  {line}" for line in align_columns([["target", "residual", "reason"], *rows], right={1})]
        return "\n".join(lines + [f"  and {len(missed) - SHOWN} more"] * (len(missed) > SHOWN))


class Ends(NamedTuple):
    """Where descents ended: the configurations (count, nq), the squared errors and the residuals (count,)."""

    q: np.ndarray
    square: np.ndarray
    residual: np.ndarray

    @property
    def reached(self) -> np.ndarray:
        return self.residual <= TOLERANCE

    def replace(self, rows: np.ndarray, other: Ends) -> None:
        """Rows by those of other ends, where these are nearer to their targets."""
        nearer = other.reached | (other.square < self.square[rows])
        for array, values in zip(self, other, strict=True):
            array[rows[nearer]] = values[nearer]


class Problem(NamedTuple):
    """The frames of a robot with the weights of their errors."""

    robot: Robot
    frames: Holds
    weights: np.ndarray
    margin: float = 0.0  # of the limits

    def descend(self, start: np.ndarray, goal: np.ndarray, starts: int = 1) -> Ends:
        """The ends of descents from (count, nq). Groups of `starts` rows end when one of them reached its target."""
        q, damping = start.copy(), np.full(len(start), DAMPING)
        ends = Ends(q, np.full(len(q), np.inf), np.full(len(q), np.inf))
        before = ends.square.copy()
        rows, weights, margin = np.arange(len(q)), np.tile(self.weights, (len(q), 1)), np.full(len(q), self.margin)
        for k in range(1, MAX_STEPS + 1):
            if not len(rows):
                break
            moved, damping, square, residual = inverse_kinematics_step(
                self.robot,
                q[rows],
                frames=self.frames,
                goal=goal[rows],
                weights=weights[: len(rows)],
                damping=damping,
                margin=margin[: len(rows)],
            )
            for array, values in zip(ends, (moved, square, residual), strict=True):
                array[rows] = values
            going = ~(residual <= TOLERANCE)
            if not going.all() and starts > 1:
                done = np.zeros(len(q) // starts, bool)
                done[rows[~going] // starts] = True
                going &= ~done[rows // starts]
            if k % PATIENCE == 0:
                going &= square < LEAST_FALL * before[rows]
                before[rows] = square
            if not going.all():
                rows, damping = rows[going], damping[going]
        return ends

    def try_others(self, ends: Ends, start: np.ndarray, goal: np.ndarray, others: np.ndarray, starts: int) -> None:
        """Replace ends that do not reach their targets by ends from other configurations, if these are nearer."""
        far = np.flatnonzero(~ends.reached)
        if not len(far) or not len(others):
            return
        order = np.argsort(self.distances(goal[far], others), axis=-1, kind="stable")
        for wave in range(WAVES):
            tried = others[order[:, wave * starts : (wave + 1) * starts]]
            for joint in self.robot.free_joints:  # as at the start of each
                tried[..., joint.q] = start[far, None, joint.q]
            several = self.descend(tried.reshape(-1, self.robot.nq), np.repeat(goal[far], starts, axis=0), starts)
            best = several.square.reshape(-1, starts).argmin(axis=-1) + starts * np.arange(len(far))
            ends.replace(far, Ends(*(array[best] for array in several)))
            left = ~ends.reached[far]
            far, order = far[left], order[left]

    def distances(self, goal: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Squared distances of targets (count, numbers) from the frames at other configurations: (count, others).

        Of robots whose base floats they are 0.
        """
        if self.robot.free_joints:
            return np.zeros((len(goal), len(others)))
        size = reach(self.robot)
        scale = np.concatenate([[0.5**0.5] * 9 * (hold == "pose") + [1.0 / size] * 3 for _, hold in self.frames])
        places = poses(self.robot, others, frames=[frame for frame, _ in self.frames])
        parts = [target_numbers(places[:, k], hold) for k, (_, hold) in enumerate(self.frames)]
        a, b = goal * scale, np.concatenate(parts, -1) * scale
        return np.asarray((b * b).sum(-1) - 2.0 * a @ b.T)  # less what is the same for all others


def target_numbers(pose: np.ndarray, hold: str) -> np.ndarray:
    """The numbers of targets (..., 4, 4) or (..., 3), as `inverse_kinematics_step` takes them."""
    if pose.shape[-2:] != (4, 4) or hold == "point":
        return pose if pose.shape[-2:] != (4, 4) else pose[..., :3, 3]
    return np.concatenate([pose[..., :3, :3].reshape(*pose.shape[:-2], 9), pose[..., :3, 3]], -1)


def check_targets(robot: Robot, targets: Any) -> tuple[Holds, dict[str, np.ndarray]]:
    """The frames with what is given of them, and the numbers of their targets."""
    if not isinstance(targets, Mapping) or not targets:
        example = f"{{{robot.names[-1]!r}: poses (..., 4, 4) or points (..., 3)}}" if robot.names else "a mapping"
        raise TypeError(f"targets is {targets!r} (expected frames with their targets: {example})")
    frames, numbers = [], {}
    for frame, value in targets.items():
        name = f"targets[{frame!r}]"
        moving_frame(robot, frame)
        array = plain_numbers(name, value, "numbers: poses (..., 4, 4), or points (..., 3)")
        if array.shape[-2:] != (4, 4) and array.shape[-1:] != (3,):
            raise ValueError(f"{name} has shape {array.shape} (expected poses (..., 4, 4), or points (..., 3))")
        hold: Any = "pose" if array.shape[-2:] == (4, 4) else "point"
        check_places(name, array, hold)
        frames.append((frame, hold))
        numbers[name] = target_numbers(array, hold)
    return tuple(frames), numbers


def check_places(name: str, array: np.ndarray, hold: str) -> None:
    """Raise an error that names the first target which is not finite, or no pose."""
    axes = 2 if hold == "pose" else 1
    fine = np.isfinite(array).all(axis=tuple(range(-axes, 0)))
    expected = "finite numbers"
    if hold == "pose" and fine.all():
        R = array[..., :3, :3]
        turned = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2), initial=0.0) < ORTHOGONAL
        fine = turned & (np.linalg.det(R) > 0.0) & (array[..., 3, :] == [0.0, 0.0, 0.0, 1.0]).all(axis=-1)
        expected = "a pose: a rotation (3, 3), a position, and the row 0, 0, 0, 1"
    if not fine.all():
        state = tuple(map(int, np.argwhere(~fine)[0]))
        where = "".join(f"[{k}]" for k in state)
        raise ValueError(f"{name}{where} is {array[state].tolist()} (expected {expected})")


def check_weights(frames: Holds, weights: Any) -> np.ndarray:
    """One weight for each component of the errors."""
    if weights is not None and not isinstance(weights, Mapping):
        raise TypeError(f"weights is {weights!r} (expected weights by frame, such as {{{frames[0][0]!r}: 2.0}})")
    given = dict(weights or {})
    for frame in given:
        if frame not in dict(frames):
            raise ValueError(f"weights has {frame!r} (expected frames of targets: {', '.join(dict(frames))})")
    parts = []
    for frame, hold in frames:
        array = plain_numbers(f"weights[{frame!r}]", given.get(frame, 1.0), "numbers")
        size = size_of(hold)
        if array.shape not in ((), (size,)) or not (np.isfinite(array) & (array >= 0.0)).all():
            raise ValueError(f"weights[{frame!r}] is {array.tolist()} (expected one number, or {size}, not negative)")
        parts.append(np.broadcast_to(array, (size,)))
    joined = np.concatenate(parts)
    if not joined.any():
        raise ValueError("weights are all 0 (expected one above 0)")
    return joined


def within_limits(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The configurations with coordinates beyond a limit at that limit."""
    result = q.copy()
    for link, slot in robot.driving:
        if link.joint.width == 1:
            result[..., slot.q] = np.clip(q[..., slot.q], *travel_limits(robot, link))
    return result


def random_starts(robot: Robot, rng: Any, count: int) -> np.ndarray:
    """Random configurations (count, nq). Angles with a range of more than a turn are nearest to its middle."""
    q = random_configuration(robot, np.random.default_rng(0 if rng is None else rng), count)
    for link, slot in robot.driving:
        if link.joint.width == 1 and link.joint.angular:
            low, high = travel_limits(robot, link)
            if 2.0 * np.pi <= high - low < np.inf:
                middle = 0.5 * (low + high)
                q[:, slot.q] = middle + np.remainder(q[:, slot.q] - middle + np.pi, 2.0 * np.pi) - np.pi
    return q


def solve(problem: Problem, start: np.ndarray, goal: np.ndarray, starts: int, rng: Any) -> InverseKinematics:
    """The solutions for targets (count, numbers), from the starts (count, nq) and random ones."""
    ends = problem.descend(start, goal)
    others = start[:0] if ends.reached.all() else random_starts(problem.robot, rng, CANDIDATES * starts)
    problem.try_others(ends, start, goal, others, starts)
    missed = np.flatnonzero(~ends.reached)
    reason = np.where(ends.reached, "", OUT_OF_REACH)
    if len(missed):
        unlimited = problem._replace(margin=NO_LIMITS)
        beyond = unlimited.descend(ends.q[missed], goal[missed])
        unlimited.try_others(beyond, start[missed], goal[missed], others, starts)
        reason[missed[beyond.reached]] = LIMITS
    return InverseKinematics(ends.q, ends.residual, ends.reached, reason, problem.robot)


def solve_path(problem: Problem, start: np.ndarray, goal: np.ndarray, starts: int, rng: Any) -> InverseKinematics:
    """As `solve`, for targets (steps, count, numbers): each from the solution before, by one descent."""
    solutions = [solve(problem, start, goal[0], starts, rng)]
    for each in goal[1:]:
        solutions.append(solve(problem, solutions[-1].q, each, 0, rng))
    q, residual, reached, reason = map(np.stack, zip(*solutions, strict=True))
    return InverseKinematics(q, residual, reached, reason, problem.robot)


def inverse_kinematics(
    robot: Robot,
    targets: Mapping[str, ArrayLike],
    q0: ArrayLike,
    weights: Mapping[str, ArrayLike] | None = None,
    starts: int = 8,
    rng: np.random.Generator | int | None = None,
    *,
    path: bool = False,
) -> InverseKinematics:
    """Configurations within the limits of the joints at which frames have given poses or positions.

    Where several solve the problem the result is usually the one near q0. If q0 does not lead to a solution, random
    configurations are tried. Targets of a batch are independent of each other.

    Parameters
    ----------
    robot : Robot
    targets : mapping of str to array_like
        By the name of a frame or link its pose (..., 4, 4), or the position (..., 3) of its origin, in the base frame.
        Of several frames all are met at once.
    q0 : array_like, (..., nq)
        Where the search starts. Coordinates beyond their limits start at these.
    weights : mapping of str to array_like, optional
        By frame the weights of its errors: one number, or one for each component, angular first, in the axes of the
        base; 0 leaves a component free. The other weights define the distance where targets are not reached.
        An angle of 1 rad counts as much as a distance of the robot's size.
    starts : int
        How many random configurations are tried at once for targets that q0 does not lead to, twice. 0: none.
        Free joints on the base keep q0.
    rng : numpy.random.Generator or int, optional
        For the random configurations; by default the same at each call.
    path : bool
        The first axis of the targets is a path: each target starts at the solution before, and only there, so that
        solutions are continuous. `starts` is for the first one; q0 has no axis for the path.

    Returns
    -------
    InverseKinematics
        Named tuple of q (..., nq); `residual` (...), the largest angle in rad or distance in m that is left; `reached`
        (...), whether it is at most 1e-10; and `reason` (...): "", "limits" if configurations beyond the limits reach
        the target, or "out of reach".

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("ur5e")
    >>> q = [0.5, -1.2, 1.4, -0.8, -1.5, 0.3]
    >>> target = lw.poses(arm, q, frame="tool0")
    >>> solution = lw.inverse_kinematics(arm, {"tool0": target}, q0=[0, -1, 1, 0, -1, 0])
    >>> bool(abs(lw.poses(arm, solution.q, frame="tool0") - target).max() < 1e-9)
    True
    >>> lw.inverse_kinematics(arm, {"tool0": [[0.4, 0.2, 0.5], [2, 0, 0]]}, q0=[0, -1, 1, 0, -1, 0])
    Inverse kinematics of robot 'ur5e': 1 of 2 targets reached
      target  residual  reason
      [1]            1  out of reach
    """
    states = States(robot, {"q0": q0}, check=True)
    if not states.numeric or robot.non_floats:
        raise TypeError(
            "inverse_kinematics takes NumPy arrays and a robot of numbers (expected numbers; lw.bind replaces symbols)"
        )
    if not is_integer(starts) or starts < 0:
        raise ValueError(f"starts is {starts!r} (expected a whole number, 0 or more)")
    frames, numbers = check_targets(robot, targets)
    problem = Problem(robot, frames, check_weights(frames, weights))
    batches = {name: array.shape[:-1] for name, array in numbers.items()}
    length = broadcast(batches)[:1]
    if path and not length:
        raise ValueError(f"{', '.join(batches)}: a single target is no path (expected path=False, or a first axis)")
    start = within_limits(robot, np.asarray(states.arrays["q0"], dtype=float))
    batch = broadcast({**batches, "q0": (*length, *states.batch) if path and states.batch else states.batch})
    goal = np.concatenate([np.broadcast_to(array, (*batch, array.shape[-1])) for array in numbers.values()], -1)
    of_path = batch[:1] if path else ()
    rows = goal.reshape(*of_path, -1, goal.shape[-1])
    start = np.broadcast_to(start, (*batch[len(of_path) :], robot.nq)).reshape(-1, robot.nq)
    solution = (solve_path if path else solve)(problem, start, rows, starts, rng)
    q, residual, reached, reason = (array.reshape((*batch, *array.shape[1 + len(of_path) :]))[()] for array in solution)
    return InverseKinematics(q, residual, reached, reason, robot)
