"""What arrays and mappings of external wrenches mean: on the tip, on every link, at frames."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..robot import Robot, WrenchFrames


def wrench_on_tip(robot: Robot, shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """Whether an array of wrenches with this batch acts on the tip, (..., 6), or on every link, (..., m, 6).

    Raises an error for a shape that could mean both, (m, 6) with a batch of one axis, and for other shapes.
    """
    links = len(robot.names)
    if shape[-2:] == (links, 6) and len(shape) == len(batch) + 2:
        return False
    tips, fewer = [robot.links[index].name for index in robot.leaves], len(shape) <= len(batch) + 1
    every, shared = (*batch, links, 6), (*(1 for _ in batch), links, 6)
    same = f"; {shared} where they are the same in all states" if batch else ""
    by_frame = f"wrench={{{tips[0]!r}: ...}} with an array (..., 6) for each frame"
    if fewer and shape[-1:] == (6,) and len(tips) > 1:
        names = ", ".join(map(repr, tips))
        raise ValueError(
            f"wrench has shape {shape}, which means the tip, but robot {robot.name!r} has several: {names} (expected"
            f" {every} for every link, in general (..., {links}, 6){same}; or {by_frame})"
        )
    if fewer and shape[-2:] == (links, 6) and not (links == 1 and math.prod(shape[:-1]) == 1):
        on_tip = f"{(*batch, 6)} on the tip, " if batch[-1] != links else ""
        raise ValueError(
            f"wrench has shape {shape}, which could mean the tip in each state of the batch {batch}, or every link"
            f" (expected {by_frame}; or an array with all axes: {on_tip}{every} on every link{same})"
        )
    if not fewer or shape[-1:] != (6,):
        raise ValueError(
            f"wrench has shape {shape} (expected {(*batch, 6)} for the tip or {every} for every link: moment, then"
            f" force, in the base frame, at the centre of mass, in general (..., 6) or (..., {links}, 6){same}; or"
            f" {by_frame})"
        )
    return True


class OnTip(NamedTuple):
    """In place of a point: wrenches (..., 6) act on the tip, here, also with as many states as links."""

    point: Any = None


def constant_loads(wrench: np.ndarray | None, point: Any, dims: int) -> dict[str, Any]:
    """Wrench and point of each trajectory, a batch of `dims` axes, as arguments of a function of all samples."""
    if wrench is None:
        return {}
    if wrench.ndim == dims + 1:
        return {"wrench": wrench[..., None, :], "point": OnTip(point)}
    return {"wrench": wrench[..., None, :, :], "point": point}


def wrench_frames(robot: Robot, wrench: Mapping[str, Any], point: Any, axes: str) -> WrenchFrames:
    """The checked frames of a mapping of wrenches."""
    if point is not None:
        raise ValueError(
            "point and wrenches by frame are both given (expected no point: they act at the frames' origins)"
        )
    for name in wrench:
        if robot.frame(name).on_base:
            raise ValueError(
                f"wrench[{name!r}] acts on the base, which does not move: the frame is fixed to it (expected one of a"
                f" link of robot {robot.name!r})"
            )
    return WrenchFrames(tuple(robot.frame(name).name for name in wrench), axes)
