"""What compiled code is kept under: everything that a result depends on, and nothing else."""

import functools
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples
from facts import raises
from linkwise.graph import Graph
from linkwise.kernels import cache, llvm
from linkwise.kernels import spec as specs
from linkwise.kernels.sources import sources
from linkwise.kernels.spec import KernelSpec
from linkwise.robot import Prismatic, Revolute
from linkwise.robot.fingerprint import NoFingerprintError
from linkwise.targets.cpu.host import HostTarget
from processes import in_a_new_process
from robots import with_drives

ROBOTS = [
    lw.load("planar3"),
    lw.load("stanford"),
    with_drives(lw.chain(3, seed=5, joints="RPR"), 1),
    lw.random_tree(4, seed=3),
    lw.chain(3, seed=7, joints="RRP").regrouped(),
]
every_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


def with_frames(robot: lw.Robot) -> lw.Robot:
    """The robot with a named frame on its last link, of numbers like any other."""
    frame = lw.Frame("tool", robot.n - 1, robot.links[0].placement)
    return replace(robot, frames=(*robot.frames, frame))


def one_number_changed(robot: lw.Robot, change: Callable[[float], Any]) -> Iterator[lw.Robot]:
    """The robot with one of its numbers changed, for each of them."""
    total = [0]

    def count(x: Any) -> Any:
        total[0] += 1
        return x

    replace(robot, table=()).mapped(count)
    for k in range(total[0]):
        left = iter(range(total[0]))
        yield replace(robot, table=()).mapped(lambda x, k=k, left=left: change(x) if next(left) == k else x)


def other_structures(robot: lw.Robot) -> Iterator[lw.Robot]:
    """The robot with something changed that is no number."""
    for i, link in enumerate(robot.links):
        kind = Prismatic if isinstance(link.joint, Revolute) else Revolute
        joint = link.joint
        drive = (joint.rotor_inertia, joint.viscous_friction, joint.coulomb_friction)
        others = [
            replace(link, name=link.name + "'"),
            replace(link, index=link.index + 1),
            replace(link, parent=link.parent + 1),
            replace(link, joint=kind(*drive, joint.limits)),
            replace(link, joint=replace(joint, limits=(-1.0, 2.0))),
            replace(link, joint=replace(joint, limits=(-1.0, math.nextafter(2.0, 3.0)))),
            replace(link, grouped=link.rigid if link.grouped is None else None),
        ]
        for other in others:
            yield replace(robot, links=(*robot.links[:i], other, *robot.links[i + 1 :]))
    yield replace(robot, links=robot.links[:-1])
    yield replace(robot, frames=(*robot.frames, lw.Frame("tip", 0, robot.links[0].frame)))
    yield replace(robot, frames=(*robot.frames, lw.Frame("tip", -1, robot.links[0].frame)))


# robots that differ have other fingerprints, equal ones the same


@every_robot
def test_every_number_is_in_the_fingerprint_to_its_last_bit(robot: lw.Robot) -> None:
    robot = with_frames(robot)
    changed = [one.fingerprint for one in one_number_changed(robot, lambda x: math.nextafter(x, math.inf))]
    assert len(changed) > 36 * robot.n
    assert len({robot.fingerprint, *changed}) == 1 + len(changed)


@every_robot
def test_signs_of_zero_and_types_of_numbers_are_in_the_fingerprint(robot: lw.Robot) -> None:
    for kind in (np.float64, lambda x: -x if x == 0.0 else x + 1.0, lambda x: int(x) if x == int(x) else x + 1.0):
        changed = [one.fingerprint for one in one_number_changed(robot, kind)]
        assert len({robot.fingerprint, *changed}) == 1 + len(changed)


@every_robot
def test_everything_else_is_in_the_fingerprint(robot: lw.Robot) -> None:
    changed = [one.fingerprint for one in other_structures(robot)]
    assert len({robot.fingerprint, *changed}) == 1 + len(changed)


