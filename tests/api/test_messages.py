"""What a user is told who wrote something that cannot be: which argument, which symbol, and what to write instead."""

import inspect
import math
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from functions import MEMBERS

PLANAR = lw.load("planar3")
START = [0.1, 0.2, 0.3]


def of_symbols() -> lw.Robot:
    rows = [{**row, "mass": lw.symbols(f"m{k}")} for k, row in enumerate(PLANAR.rows)]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -lw.symbols("g"), 0), name="3R")


@pytest.mark.parametrize(
    "call",
    [
        lambda arm, folder: lw.simulate(arm, START, duration=1.0),
        lambda arm, folder: lw.simulate(arm, START, duration=1.0, torque=lambda arm, t, q, qd: -q),
        lambda arm, folder: lw.compile(lw.simulate, arm),
        lambda arm, folder: lw.sweep(arm, {"q0": [START]}, folder, 1.0),
        lambda arm, folder: lw.torque_along(arm, lw.trajectories.cycloid([0] * 3, [1] * 3, 1.0)),
    ],
    ids=["simulate", "simulate a law", "compile(simulate)", "sweep", "torque_along"],
)
def test_a_robot_of_symbols_is_refused_with_their_names(call, tmp_path):
    with raises(ValueError, "3R", "symbols", "m0", "m1", "m2", "lw.bind"):
        call(of_symbols(), tmp_path)


def test_symbols_of_another_library_are_named_too():
    sympy = pytest.importorskip("sympy")
    rows = [{**PLANAR.rows[0], "mass": sympy.Symbol("M"), "parent": None}]
    arm = lw.Robot.from_dh(rows, convention="standard", name="R")
    with raises(ValueError, "R", "symbols"):
        lw.simulate(arm, [0.0], duration=1.0)


UNTRACEABLE = {
    "int": (int, "int()"),
    "index": (lambda x: [1.0, 2.0][x], "an index"),
    "modulo": (lambda x: x % 2, "%"),
    "modulo of it": (lambda x: 2 % x, "%"),
    "floor division": (lambda x: x // 2, "//"),
    "floor division by it": (lambda x: 2 // x, "//"),
    "divmod": (lambda x: divmod(x, 2), "divmod"),
    "round": (round, "round()"),
    "floor": (math.floor, "floor"),
    "ceil": (math.ceil, "ceil"),
    "cbrt": (np.cbrt, "np.cbrt"),
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_an_operation_that_nodes_do_not_have_is_named_with_what_there_is(name):
    deed, said = UNTRACEABLE[name]
    with raises(TypeError, said, "q[0]", "np.where"):
        lw.trace(lambda arm, q: [deed(q[0])], PLANAR)


def assigned(arm, t, q, qd):
    tau = np.zeros(3)
    tau[0] = -5 * q[0]
    return tau


@pytest.mark.parametrize(
    ("torque", "said"),
    [
        (assigned, r"tau\[0\] = -5 \* q\[0\].*become a float: write np.stack\(\[...\]\) instead of"),
        (
            lambda arm, t, q, qd: np.clip(np.array([*-q]), -1, 1),
            r"be compared .*np.stack\(\[...\]\) instead of np.array",
        ),
        (lambda arm, t, q, qd: -q if t < 1 else q, "t stands .* be compared with if.*: write np.where"),
        (lambda arm, t, q, qd: -np.cbrt(qd), "np.cbrt.*What can be traced"),
    ],
    ids=["assignment", "clip", "if", "cbrt"],
)
def test_an_untraceable_torque_function_is_told_what_to_write_instead(torque, said):
    with pytest.raises(TypeError, match=said) as caught:
        lw.simulate(PLANAR, START, duration=0.01, torque=torque, compiled=True)
    assert "arrays" not in str(caught.value).split("What can be traced")[0]


def test_eigenvalues_are_said_not_to_be_traceable():
    def law(arm, t, q, qd):
        return np.linalg.eigvalsh(lw.inertia_matrix(arm, q)) * -qd

    with raises(TypeError, "return np.linalg.eigvalsh", "np.linalg.solve"):
        lw.simulate(PLANAR, START, duration=0.01, torque=law, compiled=True)


BODY = {"name": "body", "joint": "free", "translation": (0, 0, 0), "mass": 1.0, "com": (0, 0, 0), "inertia": np.eye(3)}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"joint": "universal", "limits": ["-60 deg", "60 deg"]}, r"a pair \[lower, upper\] for each of rx, ry"),
        ({"joint": "ball", "axis": (0, 0, 1)}, r"axis .* ball joint, which turns about any axis \(expected none\)"),
        (
            {"joint": "universal", "axis": (0, 0, 1)},
            r"universal joint, whose axes are those of its frame \(expected none",
        ),
        ({"alpha": 0.0}, "alpha is not a key of a 'frames' row, but of 'standard' and 'modified' rows"),
        ({"friction": 0.0}, "friction is not .*, did you mean 'coulomb_friction'"),
        ({"mimic": "link1"}, "mimic is not .*, did you mean 'coupled_to'"),
        ({"rpy": (0, 0, 0)}, "rpy is not .*, did you mean 'rotation'"),
    ],
)
def test_entries_of_other_rows_and_files_are_answered_with_ours(entries, said):
    with pytest.raises(lw.errors.RobotError, match=said):
        lw.Robot.from_frames([{**BODY, **entries}])


