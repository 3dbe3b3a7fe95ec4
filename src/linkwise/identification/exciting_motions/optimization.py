"""`excitation`: a motion along which the parameters of a robot can be identified well, within its limits; sentences on
motions that are of little use.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...api.compiling import compile as compiled_for
from ...api.functions import gravity_torque, inverse_dynamics
from ...derivatives.graph_derivatives import vjp
from ...errors import ExcitationInterrupted, is_integer, one_of
from ...printing import warn
from ...regressors.parameters import parameters
from ...regressors.regressors import regressor
from ...robot import Friction, Robot, require_robot
from ...robot.layout import Layout
from ...robot.scales import coordinate_scales
from ...robot.symbols import refuse_symbols
from ...trajectories.limits import (
    KINDS,
    UNITS,
    Floats,
    Margins,
    MotionLimits,
    broadcast_to_joints,
    is_angular,
    positive_number,
)
from ...trajectories.profiles import Fourier, series_name
from ...trajectories.trajectory import Trajectory
from .problem import ExcitationProblem, Regressor, Search, SearchProgress, Worth
from .series import MotionPeaks, SeriesBasis, times_of_period

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TRAVEL = {"N m": 0.01, "N": 0.001}  # rad, and of the robot's size: a joint that moves by less tells nothing
RATE = 0.01  # rad or of the robot's size per second: no joint is faster in a motion that tells nothing of inertias
INERTIAL = 0.01  # of the largest torque: what is not gravity
SLOW = {"velocity": 0.5, "acceleration": 0.25}  # of its limits: half the joints of a slow motion use less
HELD = 0.1  # of the limits of velocity, likewise, where those of acceleration are reached
TORQUE = 0.2  # of a torque limit: a motion that leaves less is not called slow
NEAR = 0.02  # of a limit: a motion that comes so near to the margin is held back by it


def weaknesses(move: Excitation) -> list[str]:
    robot, (q, qd, qdd) = move.robot, (np.asarray(x) for x in move(move.times))
    scales = coordinate_scales(robot)
    still = [
        f"{name} ({span:.2g} {'rad' if unit == 'N m' else 'm'})"
        for name, span, unit, scale in zip(robot.v_names, np.ptp(q, axis=0), robot.effort_units, scales, strict=True)
        if span < TRAVEL[unit] * scale
    ]
    found = []
    if still:
        found.append(
            f"hardly moves: {', '.join(still)}; what only this motion tells is lost in the noise of torques"
            " (expected wider limits of position or velocity)"
        )
    tau, held = np.asarray(inverse_dynamics(robot, q, qd, qdd)), np.asarray(gravity_torque(robot, q))
    moving, all_of_it = (float(np.sqrt(np.mean(x**2, axis=0)).max()) for x in (tau - held, tau))
    why, hint = (
        "inertias are lost in the noise of torques",
        f"(expected a shorter duration or wider limits{holding_back(move)})",
    )
    if moving < INERTIAL * all_of_it:
        found.append(
            f"so slow that rates and accelerations make {100.0 * moving / all_of_it:.2g} % of the torques, the rest is"
            f" gravity: {why} {hint}"
        )
    elif (np.abs(qd) < RATE * scales).all():
        found.append(f"so slow that no rate is above {np.abs(qd).max():.2g} rad/s or m/s: {why} {hint}")
    elif not found and (slow := slowness(move)):
        found.append(slow)
    return found


def slowness(move: Excitation) -> str:
    """A note on a motion far below its limits, with the reason, unless torques hold it back."""
    used = {kind: reached(getattr(move.margins, kind)) for kind in ("velocity", "acceleration")}
    shares = [f"{100.0 * share:.0f} % of their {kind} limit" for kind, share in used.items() if share <= 1.0]
    half = f"half of the joints reach no more than {' and '.join(shares)}"
    if np.nanmin([*move.margins.effort, 1.0]) < TORQUE:
        return ""
    fastest = "acceleration" if used["acceleration"] < np.inf else "velocity"
    if used[fastest] < SLOW[fastest]:
        return (
            f"slower than its limits allow: {half}; a faster motion determines inertias better (expected more harmonics"
            f" than {len(move.series.sines)}, or a shorter duration than {move.duration:g} s)"
        )
    if used["velocity"] < HELD:
        return f"slow: {half}; a faster motion determines inertias better (expected wider limits{holding_back(move)})"
    return ""


def reached(margins: Floats) -> float:
    """The share of their limits that half of the joints do not pass; infinite without limits."""
    return float(1.0 - np.nanmedian(margins)) if np.isfinite(margins).any() else np.inf


def holding_back(move: Excitation) -> str:
    """The kind of limit that holds back most joints, in words."""
    left = np.array([getattr(move.margins, kind) for kind in KINDS])
    near = left <= np.nanmin(left) + NEAR
    row = int(np.argmax(near.sum(axis=1)))
    if KINDS[row] == "position":
        return ""
    k = int(np.argmax(near[row]))
    size, unit = getattr(move.limits, KINDS[row])[k], UNITS[KINDS[row]][not is_angular(move.robot, k)]
    return f" of {KINDS[row]}, such as the {size:.4g} {unit} of {move.margins.joints[k]!r}"


CRITERIA = ("condition", "logdet")
PER_HARMONIC = 40  # samples in a period of the highest harmonic, for the regressor
FEWEST, MOST, HIGHEST = 5, 15, 0.5  # harmonics unless given, and the frequency of the highest, Hz
SOFT = 0.02  # of the velocity limit: the least rate over which the sign of dry friction changes, in the search
SHRINKS = (1.0, 0.999, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5)  # of a motion that passes a torque limit


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Excitation(Trajectory):
    """A motion for identification: a `Trajectory` with the accuracy to expect and the margins to its limits."""

    robot: Robot
    worth: Worth  # of W: the columns of `parameters` in the base regressor at `times`, rows and columns scaled
    criterion: str  # which was optimised: "condition" or "logdet"
    parameters: tuple[str, ...]  # base parameters
    left_out: tuple[str, ...]  # base parameters that act like a sum of the others, but for 1e-4 of their column
    column_scale: Floats  # of `parameters`: root-mean-square lengths of the columns at states all over the limits
    row_scale: Floats  # (n,) `noise`
    limits: MotionLimits
    margins: Margins
    friction: Friction | None  # whose coefficients are among the parameters, and whose torques are within the limits
    samples: int
    seed: int

    def __repr__(self) -> str:
        kind, joint, left = self.margins.least
        margin = f"least margin {100.0 * left:.3g} % ({kind} of {joint!r})"
        worth = f"condition {self.condition:.4g} of {len(self.parameters)} parameters"
        noise = f"sigma {self.typical_sigma:.3g} of the noise, at worst {self.worst_sigma:.3g}"
        return (
            f"<Excitation of robot {self.robot.name!r}: {self.name}, {self.duration:g} s; {worth}; {noise}; {margin}>"
        )

    @property
    def _title(self) -> str:
        return f"excitation, condition number {self.condition:.3g}, sigma {self.typical_sigma:.2g} of the noise"

    @property
    def condition(self) -> float:
        """The condition number of W."""
        return self.worth.condition

    @property
    def log_det(self) -> float:
        """Of WᵀW."""
        return self.worth.log_det

    @property
    def sigma(self) -> Floats:
        """(p,) Expected standard deviations of `parameters`, by least squares from 1000 samples of the motion.

        Torques have independent errors of the standard deviation `noise`, or of 1 N m and 1 N where it was not given.
        From four times as many samples, of one period or of several, they are half as large.
        """
        return self.worth.deviations / self.column_scale

    @property
    def typical_sigma(self) -> float:
        """The geometric mean of `sigma`, each times `column_scale`: as torques of motions all over the limits, in units
        of the noise. It compares motions of one robot under the same limits, whatever their duration and criterion."""
        return float(np.exp(np.log(self.worth.deviations).mean()))

    @property
    def worst_sigma(self) -> float:
        """The same for the combination of parameters that is determined worst."""
        return self.worth.worst

    @property
    def series(self) -> Fourier:
        piece = self.pieces[0]
        assert isinstance(piece, Fourier)
        return piece

    @property
    def coefficients(self) -> dict[str, Any]:
        """offset (n,), sines and cosines (harmonics, n), duration: the arguments of `lw.trajectories.fourier`."""
        series = self.series
        parts = {name: getattr(series, name) for name in ("offset", "sines", "cosines")}
        return {**parts, "duration": series.duration}

    @property
    def times(self) -> Floats:
        """The times at which `condition` and `log_det` are computed: one period without its end."""
        return times_of_period(self.duration, self.samples)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the motion is of little use, or slower than it could be: joints that hardly move, rates near zero."""
        return tuple(weaknesses(self))

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        samples: int = 501,
        *,
        robot: Robot | None = None,
        limits: Any = None,
        friction: bool | Friction | None = None,
        degrees: bool = False,
    ) -> Figure:
        """As `Trajectory.plot`; torques with the friction that the search was given, unless `friction` says more."""
        law = self.friction or False if friction is None else friction
        return super().plot(path, samples, robot=robot, limits=limits, friction=law, degrees=degrees)


