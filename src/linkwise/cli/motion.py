"""The trajectory that a command line names: a table, or a profile between two configurations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import one_of
from ..formats import LIBRARY
from ..robot import Robot
from ..robot.layout import angles
from ..trajectories import Trajectory, cubic, cycloid, quintic, septic, trajectory_from_csv, trapezoid
from .options import PAPER
from .states import state, warn_of_unread

SECONDS = 10.0
TURN, SLIDE = math.pi / 3, 0.1  # of the default motion: 60 degrees, 0.1 m
THIRD = math.pi / 3
OF_PAPERS = {  # start, end, and where it is from
    "stanford": ((0, math.pi / 2, 0, 0, 0, 0), (THIRD, THIRD, 0.1, THIRD, THIRD, THIRD), "(39)"),
    "planar3": ((0, 0, 0), (math.pi, math.pi, math.pi), "(38)"),
}
PROFILES: Mapping[str, Callable[..., Trajectory]] = {
    "cycloid": cycloid,
    "cubic": cubic,
    "quintic": quintic,
    "septic": septic,
    "trapezoid": lambda start, end, duration, arm: trapezoid(
        start, end, duration=duration, speed=1.5 * largest(start, end, arm) / duration, arm=arm
    ),
}
NAMES = (PAPER, *PROFILES)


def largest(start: Any, end: Any, arm: Robot) -> float:
    """The longest way of a degree of freedom, by which a trapezoid cruises for a third of the time."""
    from ..api.integration import difference

    return float(np.abs(difference(arm, start, end)).max()) or 1.0


def trajectory_of(
    arm: Robot,
    name: str | None,
    start: str | None,
    end: str | None,
    duration: float | None,
    degrees: bool,
    at_ends: str | None = None,
) -> tuple[Trajectory, str]:
    """The trajectory, and in words what it is. Without a name it is that of the paper, or a cycloid."""
    if name and name not in NAMES and (Path(name).suffix or Path(name).exists()):
        if start is not None or end is not None or duration is not None:
            raise ValueError(f"{name} says where the motion starts and ends (expected no --from, --to or --duration)")
        read = trajectory_from_csv(name, arm=arm, degrees=degrees, ends=at_ends)
        return read, f"along {name}, {joined(read, name)}{unit(arm, degrees)}, {read.duration:g} s"
    if at_ends is not None:
        raise ValueError(f"--ends {at_ends} says how a .csv file without rates begins and ends (expected such a file)")
    if name is not None:
        one_of(name, NAMES, "the trajectory (a .csv file, or one by name)")
    q0 = state(arm, start, "q", "--from", degrees)
    q1 = state(arm, end, "q", "--to", degrees)
    warn_of_unread(arm, {"--from": ("q", start), "--to": ("q", end)})
    for q, option in ((q0, "--from"), (q1, "--to")):
        if q is not None and q.ndim != 1:
            raise ValueError(f"{option} has {len(q)} rows (expected one configuration)")
    of_paper = motion_of_paper(arm)
    seconds = SECONDS if duration is None else duration
    if name == PAPER and of_paper is None:
        raise ValueError(f"no paper gives a trajectory of robot {arm.name!r} (they do for {', '.join(OF_PAPERS)})")
    if name in (None, PAPER) and of_paper is not None and q0 is None and q1 is None:
        first, last, equation = of_paper
        words = f"along the cycloid of Saha (1999), eq. {equation}, {seconds:g} s"
        return cycloid(first, last, seconds), words
    if name == PAPER:
        raise ValueError("the trajectory 'paper' has its own ends (expected no --from and --to)")
    first, last, words = ends(arm, q0, q1)
    profile = "cycloid" if name is None else name
    needed = arm if arm.quaternions else None
    made = PROFILES[profile](first, last, seconds, arm=arm if profile == "trapezoid" else needed)
    return made, f"along a {profile} {words}{'' if q0 is q1 is None else unit(arm, degrees)}, {seconds:g} s"


def joined(read: Trajectory, name: str) -> str:
    """How the rows of a table were joined."""
    words = read.name.removesuffix(f" of {Path(name).name}")
    return f"a {words.removeprefix('clamped ')}, at rest at both ends" if words.startswith("clamped ") else words


def unit(arm: Robot, degrees: bool) -> str:
    """In what the angles that were given are, if there are angles."""
    return f", angles in {'degrees' if degrees else 'radians'}" if any(angles(arm, "q")) else ""


def motion_of_paper(arm: Robot) -> tuple[Any, Any, str] | None:
    """Start, end and equation, for a robot of the library on its own base."""
    found = OF_PAPERS.get(arm.name) if arm.name in LIBRARY else None
    return found if found is not None and len(found[0]) == arm.nq else None


def ends(arm: Robot, q0: Any, q1: Any) -> tuple[Any, Any, str]:
    """Where the motion starts and ends, and in words; what is not given is a way of 60 degrees or 0.1 m."""
    from ..api.integration import integrate
    from ..robot.configurations import neutral

    first = within(arm, np.array(neutral(arm), dtype=float)) if q0 is None else q0
    if q1 is not None:
        return first, q1, f"from {'the zero position' if q0 is None else '--from'} to --to"
    base = {k for joint in arm.free_joints for k in range(joint.v.start, joint.v.stop)}
    turning = angles(arm, "qd")
    way = np.array([0.0 if k in base else TURN if turning[k] else SLIDE for k in range(arm.n)])
    last = within(arm, np.asarray(integrate(arm, first, way)))
    start = "the zero position" if q0 is None else "--from"
    limits = ", within the limits" if not np.allclose(last, integrate(arm, first, way)) else ""
    return first, last, f"from {start}, each joint by 60 deg or 0.1 m{limits}"


def within(arm: Robot, q: Any) -> Any:
    """The configuration with joints that are beyond a limit of the table brought back to it."""
    for link, slot in arm.driving:
        if link.joint.limits is not None and link.joint.width == 1:
            q[slot.q] = np.clip(q[slot.q], float(link.joint.limits[0]), float(link.joint.limits[1]))
    return q
