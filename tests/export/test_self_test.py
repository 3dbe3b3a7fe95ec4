"""The self-test of generated C notices mistakes, and says which it cannot notice."""

import itertools
import operator
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.export import self_test_states
from linkwise.export.self_test_states import SelfTest, make_self_test
from linkwise.graph import MEANING, Node, Port, Program
from linkwise.graph.sensitivity import OTHER_BRANCH, Dependence, Sensitivity, compared_operands
from linkwise.tracing.tracing import prefer_fewest

CC = shutil.which("gcc") or shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="runs where there is a C compiler")
PLANAR = lw.load("planar3")
HOLD = lw.control.pd_gravity([0.5, -0.3, 0.2], kp=60, kd=20)
MOVE = lw.trajectories.trapezoid([0, 0, 0], [1, -0.5, 0.3], speed=1, acceleration=2)


def branches(arm: lw.Robot, q: Any, qd: Any) -> Any:
    far = np.abs(q) > 0.8
    return np.where(far, -30.0 * np.sign(q), -12.0 * q) - np.where(qd < 0.0, 2.0, 3.0) * qd


def narrow(arm: lw.Robot, q: Any, qd: Any) -> Any:
    """Random states are never near 0.3."""
    return np.where(np.abs(q - 0.3) < 1e-3, 5.0 * q, np.tanh(1e3 * qd) + np.minimum(q, 700.0))


