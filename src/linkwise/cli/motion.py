"""Options of motions: a trajectory, a state, or a table of states; torques at states; limits of effort, velocity and
travel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np

import linkwise as lw

from ..errors import one_of
from ..robot.layout import Layout, angle_mask
from ..trajectories.limits import PassedLimit, effort_shares, limit_kinds, outside_travel, passed_limits, zero_limits
from .declare import MOTION, STATE, arg, opt
from .inputs import parse_states
from .options import CONFIGURATION, PAPER, PROFILES, Degrees, Qd, Qdd, complete_trajectories
from .screen import Cell, format_number, print_sentence, print_table, warn

UNITS = {  # of an angle, and of a length
    "effort": ("N m", "N"),
    "velocity": ("rad/s", "m/s"),
    "travel": ("deg", "m"),
}
OF_LIMIT = "of limit (%)"


def print_torques(robot: lw.Robot, head: list[str], rows: Sequence[Sequence[Cell]], tau: Any) -> None:
    """A table of torques, with their share of the drives' limits where these are known."""
    shares = effort_shares(robot, tau)
    if shares is None:
        print_table(head, rows)
        return
    percents = [None if share is None else 100.0 * share for share in shares]
    print_table([*head, OF_LIMIT], [[*row, percent] for row, percent in zip(rows, percents, strict=True)])


def print_limits(robot: lw.Robot, q: Any, qd: Any, tau: Any, where: Sequence[float] | None, heading: str) -> None:
    """Print the limits that are passed. `where` has the time or row of each sample, and `heading` names it."""
    known, passed = limit_kinds(robot), list(passed_limits(robot, q, qd, tau))
    if known and not passed:
        print_sentence(
            f"Within the robot's limits of {', '.join(known[:-1])}{' and ' if known[1:] else ''}{known[-1]}."
        )
    if passed:
        head = ["joint", "limit of", "limit", "largest", OF_LIMIT, *([heading] if where is not None else [])]
        rows = [[*limit_row(each), *([where[each.first]] if where is not None else [])] for each in passed]
        print_table(head, rows, heading="Limits that are passed")
    if zeros := zero_limits(robot):
        zero_limits_text = "; ".join(f"{what} of {', '.join(names)}" for what, names in zeros.items())
        print_sentence(f"Limits of zero are not compared: {zero_limits_text}.")


def warn_of_start(robot: lw.Robot, q: Any) -> None:
    """Warn in one line of joints that start outside their travel, which triggers no event."""
    rows = len(q) if q.ndim > 1 else 0
    starts = [
        f"{each.joint} starts at {limit_number(each, each.largest)} {limit_unit(each)}"
        f"{f' (first in row {each.first + 1})' if rows else ''}, outside its travel of {limit_text(each)}"
        for each in outside_travel(robot, q)
    ]
    if starts:
        warn(f"{'; '.join(starts)}: --limits stops {'it' if len(starts) == 1 else 'them'} only where"
             f" {'it leaves its' if len(starts) == 1 else 'they leave their'} travel again")  # fmt: skip


def limit_row(passed: PassedLimit) -> list[Cell]:
    largest = f"{limit_number(passed, passed.largest)} {limit_unit(passed)}"
    share = None if passed.share is None else 100.0 * passed.share
    return [passed.joint, passed.what, limit_text(passed), largest, share]


def limit_text(passed: PassedLimit) -> str:
    low, high = passed.limits
    ends = f"{limit_number(passed, low)} to " if passed.what == "travel" else ""
    return f"{ends}{limit_number(passed, high)} {limit_unit(passed)}"


def limit_unit(passed: PassedLimit) -> str:
    return UNITS[passed.what][passed.slides]


def limit_number(passed: PassedLimit, x: float) -> str:
    return format_number(math.degrees(x) if limit_unit(passed) == "deg" else x)


def passed_limits_json(
    robot: lw.Robot, q: Any, qd: Any, tau: Any, where: Sequence[float] | None, key: str
) -> list[dict[str, Any]]:
    """The limits that are passed, in radians and metres."""
    return [
        {
            "joint": each.joint,
            "what": each.what,
            "limit": each.limits if each.what == "travel" else each.limits[1],
            "largest": each.largest,
            **({} if where is None else {key: where[each.first]}),
        }
        for each in passed_limits(robot, q, qd, tau)
    ]


WORDS = ("q", "qd", "qdd")
TRAJECTORIES = (PAPER, *PROFILES)
BY_NAME = f"A .csv file, or one by name: {', '.join(PROFILES)}, {PAPER}; default: the paper's, or a cycloid"
ENDS = "End conditions of the spline through a .csv file without rates: clamped (default), natural, ..."
SECONDS = 10.0
THIRD = math.pi / 3
TURN, SLIDE = THIRD, 0.1  # of the default motion: 60 degrees, 0.1 m
PAPER_MOTIONS = {  # start, end, equation in the paper
    "stanford": ((0, math.pi / 2, 0, 0, 0, 0), (THIRD, THIRD, 0.1, THIRD, THIRD, THIRD), "(39)"),
    "planar3": ((0, 0, 0), (math.pi, math.pi, math.pi), "(38)"),
}


