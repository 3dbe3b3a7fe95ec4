"""Embedded Runge-Kutta methods: one attempted step of every lane, written over the operations of `lanes`.

All trajectories of a batch advance side by side, each with its own time and step. A step is accepted if each component
of its error is at most atol + rtol max(|y|, |z|), where z is the state at its end; e is the largest error in these
units. The next step is h times

    0.9 e^(-0.7/q) e_before^(0.4/q)     after an accepted step, between 0.2 and 10, not above 1 right after a refusal
    0.9 e^(-1/q)                        after a refused one, between 0.2 and 1

(Gustafsson 1991), where q is the order. Samples are dense output of the method. A method without dense output makes an
extra step from the last accepted state to each sample. `events` decides where events cut a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .events import SCAN_POINTS, Crossing, Events
from .lanes import (
    DONE,
    LEAST_ERROR_BEFORE,
    LOG_FULL,
    NOT_FINITE,
    RUNNING,
    STEP_TOO_SMALL,
    STOPPED,
    TOO_MANY_STEPS,
)
from .methods import Method

SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0  # factors of the step
LEAST_ERROR = 1e-10
SHORTEST, SHORTEST_AT_0 = 1e-15, 1e-22  # steps, relative to t and to the end time
LOG2 = (-1.572386224, 8.480777361, -19.6686561, 25.7024023, -21.04673003, 12.1337429, -4.029151539)  # on [1/2, 1]
EXP2 = (0.001893754058, 0.008949590424, 0.05586033708, 0.2401418182, 0.6931544897, 0.9999998984)  # on [0, 1]

# Dense output from a step to the middle and one to the end. Rows: slope at the start, in the middle, at the end, mean
# slope to the middle, to the end. Columns: powers
HALVES = ((1, -6, 13, -12, 4), (0, -8, 32, -40, 16), (0, -1, 5, -8, 4), (0, 16, -32, 16, 0), (0, 7, -34, 52, -24))


class Driver:
    """The step of all lanes. `lanes.state` are the trajectories; k[0] is f at the current state."""

    def __init__(self, lanes: Any, method: Method, size: int, crossings: Sequence[Crossing] = ()) -> None:
        self.lanes, self.method, self.size = lanes, method, size
        degree = method.degree or (len(HALVES[0]) if crossings else 0)
        self.k, self.z = lanes.arrays(method.slots, size), lanes.array(size)
        self.powers = lanes.arrays(degree, size)
        slots = max(method.slots, 3)  # which `halves` uses
        self.k_there, self.z_there = lanes.arrays(slots, size), lanes.array(size)  # of a step within the step
        self.events = Events(lanes, crossings, self) if crossings else None

    def begin(self) -> None:
        """Prepare the first attempt; also after lanes took other trajectories."""
        self.lanes.rhs(self.lanes.state.t, self.lanes.y, self.k[0])
        if self.events:
            self.events.begin()

    def attempt(self, active: Any) -> None:
        """One step of the active lanes, accepted or not."""
        lanes, s, where = self.lanes, self.lanes.state, self.lanes.where
        t, h = s.t, s.h
        left = lanes.end - t
        last = h >= left
        step = where(active, where(last, left, h), 0.0)
        lanes.call(self.stages, t, step, lanes.y, self.k, self.z)
        error = self.error(step)
        fine = error <= 1.0
        accepted, refused = active & fine, active & ~fine
        landed, cut, stopped = where(last, lanes.end, t + step), None, None
        if self.events:
            landed, cut, stopped = self.events.search(t, step, landed, accepted)
            last = last & (landed >= lanes.end)
        self.sample(t, step, landed, accepted)
        self.replace(accepted, lanes.y, self.z)
        status = where(accepted & last, DONE, s.status)
        if self.events:
            status = where(stopped, STOPPED, status)
        if self.method.fixed:
            status = where(refused, NOT_FINITE, status)
        else:
            following = step * self.factor(error, accepted, refused)
            if self.events:  # do not skip an event that follows closely
                following = where(cut, lanes.minimum(following, step / float(SCAN_POINTS)), following)
            shortest = lanes.fma(t, SHORTEST, lanes.end * SHORTEST_AT_0)
            reason = where(lanes.is_nan(error), NOT_FINITE, STEP_TOO_SMALL)
            status = where(refused & (following <= shortest), reason, status)
            s.h = where(active, following, h)
        s.t = where(accepted, landed, t)
        s.steps = s.steps + accepted
        s.rejected = s.rejected + refused
        running = status == RUNNING
        if self.events:
            status = where(running & (s.logged >= lanes.room), LOG_FULL, status)
        s.status = where(running & (s.steps + s.rejected >= lanes.max_steps), TOO_MANY_STEPS, status)
        self.renew(accepted, cut)

    def stages(self, t: Any, h: Any, y: Any, k: Any, z: Any) -> None:
        """All stages of a step from y except k[0]; z is the state at its end."""
        for s in range(1, self.method.stages):
            self.stage(s, t, h, y, k, z)
        if not self.method.first_is_last:  # otherwise z is the state of the last stage
            self.combine(self.method.b, h, y, k, z)

    def stage(self, s: int, t: Any, h: Any, y: Any, k: Any, z: Any) -> None:
        """k_s = f(t + c_s h, y + h Σ a_sj k_j)"""
        self.combine(self.method.a[s], h, y, k, z)
        self.lanes.rhs(self.lanes.fma(h, self.method.c[s], t), z, k[s])

    def combine(self, weights: Sequence[float], h: Any, y: Any, k: Any, z: Any) -> None:
        for i in self.lanes.components(self.size):
            z[i] = self.lanes.fma(h, self.weighted(weights, k, i), y[i])

    def weighted(self, weights: Sequence[float], k: Any, i: Any) -> Any:
        """Σ weight_j k_j, component i"""
        total: Any = None
        for j, weight in enumerate(weights):
            if weight:
                total = k[j][i] * weight if total is None else self.lanes.fma(k[j][i], weight, total)
        return total

    def error(self, step: Any) -> Any:
        """The largest error in units of the tolerance; NaN if z is not finite."""
        lanes, method, k = self.lanes, self.method, self.k
        largest, not_finite = lanes.fold(lanes.maximum), lanes.fold(lanes.add)
        for i in lanes.components(self.size):
            y, z = lanes.y[i], self.z[i]
            not_finite.include(i, 0.0 * z)
            if not method.fixed:
                larger = lanes.maximum(lanes.absolute(y), lanes.absolute(z))
                unit = step / lanes.fma(larger, lanes.rtol, lanes.atol[i])
                e = lanes.absolute(self.weighted(method.error, k, i) * unit)
                if method.damp:
                    d = self.weighted(method.damp, k, i) * unit
                    e = e * e / lanes.sqrt(lanes.fma(d * d, 0.01, e * e) + 1e-300)
                largest.include(i, e)
        return largest.result() + not_finite.result()

    def factor(self, error: Any, accepted: Any, refused: Any) -> Any:
        """The ratio of the next step to this one; idle lanes keep their memory."""
        lanes, s, where, q = self.lanes, self.lanes.state, self.lanes.where, float(self.method.order)
        e = where(error < 1e300, lanes.maximum(error, LEAST_ERROR), 1e300)
        log, log_before = self.log2(e), self.log2(s.error)
        good = lanes.fma(log, -0.7 / q, log_before * (0.4 / q))
        factor = self.exp2(where(accepted, good, log * (-1.0 / q))) * SAFETY
        most = where(accepted & (s.refused < 0.5), LARGEST, 1.0)
        s.error = where(accepted, lanes.maximum(error, LEAST_ERROR_BEFORE), s.error)
        s.refused = where(accepted, 0.0, where(refused, 1.0, s.refused))
        return lanes.minimum(lanes.maximum(factor, SMALLEST), most)

    def log2(self, x: Any) -> Any:
        """log2 of positive numbers, to about six digits."""
        fraction, exponent = self.lanes.frexp(x)
        return exponent + self.polynomial(LOG2, fraction)

    def exp2(self, x: Any) -> Any:
        below = self.lanes.floor(x)
        return self.lanes.ldexp(self.polynomial(EXP2, x - below), below)

    def polynomial(self, coefficients: Sequence[float], x: Any) -> Any:
        total: Any = coefficients[0]
        for c in coefficients[1:]:
            total = self.lanes.fma(total, x, c)
        return total

    def replace(self, mask: Any, target: Any, source: Any) -> None:
        for i in self.lanes.components(self.size):
            target[i] = self.lanes.where(mask, source[i], target[i])

    def renew(self, accepted: Any, cut: Any) -> None:
        """k[0] for the next step: the last stage, or a new evaluation of f, as after an event."""
        lanes, s = self.lanes, self.lanes.state
        if not self.method.first_is_last:
            lanes.rhs(s.t, lanes.y, self.k[0])
            return
        self.replace(accepted, self.k[0], self.k[self.method.stages - 1])
        if self.events:
            for _ in lanes.when(cut):
                lanes.rhs(s.t, lanes.y, self.k_there[0])
                self.replace(cut, self.k[0], self.k_there[0])

    # samples and dense output

    def sample(self, t: Any, step: Any, landed: Any, accepted: Any) -> None:
        """Write all samples in an accepted step."""
        lanes, s, where = self.lanes, self.lanes.state, self.lanes.where
        if self.method.dense:
            for _ in lanes.when(self.due(landed, accepted)[2]):
                self.prepare(t, step)
        for _ in lanes.forever():
            wanted, due, inside = self.due(landed, accepted)
            if lanes.leave(lanes.none(due)):
                break
            for _ in lanes.when(inside):
                if self.method.dense:
                    short = where(inside, wanted - t, 0.0)
                    self.interpolate(short, short / step)
                else:
                    self.step_to(wanted, t, inside)
            self.replace(~inside, self.z_there, self.z)
            lanes.write_sample(due, s.next, self.z_there)
            s.next = s.next + due

    def due(self, landed: Any, accepted: Any) -> tuple[Any, Any, Any]:
        """The time of the next sample, whether the step reaches it, and whether the step goes beyond it."""
        lanes, index = self.lanes, self.lanes.state.next
        wanted = lanes.sample_time(index)
        due = accepted & (index < lanes.samples) & (wanted <= landed)
        return wanted, due, due & (wanted < landed)

    def prepare(self, t: Any, step: Any) -> None:
        """Compute the dense output of the step: y + θ h (P_0 + θ P_1 + ...) at t + θ h."""
        if self.method.dense:
            self.lanes.call(self.dense_output, t, step, self.lanes.y, self.k, self.z_there, self.powers)
        else:
            self.halves(t, step)

    def dense_output(self, t: Any, h: Any, y: Any, k: Any, z: Any, powers: Any) -> None:
        """Dense output from further stages and the weights of the method."""
        method = self.method
        for s in range(method.stages, len(method.a)):
            self.stage(s, t, h, y, k, z)
        for i in self.lanes.components(self.size):
            k[len(method.a)][i] = self.weighted(method.b, k, i)
        for power in range(method.degree):
            for i in self.lanes.components(self.size):
                powers[power][i] = self.weighted([row[power] for row in method.dense], k, i)

    def halves(self, t: Any, step: Any) -> None:
        """Dense output of methods without weights for it: from a step to the middle and the step to the end."""
        lanes, y = self.lanes, self.lanes.y
        half = step * 0.5
        self.step_to(t + half, t, True)
        lanes.rhs(t + half, self.z_there, self.k_there[1])
        lanes.rhs(t + step, self.z, self.k_there[2])
        length = lanes.where(step > 0.0, step, 1.0)
        for i in lanes.components(self.size):
            parts = [self.k[0][i], self.k_there[1][i], self.k_there[2][i]]
            parts += [(z[i] - y[i]) / length for z in (self.z_there, self.z)]
            for power in range(len(HALVES[0])):
                total: Any = 0.0
                for part, row in zip(parts, HALVES, strict=True):
                    total = lanes.fma(part, float(row[power]), total) if row[power] else total
                self.powers[power][i] = total

    def interpolate(self, short: Any, part: Any) -> None:
        """z_there is the dense output at `part` of the step, `short` after its start."""
        *lower, last = range(self.method.degree or len(HALVES[0]))
        for i in self.lanes.components(self.size):
            total = self.powers[last][i]
            for power in reversed(lower):
                total = self.lanes.fma(total, part, self.powers[power][i])
            self.z_there[i] = self.lanes.fma(short, total, self.lanes.y[i])

    def probe(self, part: float, step: Any) -> None:
        """z_there is an estimate at `part` of the step, on the cubic Hermite polynomial through its ends."""
        lanes, first, last = self.lanes, self.k[0], self.k[self.method.stages - 1]
        for_z, for_first, for_last = (
            part * part * (3.0 - 2.0 * part),
            part * (1.0 - part) ** 2,
            part * part * (part - 1.0),
        )
        for i in lanes.components(self.size):
            slope = lanes.fma(last[i], for_last, first[i] * for_first)
            way = (self.z[i] - lanes.y[i]) * for_z
            self.z_there[i] = lanes.fma(step, slope, way) + lanes.y[i]

    @property
    def can_probe(self) -> bool:
        return self.method.first_is_last

    def step_to(self, time: Any, t: Any, mask: Any) -> None:
        """z_there is the state at a time within the step, by a step of the method from its start."""
        for i in self.lanes.components(self.size):
            self.k_there[0][i] = self.k[0][i]
        short = self.lanes.where(mask, time - t, 0.0)
        self.lanes.call(self.stages, t, short, self.lanes.y, self.k_there, self.z_there)
