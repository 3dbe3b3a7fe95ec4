"""From samples to motions: zero-phase low-pass filters by SciPy, and derivatives by local polynomials.

A Butterworth filter runs forwards and backwards, so that nothing is delayed. Positions are filtered at the cut-off,
torques and every column of the regressor at half of that (parallel filtering). Then some rows are kept. τ = Y π
remains true row by row, with jumps of friction, and noise above the band is removed.
Derivatives are those of the polynomial of degree eight through nine neighbours: exact to 1e-6 below an eighth of the
sampling rate; the filter removes what is above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..api.kinematics import normalize
from ..extras import import_optional
from ..robot import Robot
from .recorded import is_number
from .samples import Samples, position_scales

ENDS = 2.0  # periods of the cut-off that are left out at each end: the filter rings there
PADDED = 3.0  # periods of the cut-off by which the ends are extrapolated, where the filter settles
ORDER = 4  # of the filter in each direction: -6 dB at the cut-off, 48 dB an octave above
WINDOW = 9  # samples of the polynomial: with fewer, rates of fast motions are too small
HIGHEST = 0.3  # of the sampling rate: there is room for the filter's slope below Nyquist's frequency
TORQUE = 0.5  # of the cut-off of positions: that of torques and regressor, where filtered positions are as measured
OVER_NOISE = 20.0  # times the noise floor: lines of the spectrum above it are motion
ROUNDING = 1e-9  # rad, or of the robot's size
NOISIEST = 0.02  # rad, or of the robot's size: no encoder has more noise
FINE, KEPT = 5.0, 2.0  # rows in a period of the cut-off, before and after the regressor is filtered


def low_pass(values: np.ndarray, rate: float, cutoff: float | None) -> np.ndarray:
    """Filter along the first axis without delay; without a cut-off, the values as they are.

    Parameters
    ----------
    values : ndarray, (N, ...)
        Samples at equal times.
    rate, cutoff : float
        In Hz.

    Returns
    -------
    ndarray, (N, ...)
    """
    if cutoff is None or cutoff >= 0.5 * rate:
        return values
    signal = import_optional("scipy.signal", extra="identify")
    sections = signal.butter(ORDER, cutoff / (0.5 * rate), output="sos")
    reflected = min(len(values) - 1, math.ceil(PADDED * rate / cutoff))
    return np.asarray(signal.sosfiltfilt(sections, values, axis=0, padlen=reflected))


def derivative(values: np.ndarray, rate: float, order: int = 1) -> np.ndarray:
    """The derivative along the first axis of samples at `rate` Hz, by local polynomials."""
    signal = import_optional("scipy.signal", extra="identify")
    return np.asarray(
        signal.savgol_filter(values, WINDOW, WINDOW - 1, deriv=order, delta=1.0 / rate, axis=0, mode="interp")
    )


@dataclass(frozen=True)
class Filtering:
    """The cut-off of positions in Hz (None: not filtered), and the step between rows that are kept."""

    cutoff: float | None
    step: int  # of the slowest recording; others leave out more
    rate: float  # of that, Hz
    reason: str

    @property
    def torque(self) -> float | None:
        """The cut-off of torques and regressor."""
        return None if self.cutoff is None else TORQUE * self.cutoff

    def row_step(self, rate: float) -> int:
        """The step between rows that are kept: recordings of different rates have as many rows in a second."""
        return max(1, int(self.step * rate / self.rate + 1e-6))

    def for_others(self, samples: Sequence[Samples]) -> Filtering:
        """This filtering for other recordings, as far as their sampling rates allow it."""
        rate = min(recording.rate for recording in samples)
        if self.cutoff is None:
            return self
        return replace(self, cutoff=min(self.cutoff, HIGHEST * rate))

    @property
    def text(self) -> str:
        how = "motion and torque as recorded"
        if self.cutoff is not None:
            how = f"motion below {self.cutoff:.3g} Hz, torque and regressor below {self.torque:.3g} Hz"
        return f"{how}, {'every row' if self.step == 1 else f'one row in {self.step}'} ({self.reason})"


@dataclass(frozen=True)
class Motion:
    """The motion from which the regressor is computed, at equal times, without the ends where filters lack samples."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray  # filtered
    raw: np.ndarray  # torques as measured
    dt: float
    unmeasured: np.ndarray  # (n,): joints whose torques were not recorded; their rows are not used
    still: np.ndarray  # (n,): joints that move no more than noise, and are taken to stand still


