"""From samples to rows: rates and accelerations, filters, decimation, and the rows' triangles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..api.kinematics import normalize
from ..robot import Robot
from ..robot.scales import coordinate_scales
from .filtering import (
    END_SHARE,
    HIGHEST,
    MOTION,
    MOTION_CUTOFF,
    TORQUE,
    TORQUE_CUTOFF,
    LowPass,
    band_of,
    decimated,
)
from .least_squares import Factors
from .recorded import is_number
from .samples import Samples, position_scales
from .text import percent

CHUNK = 2048  # samples whose rows are in memory at a time
INCONSISTENT = 0.1  # relative difference of recorded rates from the derivative of the positions
TELLING = 0.3  # of the longest recording: shorter ones do not decide on cut-offs
STILL = 1e-9  # rad, or of the robot's size: a joint that moves less does not move


@dataclass(frozen=True)
class Filtering:
    """Which cut-offs (Hz) are taken, and one row in how many; None: not filtered."""

    motion: float | None
    torque: float | None
    step: int  # of the slowest recording; others leave out more
    rate: float  # of that, Hz
    band: float  # of the motion
    reason: str  # in words

    def step_at(self, rate: float) -> int:
        """One row in how many, so that recordings of different rates have as many rows in a second."""
        return max(1, int(self.step * rate / self.rate + 1e-6))

    def for_others(self, robot: Robot, samples: list[Samples]) -> Filtering:
        """The same for other recordings: with cut-offs that a faster motion needs, and that a lower rate allows."""
        if self.torque is None:
            return self
        rate = min(recording.rate for recording in samples)
        own = filtering_of(robot, samples, None, None, None)
        factor = max(1.0, own.band / self.band) if self.band else 1.0
        motion = None if self.motion is None else min(self.motion * factor, HIGHEST * rate)
        torque = min(self.torque * factor, HIGHEST * rate)
        if (motion, torque) == (self.motion, self.torque):
            return self
        return replace(self, motion=motion, torque=torque, step=max(1, int(rate / (2.0 * torque))), rate=rate)

    @property
    def text(self) -> str:
        motion = "motion as recorded" if self.motion is None else f"motion below {self.motion:.3g} Hz"
        torque = "torque as recorded" if self.torque is None else f"torque and regressor below {self.torque:.3g} Hz"
        rows = "every row" if self.step == 1 else f"one row in {self.step}"
        return f"{motion}, {torque}, {rows} ({self.reason})"


@dataclass(frozen=True)
class Motion:
    """What the regressor is computed from, at equal times; the ends that filters need are cut off."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    dt: float
    unmeasured: np.ndarray  # (n,): joints whose torques were not recorded; their rows are not used


def filtering_of(
    robot: Robot, samples: list[Samples], cutoff: float | None, torque_cutoff: float | None, decimate: int | None
) -> Filtering:
    """The cut-offs, by what is given or by the band of the motion: ten and five times it.

    Where rates and accelerations were recorded and no cut-off is given, nothing is filtered.
    """
    rate = min(recording.rate for recording in samples)
    recorded = all(recording.qd is not None and recording.qdd is not None for recording in samples)
    check_filters(rate, cutoff, torque_cutoff, decimate)
    if recorded and cutoff is None and torque_cutoff is None:
        step = int(decimate or 1)
        return Filtering(None, None, step, rate, 0.0, "rates and accelerations were recorded")
    longest = max(recording.dt * len(recording.q) for recording in samples)
    telling = [r for r in samples if r.dt * len(r.q) >= TELLING * longest]  # short ones have a band of their ends
    band = max(band_in(robot, r) for r in telling)
    if cutoff is not None and torque_cutoff is not None:
        reason = "as asked for"
    else:
        reason = f"99.9 % of the rates' power is below {band:.3g} Hz; cut-offs are 10 and 5 times that"
    motion: float | None = cutoff
    if motion is None and not recorded:
        least = MOTION[1] / (END_SHARE * longest)
        motion = min(max(MOTION_CUTOFF * band, least), HIGHEST * rate)
        reason += limits_in_words(motion, MOTION_CUTOFF * band, least)
    torque = torque_cutoff
    if torque is None:
        least = TORQUE[1] / (END_SHARE * longest)
        torque = min(max(TORQUE_CUTOFF * band, least), HIGHEST * rate, motion or np.inf)
    step = max(1, int(rate / (2.0 * torque))) if decimate is None else int(decimate)
    return Filtering(motion, torque, step, rate, band, reason)


def band_in(robot: Robot, samples: Samples) -> float:
    """Of the positions, or of rates that were recorded where there are quaternions."""
    if robot.quaternions and samples.qd is not None:
        return band_of(samples.qd / coordinate_scales(robot), samples.rate)
    return band_of(samples.q / position_scales(robot), samples.rate)


