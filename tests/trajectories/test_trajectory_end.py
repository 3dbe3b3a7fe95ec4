"""Past its end and before its start a trajectory stands still, by one rule for numbers, nodes, kernels and C."""

import pickle
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from integrators import FIXED, fixed_steps
from linkwise.graph import Graph, Port, Program, check, count, evaluate, rules
from linkwise.graph.derivative import derivative as differentiate
from linkwise.graph.passes import apply_passes
from linkwise.trajectories.trajectory import Trajectory

ARM = lw.load("planar3")
TABLE = np.random.default_rng(11).normal(size=(8, 3))


def kinds() -> dict[str, Trajectory]:
    """One of each kind, with rates and accelerations at the ends where the kind can have them."""
    a, b, *rest = TABLE
    times, points = [0.0, 0.4, 1.0, 1.5], TABLE[:4]
    return {
        "cycloid": lw.trajectories.cycloid(a, b, 1.3),
        "cubic": lw.trajectories.cubic(a, b, 0.9, *rest[:2]),
        "quintic": lw.trajectories.quintic(a, b, 1.1, *rest[:4]),
        "septic": lw.trajectories.septic(a, b, 0.8, *rest[:6]),
        "trapezoid": lw.trajectories.trapezoid(a, b, speed=[1.0, 2.0, 3.0], acceleration=4.0),
        "triangle": lw.trajectories.trapezoid(a, b, speed=50.0, acceleration=4.0),
        "standing": lw.trajectories.cubic(a, a, duration=0.7),
        "clamped": lw.trajectories.spline(times, points),
        "natural": lw.trajectories.spline(times, points, ends="natural"),
        "periodic": lw.trajectories.spline(times, [*points[:3], points[0]], ends="periodic"),
        "joined": lw.trajectories.cycloid(a, b, 0.3)
        .then(lw.trajectories.spline([0, 0.2, 0.5], [b, a, b]))
        .then(lw.trajectories.cubic(b, a, 0.4, 1.0, 2.0)),
    }


over_kinds = pytest.mark.parametrize("kind", kinds())


def outside(move: Trajectory) -> np.ndarray:
    """Times before the start and after the end, from close by to far away."""
    far = np.array([1e-9, 0.01, 0.7, 5.0, 1e3])
    return np.concatenate([-far * move.duration, (1.0 + far) * move.duration])


def inside(move: Trajectory) -> np.ndarray:
    knots, begin = [], 0.0
    for piece in move.pieces:
        knots.append(begin + getattr(piece, "knots", np.array([0.0, piece.duration])))
        begin += piece.duration
    joints = np.concatenate(knots)
    return np.concatenate([joints[joints <= move.duration], np.linspace(0.0, move.duration, 23)])


def program(move: Trajectory, **keywords: Any) -> Program:
    return lw.trace(lambda arm, t: tuple(move(t, **keywords)), ARM, t=lw.Input())


@over_kinds
def test_numbers_stand_before_the_start_and_after_the_end(kind: str) -> None:
    move = kinds()[kind]
    times = outside(move)
    found = move(times)
    ends = np.where((times < 0.0)[:, None], move(0.0).q, move(move.duration).q)
    assert np.array_equal(found.q, ends)
    assert not found.qd.any()
    assert not found.qdd.any()


@over_kinds
def test_a_traced_time_means_what_a_number_means_inside_and_outside(kind: str) -> None:
    move = kinds()[kind]
    times = np.concatenate([inside(move), outside(move)])
    for found, expected in zip(evaluate(program(move), times), move(times), strict=True):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    held = evaluate(program(move), outside(move))
    assert not np.array(held[1:]).any()


@over_kinds
def test_compiled_it_stands_too(kind: str) -> None:
    move = kinds()[kind]
    kernel = lw.compile(lambda arm, t: np.concatenate(move(t)), ARM, t=lw.Input())
    times = np.concatenate([inside(move), outside(move)])
    expected = np.concatenate(move(times), axis=-1)
    assert np.abs(kernel(times) - expected).max() < 1e-11 * np.abs(expected).max()
    assert not kernel(outside(move))[:, 3:].any()
    assert np.isnan(kernel(np.nan)).all()