def excitation(
    robot: Robot,
    harmonics: int | None = None,
    duration: float = 10.0,
    limits: Any = None,
    *,
    margin: float = 0.1,
    criterion: str = "condition",
    friction: bool | Friction = False,
    noise: Any = None,
    rest: bool = True,
    starts: int = 8,
    samples: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Excitation:
    """A motion within the limits along which the base parameters can be identified as well as possible.

    Each joint follows a Fourier series of so many harmonics whose period is `duration`: unless given, 5, or in more
    than 10 s one for every 2 s, at most 15. With `rest=True` rates and accelerations are zero at both ends, so that an
    arm at rest can follow it, once or again and again. Positions, rates, accelerations and torques stay within their
    limits at all times, with a share `margin` of each unused.
    `limits` maps "position", "velocity", "acceleration" and "effort" to what holds in place of the robot's own: one
    number for all joints, one for each, or a mapping by the names of some joints; positions are pairs (lower, upper).
    Positions and rates must be limited; accelerations and torques are where a limit is known.

    The criterion is the condition number of the regressor `lw.regressor(robot, ..., base=True)` over one period, its
    columns divided by their lengths at states all over the limits; or, "logdet", the determinant of the information:
    most parameters are then determined somewhat better, some combinations of them worse. `.sigma` of the result are the
    standard deviations that can be expected, and `.typical_sigma` compares motions of either criterion and of any
    duration. `noise` is the standard deviation of each joint's measured torque, by which rows are divided. With
    `friction` the coefficients of the joints are among the parameters, and their torques within the limits.

    `starts` random motions, the same for the same `seed`, are improved, and the best of them is refined. Progress is
    shown on a terminal, and with `progress=True` anywhere. Ctrl-C raises `ExcitationInterrupted`, which keeps the best.
    Collisions are not known: restrict positions to where there are none, and look at the motion before an arm runs it.

    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> limits = {"position": (-2, 2), "velocity": 2, "acceleration": 10}
    >>> move = lw.excitation(arm, harmonics=3, duration=5, limits=limits, starts=2)
    >>> move.condition < 10, bool(abs(move(0).qd).max() < 1e-12)
    (True, True)
    """
    return searched_excitation(
        robot, harmonics, duration, limits, margin=margin, criterion=criterion, friction=friction, noise=noise,
        rest=rest, starts=starts, samples=samples, seed=seed, progress=progress,
    )  # fmt: skip


def searched_excitation(
    robot: Robot,
    harmonics: int | None = None,
    duration: float = 10.0,
    limits: Any = None,
    *,
    margin: float = 0.1,
    criterion: str = "condition",
    friction: bool | Friction = False,
    noise: Any = None,
    rest: bool = True,
    starts: int = 8,
    samples: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    known: tuple[Floats, tuple[str, ...], float] | None = None,
) -> Excitation:
    """As `excitation`; `known`: rows over base parameters by name, and the seconds between rows to be recorded."""
    check_robot(robot)
    one_of(criterion, CRITERIA, "criterion")
    law, period = Friction.of(friction), positive_number(duration, "duration")
    harmonics = default_harmonics(period) if harmonics is None else harmonics
    whole(harmonics, "harmonics", 2 if rest else 1, "; one harmonic alone is never at rest" if rest else "")
    whole(starts, "starts", 1)
    whole(seed, "seed", 0)
    if not (isinstance(margin, (int, float)) and 0.0 <= margin < 1.0):
        raise ValueError(f"margin is {margin!r} (expected a share of the limits from 0 to below 1, such as 0.1)")
    count = PER_HARMONIC * harmonics if samples is None else samples
    whole(count, "samples", 4 * harmonics + 1, f": more than four in a period of harmonic {harmonics}")
    bounded = MotionLimits.of(robot, limits)
    allowed = bounded.kept(1.0 - margin)
    weights = 1.0 / positive_each(noise, robot.n, "noise")
    basis = SeriesBasis.make(harmonics, period, rest)
    problem = ExcitationProblem.make(
        compiled_regressor(robot, softened(law, allowed), weights), basis, count, bounded, criterion, margin
    )
    if known is not None:
        options: dict[str, Any] = {"friction": False if law is None else law, "base": True}
        problem = problem.beside(*known, list(parameters(robot, **options).names))
    search = Search(problem, SearchProgress(progress, starts))

    def result() -> Excitation | None:
        for free in search.best_first():
            if (series := within(robot, basis, free, allowed, law)) is not None:
                return finished(robot, series, problem, law, bounded, seed)
        return None

    try:
        search.run(seed)
    except KeyboardInterrupt as stopped:
        if (best := result()) is None:
            raise
        raise ExcitationInterrupted(best) from stopped
    finally:
        search.progress.close()
    if (best := result()) is None:
        raise ValueError(no_torque(robot, problem, allowed))
    for note in best.notes:
        warn(f"excitation of robot {robot.name!r}: {note}")
    return best


def default_harmonics(duration: float) -> int:
    """So that the highest has at least 0.5 Hz: a longer motion of the same harmonics would be slower."""
    return max(FEWEST, min(math.ceil(HIGHEST * duration), MOST))


def within(
    robot: Robot, basis: SeriesBasis, free: Floats, limits: MotionLimits, law: Friction | None
) -> Fourier | None:
    """The series, made a little smaller about its offset where it passes a limit between the samples of the search."""
    for share in SHRINKS:
        series = basis.piece(np.vstack([free[:1], share * free[1:]]))
        if MotionPeaks.of(robot, series, law).within(limits):
            return series
    return None


def finished(
    robot: Robot, series: Fourier, problem: ExcitationProblem, law: Friction | None, limits: MotionLimits, seed: int
) -> Excitation:
    samples, friction = len(problem.matrices[0]), False if law is None else law
    motion = series.at(problem.basis.times(samples))
    matrix = problem.chosen(regressor(robot, *motion, friction=friction, base=True))
    names = parameters(robot, friction, base=True).names
    return Excitation(
        (series,),
        series_name(len(series.sines)),
        Layout.of(robot),
        robot=robot,
        worth=Worth.of(matrix, samples),
        friction=law,
        column_scale=problem.column_scale,
        row_scale=1.0 / problem.regressor.row_weights,
        criterion=problem.criterion,
        parameters=tuple(names[k] for k in problem.columns),
        left_out=tuple(name for k, name in enumerate(names) if k not in problem.columns),
        limits=limits,
        margins=MotionPeaks.of(robot, series, law).margins(robot.v_names, limits),
        samples=samples,
        seed=seed,
    )


def compiled_regressor(robot: Robot, law: Friction | None, weights: Floats) -> Regressor:
    options: dict[str, Any] = {"friction": False if law is None else law, "base": True}
    gradients = vjp(regressor, robot, ("q", "qd", "qdd"), **options)
    values = np.asarray(parameters(robot, **options), dtype=float)
    return Regressor(compiled_for(regressor, robot, **options), compiled_for(gradients, robot), values, weights)


def softened(law: Friction | None, limits: MotionLimits) -> Friction | None:
    """Dry friction that changes over some rates: otherwise its gradient is zero almost everywhere."""
    return None if law is None else replace(law, smooth=max(law.smooth, SOFT * float(limits.velocity.min())))


def check_robot(robot: Any) -> None:
    require_robot(robot)
    refuse_symbols(robot)
    if robot.quaternions:
        joint = next(joint for joint in robot.moving if joint.q.stop - joint.q.start > joint.v.stop - joint.v.start)
        raise ValueError(
            f"joint {joint.joint!r} of robot {robot.name!r} is {joint.kind.name}: a Fourier series of a quaternion is"
            " no rotation (expected a robot on a fixed base, whose joints are described by a number for each axis)"
        )
    if robot.n == 0:
        raise ValueError(f"robot {robot.name!r} has no joint that moves")


def positive_each(value: Any, n: int, name: str) -> Floats:
    numbers = broadcast_to_joints(1.0 if value is None else value, n, name)
    if not (numbers > 0.0).all():
        k = int(np.argmin(numbers > 0.0))
        raise ValueError(f"{name} of joint {k + 1} is {numbers[k]:g} (expected a positive number)")
    return np.asarray(numbers)


def whole(value: Any, name: str, least: int, why: str = "") -> None:
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} is {value!r} (expected a whole number of at least {least}{why})")


def no_torque(robot: Robot, problem: ExcitationProblem, limits: MotionLimits) -> str:
    """Why nothing was found: only torques can be in the way of a motion that is small enough."""
    still = np.zeros((3, robot.n))
    still[0] = limits.middle
    used = np.abs(problem.torque_share(problem.regressor.values(*still[:, None]))[0])
    k = int(np.argmax(used))
    need = f"{used[k] * problem.effort[k]:.4g} {robot.effort_units[k]}"
    return (
        f"no motion was found that stays within the effort limits: joint {robot.v_names[k]!r} of robot {robot.name!r}"
        f" needs {need} to stand still in the middle of its travel, and {limits.effort[k]:.4g} are allowed (expected"
        " other limits['effort'] or limits['position'], a smaller margin, or a higher limit in the robot's table)"
    )
