"""Zero-phase low-pass filters that differentiate, and the cut-offs that a recording asks for.

A filter is a sinc times a power of a cosine, symmetric about its middle, so that nothing is delayed. It passes what is
below half of its cut-off and stops what is above one and a half of it: to 1e-6 below a tenth, to 1e-2 at one half. Its
support is finite: the ends of a recording, where it would need samples that there are not, are left out.

    q̂ = g * q,   q̂' = g' * q,   q̂'' = g'' * q            one g, differentiated exactly below Nyquist's frequency

Torques and regressor then pass one more filter, the same for both (parallel filtering), of which one sample in so many
is kept (decimation): τ = Y π stays true row by row, whatever the filter is, and noise above the motion's band is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MOTION, TORQUE = (8, 3.2), (4, 1.6)  # power of the cosine, and half of the filter's length, in periods of the cut-off
BAND_SHARE = 0.999  # of the power of a rate is within the band
OVER_NOISE = 20.0  # times the noise floor: below that a line of the spectrum is noise
OCTAVE_PARTS, RISE = 3, 3.0  # sums of the spectrum in thirds of octaves; a third with so many times the least is motion
BUMP, WIDE = 0.01, 0.9  # of the power: a smaller bump above a valley is noise, if so much of it is wider than an octave
MOTION_CUTOFF, TORQUE_CUTOFF = 10.0, 5.0  # times the band
HIGHEST = 0.3  # of the sampling rate, the highest cut-off: there is room for its slope below Nyquist's frequency
END_SHARE = 0.08  # of a recording, the most that a filter may take at each end
DIRECT = 100  # products of matrices for the sums over a filter's taps, at most
SLOW = 0.002  # of the fastest joint's rate: joints below that do not decide on the band


@dataclass(frozen=True)
class LowPass:
    """A low-pass filter for samples at `rate` (Hz): `taps` of even symmetry, an odd number of them."""

    rate: float
    cutoff: float
    taps: np.ndarray

    @staticmethod
    def design(rate: float, cutoff: float, shape: tuple[int, float]) -> LowPass:
        power, periods = shape
        half = math.ceil(periods * rate / cutoff)
        k = np.arange(-half, half + 1)
        taps = np.sinc(2.0 * cutoff / rate * k) * np.cos(0.5 * np.pi / (half + 1) * k) ** power
        return LowPass(rate, cutoff, taps / taps.sum())

    @property
    def half(self) -> int:
        """Samples that are lost at each end."""
        return len(self.taps) // 2

    def derivative(self, order: int) -> np.ndarray:
        """The taps that filter and differentiate at once; exact for polynomials of degree `order`."""
        if order == 0:
            return self.taps
        size = 4 * len(self.taps)
        spectrum = np.fft.rfft(np.roll(np.pad(self.taps, (0, size - len(self.taps))), -self.half))
        slope = 2j * np.pi * np.fft.rfftfreq(size, 1.0 / self.rate)
        taps = np.roll(np.fft.irfft(spectrum * slope**order, size), self.half)[: len(self.taps)]
        k = np.arange(-self.half, self.half + 1) / self.rate
        if order == 1:
            taps = (taps - taps[::-1]) / 2.0
            return np.asarray(taps / -(taps @ k))
        taps = (taps + taps[::-1]) / 2.0
        taps = taps - taps.sum() * self.taps
        return np.asarray(taps * (2.0 / (taps @ k**2)))

    def apply(self, values: np.ndarray, order: int = 0) -> np.ndarray:
        """(N, n) to (N - 2 half, n): filtered, and differentiated `order` times."""
        return convolved(values, self.derivative(order))


def convolved(values: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """The convolution along the first axis, where all taps meet samples."""
    start = values[len(values) // 2]  # large constants would cost digits of the small signal
    size = fast_length(len(values))
    product = np.fft.rfft(values - start, size, axis=0) * np.fft.rfft(taps, size)[:, None]
    full = np.fft.irfft(product, size, axis=0)
    return np.asarray(full[len(taps) - 1 : len(values)] + start * taps.sum())


def fast_length(least: int) -> int:
    """The next number that has no prime factors but 2, 3 and 5, for which Fourier transforms are fast."""
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three << max(0, (-(-least // three) - 1).bit_length()))
            three *= 3
        five *= 5
    return best


def decimated(values: np.ndarray, taps: np.ndarray, step: int) -> np.ndarray:
    """Filtered along the first axis, and every `step`-th sample of that: nothing that is dropped is computed.

    Taps are padded to whole steps, so that the sum over them is one product of matrices for each step.
    """
    parts = -(-len(taps) // step)
    if (
        parts > DIRECT and len(values) >= parts * step
    ):  # Fourier transforms of all are faster than sums over so many taps
        count = (len(values) - parts * step) // step + 1
        flat = convolved(values.reshape(len(values), -1), taps)[::step][:count]
        return np.ascontiguousarray(flat).reshape(count, *values.shape[1:])
    taps = np.pad(taps[::-1], (0, parts * step - len(taps)))
    count = (len(values) - parts * step) // step + 1
    rows = values.reshape(len(values), -1)
    total = np.zeros((count, rows.shape[1]))
    for part in range(parts):
        piece = rows[part * step : (part + count) * step].reshape(count, step, -1)
        total += np.einsum("d,kdc->kc", taps[part * step : (part + 1) * step], piece)
    return total.reshape(count, *values.shape[1:])


def band_of(q: np.ndarray, rate: float) -> float:
    """The frequency below which 99.9 % of the power of the rates is, of the joint that goes highest.

    Lengths are in units of the robot's size. Noise is distinguished from motion by where it begins, and by its floor,
    the median of the spectrum's upper half. 0: nothing moves.
    """
    count = len(q)
    k = np.linspace(-1.0, 1.0, count)[:, None]
    centred = q - q.mean(axis=0)
    centred = centred - k * ((k * centred).sum(axis=0) / (k * k).sum())
    power = np.abs(np.fft.rfft(centred * np.hanning(count)[:, None], axis=0)) ** 2
    frequencies = np.fft.rfftfreq(count, 1.0 / rate)
    floor = np.median(power[len(power) // 2 :], axis=0) / math.log(2.0)
    rates = power * frequencies[:, None] ** 2
    counted = (power > OVER_NOISE * floor) & (np.arange(len(power))[:, None] < noise_begins(rates))
    rates = np.where(counted, rates, 0.0)
    total = rates.sum(axis=0)
    band = 0.0
    for j in np.flatnonzero(total > SLOW**2 * total.max()):
        band = max(band, float(frequencies[np.searchsorted(np.cumsum(rates[:, j]), BAND_SHARE * total[j])]))
    return band


def noise_begins(rates: np.ndarray) -> np.ndarray:
    """Of each joint the line of the spectrum of its rates from which on all is noise; the end, if there is none.

    Differentiated noise grows with the frequency, also noise that falls by up to 9 dB an octave before, such as that of
    times which a logger notes late. What a motion adds falls. From the highest frequency down, noise is therefore what
    is before the sums over thirds of octaves rise again. Noise may also be a bump, of encoders that are filtered: wide,
    small, and apart from the motion. (A single line, as wide as a third, may be a small fast motion.)
    """
    count = len(rates)
    thirds = math.ceil(OCTAVE_PARTS * math.log2(count))
    edges = np.unique(np.round(count * 2.0 ** (-np.arange(thirds + 1) / OCTAVE_PARTS)).astype(int))
    sums = np.add.reduceat(rates, edges[:-1], axis=0)
    return np.array([edges[min(growing_from(own), bump_from(own))] for own in sums.T])


def growing_from(sums: np.ndarray) -> int:
    """The third from which on there is noise that grows with the frequency."""
    first, least = len(sums), sums[-1]
    for k in range(len(sums) - 2, -1, -1):
        if sums[k] > RISE * least:
            break
        if sums[k] < least:
            first, least = k, sums[k]
    return first


def bump_from(sums: np.ndarray) -> int:
    """The third from which on there is a bump of noise: the first valley above the motion after which sums rise."""
    for k in range(int(np.argmax(sums)), len(sums) - 1):
        above = np.sort(sums[k + 1 :])[::-1]
        wide = above[:2].sum() < WIDE * above.sum()
        if wide and above[0] > RISE * sums[k] and above.sum() < BUMP * sums.sum():
            return k + 1
    return len(sums)