def filtering_at(samples: Sequence[Samples], cutoff: float | None, decimate: int | None, reason: str) -> Filtering:
    rate = min(recording.rate for recording in samples)
    step = 1 if cutoff is None else max(1, int(rate / (KEPT * cutoff)))
    return Filtering(cutoff, int(decimate or step), rate, reason)


def candidates(samples: Sequence[Samples]) -> list[float]:
    """Cut-offs to choose from, five in a decade; each end is at most a tenth of the longest recording."""
    highest = HIGHEST * min(recording.rate for recording in samples)
    lowest = 10.0 * ENDS / max(recording.dt * len(recording.q) for recording in samples)
    count = max(1, int(5.0 * math.log10(max(highest / lowest, 1.0))) + 1)
    return [highest * 10.0 ** (-k / 5.0) for k in range(count)]


def check_filters(rate: float, cutoff: float | None, decimate: int | None) -> None:
    if cutoff is not None and not (is_number(cutoff) and 0.0 < cutoff <= 0.5 * rate):
        raise ValueError(
            f"cutoff is {cutoff!r} (expected a frequency in Hz above 0 and at most {0.5 * rate:g}, half of the sampling"
            " rate)"
        )
    if decimate is not None and not (is_number(decimate) and decimate >= 1 and decimate % 1 == 0):
        raise ValueError(f"decimate is {decimate!r} (expected a whole number: one row in so many is kept)")


def has_rates(samples: Sequence[Samples]) -> bool:
    return all(recording.qd is not None and recording.qdd is not None for recording in samples)


def ends_of(rate: float, cutoff: float | None) -> int:
    """The number of samples at each end for which the filter and the polynomial have neighbours on one side only."""
    return 0 if cutoff is None else math.ceil(ENDS * rate / cutoff) + WINDOW


def least_length(rate: float, cutoff: float | None) -> int:
    """The least number of samples that the filters can use."""
    return 0 if cutoff is None else 4 * ends_of(rate, cutoff) + 2 * math.ceil(rate / (TORQUE * cutoff))


def filtered_motion(robot: Robot, samples: Samples, cutoff: float | None) -> Motion:
    """Positions, rates, accelerations and torques below a cut-off: rates as recorded, or by differentiation."""
    q, qd, qdd, rate = samples.q, samples.qd, samples.qdd, samples.rate
    if cutoff is None:
        if qd is None or qdd is None:
            raise ValueError(f"{samples.name}: has no rates or accelerations (expected them, or cutoff=... in Hz)")
        still = np.zeros(robot.n, dtype=bool)
        return Motion(samples.t, q, qd, qdd, samples.tau, samples.tau, samples.dt, samples.unmeasured, still)
    cut = ends_of(rate, cutoff)
    if len(q) < least_length(rate, cutoff):
        raise ValueError(
            f"{samples.name}: {len(q) * samples.dt:.3g} s are too short for a cut-off of {cutoff:.3g} Hz (expected a"
            " longer recording or a higher cutoff=...)"
        )
    smooth, tau = low_pass(q, rate, cutoff), low_pass(samples.tau, rate, TORQUE * cutoff)
    rates = derivative(smooth, rate) if qd is None else low_pass(qd, rate, cutoff)
    if qdd is not None:
        accelerations = low_pass(qdd, rate, cutoff)
    else:
        accelerations = derivative(smooth, rate, 2) if qd is None else derivative(rates, rate)
    if robot.quaternions:
        smooth = np.asarray(normalize(robot, smooth))
    inner = slice(cut, len(q) - cut)
    t, positions, rates, accelerations = (x[inner] for x in (samples.t, smooth, rates, accelerations))
    still = still_joints(robot, q, smooth)
    if still.any():
        positions = np.where(still, positions.mean(axis=0), positions)
        rates, accelerations = rates * ~still, accelerations * ~still
    parts = (t, positions, rates, accelerations, tau[inner], samples.tau[inner])
    return Motion(*parts, samples.dt, samples.unmeasured, still)