@every_robot
def test_what_changes_no_result_is_not_in_the_fingerprint(robot: lw.Robot) -> None:
    same = replace(robot, name="another", about="elsewhere", table=(), convention="frames")
    assert same.fingerprint == robot.fingerprint
    assert len(robot.fingerprint) == 64


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "c", 0.5, 3.0]),
    lambda inner: st.tuples(st.sampled_from(["add", "sub", "mul", "div", "sin", "neg"]), inner, inner),
    max_leaves=12,
)


def built(tape: Graph, said: Any) -> Any:
    if isinstance(said, str):
        return tape.input(said)
    if isinstance(said, float):
        return tape.constant(said)
    op, one, other = said
    if op in ("sin", "neg"):
        return tape.make(op, built(tape, one))
    return tape.make(op, built(tape, one), built(tape, other))


def variants(said: Any) -> Iterator[Any]:
    """The expression with one operation, symbol or constant changed, for each of them."""
    if isinstance(said, str):
        yield said + "2"
    elif isinstance(said, float):
        yield math.nextafter(said, math.inf)
    else:
        op, one, other = said
        yield ("cos", one, other) if op in ("sin", "neg") else ({"add": "div", "sub": "add"}.get(op, "sub"), one, other)
        yield from ((op, each, other) for each in variants(one))
        if op not in ("sin", "neg"):
            yield from ((op, one, each) for each in variants(other))


@given(EXPRESSIONS)
@examples(60)
def test_every_node_of_an_expression_is_in_its_fingerprint(said: Any) -> None:
    tape = Graph(scalar_inputs=True)
    whole = built(tape, said)
    for other in variants(said):
        assert built(tape, other).fingerprint != whole.fingerprint


@given(EXPRESSIONS, st.permutations("abc"))
@examples(60)
def test_expressions_made_in_another_order_have_the_same_fingerprint(said: Any, order: list[str]) -> None:
    one, other = Graph(scalar_inputs=True), Graph(scalar_inputs=True)
    built(other, ("mul", ("add", "a", 7.0), "b"))
    for name in order:
        other.input(name)
    names = {"a": one.input("a"), "b": one.input("b"), "c": one.input("c")}
    assert names["a"].fingerprint != names["b"].fingerprint
    assert arithmetic(one, said).fingerprint == arithmetic(other, said).fingerprint


def arithmetic(tape: Graph, said: Any) -> Any:
    """The expression by Python's operators, which put operands in the order in which they were made."""
    if not isinstance(said, tuple):
        return built(tape, said)
    op, one, other = said[0], arithmetic(tape, said[1]), arithmetic(tape, said[2])
    values = {
        "add": lambda: one + other, "mul": lambda: one * other, "div": lambda: one / other,
        "sin": lambda: one.sin(), "neg": lambda: -one, "sub": lambda: one - other * 0.25,
    }  # fmt: skip
    return tape.node(values[op]())


SYMBOLIC = """
    import linkwise as lw
    made = {name: lw.symbols(name) for name in ORDER.split()}
    m, l = made["m"], made["l"]
    rod = {"joint": "revolute", "a": l, "b": 0, "alpha": 0.3, "mass": m, "com": (-0.5 * l, 0, 0),
           "inertia": [[0, 0, 0], [0, m * l**2 / 12, 0], [0, 0, l**2 * m / 12]]}
    arm = lw.Robot.from_dh([rod, rod], convention="standard", name="rods")
    print(arm.fingerprint, lw.chain(3, seed=1).regrouped().fingerprint)
"""


def test_other_processes_find_the_same_fingerprints() -> None:
    orders = {"1": "'z l m'", "2": "'m l'"}
    one, other = (in_a_new_process(SYMBOLIC.replace("ORDER", orders[k]), PYTHONHASHSEED=k) for k in orders)
    assert one == other
    assert len(one.split()) == 2