@over_kinds
def test_extrapolate_goes_on_with_the_formula_of_the_end(kind: str) -> None:
    """The last formula passes through any point by its own derivatives: differences of it beyond the end."""
    move = kinds()[kind]
    step = 1e-5 * move.duration
    for t in (-0.1 * move.duration, 1.1 * move.duration):
        before, here, after = (move(t + k * step, extrapolate=True) for k in (-1, 0, 1))
        for k in (0, 1):
            slope = (after[k] - before[k]) / (2.0 * step)
            assert slope == pytest.approx(here[k + 1], rel=1e-6, abs=1e-6 * np.abs(here[k + 1]).max() + 1e-7)
    times = np.concatenate([inside(move), np.array([-0.1, 1.1]) * move.duration])
    for found, expected in zip(
        evaluate(program(move, extrapolate=True), times), move(times, extrapolate=True), strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    within = inside(move)
    assert np.array_equal(move(within, extrapolate=True).q, move(within).q)


def test_rates_and_accelerations_at_the_very_ends_are_those_that_were_given() -> None:
    move = lw.trajectories.quintic(TABLE[0], TABLE[1], 0.3, *TABLE[2:6])
    for t, rate, acceleration in ((0.0, 2, 4), (0.3, 3, 5), (0.1 + 0.2, 3, 5)):  # 0.1 + 0.2 is above 0.3
        assert move(t).qd == pytest.approx(TABLE[rate], rel=1e-9)
        assert move(t).qdd == pytest.approx(TABLE[acceleration], rel=1e-9)
        traced = evaluate(program(move), t)
        assert traced[1] == pytest.approx(TABLE[rate], rel=1e-9)


def test_the_derivative_of_a_held_trajectory_is_zero_outside() -> None:
    move = kinds()["trapezoid"]
    for mode in ("forward", "reverse"):
        slope = lw.derivative(lambda arm, t: move(t).q, ARM, "t", t=lw.Input(), mode=mode)
        assert not slope(outside(move)).any()
        times = move.duration * np.linspace(0.01, 0.99, 17)
        assert slope(times) == pytest.approx(move(times).qd, rel=1e-12)


def test_a_table_of_many_rows_is_not_traced_and_says_why(tmp_path: Path) -> None:
    lw.trajectories.cycloid(TABLE[0], TABLE[1], 2.0).to_csv(tmp_path / "move.csv", samples=200)
    move = lw.trajectories.read_csv(tmp_path / "move.csv")
    with raises(TypeError, "199", "formulas", "64"):
        program(move)


CONTROLLED = [("quintic", True), ("trapezoid", True), ("clamped", True), ("joined", True), ("triangle", False)]


@pytest.mark.parametrize(("kind", "compiled"), rest_slow(CONTROLLED, [("trapezoid", True), ("joined", True)]))
def test_a_controlled_arm_stays_at_the_end(kind: str, compiled: bool) -> None:
    """The errors decay as exp(-20 t) and t exp(-20 t); two seconds later nothing is left of them."""
    move = kinds()[kind]
    if not compiled:  # every stage runs in Python
        move = lw.trajectories.trapezoid([0.0] * 3, [0.1, -0.1, 0.05], duration=0.3, acceleration=8.0)
    law = lw.control.computed_torque(move, kp=400, kd=40)
    start, duration = move(0.0), move.duration + (2.0 if compiled else 0.2)
    keywords = {"torque": law, "compiled": compiled, "rtol": 1e-7 if compiled else 1e-4, "samples": [duration]}
    run = lw.simulate(ARM, start.q, start.qd, duration, **keywords)
    assert run.status == "done"
    assert run.compiled is compiled
    assert np.abs(run.q[-1] - move(move.duration).q).max() < 1e-4
    assert np.abs(run.qd[-1]).max() < 1e-3


@pytest.mark.parametrize("integrator", ["verner65", *FIXED, "radau"])
def test_no_step_leaps_over_a_short_motion_between_long_rests(integrator: str) -> None:
    """At rest in equilibrium steps grow without bound; the motion out and back is over before the next stage."""
    a, b = np.zeros(3), np.array([0.3, -0.2, 0.1])
    short = lw.trajectories.trapezoid(a, b, duration=0.05, acceleration=1e3).then(
        lw.trajectories.trapezoid(b, a, duration=0.05, acceleration=1e3)
    )
    move = lw.trajectories.cubic(a, a, 40.0).then(short).then(lw.trajectories.cubic(a, a, 40.0))
    arm = ARM.with_gravity((0, 0, 0))
    times = [0.0, 40.0, 40.03, 40.05, 40.06, 40.1]
    if integrator in FIXED:
        move, times = lw.trajectories.cubic(a, a, 0.4005).then(short), [0.0, 0.4005, 0.43, 0.4505, 0.5005]
    run = lw.simulate(
        arm, a, a, times[-1] + 0.2, torque=lw.control.computed_torque(move, kp=100, kd=20), samples=times,
        integrator=integrator, rtol=1e-8, **fixed_steps(integrator, 5e-3),
    )  # fmt: skip
    assert np.abs(run.q - move(np.array(times)).q).max() < (1e-4 if integrator in FIXED else 1e-7)


def test_events_and_interruptions_do_not_notice_the_breaks() -> None:
    """What is recorded is what was asked for, however many times the formula changes on the way."""
    move = kinds()["trapezoid"]
    law = lw.control.computed_torque(move, kp=400, kd=40)
    middle = float(move(move.duration / 2).q[0])
    passed = lw.Event(lambda arm, t, q, qd: q[0] - middle, "passed", stop=True)
    start = move(0.0)
    run = lw.simulate(ARM, start.q, start.qd, move.duration + 1, torque=law, events=passed)
    assert run.status == "stopped"
    assert [each.names for each in run.events] == [("passed",)]
    assert run.events[0].t == pytest.approx(move.duration / 2, rel=1e-6)


# select, wherever a program goes


def selecting() -> tuple[Program, Any]:
    """A program of selects, nested, shared, of constants and of computed values; and the same in NumPy."""
    tape = Graph()
    x, y, z = (tape.input("v", k) for k in range(3))
    first = rules.select(x - y, x * y, z + 2.0)
    second = rules.select(-z, 1.0, rules.select(y, first, -3.0)) * y
    program = check(Program.of(tape, [Port("v", (3,))], [Port("out", (3,))], [[first, second, first / (y * y + 1.0)]]))

    def meaning(v: np.ndarray) -> np.ndarray:
        x, y, z = np.moveaxis(v, -1, 0)
        first = np.where(x - y >= 0, x * y, z + 2.0)
        second = np.where(-z >= 0, 1.0, np.where(y >= 0, first, -3.0)) * y
        return np.stack([first, second, first / (y * y + 1.0)], axis=-1)

    return program, meaning


def states() -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.concatenate([rng.normal(size=(40, 3)), rng.integers(-1, 2, size=(40, 3)).astype(float)])


def chosen(arm: lw.Robot, v: Any) -> Any:
    """The same, as a function to trace."""
    first = rules.select(v[0] - v[1], v[0] * v[1], v[2] + 2.0)
    second = rules.select(-v[2], 1.0, rules.select(v[1], first, -3.0)) * v[1]
    return np.array([first, second, first / (v[1] * v[1] + 1.0)])


def test_trajectories_of_equal_numbers_are_equal_also_from_another_process() -> None:
    flying = lw.chain(1, seed=2).with_free_base(mass=2.0, inertia=np.eye(3))
    start = lw.neutral(flying)
    end = lw.integrate(flying, start, np.ones(7))

    def made(duration: float) -> list[Any]:
        straight = [
            lw.trajectories.quintic([0], [1], duration),
            lw.trajectories.cycloid([0], [1], duration),
            lw.trajectories.trapezoid([0], [1], speed=1, acceleration=2),
        ]
        turning = lw.trajectories.quintic(start, end, duration, robot=flying)
        both = straight[0].then(lw.trajectories.cubic([1], [0], 3))
        return [*straight, both, turning, lw.control.held(straight[0], duration)]

    first, again, other = made(2.0), made(2.0), made(3.0)
    for k, motion in enumerate(first):
        copy = pickle.loads(pickle.dumps(motion))
        assert copy == motion == again[k]
        assert hash(copy) == hash(motion) == hash(again[k])
        assert motion != other[k] or k == 2
        laws = [lw.control.computed_torque(x, kp=1, kd=1) for x in (motion, copy)]
        assert laws[0] == laws[1]
    assert len({*first, *again}) == len(first)


def test_select_folds_numbers_and_equal_branches() -> None:
    tape = Graph()
    x, a, b = (tape.input(name) for name in "xab")
    assert rules.select(2.0, a, b) is a
    assert rules.select(0.0, a, b) is a
    assert rules.select(-1e-300, a, b) is b
    assert rules.select(float("nan"), a, b) is b
    assert rules.select(x, a, a) is a
    assert rules.select(x, 2.0, 2) == 2.0
    assert rules.select(x, a, b) is rules.select(x, a, b)


def test_select_means_the_same_evaluated_counted_and_after_passes() -> None:
    program, meaning = selecting()
    v = states()
    assert np.array_equal(evaluate(program, v)[0], meaning(v))
    assert count(program).functions == 3
    for name in ("common-factors", "push-signs"):
        assert np.array_equal(evaluate(apply_passes(program, [name]), v)[0], meaning(v))
    single = evaluate(program, v.astype(np.float32))[0]
    assert single.dtype == np.float32
    held = evaluate(program, np.array([np.nan, 1.0, 2.0]))[0]
    assert held[0] == 4.0  # a comparison with NaN is false


def test_select_is_differentiated_by_both_modes_and_forward_forgets_the_branch_that_is_not_taken() -> None:
    program, meaning = selecting()
    v = states()[:40]
    forward, reverse = (evaluate(differentiate(program, "v", mode), v)[0] for mode in ("forward", "reverse"))
    assert np.allclose(forward, reverse, rtol=1e-14, atol=0)
    step = 1e-6
    for k in range(3):
        ahead, behind = v.copy(), v.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        assert np.allclose(forward[..., k], (meaning(ahead) - meaning(behind)) / (2 * step), atol=1e-8)
    tape = Graph()
    x = tape.input("x")
    root = check(Program.of(tape, [Port("x", ())], [Port("out", ())], [[rules.select(x, x.sqrt(), 0.0 * x + x * x)]]))
    with np.errstate(all="ignore"):
        assert evaluate(differentiate(root, "x", "forward"), np.array([-1.0, 4.0]))[0].tolist() == [-2.0, 0.25]


def test_select_in_machine_code_python_and_sympy() -> None:
    _, meaning = selecting()
    v = states()
    for dtype in ("float64", "float32"):
        kernel = lw.compile(chosen, ARM, dtype=dtype, v=lw.Input(3))
        assert kernel(v) == pytest.approx(meaning(v), rel=1e-12 if dtype == "float64" else 1e-5)
        assert kernel(v[0]) == pytest.approx(meaning(v[0]), rel=1e-12 if dtype == "float64" else 1e-5)
    space: dict[str, Any] = {}
    text = lw.python_source(chosen, ARM, v=lw.Input(3))
    exec(text, space)
    assert np.array_equal(np.stack(space["chosen"](v.T), axis=-1), meaning(v))
    sympy = pytest.importorskip("sympy")
    for simplify in (False, True):
        for named in (False, True):
            found = lw.sympy(chosen, ARM, v=lw.Input(3), simplify=simplify, named=named)
            steps, matrix = found if named else ([], found)
            for values in v[:6]:
                place = dict(zip(sympy.symbols("v1:4", real=True), values, strict=True))
                for name, expression in steps:
                    place[name] = expression.subs(place)
                assert np.array(matrix.subs(place), dtype=float).ravel() == pytest.approx(meaning(values))


@pytest.mark.parametrize("closed", [True, False])
def test_select_in_latex_is_cases(closed: bool) -> None:
    text = lw.latex(chosen, ARM, v=lw.Input(3), closed=closed)
    assert text.count(r"\begin{cases}") == text.count(r"\end{cases}") == 3
    assert text.count(r"\ge 0") == 3
    assert text.count(r"& \text{otherwise}") == 3


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_select_and_held_trajectories_in_c(tmp_path: Path) -> None:
    moves = {name: kinds()[name] for name in ("quintic", "trapezoid", "joined")}

    def everything(arm: lw.Robot, t: Any, v: Any) -> Any:
        return np.concatenate([chosen(arm, v), *(part for move in moves.values() for part in move(t))])

    source = lw.c_source(everything, ARM, t=lw.Input(), v=lw.Input(3))
    times = np.concatenate([[-1e3, -0.01, 0.0, 0.2, 0.31, 0.7, 1.0, 1.1, 1.2, 1.3, 50.0]])
    rows = ",\n".join(
        "{" + ", ".join(map(repr, [float(t), *v.tolist()])) + "}" for t, v in zip(times, states(), strict=False)
    )
    main = f"""
#include <stdio.h>
int main(void)
{{
    static const double rows[{len(times)}][4] = {{{rows}}};
    double out[30];
    for (int k = 0; k < {len(times)}; ++k) {{
        everything(rows[k][0], rows[k] + 1, out);
        for (int i = 0; i < 30; ++i) printf("%.17g ", out[i]);
        printf("\\n");
    }}
    return 0;
}}
"""
    (tmp_path / "all.c").write_text(source + main)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "all.c", "-o", "all", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(["./all"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    found = np.array(re.split(r"\s+", said.strip()), dtype=float).reshape(len(times), 30)
    _, meaning = selecting()
    expected = [
        np.concatenate([meaning(v), *(p for m in moves.values() for p in m(t))])
        for t, v in zip(times, states(), strict=False)
    ]
    assert found == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)
