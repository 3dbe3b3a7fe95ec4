"""The operations of the driver mean the same in NumPy and in machine code."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.codegen.llvm.flow import Layout, assemble
from linkwise.codegen.llvm.lanes import LlvmLanes
from linkwise.ode.lanes import RECORD, Functions, NumpyLanes, Trajectories
from linkwise.ode.methods import entries, method
from linkwise.targets.cpu.host import host_target
from linkwise.targets.cpu.solver import ADVANCE, address
from linkwise.targets.driver_text import HEAD
from robots import CART, relative

SIZE, EVENTS, WIDTH = 6, 3, host_target().lanes("float64")
TIMES = np.array([0.5, 1.0, 2.0])


def numbers(lanes, a, b, c):
    """Every operation over numbers."""
    where, p = lanes.where, lanes.absolute(a) + 0.1
    fraction, exponent = lanes.frexp(p)
    mask, other = a < b, c >= 0.0
    yield from (a + b, a - b, a * b, a / b, -a, 2.0 - a, 0.5 * a, lanes.fma(a, b, c), lanes.fma(2.0, b, 1.0))
    yield from (lanes.minimum(a, b), lanes.maximum(a, -1.0), lanes.absolute(a), lanes.copysign(1e-3, b))
    yield from (lanes.sqrt(p), lanes.floor(a), fraction, exponent, lanes.ldexp(fraction, lanes.floor(b)))
    yield from (where(mask, a, b), where(mask & other, 1.0, c), where(mask | other, a, 0.0), where(~mask, b, c))
    yield from (where(a == b, 1.0, c), where(a <= b, 1.0, 0.0), where(a > 0.5, a, b))
    yield where(lanes.is_nan(lanes.sqrt(a)), 1.0, 2.0)


def flow(lanes, a, b, c):
    """Loops, branches, variables, functions, and reductions over components and events."""
    total, count = lanes.variable(), lanes.variable()
    total.value, count.value = 0.0, 0.0
    for k in lanes.repeat(7):
        if lanes.leave(lanes.none(total.value < 3.0)):
            break
        total.value = total.value + lanes.absolute(a) + lanes.number(k)
        for _ in lanes.when(b > 0.0, k < 3):
            count.value = lanes.where(b > 0.0, count.value + lanes.pick(k == 1, 10.0, 1.0), count.value)
    yield from (total.value, count.value)
    for _ in lanes.forever():
        total.value = total.value * 0.5
        if lanes.leave(lanes.none(total.value > 1.0)):
            break
    yield total.value
    largest, added, stack = lanes.fold(lanes.maximum), lanes.fold(lanes.add), lanes.arrays(2, SIZE)

    def doubled(x, source, target):
        for i in lanes.components(SIZE):
            target[1][i] = source[i] * 2.0 + x

    lanes.call(doubled, a, lanes.y, stack)
    lanes.call(doubled, b, lanes.y, stack)
    for i in lanes.components(SIZE):
        largest.include(i, lanes.absolute(stack[1][i]))
        added.include(i, stack[1][i])
    yield from (largest.result(), added.result())
    way, few = lanes.per_event([1, 0, -1]), [0, 2]
    for e in lanes.unrolled(range(EVENTS)):
        lanes.values[e] = lanes.y[e] + 1.0
    seen = lanes.map_events(
        lambda e: lanes.where(way[e] == 0, lanes.absolute(lanes.values[e]), way[e] * lanes.values[e])
    )
    every = range(EVENTS)
    yield from (lanes.reduce(lanes.maximum, seen, every), lanes.reduce(lanes.minimum, seen, few))
    yield from (lanes.reduce(lanes.add, seen, every), lanes.reduce(lanes.add, seen, few))
    yield lanes.where(lanes.reduce(lanes.either, lanes.map_events(lambda e: seen[e] > 0.5), few), 1.0, 0.0)


def records(lanes, a, b, c):
    """Fields of the records, samples and log."""
    s, mask = lanes.state, a < b
    s.steps = s.steps + mask
    s.status = lanes.where(mask, 4, s.status)
    s.h = lanes.where(s.steps + s.rejected >= 3, a, s.h)
    yield from (s.h, lanes.where(s.status == 4, 1.0, 0.0), lanes.sample_time(s.next))
    lanes.write_sample(mask & (s.next < lanes.samples), s.next, lanes.y)
    s.next = s.next + mask
    lanes.write_log(mask, s.logged, a, b, lanes.y)
    yield lanes.sample_time(s.next)


def in_machine_code(text, rows, width):
    """What the text gives in each lane, and the arrays that it writes."""
    lanes = LlvmLanes(Layout("double", width, host_target().fused), RECORD, SIZE, EVENTS)
    results = list(text(lanes, lanes.y[0], lanes.y[1], lanes.y[2]))
    target = lanes.array(len(results))
    for k, value in enumerate(results):
        target[k] = value
    module = assemble(*lanes.texts.values(), lanes.flow.function(HEAD.format(lanes=width)))
    code = host_target().load(text=module)
    function = ADVANCE(code.address(f"advance_{width}"))
    out, log, found = np.zeros((len(rows.y), 3, SIZE)), rows.log.copy(), []
    for first in range(0, len(rows.y), width):
        context = np.zeros((lanes.vectors, width))
        context[: lanes.row] = rows.records[first : first + width].T
        context[lanes.index] = np.arange(first, first + width).view(float)
        empty = np.zeros(0)
        function(
            0, 0, 0, 0, address(context), 2.0, address(TIMES), 3, address(out), 1e-8, address(empty), address(log), 2,
            100, 1,
        )  # fmt: skip
        found.append(context[-len(results) :])
    return np.concatenate(found, axis=1), out, log


@pytest.mark.parametrize("text", [numbers, flow, records], ids=lambda text: text.__name__)
@pytest.mark.parametrize("width", sorted({1, WIDTH}))
def test_verbs_mean_the_same_in_numpy_and_in_machine_code(text, width):
    rng = np.random.default_rng(5)
    for count in (1, 2):  # `none` and `when` ask all lanes
        y = rng.normal(size=(width * count, SIZE))
        rows = Trajectories(y, 0.1, EVENTS, 2)
        rows.steps, rows.next = rng.integers(0, 4, len(y)), rng.integers(0, 4, len(y))
        code, code_out, code_log = in_machine_code(text, rows, width)
        out = np.zeros_like(code_out)
        for first in range(0, len(y), width):
            part = slice(first, first + width)
            block = Trajectories(y[part], 0.1, EVENTS, 2)
            block.records[:] = rows.records[part]
            lanes = NumpyLanes(block, Functions(None), 2.0, TIMES, out[part], 1e-8, np.ones(SIZE))
            with np.errstate(invalid="ignore"):
                plain = np.array([x + np.zeros(width) for x in text(lanes, *lanes.y[:3].copy())])
            assert np.allclose(code[:, part], plain, rtol=1e-13, atol=1e-13, equal_nan=True)
            assert np.allclose(code_log[part], block.log, rtol=1e-13, equal_nan=True)
        assert np.allclose(code_out, out, rtol=1e-13)


def swing(arm, t, q, qd):
    return np.array([-800.0 * q[0] + 3.0 * np.sin(9.0 * t)])


def ticking(arm, t, q, qd):
    return np.cos(60.0 * t) + 0.1 * q[0]


def last(arm, t, q, qd):
    return q[-1] - 0.2


@pytest.mark.parametrize("name", rest_slow(lw.methods(lw.simulate), ["verner65"]))
def test_a_simulation_with_events_is_the_same(name):
    # a step after an event is short: with a smaller rtol its estimated error, and so what follows, would be rounding
    how = {"integrator": name, "samples": 9, "rtol": 1e-5, "events": [ticking, lw.Event(last, "last", direction=1)]}
    if name in entries() and method(name).fixed:
        how["dt"] = 5e-3
    start = [[0.1], [0.3]], [[3.0], [-2.0]]
    code, plain = (lw.simulate(CART, *start, 0.2, swing, compiled=compiled, **how) for compiled in (True, False))
    close = 1e-5 if name == "radau" else 1e-9  # there one derivative is exact, the other one of differences
    assert sum(map(len, code.events)) > 5
    assert name == "radau" or np.array_equal(code.steps, plain.steps)
    assert relative(code.q, plain.q) < close
    for ours, theirs in zip(code.events, plain.events, strict=True):
        assert [event.names for event in ours] == [event.names for event in theirs]
        for a, b in zip(ours, theirs, strict=True):
            assert abs(a.t - b.t) < close
            for kind in a.names:
                assert abs({"ticking": ticking, "last": last}[kind](CART, a.t, a.q, a.qd)) < 1e-12