def test_what_has_no_exact_text_has_no_fingerprint() -> None:
    mpmath = pytest.importorskip("mpmath")

    class Screw(Revolute):
        pass

    arm = lw.load("planar3")
    with raises(NoFingerprintError, "planar3", "mpf"):
        _ = arm.cast(mpmath.mpf).fingerprint
    links = (replace(arm.links[0], joint=Screw()), *arm.links[1:])
    with pytest.raises(NoFingerprintError, match="Screw"):
        _ = replace(arm, links=links).fingerprint


# keys of compiled code


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for one test."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def key(robot: lw.Robot, function: Any = lw.gravity_torque, dtype: str = "float64", **keywords: Any) -> str:
    return KernelSpec(function, robot, dtype, keywords, target=HostTarget("generic", "", 16, True)).key


@pytest.mark.parametrize("robot", [ROBOTS[0], ROBOTS[2], ROBOTS[4]], ids=lambda robot: robot.name)
def test_every_number_is_in_the_key(robot: lw.Robot) -> None:
    pytest.importorskip("llvmlite")
    changed = [key(one) for one in one_number_changed(robot, lambda x: math.nextafter(x, math.inf))]
    assert len({key(robot), *changed}) == 1 + len(changed)
    assert key(replace(robot, name="another")) == key(robot)


def test_every_option_is_in_the_key() -> None:
    pytest.importorskip("llvmlite")
    arm = ROBOTS[0]
    keys = [
        key(arm),
        key(arm, dtype="float32"),
        key(arm, method="newton-euler"),
        key(arm, lw.gravity_torque.__wrapped__),
        key(arm, lw.jacobian, link=0),
        key(arm, lw.jacobian, link=False),
        key(arm, lw.jacobian, link=0, point=(0.0, 0.0, 0.0)),
        key(arm, lw.jacobian, link=0, point=(0, 0, 0)),
        key(arm, lw.jacobian, link=0, point=(0.0, -0.0, 0.0)),
        key(arm, lw.formulations.normalized.velocity),
        key(arm, lw.formulations.unnormalized.velocity),
        KernelSpec(lw.gravity_torque, arm, "float64", {}, target=HostTarget("generic", "", 16, False)).key,
        KernelSpec(lw.gravity_torque, arm, "float64", {}, target=HostTarget("generic", "+avx", 16, True)).key,
    ]
    assert len(set(keys)) == len(keys)
    assert key(arm, lw.gravity_torque, method=None) == key(arm)
    assert key(arm, lw.inverse_dynamics, friction=False) == key(arm, lw.inverse_dynamics)
    assert key(arm, lw.inverse_dynamics, friction=True) != key(arm, lw.inverse_dynamics)
    assert key(arm, lw.formulations.normalized.coriolis, gravity=False) != key(arm, lw.formulations.normalized.coriolis)


def test_symbols_of_another_process_do_not_share_a_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for share in (12.0, 3.0):
        tables = import_module("linkwise.symbolic.symbol_tables")
        monkeypatch.setattr(tables, "_SHARED", Graph(scalar_inputs=True))  # as in a new process
        m, l = lw.symbols("m l")
        inertia = m * l**2 / share
        rod = {
            "joint": "revolute", "a": l, "b": 0, "alpha": 0, "mass": m, "com": (0.25 * l, 0, 0),
            "inertia": [[0, 0, 0], [0, inertia, 0], [0, 0, inertia]],
        }  # fmt: skip
        arm = lw.Robot.from_dh([rod], convention="standard", gravity=(0, -9.81, 0), name="rod")
        found = lw.compile(lw.inertia_matrix, arm)([0.0], m=3.0, l=2.0)
        assert found.item() == pytest.approx(3.0 * 2.0**2 / share + 3.0 * 2.5**2)
        assert lw.compile(lw.inertia_matrix, arm).from_cache