def test_a_key_of_frames_in_a_dh_row_is_said_to_be_one():
    with raises(lw.errors.RobotError, "link 'link1'", "translation", "'standard'", "'frames'"):
        lw.Robot.from_dh([{"joint": "revolute", "translation": (0, 0, 0)}], convention="standard")


@pytest.mark.parametrize(("header", "said"), [("[[joint]]", "joint is not a key"), ("[link]", "has no links")])
def test_tables_of_a_file_are_told_apart_from_lists_of_them(tmp_path, header, said):
    path = tmp_path / "robot.toml"
    path.write_text(f'name = "robot"\nconvention = "frames"\n{header}\nname = "link1"\n')
    with pytest.raises(lw.errors.FileError, match=rf"robot.toml:3: {said}.*expected .*\[\[link\]\].*, in two brackets"):
        lw.load(path)


def test_one_free_body_has_degrees_of_freedom_not_joints():
    drone = lw.Robot.from_frames([BODY])
    with raises(ValueError, "(7,)", "(6,)"):
        lw.simulate(drone, lw.neutral(drone), duration=0.01, torque=lambda arm, t, q, qd: np.zeros(7))


def test_functions_without_return_are_said_to_return_none():
    def law(arm, t, q, qd):
        np.sin(q)

    with raises(ValueError, "law", "None", "`return`"):
        lw.simulate(PLANAR, START, duration=0.01, torque=law)
    with raises(ValueError, "law", "None", "`return`"):
        lw.simulate(PLANAR, START, duration=0.01, torque=lw.control.limited(law, 1.0))
    for compiled in (None, False):
        with raises(ValueError, "law", "None", "`return`"):
            lw.simulate(PLANAR, START, duration=0.01, events=law, compiled=compiled)


@pytest.mark.parametrize("events", ["limits", 3, None])
def test_events_that_are_none_are_refused(events):
    with pytest.raises(TypeError, match=rf"events is {events!r} .*lw\.Event, .*joint_limits\(robot\)"):
        lw.simulate(PLANAR, START, duration=0.01, events=events)


def test_a_misspelt_argument_of_simulate_is_answered_with_the_nearest():
    wrong = {"torqe": [0.0] * 3}
    with raises(TypeError, "'torqe'", "'torque'"):
        lw.simulate(PLANAR, START, duration=0.01, **wrong)
    with raises(TypeError, "'torqe'", "'torque'"):
        lw.compile(lw.simulate, PLANAR, **wrong)


def test_peaks_show_themselves_and_print_nothing(capsys):
    peaks = lw.torque_along(PLANAR, lw.trajectories.cycloid([0] * 3, [1] * 3, 1.0), 5).peaks()
    assert capsys.readouterr().out == ""
    assert str(peaks).startswith("planar3, largest magnitudes of 5 samples over 1 s")


@pytest.mark.slow
def test_the_picture_of_loads_is_written_to_a_path(tmp_path):
    pytest.importorskip("matplotlib")
    along = lw.torque_along(PLANAR, lw.trajectories.cycloid([0] * 3, [1] * 3, 1.0), 5)
    along.plot(tmp_path / "loads.png", loads=True)
    assert (tmp_path / "loads.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_with_a_self_test_links_with_another_main(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = lw.c_source(lw.gravity_torque, PLANAR, self_test=True)
    files = [str(path) for path in source.save(tmp_path) if path.suffix == ".c"]
    own = tmp_path / "own.c"
    own.write_text('#include "gravity_torque.h"\nint main(void) { return 3; }\n')
    strict = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(tmp_path / "own")]
    both = [*files, str(own), "-lm"]
    assert subprocess.run([*strict, *both], capture_output=True).returncode != 0
    subprocess.run([*strict, "-DLINKWISE_NO_MAIN", *both], check=True)
    assert subprocess.run([str(tmp_path / "own")]).returncode == 3


