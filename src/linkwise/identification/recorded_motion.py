"""A recording as `lw.identify` reads it, for budgets and other functions of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..printing import warn
from ..robot import Robot, require_robot
from .filtering import MOTION, LowPass
from .preparing import filtering_of, motion_of, without_short_parts
from .reading import recordings_of
from .stillness import at_rest, still_joints


class MeasuredMotion(NamedTuple):
    """Equal times t (N,), and there q (N, nq), qd, qdd and tau (N, n), all through the same filter.

    `cutoff` is that of the filter in Hz; None: as recorded. `notes` say what was converted and what looks wrong.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    cutoff: float | None
    notes: tuple[str, ...]


def measured_motion(
    robot: Robot,
    data: Any,
    *,
    columns: Mapping[str, Any] | None = None,
    dt: float | None = None,
    degrees: bool = False,
    gains: Any = None,
    delay: float = 0.0,
    recorded_rates: bool = True,
    cutoff: float | None = None,
) -> MeasuredMotion:
    """Positions, rates, accelerations and torques of a recording, as `lw.identify` reads and filters it.

    `data` and the keywords are those of `lw.identify`: a file, a DataFrame, a mapping with t, q and tau. Rates and
    accelerations that were not recorded are those of the filtered positions; `cutoff` (Hz) is by default ten times the
    band of the motion. The ends that the filter needs are cut off; of a recording with long gaps the longest part is
    taken, with a warning.

    >>> import numpy as np, linkwise as lw
    >>> arm, t = lw.load("planar3"), np.linspace(0, 2, 1001)
    >>> q = np.sin(np.outer(t, [3.0, 2.0, 4.0]))
    >>> run = lw.identification.measured_motion(arm, {"t": t, "q": q, "tau": 0 * q})
    >>> bool(abs(run.qdd + [9, 4, 16] * run.q).max() < 0.01)
    True
    >>> print(lw.budget(arm, run.q, run.qd, run.qdd, t=run.t).joint("link3", by="kinds").when)
    t = ...
    """
    require_robot(robot)
    samples = recordings_of(robot, data, columns, dt, degrees, gains, recorded_rates, delay)
    filtering = filtering_of(robot, samples, cutoff, cutoff, 1)
    samples, _ = without_short_parts(samples, filtering)
    longest = max(samples, key=lambda recording: len(recording.q))
    if len(samples) > 1:
        warn(f"{longest.name}: the longest of {len(samples)} parts or recordings; the others are left out")
    motion = at_rest(motion_of(robot, longest, filtering), still_joints(robot, longest, filtering))
    tau = motion.tau
    if filtering.motion is not None:
        tau = LowPass.design(longest.rate, filtering.motion, MOTION).apply(longest.tau)
    tau = np.where(longest.unmeasured & ~longest.unmeasured.all(), np.nan, tau)
    notes = tuple(note for recording in samples for note in recording.notes)
    return MeasuredMotion(motion.t, motion.q, motion.qd, motion.qdd, tau, filtering.motion, notes)
