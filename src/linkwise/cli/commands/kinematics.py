"""`linkwise ik`: inverse kinematics."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import linkwise as lw

from ...formats.urdf.rows import rotation_of
from ..declare import STATE, command, opt
from ..inputs import parse_numbers, parse_states
from ..options import CONFIGURATION, Degrees, Json
from ..results import print_json
from ..screen import echo, print_sentence, print_table

START = f"{CONFIGURATION} where the search starts; default: the zero position."


@command(
    ("linkwise ik ur5e --frame tool0 --xyz 0.4,0.2,0.5", "the tool at a point"),
    ("linkwise ik ur5e --frame tool0 --xyz 0.4,0.2,0.5 --rpy 180,0,90 --degrees", "and its orientation"),
)
def ik(
    robot: lw.Robot,
    xyz: Annotated[str, opt("X,Y,Z", "Position of the frame's origin in the base frame, in m.")],
    frame: Annotated[str | None, opt("NAME", "Frame or link; default: the last link.")] = None,
    rpy: Annotated[
        str | None, opt("ROLL,PITCH,YAW", "Its orientation, Rz(yaw) Ry(pitch) Rx(roll); default: any.")
    ] = None,
    q: Annotated[str | None, opt("STATE", START, STATE)] = None,
    degrees: Degrees = False,
    json: Json = False,
) -> int:
    """Inverse kinematics: the joints at which a frame has a position, or a pose, within their limits.

    If the target cannot be reached, the exit code is 1, and the joints are those that come nearest.
    """
    name = robot.names[-1] if frame is None else frame
    (start,) = parse_states(robot, {"--q": ("q", q)}, degrees)
    target: Any = three_numbers(xyz, "--xyz")
    if rpy is not None:
        angles = three_numbers(rpy, "--rpy")
        place = np.eye(4)
        place[:3, :3] = rotation_of(*map(float, np.radians(angles) if degrees else angles))
        place[:3, 3] = target
        target = place
    if np.ndim(start) > 1:
        raise ValueError(f"--q {q} has {len(start)} configurations (expected one)")
    solution = lw.inverse_kinematics(robot, {name: target}, lw.neutral(robot) if start is None else start)
    if json:
        facts = {"robot": robot.name, "frame": name, "q_names": robot.q_names}
        print_json({**facts, **solution._asdict()})
        return int(not solution.reached)
    if solution.reached:
        print_sentence(f"{robot.name}: {name} is there, to {solution.residual:.1e} m and rad")
    else:
        print_sentence(
            f"{robot.name}: {name} does not get there ({solution.reason}); these joints come within"
            f" {solution.residual:.3g} m and rad"
        )
    echo()
    rows = zip(robot.q_names, map(float, solution.q), robot.limits, strict=True)
    print_table(
        ["joint", "q (rad, m)", "lowest", "highest"], [[joint, x, *map(float, ends)] for joint, x, ends in rows]
    )
    return int(not solution.reached)


def three_numbers(text: str, option: str) -> np.ndarray:
    numbers = parse_numbers(text, option)
    if len(numbers) != 3:
        raise ValueError(f"{option} {text} has {len(numbers)} numbers (expected 3)")
    return np.array(numbers)
