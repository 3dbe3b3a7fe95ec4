"""Configurations: the neutral one, and random ones."""

from __future__ import annotations

import math

import numpy as np

from ..errors import RobotError
from .coordinates import QUATERNION
from .link import Link
from .model import Robot, require_robot


def neutral(robot: Robot) -> np.ndarray:
    """The configuration of zeros, with identity quaternions (1, 0, 0, 0).

    Parameters
    ----------
    robot : Robot

    Returns
    -------
    ndarray
        (nq,)

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.neutral(lw.chain(3, joints="RSP"))
    array([0., 1., 0., 0., 0., 0.])
    """
    require_robot(robot)
    q = np.zeros(robot.nq)
    q[list(robot.quaternions)] = 1.0
    return q


def random_configuration(
    robot: Robot, rng: np.random.Generator | int | None, shape: int | tuple[int, ...] = ()
) -> np.ndarray:
    """Random configurations, uniform within the limits of the joints, those of coupled joints included.

    Without limits, angles are in (-π, π) and displacements in (-1, 1) m. Orientations are uniform.

    Parameters
    ----------
    robot : Robot
    rng : numpy.random.Generator or int
        Generator, or a seed for one; None: different numbers at each call.
    shape : int or tuple of int, optional
        Shape of the batch.

    Returns
    -------
    ndarray
        (*shape, nq)

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3").with_free_base()
    >>> q = lw.random_configuration(arm, np.random.default_rng(0), 1000)
    >>> q.shape, bool(np.allclose((q[:, 3:7] ** 2).sum(-1), 1.0))
    ((1000, 10), True)
    """
    require_robot(robot)
    generator = np.random.default_rng(rng)
    batch = (shape,) if isinstance(shape, (int, np.integer)) else shape
    if not (isinstance(batch, (tuple, list)) and all(isinstance(k, (int, np.integer)) and k >= 0 for k in batch)):
        raise TypeError(f"shape is {shape!r} (expected a whole number or several: 1000, (4, 250))")
    batch = tuple(batch)
    parts = (random_coordinates(robot, link, generator, batch) for link, _ in robot.driving)
    return np.concatenate([np.empty((*batch, 0)), *parts], -1)


def random_coordinates(robot: Robot, link: Link, rng: np.random.Generator, batch: tuple[int, ...]) -> np.ndarray:
    """Random coordinates of one link: (*batch, width)."""
    width = link.joint.width
    if width == QUATERNION:
        q = rng.normal(size=(*batch, width))
        return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))
    return rng.uniform(*travel_range(robot, link), (*batch, width))


def travel_range(robot: Robot, link: Link) -> tuple[float, float]:
    """As `travel_limits`; without limits, π or 1 m to both sides."""
    low, high = travel_limits(robot, link)
    reach = math.pi if link.joint.angular else 1.0
    return (-reach, reach) if (low, high) == (-math.inf, math.inf) else (low, high)


def travel_limits(robot: Robot, link: Link) -> tuple[float, float]:
    """The range of a link's coordinate within its limits and those of joints coupled to it; infinite without limits."""
    ranges = [(-math.inf, math.inf) if link.joint.limits is None else link.joint.limits]
    for coupling in robot.couplings:
        limits = robot.links[coupling.link].joint.limits
        if coupling.to == link.index and limits is not None and coupling.ratio != 0.0:
            low, high = sorted((limit - coupling.offset) / coupling.ratio for limit in limits)
            ranges.append((low, high))
    low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
    if low > high:
        raise RobotError(
            f"robot {robot.name!r}, joint {link.name!r}: no position is within its limits and those of the joints that"
            " are coupled to it"
        )
    return low, max(low, high)  # Generator.uniform refuses (0, -0)