OTHERS: dict[str, Any] = {  # arguments beside the robot, by name; of other names: numbers
    "function": lw.gravity_torque, "wrt": "q", "path": "arm.toml", "convention": "modified", "folder": "sweep",
    "data": {}, "step": 0.1, "dt": 0.1, "steps": 3, "duration": 1.0, "samples": {"q0": [0.0, 0.0, 0.0]},
    "trajectory": lw.trajectories.cubic([0, 0, 0], [1, 1, 1], 1.0), "source": "pinocchio",
}  # fmt: skip
TAKES_FILES = ("compare",)  # names and files are robots too


def robot_functions() -> dict[str, inspect.Signature]:
    """Public functions with a parameter, without a default, that is a robot."""
    found = {}
    for name, function in MEMBERS.items():
        if callable(function) and not isinstance(function, type) and name not in TAKES_FILES:
            parameters = inspect.signature(function).parameters.values()
            if any(p.annotation in ("Robot", lw.Robot) and p.default is p.empty for p in parameters):
                found[name] = inspect.signature(function)
    return found


def test_many_functions_take_a_robot() -> None:
    assert len(robot_functions()) > 70


@in_turn(robot_functions())
def test_what_is_no_robot_is_named_where_one_is_expected(name: str) -> None:
    for wrong in ("stanford", 3.0, None):
        positional, named = [], {}
        for parameter in robot_functions()[name].parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            robot = parameter.annotation in ("Robot", lw.Robot)
            if not robot and parameter.default is not parameter.empty and parameter.name not in ("duration", "source"):
                continue
            value = wrong if robot else OTHERS.get(parameter.name, [0.0, 0.0, 0.0])
            if parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty:
                named[parameter.name] = value
            else:
                positional.append(value)
        with pytest.raises(TypeError) as error:
            MEMBERS[name](*positional, **named)
        assert f"{wrong!r} (expected a Robot" in str(error.value)
        assert (f"load({wrong!r})" in str(error.value)) == isinstance(wrong, str)


ROW = {"joint": "revolute", "a": 0.5, "b": 0, "alpha": 0, "mass": 2.0}


@in_turn(
    [
        (lambda: lw.rnea, "'inverse_dynamics'"),
        (lambda: lw.aba, "'forward_dynamics'"),
        (lambda: lw.crba, "'inertia_matrix'"),
        (lambda: lw.mass_matrix, "'inertia_matrix'"),
        (lambda: lw.forward_kinematics, "'poses'"),
        (lambda: lw.fkine, "'poses'"),
        (lambda: lw.pid, "lw.control.pid"),
        (lambda: lw.RobotError, "lw.errors.RobotError"),
        (lambda: lw.inverse_dynamic, "'inverse_dynamics'"),
        (lambda: getattr(lw, "control.pid"), "'control.pid'"),
        (lambda: lw.Robot.from_dh([ROW], convention="MDH"), "'modified'"),
        (lambda: lw.Robot.from_dh([ROW | {"joint": "linear"}], convention="standard"), "'prismatic'"),
        (lambda: lw.joint_wrenches(PLANAR, START, START, START, axes="joint"), "'frame'"),
        (lambda: lw.joint_wrenches(PLANAR, START, START, START, axes="bse"), "axes is 'bse', did you mean 'base'"),
        (lambda: lw.simulate(PLANAR, START, duration=1.0, integrator="ode45"), "'dormand54'"),
        (lambda: lw.simulate(PLANAR, START, duration=1.0, step=0.1), "dt: seconds, .*first_step"),
        (lambda: lw.simulate(PLANAR, START, duration=1.0, dt=0.1), "first_step="),
        (lambda: lw.simulate(PLANAR, START, duration=1.0, integrator="rk4", first_step=0.1), "dt="),
        (lambda: lw.inverse_dynamics(PLANAR, START, START, START, method="rnea"), "'newton-euler'"),
        (lambda: lw.Robot.from_dh([ROW], convention="craig"), "'modified'"),
        (lambda: lw.Robot.from_dh([ROW | {"joint": "R"}], convention="standard"), "'revolute'"),
        (lambda: lw.Robot.from_dh([ROW | {"m": 1.0}], convention="standard"), "did you mean 'mass'"),
        (lambda: lw.Robot.from_dh([ROW | {"I": np.eye(3)}], convention="standard"), "did you mean 'inertia'"),
        (lambda: lw.Robot.from_dh([ROW | {"center_of_mass": START}], convention="standard"), "did you mean 'com'"),
    ]
)
def test_names_of_the_field_lead_to_ours(case: Any) -> None:
    wrong, ours = case
    with pytest.raises((AttributeError, TypeError, ValueError), match=ours):
        wrong()