def unreachable(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.where(q * q < -1.0, 5.0 * q, qd)


def equal(arm: lw.Robot, q: Any, qd: Any) -> Any:
    near = np.where(q == qd, 3.0, 0.0) + np.where(qd == 0.5, 5.0, 0.0)
    return np.where(q == 0.0, 1.0, np.sin(q) / q) + np.where(q * qd[0] == 0.0, 2.0, q[[1, 2, 0]]) + near


def both(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.where((q > 0.25) & (qd < -1.5), 100.0, q * 3.25 + qd * 0.75)


def three(arm: lw.Robot, q: Any, qd: Any, tau: Any) -> Any:
    return np.where((q > 0.25) & ~(qd >= -1.5) & (tau > 3.0), 100.0, q * 3.25 + qd * 0.75)


def any_of(arm: lw.Robot, q: Any, qd: Any, tau: Any) -> Any:
    return np.where(((q > 0.25) | (qd < -1.5)) & ~(tau > 3.0), q * 9.0, q * 3.25 + qd * 0.75)


def deadbands(arm: lw.Robot, q: Any, qd: Any, tau: Any) -> Any:
    still = (abs(q - 0.5) < 0.125) & (abs(qd) < 0.25) & (abs(tau - 2.0) < 0.1)
    return np.where(still, 0.0, q * 3.25 + qd * 0.75 + 40.0)


def crossed(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.where((q + qd > 0.25) & (q - qd < -1.5) & (q[0] + q[1] > 3.0), 100.0, q * 3.25 + qd * 0.75)


def factors(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.where(q > 0.25, 1.0, 0.0) * np.where(qd < -1.5, 1.0, 0.0) * np.where(abs(q - qd) < 3.0, q, 0.0)


def within_limits(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.clip(np.where((q > 0.25) & (qd < -1.5), 100.0 * q, q * 3.25 + qd * 0.75), -3.0, 3.0)


def staged(arm: lw.Robot, q: Any, qd: Any) -> Any:
    off = 0.5 - q
    near = np.where(abs(qd) < 0.05, 0.0, -2.0 * qd)
    return np.where(abs(off) < 0.01, near, np.where(off > 1.0, 30.0, np.where(off < -1.0, -30.0, 20 * off - 2 * qd)))


def slit(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.where((q > 1.5) & (q < 1.52) & (qd > 80.3) & (qd < 80.35), 1.0, q)


def slower_when_far(arm: lw.Robot, q: Any, qd: Any, target: Any) -> Any:
    off = target - q
    tau = 50.0 * off - 5.0 * qd
    return np.clip(np.where(np.abs(off) > 1.5, 0.5 * tau, tau), -20, 20)


def stiff_and_slower(arm: lw.Robot, q: Any, qd: Any, target: Any) -> Any:
    """At the threshold only rates of 15 ± 1 are within the limits."""
    off = target - q
    tau = 400.0 * off - 40.0 * qd + 1.5 * np.tanh(30.0 * qd)
    return np.clip(np.where(np.abs(off) > 1.5, 0.5 * tau, tau), -30, 30)


def limited_twice(arm: lw.Robot, q: Any, qd: Any, target: Any) -> Any:
    off = target - q
    rate = np.clip(np.where(np.abs(off) > 0.9, 2.5, 6.0) * off, -2.6, 2.6)
    return np.clip(np.where((qd > 1.9) | (qd < -1.9), 120.0, 45.0) * (rate - qd) + 0.9 * np.sign(qd), -33, 33)


def rate_limited(arm: lw.Robot, q: Any, qd: Any, target: Any, before: Any) -> Any:
    off = target - q
    tau = 300.0 * off - 25.0 * qd
    near = (np.abs(off) < 0.03) & (np.abs(qd) < 0.2)
    tau = np.where(near, 0.3 * tau, np.where(np.abs(off) > 2.2, 0.7 * tau, tau))
    return np.clip(np.clip(tau, before - 2.5, before + 2.5), -38, 38)


def table(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.interp(q, [-1, 0, 0.5, 1], [2, 0.3, -0.7, -5]) - 0.4 * np.sign(qd) * np.minimum(np.abs(qd), 0.8) ** 2


def dead_zone(arm: lw.Robot, q: Any, qd: Any) -> Any:
    off = np.maximum(np.abs(q) - 1.2, 0.0) * np.sign(q)
    return np.where(np.abs(qd) < 0.05, -200.0 * off, -200.0 * off - 0.3 * qd) + lw.bias_torque(arm, q, qd)


def two_phases(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    return 8000.0 * (np.where(t > 1.5, 0.3, -0.3) - q) - 150.0 * qd


def ramp(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    return 8000.0 * (np.minimum(np.maximum(t - 0.5, 0.0), 1.5) - q) - 150.0 * qd


def two_goals(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
    return 8000.0 * (np.where(np.abs(q) > 0.7, 0.3, -0.3) - q) - 150.0 * qd


def tracked(make: Callable[..., Any], kp: float) -> Callable[[int], Any]:
    return lambda n: lw.control.computed_torque(make(n), kp=kp, kd=2.0 * kp**0.5)


def cubic(n: int) -> lw.trajectories.Trajectory:
    return lw.trajectories.cubic(np.zeros(n), np.ones(n), 2.0)


def quintic(n: int) -> lw.trajectories.Trajectory:
    return lw.trajectories.quintic(np.zeros(n), np.ones(n), 0.75)


def trapezoid(n: int) -> lw.trajectories.Trajectory:
    return lw.trajectories.trapezoid(np.zeros(n), np.linspace(1.0, -0.5, n), duration=1.5, acceleration=8.0)


def spline(n: int) -> lw.trajectories.Trajectory:
    ways = np.random.default_rng(2).normal(size=(4, n))
    return lw.trajectories.spline([0.0, 0.5, 1.5, 2.0], ways)


SATURATED: dict[str, Callable[[int], Any]] = {  # gains so large that most states are beyond the limits
    **{f"{make.__name__} {kp:g}": tracked(make, kp) for make in (cubic, quintic) for kp in (1000.0, 3000.0, 10_000.0)},
    **{f"{make.__name__} 3000": tracked(make, 3000.0) for make in (trapezoid, spline)},
    "two_phases": lambda n: two_phases,
    "ramp": lambda n: ramp,
    "two_goals": lambda n: two_goals,
}
LIMITED = [slower_when_far, stiff_and_slower, limited_twice, rate_limited]
CONDITIONS = [both, three, any_of, deadbands, crossed, factors, within_limits, staged, slit]
FUNCTIONS: dict[str, tuple[Any, lw.Robot, dict[str, Any]]] = {
    "pd": (lw.control.limited(HOLD, most=[60, 30, 10]) + lw.control.springs(2), PLANAR, {}),  # as in docs/control.md
    "stiff": (lw.control.limited(lw.control.pd_gravity([0.5, -0.3, 0.2], kp=10_000, kd=200), [60, 30, 10]), PLANAR, {}),
    "computed": (lw.control.limited(lw.control.computed_torque(MOVE, kp=100, kd=20), [3, 2, 1]), PLANAR, {}),
    "cubic": (lw.control.limited(tracked(cubic, 10_000.0)(3), [8, 8, 2]), PLANAR, {}),
    "pid": (lw.control.pid([0.5, -0.3, 0.2], 100, 50, 10, 0.001, most=[60, 30, 10], gravity=True).step, PLANAR, {}),
    "sampled": (lw.control.sampled(lw.control.limited(HOLD, most=[60, 30, 10]), 0.001).step, PLANAR, {}),
    "branches": (branches, PLANAR, {}),
    "narrow": (narrow, PLANAR, {}),
    "equal": (equal, PLANAR, {}),
    "table": (table, PLANAR, {}),
    "dead_zone": (dead_zone, PLANAR, {}),
    "inverse": (lw.inverse_dynamics, PLANAR, {}),
    "forward": (lw.forward_dynamics, PLANAR, {}),
    "friction": (lw.inverse_dynamics, PLANAR, {"friction": lw.Friction(viscous=0.2, coulomb=0.3)}),
}
MISTAKES = [  # in the text of the function: constants, signs, indices, terms that are missing
    ("pd", r"\*9\.81", "*4.905"),
    ("pd", r"0\.5 - q\[0\]", "0.5 + q[0]"),
    ("pd", r"\(q\[1\] \+ 0\.3\)\*60\.0", "(q[1] + 0.3)*61.0"),
    ("pd", r"qd\[2\]\*20\.0", "qd[1]*20.0"),
    ("pd", r" - 60\.0\)", " - 61.0)"),
    ("pd", r"\*30\.0\)", "*31.0)"),
    ("pd", r" - q\[2\]\*2\.0", " + q[2]*2.0"),
    ("pd", r" \+ tt\d+\*0\.285", ""),
    ("stiff", r"\*9\.81", "*4.905"),
    ("stiff", r"0\.2 - q\[2\]", "0.2 - q[1]"),
    ("stiff", r" - qd\[1\]\*200\.0", ""),
    ("computed", r"t - 0\.5", "t - 0.51"),
    ("computed", r"\? -0\.25 :", "? 0.25 :"),
    ("computed", r"1\.5000000000015 - t", "1.5000000000015 + t"),
    ("computed", r"\*20\.0", "*20.2"),
    ("computed", r"\*0\.00484", "*0.00488"),
    ("computed", r" - 3\.0\)", " - 3.1)"),
    ("computed", r"qd\[0\]\*qd\[0\]", "qd[0]*qd[1]"),
    *(("cubic", r"2\.000000000002 - t", f"{x} - t") for x in (1.9, 2.1, 2.5, 2.9, 3.5, 100.0)),
    *(("cubic", rf"tt{k} = \(tt6 >= 0", f"tt{k} = (tt5 >= 0") for k in (8, 9, 10)),
    ("pid", r"\*0\.05", "*0.051"),
    ("pid", r"< -30\.0", "< -30.5"),
    ("pid", r"\(0\.0 < ", "(0.01 < "),
    ("pid", r"-60\.0\), 60\.0", "-60.0), 61.0"),
    ("pid", r"state\[2\] :", "state[1] :"),
    ("pid", r" - qd\[1\]\*10\.0", " + qd[1]*10.0"),
    ("sampled", r"\*9\.81", "*9.8"),
    ("sampled", r" - 10\.0\)", " + 10.0)"),
    ("branches", r"0\.8 < fabs\(q\[0\]\)", "0.81 < fabs(q[0])"),
    ("branches", r"fabs\(q\[1\]\)", "q[1]"),
    ("branches", r"\*30\.0", "*29.9"),
    ("branches", r"qd\[1\] < 0\.0 \? 2\.0", "qd[1] < 0.0 ? 3.0"),
    ("branches", r"qd\[2\] < 0\.0", "qd[1] < 0.0"),
    ("narrow", r"0\.001", "0.00101"),
    ("narrow", r"q\[1\]\*5\.0", "q[1]*5.1"),
    ("narrow", r"700\.0", "707.0"),
    ("narrow", r"\*1000\.0", "*1001.0"),
    ("equal", r"q\[0\] == 0\.0", "q[1] == 0.0"),
    ("equal", r"q\[1\] == 0\.0", "q[0] == 0.0"),
    ("equal", r"q\[1\] == 0\.0", "qd[2] == 0.0"),
    ("equal", r"q\[2\] == 0\.0", "q[2] == 0.01"),
    ("equal", r"q\[0\]\*qd\[0\] ==", "q[1]*qd[0] =="),
    ("equal", r"q\[0\]\*qd\[0\] ==", "q[0] =="),
    ("equal", r"q\[2\]\*qd\[0\] ==", "qd[0] =="),
    ("equal", r"q\[1\] == qd\[1\]", "q[0] == qd[1]"),
    ("equal", r"q\[1\] == qd\[1\]", "q[1] == qd[0]"),
    ("equal", r"qd\[2\] == 0\.5", "qd[1] == 0.5"),
    ("equal", r"qd\[2\] == 0\.5", "qd[2] == 0.505"),
    *(("table", rf"max\(q\[{k}\] - 0\.5", f"max(q[{k}] - {x}") for k in range(3) for x in (0.25, 0.495, 0.505, 0.75)),
    *(("dead_zone", rf"sign\(q\[{k}\]\)", f"sign(q[{j}])") for k in range(3) for j in range(3) if j != k),
    ("inverse", r"\*9\.81", "*9.810000001"),
    ("inverse", r"qd\[0\] \+ qd\[1\]", "qd[0] - qd[1]"),
    ("forward", r"\*9\.81", "*9.810000001"),
    ("forward", r"qd\[2\] \+ ", "qd[2] - "),
    ("forward", r"tau\[1\] - ", "tau[2] - "),
    ("friction", r"1e-06", "1.01e-06"),
    ("friction", r"\*0\.3", "*0.303"),
]


@cache
def source(name: str, dtype: str = "float64") -> lw.results.CSource:
    function, arm, keywords = FUNCTIONS[name]
    return lw.c_source(function, arm, dtype=dtype, self_test=True, name=name, **keywords)


def wrong(name: str, old: str, new: str) -> str:
    """The text with one mistake, in the function itself."""
    text, start = source(name), source(name).index("\n{\n", source(name).index(f"void {name}"))
    body, found = re.subn(old, new, text[start:], count=1)
    assert found, f"{old} is not in {name}"
    return text[:start] + body


def outputs(folder: Path, texts: list[tuple[str, str]]) -> list[str]:
    """What each self-test prints, all of them compiled in one file."""
    assert CC is not None
    parts = []
    for k, (name, text) in enumerate(texts):
        parts.append(re.sub(rf"\b{name}(?=\b|_)", f"{name}{k}", text).replace("int main(", f"int main{k}("))
    calls = "\n".join(f'    main{k}(); puts("----");' for k in range(len(texts)))
    (folder / "all.c").write_text("\n".join([*parts, f"int main(void)\n{{\n{calls}\n    return 0;\n}}\n"]))
    subprocess.run([CC, "-O0", "-w", "all.c", "-o", "all", "-lm"], cwd=folder, check=True)
    ran = subprocess.run([str(folder / "all")], capture_output=True, text=True, check=True)
    return ran.stdout.split("----\n")[:-1]


@needs_cc
@pytest.mark.parametrize("name", rest_slow(list(FUNCTIONS), ["pd", "stiff", "branches", "equal", "table", "dead_zone"]))
def test_mistakes_in_generated_c_fail_the_self_test(name: str, tmp_path: Path) -> None:
    made = [mistake for mistake in MISTAKES if mistake[0] == name]
    right, *others = outputs(tmp_path, [(name, source(name)), *((name, wrong(*mistake)) for mistake in made)])
    assert f"{name}0: ok" in right
    assert [mistake for mistake, text in zip(made, others, strict=True) if "FAILED" not in text] == []
    named = {name for text in others for name in re.findall(r"FAILED, .* in (\w+)\[\d\]", text)}
    assert named <= {*re.findall(r"\n \*   out  double (\w+)", source(name))}
    assert named


@needs_cc
def test_what_is_not_tested_is_said_with_its_results(tmp_path: Path) -> None:
    text = lw.c_source(unreachable, PLANAR, self_test=True)
    (printed,) = outputs(tmp_path, [("unreachable", text)])
    assert "unreachable0: ok" in printed
    lines = [line for line in printed.splitlines() if line.startswith("not tested: ")]
    for k in range(3):
        assert any(f"q[{k}]*q[{k}] < -1.0" in line and f"out[{k}]" in line for line in lines)
        assert any(f"q[{k}]*5.0" in line and f"out[{k}]" in line for line in lines)
    assert "not tested" not in source("branches")


def changed_run(program: Program, arrays: list[np.ndarray], at: int, change: Any) -> np.ndarray:
    """All results where the operands of one node are other numbers: (states, numbers)."""
    inputs = {port.name: a.reshape(len(a), -1) for port, a in zip(program.inputs, arrays, strict=True)}
    value: dict[int, Any] = {}
    for node in program.nodes:
        if node.op == "input":
            value[node.index] = inputs[node.payload[0]][:, node.payload[1]]
        elif node.op == "const":
            value[node.index] = np.full(len(arrays[0]), node.payload)
        else:
            operands = [value[a.index] for a in node.args]
            if node.index == at:
                operands = change(*operands)
            value[node.index] = MEANING[node.op](*operands)
    return np.stack([value[node.index] for result in program.results for node in result], axis=-1)


def inputs_of(program: Program, test: SelfTest) -> list[np.ndarray]:
    return [
        np.array([state[k] for state in test.states]).reshape(-1, *port.shape) for k, port in enumerate(program.inputs)
    ]


def every_number(program: Program) -> Program:
    nodes = list(program.nodes)
    return Program.of(nodes[0].graph, program.inputs, [Port("numbers", (len(nodes),))], [nodes])


def noticing(program: Program, test: SelfTest) -> Callable[[int, Any], bool]:
    """Whether the states of the test tell that the operands of a node are others."""
    arrays = inputs_of(program, test)
    expected, sizes = (np.array([np.concatenate(x) for x in rows]) for rows in (test.results, test.sizes))

    def noticed(at: int, change: Any) -> bool:
        with np.errstate(all="ignore"):
            return not (np.abs(changed_run(program, arrays, at, change) - expected) <= test.tolerance * sizes).all()

    assert not noticed(-1, None)
    return noticed


def changed_operand(k: int, change: Any, *operands: Any) -> list[Any]:
    return [change(x) if j == k else x for j, x in enumerate(operands)]


CHANGES = [lambda x: 1.01 * x, lambda x: 0.99 * x, lambda x: -x, lambda x: x + 1.0, lambda x: x - 1.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", rest_slow([*FUNCTIONS, "unreachable"], ["branches", "forward", "unreachable"]))
def test_every_operand_is_tested_or_listed_as_not_tested(name: str, dtype: str) -> None:
    """A change of any operand that is not listed is noticed, in numbers of Python."""
    function, arm, keywords = FUNCTIONS.get(name, (unreachable, PLANAR, {}))
    with prefer_fewest():
        program = lw.trace(function, arm, **keywords)
        test = make_self_test(function, arm, program, keywords, dtype)
    noticed = noticing(program, test)
    listed = test.chosen.operands
    every = {(node.index, k) for node in program.nodes for k in range(len(node.args))}
    for node, k in sorted(every - listed):
        assert any(noticed(node, partial(changed_operand, k, change)) for change in CHANGES), (node, k)
    assert bool(listed) == (name in ("unreachable", "computed", "cubic"))


def mistakes(node: Node) -> dict[str, Callable[..., list[Any]]]:
    """In a choice: another threshold, sides swapped, a condition that is dropped; each as the operands after it."""
    found: dict[str, Callable[..., list[Any]]] = {
        "swapped": lambda x, y, a, b: [x, y, b, a],
        "always": lambda x, y, a, b: [x, y, a, a],
        "never": lambda x, y, a, b: [x, y, b, b],
    }
    for k, factor in itertools.product((0, 1), (1.01, 1.2, 2.0, -1.0)):
        if node.args[k].op == "const":
            found[f"{factor} {k}"] = partial(changed_operand, k, partial(operator.mul, factor))
    return found


@pytest.mark.parametrize("arm", rest_slow(["planar3", "stanford"], ["planar3"]))
@pytest.mark.parametrize("law", rest_slow(CONDITIONS, [both, deadbands, within_limits]))
def test_every_mistake_in_a_condition_is_noticed(law: Any, arm: str) -> None:
    """Also where it matters only while other conditions hold, or limits are not reached."""
    robot = lw.load(arm)
    with prefer_fewest():
        program = lw.trace(law, robot)
        test = make_self_test(law, robot, program, {}, "float64")
    noticed = noticing(program, test)
    choices = [node for node in program.nodes if node.op in ("where_lt", "where_le")]
    assert len(choices) >= 2 * robot.n
    tried = [(node, name, change) for node in choices for name, change in mistakes(node).items()]
    assert [(node, name) for node, name, change in tried if not noticed(node.index, change)] == []
    assert not ({node for node, _ in test.chosen.branches} | test.chosen.ties) & {node.index for node in choices}


@pytest.mark.parametrize("arm", rest_slow(["planar3", "stanford"], ["planar3"]))
@pytest.mark.parametrize("law", rest_slow(LIMITED, [slower_when_far, stiff_and_slower]))
def test_limits_hide_no_threshold_and_no_constant(law: Any, arm: str) -> None:
    """Of each joint, though only some rates let a threshold show; |x| is tested on both sides."""
    robot = lw.load(arm)
    program = lw.trace(law, robot)
    test = make_self_test(law, robot, program, {}, "float64")
    noticed = noticing(program, test)
    constants = [(node, k) for node in program.nodes for k, x in enumerate(node.args) if x.op == "const"]
    tried = [(node, k, factor) for node, k in constants if node.args[k].payload for factor in (1.01, 0.99, -1.0)]
    assert [
        change
        for change in tried
        if not noticed(change[0].index, partial(changed_operand, change[1], partial(operator.mul, change[2])))
    ] == []
    assert not any(test.chosen[2:])


CASES = [f"{law} {arm}" for arm in ("planar3", "stanford") for law in SATURATED] + ["cubic 10000 ur5e"]
QUICKLY = ["cubic 3000 planar3", "cubic 10000 planar3", "two_phases planar3", "ramp planar3", "two_goals planar3"]


@pytest.mark.parametrize("case", rest_slow(CASES, QUICKLY))
def test_thresholds_show_though_torques_are_saturated(case: str) -> None:
    """A constant of a condition that is another, by 5 % or more, or another number compared: noticed, or listed."""
    law, _, arm = case.rpartition(" ")
    robot = lw.load(arm)
    function = lw.control.limited(SATURATED[law](robot.n), np.linspace(8.0, 2.0, robot.n))
    program = lw.trace(function, robot)
    test = make_self_test(function, robot, program, {}, "float64")
    noticed, listed = noticing(program, test), test.chosen.operands | test.chosen.constants
    upstream = {x.index for node in program.nodes if node.op in OTHER_BRANCH for x in compared_operands(node)}
    for node in reversed(program.nodes):
        upstream |= {x.index for x in node.args} if node.index in upstream else set()
    conditions = [node for node in program.nodes if node.index in upstream or node.op in OTHER_BRANCH]
    constants = {(x.index, k) for x in conditions for k, a in enumerate(x.args) if a.op == "const" and a.payload}
    assert [
        (at, k, factor)
        for at, k in constants - listed
        for factor in (1.05, 1.25, 2.0, 50.0, 0.95, 0.75, 0.5)
        if not noticed(at, partial(changed_operand, k, partial(operator.mul, factor)))
    ] == []
    untested = {node for node, _ in test.chosen.branches} | test.chosen.ties
    selects = [node for node in program.nodes if node.op in ("select", "where_lt") and node.index not in untested]
    values = changed_run(every_number(program), inputs_of(program, test), -1, None).T
    number = dict(zip((node.index for node in program.nodes), values, strict=True))
    nodes = program.nodes
    before = {nodes[k].index: [x for x in nodes[k - 2 : k] if x.op != "const"] for k in range(2, len(nodes))}
    assert [
        (node, str(other))
        for node in selects
        for other in before.get(node.args[0].index, ())
        if not noticed(node.index, lambda x, *rest, other=other: [number[other.index], *rest])
    ] == []
    numbers = {program.nodes[0].graph.nodes[at].args[k].payload for at, k in constants & listed}
    assert case not in QUICKLY or not numbers & {10_000.0, 8000.0, 8.0, 2.000000000002, 1.5, 0.7, 0.3}


def far_away(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return np.where(q * q < -1.0, 5.0 * np.maximum(q, np.abs(qd)), np.sin(qd) * 3.0)


def test_all_that_is_not_tested_is_printed_as_it_stands_in_the_file_constants_first() -> None:
    text = lw.c_source(far_away, lw.load("stanford"), self_test=True)
    lines = re.findall(r'puts\("not tested: (.*), in out\[\d\]"\);', text)
    body = text[: text.index("static const")]
    for k in range(6):
        assert f"q[{k}]*q[{k}] < -1.0 being true" in lines
        assert f"fabs(qd[{k}]) for qd[{k}] < 0.0 or qd[{k}] > 0.0" in lines
    for line in lines:
        for part in re.sub(r" being .*| for .*|small changes of (what )?| compares", "", line).split(" of "):
            assert part in body, line
    ranks = [" of " in line and not re.match(r"-?\d", line) for line in lines]
    assert ranks == sorted(ranks)


def test_constants_of_which_rounding_hides_one_percent_are_listed() -> None:
    text = lw.c_source(lambda arm, q: np.cos(q) + 1e-14, PLANAR, name="nearly", self_test=True)
    assert "not tested: small changes of 1e-14 of cos(q[0]) + 1e-14, in out[0]" in text


def test_conditions_that_are_too_narrow_for_the_search_are_listed() -> None:
    def law(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return np.where((np.abs(q[0] * qd[0] - 0.3) < 1e-12) & (q[1] > 0.25), 1.0, q)

    text = lw.c_source(law, PLANAR, self_test=True)
    for condition in ("0.25 < q[1]", "< 1e-12"):
        assert re.search(rf"not tested: [^\n]*{re.escape(condition)}", text)


@pytest.mark.parametrize("states", [4, 10])
@pytest.mark.parametrize("name", rest_slow(list(FUNCTIONS), ["branches", "equal", "forward"]))
def test_the_search_computes_no_more_numbers_than_its_budget(
    name: str, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About: further candidates, near ties, are as many as the first; those of them that were useful are kept."""
    function, arm, keywords = FUNCTIONS[name]
    program = lw.trace(function, arm, **keywords)
    counted = []

    class Counted(Sensitivity):
        def __init__(self, program: Program, arrays: list[np.ndarray]) -> None:
            super().__init__(program, arrays)
            comparisons = 2 * len(self.choices) * self.states  # are not counted
            changed = sum(map(len, self.after)) * self.states
            counted.append(sum(effect.size for _, _, effect in self.effects()) + changed - comparisons)

    monkeypatch.setattr(self_test_states, "Sensitivity", Counted)
    monkeypatch.setattr(self_test_states, "BUDGET", states * Dependence(program).work())
    found = self_test_states.revealing_states(program, (), 1e-15)
    assert len(found.states)
    assert counted[0] <= self_test_states.BUDGET
    assert sum(counted) <= self_test_states.SPENT * self_test_states.BUDGET