def limits_in_words(cutoff: float, wished: float, least: float) -> str:
    if cutoff < wished:
        return f", at most {HIGHEST:g} of the sampling rate"
    return ", at least what keeps the ends that filters cut off short" if cutoff > wished else ""


def check_filters(rate: float, cutoff: float | None, torque_cutoff: float | None, decimate: int | None) -> None:
    for name, value in (("cutoff", cutoff), ("torque_cutoff", torque_cutoff)):
        if value is not None and not (is_number(value) and 0.0 < value <= 0.5 * rate):
            raise ValueError(
                f"{name} is {value!r} (expected a frequency in Hz above 0 and at most {0.5 * rate:g}, half of the"
                " sampling rate)"
            )
    if decimate is not None and not (is_number(decimate) and decimate >= 1 and decimate % 1 == 0):
        raise ValueError(f"decimate is {decimate!r} (expected a whole number: one row in so many is kept)")


def motion_of(robot: Robot, samples: Samples, filtering: Filtering) -> Motion:
    """Positions, rates and accelerations: as recorded or by differentiation of what was recorded."""
    q, qd, qdd, tau = samples.q, samples.qd, samples.qdd, samples.tau
    if filtering.motion is None:
        if qd is None or qdd is None:
            raise ValueError(f"{samples.name}: has no rates or accelerations (expected them, or cutoff=... in Hz)")
        return Motion(samples.t, q, qd, qdd, tau, samples.dt, samples.unmeasured)
    if qd is None and robot.quaternions:
        raise ValueError(
            f"{samples.name}: there is no 'qd', and a quaternion is not differentiated (expected qd where a robot has"
            " ball joints or a free base)"
        )
    low_pass = LowPass.design(samples.rate, filtering.motion, MOTION)
    half = low_pass.half
    if len(q) < 4 * half:
        raise ValueError(
            f"{samples.name}: {len(q) * samples.dt:.3g} s are too short for a cut-off of {filtering.motion:.3g} Hz,"
            f" whose filter takes {half * samples.dt:.3g} s at each end (expected a longer recording or a higher"
            " cutoff=...)"
        )
    rates = low_pass.apply(q, 1) if qd is None else low_pass.apply(qd)
    if qdd is not None:
        accelerations = low_pass.apply(qdd)
    else:
        accelerations = low_pass.apply(q, 2) if qd is None else low_pass.apply(qd, 1)
    inner = slice(half, len(q) - half)
    smooth = low_pass.apply(q)
    if robot.quaternions:
        smooth = np.asarray(normalize(robot, smooth))
    return Motion(samples.t[inner], smooth, rates, accelerations, tau[inner], samples.dt, samples.unmeasured)


def inconsistent_rates(robot: Robot, samples: Samples, filtering: Filtering, still: np.ndarray) -> list[str]:
    """What is said where recorded rates are not the derivative of the positions: other units, or a lag."""
    if samples.qd is None or robot.quaternions:
        return []
    low_pass = LowPass.design(samples.rate, filtering.motion or 0.1 * samples.rate, MOTION)
    if len(samples.q) < 4 * low_pass.half:
        return []
    slope, rate = low_pass.apply(samples.q, 1), low_pass.apply(samples.qd)
    size = np.sqrt(np.mean(slope**2, axis=0))
    off = np.sqrt(np.mean((rate - slope) ** 2, axis=0)) / np.where((size > 0.0) & ~still, size, np.inf)
    joints = [name for name, x in zip(robot.v_names, off, strict=True) if x > INCONSISTENT]
    if not joints:
        return []
    return [
        f"{samples.name}: the recorded rates of {', '.join(joints)} are up to {percent(float(off.max()))} off the"
        " derivative of the positions: other units, or filtered with a lag (recorded_rates=False takes positions alone)"
    ]


def check_torques(samples: list[Samples]) -> None:
    for recording in samples:
        if recording.unmeasured.all() or not recording.tau.any():
            raise ValueError(
                f"{recording.name}: all torques are zero in these data, or NaN (expected measured torques, or currents"
                " with gains=...)"
            )


def check_motion(robot: Robot, motions: list[Motion]) -> None:
    """A robot that stands still tells nothing but gravity, and that for one configuration."""
    spans = np.max([np.ptp(motion.q, axis=0) for motion in motions], axis=0)
    if (spans < STILL * position_scales(robot)).all():
        raise ValueError(
            "nothing moves in these data (expected a motion that excites every joint, such as lw.excitation gives; are"
            " angles in radians and times in seconds?)"
        )


class Rows(Protocol):
    """What is fitted to torques: a `TorqueModel`, or one with columns more."""

    @property
    def base_names(self) -> list[str]: ...

    @property
    def sizes(self) -> np.ndarray: ...

    @property
    def arms(self) -> np.ndarray: ...

    @property
    def support(self) -> list[np.ndarray]: ...

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray: ...