@dataclass(frozen=True)
class MotionOptions:
    """Options of commands that follow a trajectory or evaluate states."""

    trajectory: Annotated[str | None, arg("trajectory", BY_NAME, complete_trajectories)] = None
    start: Annotated[str | None, opt("STATE", "Start configuration; default: the zero position.", MOTION, "--from")] = (
        None
    )
    end: Annotated[str | None, opt("STATE", "End configuration; default: 60 deg or 0.1 m further.", MOTION, "--to")] = (
        None
    )
    duration: Annotated[float | None, opt("SECONDS", "Duration of the trajectory; default: 10.", MOTION)] = None
    ends: Annotated[str | None, opt("NAME", ENDS, MOTION)] = None
    samples: Annotated[int, opt("COUNT", "Number of evenly spaced times.", MOTION, min=2)] = 501
    q: Annotated[str | None, opt("STATE", f"{CONFIGURATION}; default: along the trajectory.", STATE)] = None
    qd: Qd = None
    qdd: Qdd = None
    degrees: Degrees = False

    @property
    def trajectory_options(self) -> list[str]:
        """The given options that belong to a trajectory."""
        given: dict[str, object] = {"trajectory": self.trajectory, "--from": self.start, "--to": self.end}
        given |= {"--duration": self.duration, "--ends": self.ends}
        return [name for name, value in given.items() if value is not None]

    @property
    def state_options(self) -> list[str]:
        """The given options that belong to a state."""
        return [f"--{word}" for word in WORDS if getattr(self, word) is not None]

    def is_state(self, plot: str | None = None) -> bool:
        """Whether --q is given. `plot` excludes it."""
        if self.q is None:
            for name in self.state_options:
                raise ValueError(f"{name} belongs to a state (expected --q too)")
            return False
        for name in [*self.trajectory_options, *(["--plot"] if plot is not None else [])]:
            raise ValueError(f"--q gives a state, not a trajectory (expected no {name})")
        return True

    def resolve(self, robot: lw.Robot) -> tuple[lw.trajectories.Trajectory, str]:
        """The trajectory and its description. The default is the motion of the robot's paper, or a cycloid."""
        name, degrees = self.trajectory, self.degrees
        if name and name not in TRAJECTORIES and (Path(name).suffix or Path(name).exists()):
            if (self.start, self.end, self.duration) != (None, None, None):
                wrong = "(expected no --from, --to or --duration)"
                raise ValueError(f"the file {name} contains its start, end and duration {wrong}")
            read = lw.trajectories.read_csv(name, robot=robot, degrees=degrees, ends=cast(Any, self.ends))
            return (
                read,
                f"along {name}, {interpolation_text(read, name)}{angle_unit_text(robot, degrees)}, {read.duration:g} s",
            )
        if self.ends is not None:
            expected = "(expected the file)"
            raise ValueError(f"--ends {self.ends} is for a motion read from a .csv file {expected}")
        if name is not None:
            one_of(name, TRAJECTORIES, "the trajectory (a .csv file, or one by name)")
        q0, q1 = parse_states(robot, {"--from": ("q", self.start), "--to": ("q", self.end)}, degrees)
        for q, option in ((q0, "--from"), (q1, "--to")):
            if q is not None and q.ndim != 1:
                raise ValueError(f"{option} has {len(q)} rows (expected one configuration)")
        of_paper = paper_motion(robot)
        seconds = SECONDS if self.duration is None else self.duration
        if name == PAPER and of_paper is None:
            raise ValueError(
                f"no paper gives a trajectory of robot {robot.name!r} (they do for {', '.join(PAPER_MOTIONS)})"
            )
        if name in (None, PAPER) and of_paper is not None and q0 is None and q1 is None:
            first, last, equation = of_paper
            return lw.trajectories.cycloid(
                first, last, seconds
            ), f"along the cycloid of Saha (1999), eq. {equation}, {seconds:g} s"
        if name == PAPER:
            raise ValueError("the trajectory 'paper' has its own ends (expected no --from and --to)")
        first, last, words = default_ends(robot, q0, q1)
        kind = name or "cycloid"
        typed = "" if q0 is q1 is None else angle_unit_text(robot, degrees)
        return make_profile(robot, kind, first, last, seconds), f"along a {kind} {words}{typed}, {seconds:g} s"


