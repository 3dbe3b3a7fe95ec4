"""Functions at the prompt: every public one that has formulas is known, by one name and in one place."""

import json
from inspect import isclass
from pathlib import Path

import pytest

import linkwise as lw
from command_line import linkwise
from effort import rest_slow
from functions import PUBLIC
from linkwise.cli.commands.export import FUNCTIONS

OTHERS = {  # of the public functions of robots, those without formulas in q, qd, ..., or of frames that are held
    "base_parameters", "cite", "compile", "constrained_dynamics", "convert_force", "convert_state", "equilibrium",
    "impact", "inverse_kinematics", "methods", "neutral", "normalized", "parameters", "ptx_source",
    "random_configuration", "total_mass", "unnormalized", "wasm",
}  # fmt: skip
FREE = ("base_wrench", "floating_dynamics", "generalized_jacobian")
QUICK = ("forward_dynamics_derivatives",)


pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def test_all_functions_are_known() -> None:
    public = {name for name, member in PUBLIC.items() if not isclass(member)}
    assert set(FUNCTIONS) == public - OTHERS
    assert len(set(FUNCTIONS)) == len(FUNCTIONS)


@pytest.mark.parametrize("name", rest_slow(FUNCTIONS, QUICK))
def test_each_function_is_counted_written_and_exported(name: str) -> None:
    robot = "planar3 --base free" if name in FREE else "planar3"
    arm = lw.load("planar3", base="free" if name in FREE else None)
    counts = json.loads(linkwise(f"count {robot} {name} --json").out)["counts"]
    assert counts[-1]["function"] == name
    if len(counts) == 1:
        assert counts[0]["multiplications"] == lw.count(PUBLIC[name], arm).multiplications
    for form in ("c", "python", "latex"):
        assert linkwise(f"export {robot.replace('planar3', f'planar3 {form} {name}')}").code == 0
    found = linkwise(f"equations {robot.replace('planar3', f'planar3 {name}')}")
    assert found.code == 0, found.err
    if name not in FREE:
        assert "q1" in found.out


def test_results_have_their_own_letters() -> None:
    model = json.loads(linkwise("equations planar3 linearize --json").out)["equations"]
    assert {left.partition("[")[0] for left in model if "[" in left} >= {"A", "B"}
    parts = json.loads(linkwise("equations planar3 udu --json").out)["equations"]
    assert {"U[1,2]", "D[1]"} <= set(parts)
    both = json.loads(linkwise("equations planar3 denoc_matrices --json").out)["equations"]
    assert not any(left.startswith(("U[", "D[")) for left in both)


def test_equations_of_motion_and_the_steps_of_the_inverse() -> None:
    arm = lw.load("planar3")
    motion, sheet = lw.equations_of_motion(arm), lw.latex(lw.inverse_inertia_matrix, arm, method="elimination")
    for line, expected in (("equations_of_motion", motion), ("--method elimination", sheet)):
        assert linkwise(f"equations planar3 {line}").out.endswith(f"{expected.text}\n")
        assert linkwise(f"equations planar3 {line} --format latex").out == expected
        pairs = json.loads(linkwise(f"equations planar3 {line} --json").out)["equations"]
        assert all(f"{left} = {right}" in " ".join(expected.text.split()) for left, right in pairs.items())
        assert len(pairs) > 12
    alone = linkwise("equations planar3 --method elimination --element 3,2 --json").out
    assert "I^-1[2,3]" in json.loads(alone)["equations"]
    gantry = json.loads(linkwise("equations gantry equations_of_motion --json").out)["equations"]
    assert (gantry["C"], gantry["I[1,2]"], gantry["I[2,3]"]) == ("0", "0", "0")


def test_names_with_hyphens_are_the_same() -> None:
    for line in ("count planar3 {0} --json", "equations planar3 {0} --json", "export planar3 c {0}"):
        plain, other = (linkwise(line.format(name)).out for name in ("gravity_torque", "gravity-torque"))
        assert plain == other


def test_a_folder_gets_a_file_of_each_function() -> None:
    for form, ending in (("latex", "tex"), ("python", "py")):
        assert linkwise(f"export planar3 {form} udu gravity_torque --out code").code == 0
        assert {path.name for path in Path("code").glob(f"*.{ending}")} == {f"udu.{ending}", f"gravity_torque.{ending}"}
    assert "udu" not in Path("code/udu.tex").read_text().split("\n", 1)[1]
    assert "\nU &= " in Path("code/udu.tex").read_text()
    assert "\nD_{1} &= " in Path("code/udu.tex").read_text()
    assert linkwise("export planar3 latex udu --out both.tex").code == 0
    assert Path("both.tex").is_file()


def test_several_functions_of_one_export() -> None:
    assert linkwise("export planar3 c gravity_torque jacobian --out code").code == 0
    assert sorted(path.name for path in Path("code").glob("*.c")) == ["gravity_torque.c", "jacobian.c"]
    assert "functions, --method" in linkwise("export planar3 urdf jacobian").err