def rows_of(
    model: Rows, motion: Motion, filtering: Filtering
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Times, rates, rows (N, n, b + 1) with the torque less what is known last, and measured torques (N, n).

    Filtered and decimated, in chunks.
    """
    step = filtering.step_at(1.0 / motion.dt)
    if filtering.torque is None:
        for k in range(0, len(motion.t), CHUNK * step):
            part = slice(k, k + CHUNK * step, step)
            rows = stacked(model, motion, part)
            yield motion.t[part], motion.qd[part], rows[..., :-1], rows[..., -1]
        return
    low_pass = LowPass.design(1.0 / motion.dt, filtering.torque, TORQUE)
    if len(motion.t) < 3 * low_pass.half + 2 * step:
        raise ValueError(
            f"{len(motion.t) * motion.dt:.3g} s are left, too short for a torque cut-off of {filtering.torque:.3g}"
            " Hz (expected a longer recording or a higher torque_cutoff=...)"
        )
    span = -(-len(low_pass.taps) // step) * step  # samples that one row needs
    first, left = 0, np.zeros((0, 0, 0))
    begin = 0
    while begin < len(motion.t):
        part = slice(begin, begin + CHUNK)
        rows = stacked(model, motion, part)
        rows = np.concatenate([left, rows]) if len(left) else rows
        begin += CHUNK
        if len(rows) < span:
            left = rows
            continue
        filtered = decimated(rows, low_pass.taps, step)
        middle = first + low_pass.half + step * np.arange(len(filtered))
        yield motion.t[middle], motion.qd[middle], filtered[..., :-1], filtered[..., -1]
        used = step * len(filtered)
        first, left = first + used, rows[used:]


def stacked(model: Rows, motion: Motion, part: slice) -> np.ndarray:
    """Rows before filtering: regressor, the torque less what is known, and the measured torque."""
    rows = model.rows(motion.q[part], motion.qd[part], motion.qdd[part])
    tau = motion.tau[part]
    rows[..., -1] = tau - rows[..., -1]
    return np.concatenate([rows, tau[..., None]], axis=-1)


def reduced(
    model: Rows, motions: list[Motion], filtering: Filtering, blocks: int, speeds: np.ndarray
) -> tuple[Factors, Factors]:
    """The triangles of all recordings; a block of time is within one of them.

    Those of rows in which the joint is at least as fast as `speeds` (n,), and of the slower ones.
    """
    fast, slow = (Factors(model.sizes, model.arms, model.support) for _ in range(2))
    total = sum(len(motion.t) for motion in motions)
    for motion in motions:
        share = max(1, round(blocks * len(motion.t) / total))
        length = (motion.t[-1] - motion.t[0]) / share
        current = -1
        for t, qd, rows, tau in rows_of(model, motion, filtering):
            block = np.minimum(((t - motion.t[0]) / length).astype(int), share - 1)
            for b in range(int(block[0]), int(block[-1]) + 1):
                if b != current:
                    fast.add_block()
                    slow.add_block()
                    current = b
                inside = block == b
                for joint in map(int, np.flatnonzero(~motion.unmeasured)):
                    moving = np.abs(qd[:, joint]) >= speeds[joint]
                    for factors, used in ((fast, inside & moving), (slow, inside & ~moving)):
                        if used.any():
                            factors.add_rows(joint, rows[used, joint], tau[used, joint])
    return fast, slow


def without_short_parts(samples: list[Samples], filtering: Filtering) -> tuple[list[Samples], list[str]]:
    """The recordings without those parts between gaps that filters would use up, and what is said of these."""
    long = [not r.part or len(r.q) >= least_length(r.rate, filtering) for r in samples]
    if not any(long):
        longest = max(len(r.q) * r.dt for r in samples)
        raise ValueError(
            f"{samples[0].name}: the longest part between two gaps is {longest:.3g} s, too short for a cut-off of"
            f" {filtering.motion or filtering.torque:.3g} Hz (expected a recording without gaps or a higher cutoff=...)"
        )
    kept, lost = [], []
    for recording, enough in zip(samples, long, strict=True):
        if enough:
            kept.append(recording)
        else:
            duration = len(recording.q) * recording.dt
            lost.append(f"{recording.name}: {duration:.3g} s, too short for the filters, are left out")
    return kept, lost


def least_length(rate: float, filtering: Filtering) -> int:
    """Samples that both filters need."""
    step = filtering.step_at(rate)
    motion = 0 if filtering.motion is None else LowPass.design(rate, filtering.motion, MOTION).half
    torque = 0 if filtering.torque is None else LowPass.design(rate, filtering.torque, TORQUE).half
    return max(4 * motion, 2 * motion + 3 * torque + 2 * step)