def still_joints(robot: Robot, q: np.ndarray, smooth: np.ndarray) -> np.ndarray:
    """Which joints move no farther than the noise that the filter removes: a regressor of noise has no information."""
    if robot.quaternions:
        return np.zeros(robot.n, dtype=bool)
    moves, noise = smooth.std(axis=0), (q - smooth).std(axis=0)
    spans = np.ptp(smooth, axis=0) / position_scales(robot)
    return np.asarray((spans < ROUNDING) | ((moves <= 2.0 * noise) & (spans < NOISIEST)))


def rows_in_parallel(
    rows: Callable[[np.ndarray], np.ndarray], motion: Motion, filtering: Filtering
) -> tuple[np.ndarray, np.ndarray]:
    """The samples that are kept, and the result of `rows` (kept, ...) there, filtered as torques are."""
    rate = 1.0 / motion.dt
    step, cutoff = filtering.row_step(rate), filtering.torque
    if cutoff is None:
        index = np.arange(0, len(motion.t), step)
        return index, rows(index)
    fine = max(1, min(step, int(rate / (FINE * 2.0 * cutoff))))
    index, every = np.arange(0, len(motion.t), fine), max(1, step // fine)
    cut = math.ceil(rate / fine / cutoff)
    if len(index) <= 2 * cut + every:
        raise ValueError(
            f"{len(motion.t) * motion.dt:.3g} s are left, too short for a cut-off of {filtering.cutoff:.3g} Hz"
            " (expected a longer recording or a higher cutoff=...)"
        )
    kept = slice(cut, len(index) - cut, every)
    return index[kept], low_pass(rows(index), rate / fine, cutoff)[kept]


def without_short_parts(samples: Sequence[Samples], filtering: Filtering) -> tuple[list[Samples], list[str]]:
    """The recordings without the parts between gaps that are too short for the filters, and notes on these."""
    kept, notes = [], []
    for recording in samples:
        if recording.part and len(recording.q) < least_length(recording.rate, filtering.cutoff):
            duration = len(recording.q) * recording.dt
            notes.append(f"{recording.name}: {duration:.3g} s, too short for the filters, are left out")
        else:
            kept.append(recording)
    if not kept:
        longest = max(len(r.q) * r.dt for r in samples)
        raise ValueError(
            f"{samples[0].name}: the longest part between two gaps is {longest:.3g} s, too short for a cut-off of"
            f" {filtering.cutoff:.3g} Hz (expected a recording without gaps or a higher cutoff=...)"
        )
    return kept, notes


def smoothing_cutoff(q: np.ndarray, rate: float, grid: Sequence[float]) -> float:
    """The cut-off of least error of accelerations, the sum of motion that it removes and noise that it passes.

    Noise is white, of the size of the upper half of the spectrum; lines well above it are motion.
    """
    count = len(q)
    k = np.linspace(-1.0, 1.0, count)[:, None]
    centred = q - q.mean(axis=0)
    centred = centred - k * ((k * centred).sum(axis=0) / (k * k).sum())
    power = np.abs(np.fft.rfft(centred * np.hanning(count)[:, None], axis=0)) ** 2
    frequencies = np.fft.rfftfreq(count, 1.0 / rate)[:, None]
    noise = np.median(power[len(power) // 2 :], axis=0) / math.log(2.0)
    motion = np.where(power > OVER_NOISE * noise, power, 0.0) * frequencies**4
    sizes = motion.sum(axis=0)
    sizes = np.where(sizes > 0.0, sizes, np.inf)

    def error(cutoff: float) -> float:
        passed = 1.0 / (1.0 + (frequencies / cutoff) ** (2 * ORDER))
        errors = ((1.0 - passed) ** 2 * motion + passed**2 * noise * frequencies**4).sum(axis=0)
        return float((errors / sizes).max())

    return min(grid, key=error)