def make_profile(robot: lw.Robot, name: str, start: Any, end: Any, duration: float) -> lw.trajectories.Trajectory:
    """A motion between two configurations. A trapezoid cruises for a third of its duration."""
    if name == "trapezoid":
        longest = float(np.abs(lw.difference(robot, start, end)).max()) or 1.0
        return lw.trajectories.trapezoid(start, end, duration=duration, speed=1.5 * longest / duration, robot=robot)
    made: lw.trajectories.Trajectory = getattr(lw.trajectories, name)(
        start, end, duration, robot=robot if robot.quaternions else None
    )
    return made


def interpolation_text(read: lw.trajectories.Trajectory, name: str) -> str:
    """How the rows of a table are interpolated."""
    words = read.name.removesuffix(f" of {Path(name).name}")
    return f"a {words.removeprefix('clamped ')}, at rest at both ends" if words.startswith("clamped ") else words


def angle_unit_text(robot: lw.Robot, degrees: bool) -> str:
    """The unit of given angles, if the robot has angles."""
    return f", angles in {'degrees' if degrees else 'radians'}" if any(angle_mask(robot, "q")) else ""


def paper_motion(robot: lw.Robot) -> tuple[Any, Any, str] | None:
    """Start, end and equation of the motion in the paper of a library robot, on its own base."""
    motion = PAPER_MOTIONS.get(robot.name) if robot.name in lw.LIBRARY else None
    return motion if motion is not None and len(motion[0]) == robot.nq else None


def default_ends(robot: lw.Robot, q0: Any, q1: Any) -> tuple[Any, Any, str]:
    """Start, end and their description. By default each joint moves by 60 degrees or 0.1 m."""
    first, start = (zero_configuration(robot), "the zero position") if q0 is None else (q0, "--from")
    if q1 is not None:
        return first, q1, f"from {start} to --to"
    base = {k for joint in robot.free_joints for k in range(joint.v.start, joint.v.stop)}
    turning = angle_mask(robot, "qd")
    way = np.array([0.0 if k in base else TURN if turning[k] else SLIDE for k in range(robot.n)])
    there = np.asarray(lw.integrate(robot, first, way))
    last = clip_to_limits(robot, there.copy())
    limits = "" if np.allclose(last, there) else ", within the limits"
    return first, last, f"from {start}, each joint by 60 deg or 0.1 m{limits}"


def zero_configuration(robot: lw.Robot) -> Any:
    """The zero position, within the limits."""
    return clip_to_limits(robot, np.array(lw.neutral(robot), dtype=float))


def clip_to_limits(robot: lw.Robot, q: Any) -> Any:
    """Move joints that are beyond a limit of the table back to the limit."""
    for link, slot in robot.driving:
        if link.joint.limits is not None and link.joint.width == 1:
            q[slot.q] = np.clip(q[slot.q], float(link.joint.limits[0]), float(link.joint.limits[1]))
    return q


class StateTorques:
    """States and their torques. Arrays of one state have no axis of states."""

    def __init__(
        self,
        robot: lw.Robot,
        where: MotionOptions,
        friction: bool = False,
        method: str | None = None,
        wrench: list[float] | dict[str, list[float]] | None = None,
    ) -> None:
        typed = parse_states(robot, {f"--{word}": (word, getattr(where, word)) for word in WORDS}, where.degrees)
        self.robot = robot
        self.motion = [np.zeros(robot.n) if part is None else part for part in typed]
        q, qd, qdd = self.motion
        self.tau = np.asarray(lw.inverse_dynamics(robot, q, qd, qdd, wrench, method=method, friction=friction))
        self.one = self.tau.ndim == 1
        count = 1 if self.one else len(self.tau)
        self.count = f"{count} states" if count > 1 else "one state"
        self.rows = None if self.one else list(range(1, count + 1))
        q, qd, _ = self.motion
        q, qd, tau = (np.broadcast_to(x, (count, x.shape[-1])) for x in (q, qd, self.tau))
        self.batch = q, qd, tau

    def arrays(self) -> dict[str, Any]:
        """The states and torques, for JSON."""
        names = {"robot": self.robot.name, "v_names": self.robot.v_names, "units": self.robot.effort_units}
        return {**names, **dict(zip(WORDS, self.motion, strict=True)), "tau": self.tau}

    def passed(self) -> dict[str, Any]:
        """The limits that are passed, for JSON."""
        return {"passed": passed_limits_json(self.robot, *self.batch, self.rows, "row")}

    def show_limits(self) -> None:
        print_limits(self.robot, *self.batch, self.rows, "in row")

    def columns(self) -> dict[str, Any]:
        """Columns of tables, a row for each state."""
        layout, columns = Layout.of(self.robot), dict[str, Any]()
        for word, part in zip((*WORDS, "tau"), (*self.motion, self.tau), strict=True):
            full = np.broadcast_to(part, (*self.tau.shape[:-1], part.shape[-1]))
            columns |= dict(zip(layout.columns(word), np.atleast_2d(full).T, strict=True))
        return columns
