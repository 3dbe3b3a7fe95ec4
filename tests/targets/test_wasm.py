"""WebAssembly: the bits of a processor that does not fuse products into sums, for one robot's module and for any."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import THOROUGH, in_turn, rest_slow
from facts import raises
from joint_kinds import TREE
from linkwise.kernels import llvm
from linkwise.kernels.interface import Argument, Interface, Links
from linkwise.kernels.kernel import Compiled, Kernel
from linkwise.kernels.spec import LinkRows
from linkwise.robot.kinds import joint_numbers, link_joints
from linkwise.targets.cpu.host import HostTarget, host_target
from linkwise.targets.wasm.module import (
    PAGE,
    ModuleError,
    Reader,
    check_imports,
    sections_of,
    signed_leb128,
    unsigned_leb128,
)
from linkwise.targets.wasm.target import universal_loops
from linkwise.tracing.loop_tracing import tree_of
from linkwise.tracing.universal import link_columns, link_kinds, link_table
from robots import CHAINS, DRIVEN, TEXTBOOK, TREES, relative
from wasm_modules import NODE, by_node, by_wasmtime

pytest.importorskip("llvmlite")
needs_wasmtime = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('wasmtime')")
COLUMNS = link_columns()
DTYPES = ["float64", "float32"]
ID, FD = lw.inverse_dynamics, lw.forward_dynamics
FUNCTIONS = [ID, FD, lw.bias_torque, lw.gravity_torque, lw.poses]
NAMES = {ID: "q qd qdd", FD: "q qd tau", lw.bias_torque: "q qd", lw.gravity_torque: "q", lw.poses: "q"}
METHODS = {ID: "newton-euler", FD: "articulated", lw.bias_torque: "newton-euler", lw.gravity_torque: "newton-euler"}
STATES = 12
SCREW = lw.Robot.from_frames(
    [
        {"joint": "screw", "pitch": 0.02, "translation": (0.1, 0.2, 0.3), "mass": 2.0, "com": (0.1, 0.0, 0.2),
         "inertia": [[0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.25]], "rotor_inertia": 0.1},
        {"joint": "ball", "translation": (0.0, 0.4, 0.0), "mass": 1.0, "com": (0.0, 0.1, 0.1),
         "inertia": [[0.1, 0, 0], [0, 0.1, 0.01], [0, 0.01, 0.12]]},
    ],
    name="screw-and-ball",
)  # fmt: skip
LIBRARY = [lw.load(name) for name in lw.LIBRARY]
ROBOTS = [*TEXTBOOK, *CHAINS[::3], *TREES[::3], *DRIVEN[::2], SCREW, *(arm for arm in LIBRARY if arm not in TEXTBOOK)]
QUICK = [TEXTBOOK[3], SCREW]
CASES = [(robot, form) for robot in ROBOTS for form in ("straight", "loops")]
QUICK_CASES = [(TEXTBOOK[3], "straight"), (SCREW, "loops")]


pytestmark = pytest.mark.usefixtures("singular_states_give_what_the_arithmetic_gives")


def unfused() -> HostTarget:
    return replace(host_target(), fused=False)


def on_cpu(function: Callable[..., Any], robot: lw.Robot, dtype: str, form: str) -> Compiled:
    """The kernel of the CPU, with products rounded before they are added."""
    from linkwise.api.compiling import spec_of

    return unfused().kernel(spec_of(function, robot, dtype, {}, form, target=unfused()))


def given(interface: Interface, count: int = STATES) -> list[np.ndarray]:
    """States about 1, some with angles up to the largest, one with NaN and one that is infinite."""
    rng = np.random.default_rng(count)
    arrays = [rng.normal(size=(count, *x.shape)) for x in interface.inputs]
    most = 300.0 if interface.dtype == "float64" else 30.0
    arrays[0][::3] *= 10.0 ** rng.uniform(-2.0, 9.0, arrays[0][::3].shape)
    arrays[0][1::6] *= 10.0 ** rng.uniform(9.0, most, arrays[0][1::6].shape)
    if count > 8:
        arrays[0].reshape(count, -1)[5, 0] = np.nan
        arrays[-1].reshape(count, -1)[8, -1] = -np.inf
    return [x.astype(interface.dtype) for x in arrays]


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    return np.array_equal(found.reshape(expected.shape), expected, equal_nan=True)


@needs_wasmtime
@pytest.mark.parametrize(("robot", "form"), rest_slow(CASES, QUICK_CASES), ids=lambda x: getattr(x, "name", x))
def test_kernels_have_the_bits_of_a_cpu_without_fused_operations(robot: lw.Robot, form: str) -> None:
    if form == "loops" and robot.couplings:
        pytest.skip("coupled joints")
    if form == "straight" and robot.n > 15:
        form = "auto"
    turn = ROBOTS.index(robot) % 2  # each function in one precision, which alternates with the robots
    for function, dtype in ((ID, DTYPES[turn]), (FD, DTYPES[1 - turn])):
        kernel = lw.compile(function, robot, target="wasm", dtype=dtype, form=form)
        arrays = given(kernel.interface)
        expected = on_cpu(function, robot, dtype, form)(*arrays)
        assert same(kernel(*arrays), expected)
        assert np.isnan(expected[[5, 8]]).all()
        if (robot, form) in QUICK_CASES:
            module = lw.wasm(function, robot, dtype=dtype, form=form)
            assert same(by_wasmtime(module, arrays, count=STATES)[0], expected)


@cache
def module_for_any(function: Callable[..., Any], dtype: str) -> lw.results.WasmModule:
    return lw.wasm(function, dtype=dtype)


def record_of(robot: lw.Robot, dtype: str = "float64") -> bytes:
    return module_for_any(lw.gravity_torque, dtype).robot(robot)


@cache
def loops_for_any(function: Callable[..., Any]) -> Any:
    method = {"method": METHODS[function]} if function in METHODS else {}
    return universal_loops(function, dict.fromkeys(NAMES[function].split(), ()), method)


def any_on_cpu(function: Callable[..., Any], robot: lw.Robot, dtype: str) -> Kernel:
    """The loops for any robot, on this one, by the CPU without fused operations."""
    loops, (order, tree) = loops_for_any(function), tree_of(robot, link_kinds(robot))
    inputs = tuple(Argument(name, (robot.nq if name == "q" else robot.n,)) for name in NAMES[function].split())
    outputs = (Argument("result", (robot.n, *loops.program.outputs[0].shape)),)
    interface, table = Interface(inputs, outputs, dtype, 0), link_table(robot)[order].astype(dtype)
    vectors, gravity = loops.vectors(robot.n, int(tree[0, 0])), np.array(robot.gravity, dtype)
    code = unfused().load(unfused().text(loops, interface))
    links = Links(table, tree, vectors, LinkRows(robot), gravity if loops.has_gravity else None)
    return Kernel("any", code, interface, None, links)


@needs_wasmtime
@pytest.mark.parametrize("function", rest_slow(FUNCTIONS, [FD, lw.poses]), ids=lambda function: function.__name__)
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, QUICK[1:]), ids=lambda robot: robot.name)
def test_one_module_takes_any_robot(robot: lw.Robot, function: Callable[..., Any]) -> None:
    if robot.couplings:
        pytest.skip("coupled joints")
    for dtype in DTYPES if THOROUGH and robot in QUICK else DTYPES[:1]:
        kernel = any_on_cpu(function, robot, dtype)
        arrays = given(kernel.interface)
        found = by_wasmtime(module_for_any(function, dtype), arrays, record_of(robot, dtype), STATES)[0]
        assert same(found, kernel(*arrays))
        assert np.isnan(found[[5, 8]]).all()


@needs_wasmtime
@pytest.mark.parametrize("robot", rest_slow(ROBOTS, QUICK), ids=lambda robot: robot.name)
def test_modules_for_any_robot_give_what_python_gives(robot: lw.Robot) -> None:
    if robot.couplings:
        pytest.skip("coupled joints")
    record, rng = record_of(robot), np.random.default_rng(0)
    q = np.array([lw.random_configuration(robot, rng) for _ in range(3)])
    qd, tau = rng.normal(size=(2, 3, robot.n))
    bodies = [joint.link for joint in robot.moving]
    (poses,) = by_wasmtime(module_for_any(lw.poses, "float64"), [q], record, 3)
    assert relative(poses.reshape(3, robot.n, 4, 4)[:, bodies], lw.poses(robot, q)) < 1e-12
    (qdd,) = by_wasmtime(module_for_any(FD, "float64"), [q, qd, tau], record, 3)
    expected = lw.inverse_dynamics(robot, q, qd, qdd)
    assert relative(tau, expected) < 1e-9 * max(1.0, float(np.abs(qdd).max()))


@needs_wasmtime
def test_numbers_of_a_record_may_be_changed_in_place() -> None:
    arm = TEXTBOOK[2]
    q = np.random.default_rng(0).normal(size=(1, arm.n))
    record = bytearray(record_of(arm))
    about = module_for_any(lw.gravity_torque, "float64").interface["record"]
    header = dict(zip(about["header"], np.frombuffer(record[:64], "<i4"), strict=False))
    np.frombuffer(record, float, 3, header["gravity"])[:] = (1.0, 2.0, 3.0)
    heavy = arm.rows
    table = np.frombuffer(record, float, arm.n * len(COLUMNS), header["table"]).reshape(arm.n, -1)
    table[3, about["columns"].index("mass")] = heavy[3]["mass"] = 7.5
    other = lw.Robot.from_dh(heavy, convention=arm.convention, gravity=(1.0, 2.0, 3.0))
    (found,) = by_wasmtime(module_for_any(lw.gravity_torque, "float64"), [q], bytes(record))
    assert relative(found[0], lw.gravity_torque(other, q[0])) < 1e-12


@needs_wasmtime
@pytest.mark.slow
def test_methods_and_friction_of_modules_for_any_robot() -> None:
    arm = DRIVEN[3]
    friction = {"viscous_friction": 0.3, "coulomb_friction": 0.7, "coulomb_offset": 0.2, "quadratic_friction": 0.4}
    friction |= {"stribeck_friction": 0.9, "stribeck_rate": 0.5, "load_friction": 0.1}
    rows = [{**row, **friction} for row in arm.rows]
    rough = lw.Robot.from_frames(rows, gravity=arm.gravity)
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 1, arm.n))
    for method in ("fewest", "denoc", "kalman", "articulated", "articulated-regrouped"):
        module = lw.wasm(FD, method=method, friction=True)
        (found,) = by_wasmtime(module, [q, qd, tau], record_of(rough))
        assert relative(found, lw.forward_dynamics(rough, q, qd, tau, friction=True)) < 1e-9


@needs_wasmtime
@pytest.mark.parametrize("robot", rest_slow([SCREW, TREES[5]], [TREES[5]]), ids=lambda robot: robot.name)
def test_wrenches_on_every_link_of_any_robot(robot: lw.Robot) -> None:
    bodies, rng = [joint.link for joint in robot.moving], np.random.default_rng(0)
    q, qd = lw.random_configuration(robot, rng), rng.normal(size=robot.n)
    wrench, point = np.zeros((robot.n, 6)), np.zeros((robot.n, 3))
    wrench[bodies], point[bodies] = rng.normal(size=(len(bodies), 6)), rng.normal(size=(len(bodies), 3))
    module = lw.wasm(lw.bias_torque, wrench=True, point=True)
    (found,) = by_wasmtime(module, [q, qd, wrench, point], record_of(robot))
    expected = lw.bias_torque(robot, q, qd, wrench[bodies], point=point[bodies])
    assert relative(found[0], expected) < 1e-12


def test_a_quaternion_without_length_gives_nan() -> None:
    q = np.zeros((1, SCREW.nq))
    (poses,) = by_wasmtime(module_for_any(lw.poses, "float64"), [q], record_of(SCREW))
    assert np.isnan(poses).all()
    q[0, 1] = 1.0
    (poses,) = by_wasmtime(module_for_any(lw.poses, "float64"), [q], record_of(SCREW))
    assert np.isfinite(poses).all()


@pytest.mark.parametrize("robot", rest_slow([SCREW, *ROBOTS[::4]], [SCREW]), ids=lambda robot: robot.name)
def test_node_has_the_same_bits(robot: lw.Robot, tmp_path: Path) -> None:
    """The module of one robot, and that for any robot."""
    if robot.couplings or robot.n > 40:
        pytest.skip("coupled joints, or too long")
    kernel, at_once = any_on_cpu(lw.poses, robot, "float64"), on_cpu(ID, robot, "float64", "straight")
    arrays, record = given(kernel.interface), record_of(robot)
    assert same(by_node(module_for_any(lw.poses, "float64"), arrays, record, STATES, tmp_path)[0], kernel(*arrays))
    arrays = given(at_once.interface)
    assert same(by_node(lw.wasm(ID, robot), arrays, b"", STATES, tmp_path)[0], at_once(*arrays))


@needs_wasmtime
def test_functions_of_several_results_and_of_many_numbers() -> None:
    robot = TREES[8 if THOROUGH else 3]

    def both(arm: Any, q: Any, qd: Any) -> Any:
        return lw.inertia_matrix(arm, q), np.sqrt(lw.kinetic_energy(arm, q, qd))

    kernel, expected_by = (lw.compile(both, robot, target=target) for target in ("wasm", "cpu"))
    arrays = np.random.default_rng(0).normal(size=(2, 5, robot.n))
    for found, expected in zip(kernel(*arrays), expected_by(*arrays), strict=True):
        assert relative(found, expected) < 1e-12
    assert kernel(*arrays[:, 0])[1].shape == ()


def scripts_of_the_documentation() -> list[str]:
    text = (Path(__file__).parents[2] / "docs" / "wasm.md").read_text(encoding="utf-8")
    return re.findall(r"```js\n(.*?)```", text, re.DOTALL)


def test_the_javascript_of_the_documentation_runs(tmp_path: Path) -> None:
    if NODE is None:
        pytest.skip("node is not installed")
    arm, still = lw.load("fr3"), np.zeros(7)
    q = np.array([0, -0.3, 0, -2.2, 0, 2, 0.8])
    files = {
        "fr3.wasm": lw.wasm(ID, arm),
        "forward_dynamics.wasm": lw.wasm(FD),
        "robot.bin": record_of(arm),
        "simulation.wasm": lw.wasm(lw.simulate, arm, q0=q, torque=still),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    brake = lw.control.sampled(lambda arm, t, q, qd: -2.0 * qd, 1 / 60)
    braked = lw.simulate(arm, q, torque=brake, duration=1.0, samples=[1])
    expected = [lw.inverse_dynamics(arm, q, still, still), lw.forward_dynamics(arm, q, still, still), braked.q[-1]]
    for script, result, error in zip(scripts_of_the_documentation(), expected, (1e-12, 1e-12, 1e-6), strict=True):
        (tmp_path / "script.mjs").write_text(script, encoding="utf-8")
        done = subprocess.run([NODE, "script.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert relative(json.loads(done.stdout), result) < error


@needs_wasmtime
@pytest.mark.optimized
def test_optimization_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    optimized = lw.wasm(ID, SCREW)
    monkeypatch.setattr(llvm, "OPTIMIZATION", 0)
    other = lw.wasm(ID, SCREW)
    assert len(optimized) < len(other)
    arrays = given(on_cpu(ID, SCREW, "float64", "straight").interface)
    assert same(by_wasmtime(optimized, arrays, count=STATES)[0], by_wasmtime(other, arrays, count=STATES)[0])


@needs_wasmtime
def test_batches_of_any_length_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = TEXTBOOK[1]
    kernel, expected_by = lw.compile(ID, robot, target="wasm"), on_cpu(ID, robot, "float64", "straight")
    monkeypatch.setattr("linkwise.targets.wasm.runtime.AT_ONCE", 1000)  # bytes: ten states
    for count in (0, 1, 10, 11, 37):
        arrays = given(kernel.interface, count)
        for threads in (1, 3):
            assert same(kernel(*arrays, threads=threads), expected_by(*arrays))


@needs_wasmtime
def test_modules_say_where_everything_is() -> None:
    for robot, form in ((TEXTBOOK[2], "straight"), (TEXTBOOK[2], "loops"), (SCREW, "loops")):
        module = lw.wasm(ID, robot, form=form)
        about, end = module.interface, 0
        assert about["version"] == 1
        assert about["robot"] == robot.name
        for argument in about["arguments"]:
            assert argument["offset"] >= end
            assert argument["offset"] % 16 == 0
            end = argument["offset"] + 8 * int(np.prod(argument.get("shape", [1])))
        pages = Reader(dict(sections_of(module))[5])
        pages.take(2)
        assert end <= pages.unsigned() * PAGE
        assert 2 not in dict(sections_of(module))  # no imports
    assert "offset" not in module_for_any(lw.poses, "float64").interface["arguments"][0]


def test_records_have_a_column_for_every_number() -> None:
    assert len(COLUMNS) == 52 + len(joint_numbers())
    kinds = {type(link.joint) for robot in (*ROBOTS, TREE) for link in robot.links}
    assert kinds == set(link_joints())
    table = link_table(SCREW)
    assert table[0, COLUMNS.index("pitch")] == 0.02
    assert table[0, COLUMNS.index("rotor_inertia")] == 0.1
    assert table[0, COLUMNS.index("mass")] == 2.0
    assert tuple(table[3, COLUMNS.index("com.x") :][:3]) == tuple(SCREW.links[3].com)


@in_turn([0, 1, 63, 64, 127, 128, 300, 8191, 8192, 65536, 1 << 31])
def test_numbers_in_modules(value: int) -> None:
    assert Reader(unsigned_leb128(value)).unsigned() == value
    assert Reader(signed_leb128(value)).signed() == value


def test_what_is_missing_is_said() -> None:
    arm = TEXTBOOK[0]
    coupled = next(robot for robot in LIBRARY if robot.couplings)
    for call, message in (
        (lambda: lw.wasm(lw.inertia_matrix), "inertia_matrix has no form that takes any robot"),
        (lambda: lw.wasm(lambda arm, q: q), "no form that takes any robot"),
        (lambda: lw.wasm(ID, form="straight"), "loops over its links"),
        (lambda: lw.wasm(ID, wrench=lw.Input(6)), r"take no lw\.Input"),
        (lambda: lw.wasm(ID, method="denoc"), "inverse_dynamics: method is 'denoc'"),
        (lambda: lw.wasm(ID, dtype="float16"), "dtype is 'float16'"),
        (lambda: lw.wasm(lw.inertia_matrix, arm, form="loops"), "has no form with loops"),
        (lambda: lw.wasm(ID, SCREW, form="loops", wrench=lw.Input(2, 6)), "loops take no wrenches"),
        (lambda: record_of(coupled), "has coupled joints.*lw.wasm"),
        (lambda: lw.results.WasmModule(b"\0asm\1\0\0\0").interface, r"module .*lw\.wasm"),
        (lambda: lw.results.WasmModule(b"text").interface, r"module .*lw\.wasm"),
        (lambda: lw.wasm(ID, arm).robot(arm), "takes no robot as data"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with raises(TypeError, "Robot"):
        record_of("fr3")  # type: ignore[arg-type]
    with pytest.raises(ModuleError, match="memcpy"):
        check_imports(b"\1\3env\6memcpy\0\1")