def test_a_function_that_only_bears_the_name_of_ours_has_a_key_of_its_own(folder: Path) -> None:
    arm, q = ROBOTS[0], np.array([0.1, 0.2, 0.3])

    @functools.wraps(lw.gravity_torque)
    def doubled(arm: lw.Robot, q: Any) -> Any:
        return 2.0 * lw.gravity_torque(arm, q)

    once = lw.compile(lw.gravity_torque, arm)(q)
    assert lw.compile(doubled, arm)(q) == pytest.approx(2.0 * once)


def test_the_form_of_code_does_not_depend_on_what_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MAX_AT_ONCE", "MAX_STRAIGHT_OPERATIONS", "MAX_WITHOUT_LOOPS"):
        monkeypatch.setattr(specs, limit, 20)
    arm = lw.chain(3, seed=12)
    first = lw.compile(lw.inverse_dynamics, arm)
    lw.compile(lw.inverse_dynamics, arm, form="straight")
    assert first.links is not None
    assert lw.compile(lw.inverse_dynamics, arm).links is not None
    lw.compile(lw.inertia_matrix, arm, form="straight")
    q = np.random.default_rng(0).normal(size=(300, 3))
    plain = lw.inertia_matrix(arm, q)
    with lw.use_kernels("auto"):
        assert np.array_equal(lw.inertia_matrix(arm, q), plain)  # too long to be compiled by itself


def test_changed_sources_change_the_key(tmp_path: Path) -> None:
    """Also where a tool keeps the time of writing and the length."""
    file = tmp_path / "a.py"
    file.write_text("x = 1")
    status, before = file.stat(), sources(str(tmp_path))
    time.sleep(0.02)  # clocks of file systems tick slowly
    file.write_text("x = 2")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert sources(str(tmp_path)) != before


# files are read by what several threads may use at once


def test_no_file_of_the_package_evaluates_python_text() -> None:
    """`ast.literal_eval` fails now and then where threads of Python 3.11 call it at once."""
    package = Path(lw.__file__).parent
    files = list(package.rglob("*.py"))
    assert len(files) > 100
    for file in files:
        assert not re.search(r"\b(literal_eval|eval|exec)\(", file.read_text()), file


@pytest.mark.parametrize("arm", [lw.chain(2, seed=13), lw.chain(2, seed=11).regrouped()], ids=["plain", "regrouped"])
def test_what_is_loaded_is_what_was_stored(arm: lw.Robot, folder: Path) -> None:
    q = np.ones((3, 2))
    made, loaded = (lw.compile(lw.inertia_matrix, arm) for _ in range(2))
    assert (made.from_cache, loaded.from_cache) == (False, True)
    assert loaded.interface == made.interface
    assert loaded.count == made.count
    assert all(type(each.shape) is tuple for each in (*loaded.interface.inputs, *loaded.interface.outputs))
    assert np.array_equal(made(q), loaded(q))


def test_other_text_name_target_or_environment_is_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    monkeypatch.setattr(cache, "load", keys.append)
    monkeypatch.setattr(llvm, "load_or_compile_as", lambda key, *_: key)
    cases = [("integrator", "text"), ("rhs", "text"), ("integrator", "other"), ("integrator", "text")]
    for (name, text), target in zip(cases, ("cpu", "cpu", "cpu", "wide"), strict=True):
        llvm.load_or_compile(name, text, type("Target", (), {"__repr__": lambda self, target=target: target})())
    monkeypatch.setattr(llvm, "environment", lambda: ("another Linkwise",))
    llvm.load_or_compile("integrator", "text", type("Target", (), {"__repr__": lambda self: "cpu"})())
    assert len(set(keys)) == len(keys) == len(cases) + 1


def test_simulations_of_other_robots_are_not_given_each_others_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    arms = [lw.load("planar3").with_gravity((0, g, 0)) for g in (-9.81, 0.0)]
    falls = [lw.simulate(arm, [0.1, 0, 0], duration=0.1, samples=2, compiled=True) for arm in arms]
    assert abs(falls[0].q[-1] - falls[1].q[-1]).max() > 0.01
    assert np.array_equal(falls[1].q[-1], [0.1, 0, 0])
    assert any(tmp_path.rglob("*"))
