"""C source compiles without a warning and gives the numbers that Python gives."""

import ctypes
import pickle
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwise as lw
from choices import SPECIAL, choices
from effort import THOROUGH, rest_slow
from facts import raises
from linkwise.api.references import published_as
from linkwise.codegen.c import KEYWORDS, LIBRARY, MATH, c_comment, c_name, c_names, c_number
from linkwise.spatial.scalar import sign
from robots import CHAINS, DRIVEN, TREES, conditioned, relative, states

CC, CXX = shutil.which("gcc") or shutil.which("cc"), shutil.which("g++") or shutil.which("c++")
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-O2" if THOROUGH else "-O0")
needs_cc = pytest.mark.skipif(CC is None, reason="runs where there is a C compiler")
needs_cxx = pytest.mark.skipif(CC is None or CXX is None, reason="runs where there are a C and a C++ compiler")
PLANAR = lw.load("planar3")
ARRAYS = ("q", "qd", "qdd", "tau")


def hold(arm: lw.Robot, q: Any, qd: Any, target: Any, gain: Any = 20.0) -> Any:
    """A controller of the user's own: */ not the end of the comment."""
    return gain * (target - q) - 4.0 * qd + lw.gravity_torque(arm, q)


def slope(arm: lw.Robot, q: Any, qd: Any, qdd: Any) -> Any:
    return lw.derivative(lw.inverse_dynamics, arm, "q")(q, qd, qdd)


SIX, WIDE = CHAINS[9], lw.load("stanford")
EVERYWHERE = [(lw.inverse_dynamics, {}), (lw.inverse_dynamics, {"method": "fewest"}), (lw.forward_dynamics, {})]
CASES: list[tuple[Any, lw.Robot, dict[str, Any]]] = [
    *((f, robot, k) for robot in (WIDE, PLANAR, CHAINS[4], CHAINS[5], TREES[4], DRIVEN[0]) for f, k in EVERYWHERE),
    *((lw.inverse_dynamics, SIX, {"method": m}) for m in lw.methods(lw.inverse_dynamics)),
    *((lw.forward_dynamics, PLANAR, {"method": m}) for m in lw.methods(lw.forward_dynamics)),
    *((f, CHAINS[7], {}) for f in (lw.inertia_matrix, lw.formulations.udu, lw.poses, lw.jacobian, lw.kinetic_energy)),
    *(
        (f, TREES[3], {})
        for f in (
            lw.coriolis_matrix,
            lw.formulations.mass_factor,
            lw.potential_energy,
            lw.formulations.normalized.velocity,
        )
    ),
    (lw.gravity_torque, lw.load("gantry"), {}),
    (lw.inverse_dynamics, PLANAR, {"wrench": lw.Input(6)}),
    (lw.forward_dynamics, TREES[3], {"wrench": lw.Input(4, 6)}),
    (lw.inverse_dynamics, lw.load("puma560"), {"friction": True, "passes": ("common-factors", "push-signs")}),
    (hold, SIX, {}),
    (hold, SIX, {"gain": lw.Input()}),
    (slope, PLANAR, {}),
]
PRECISIONS = {"float64": 1e-12, "float32": 1e-5}
over_cases = pytest.mark.parametrize(
    "case",
    rest_slow(range(len(CASES)), range(0, len(CASES), 2)),
    ids=[f"{f.__name__}-{r.name}-{'-'.join(map(str, k.values()))}" for f, r, k in CASES],
)


def compiled(folder: Path, text: str, *options: str, output: str = "library.so") -> Path:
    assert CC is not None
    file = folder / "source.c"
    file.write_text(text)
    subprocess.run([CC, "-std=c99", *STRICT, *options, str(file), "-o", str(folder / output), "-lm"], check=True)
    return folder / output


def loaded(folder: Path, *texts: str, options: tuple[str, ...] = ()) -> ctypes.CDLL:
    return ctypes.CDLL(str(compiled(folder, "\n".join(texts), "-shared", "-fPIC", *options)))


@pytest.fixture(scope="module", params=rest_slow(list(PRECISIONS), ["float64"]))
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, str]:
    """All cases in one library, as case0, case1, ..."""
    dtype = request.param
    texts = [lw.c_source(f, robot, dtype=dtype, name=f"case{k}", **keys) for k, (f, robot, keys) in enumerate(CASES)]
    return loaded(tmp_path_factory.mktemp(dtype), *texts), dtype


def call(
    function: Any, program: lw.results.Program, dtype: str, inputs: list[Any], into: int | None = None
) -> list[np.ndarray]:
    """The outputs; `into` is the input over which the first of them is stored."""
    number = ctypes.c_double if dtype == "float64" else ctypes.c_float
    arrays = [np.array(x, dtype=dtype) for x in inputs]
    outputs = [np.full(port.shape, np.nan, dtype=dtype) for port in program.outputs]
    if into is not None:
        outputs[0] = arrays[into]
    arguments = [a.ctypes.data_as(ctypes.POINTER(number)) if a.shape else number(float(a)) for a in arrays]
    function.restype = None
    function(*arguments, *(a.ctypes.data_as(ctypes.POINTER(number)) for a in outputs))
    return outputs


def plain(function: Any, robot: lw.Robot, keywords: dict[str, Any], state: dict[str, Any]) -> tuple[np.ndarray, ...]:
    fixed = {k: v for k, v in keywords.items() if k != "passes" and not isinstance(v, lw.Input)}
    found = function(robot, **state, **fixed)
    return found if isinstance(found, tuple) else (found,)


def state_of(robot: lw.Robot, program: lw.results.Program, seed: int) -> dict[str, Any]:
    known = dict(zip(ARRAYS, (x[0] for x in states(robot, seed=seed)), strict=True))
    rng = np.random.default_rng(seed)
    return {
        port.name: known[port.name] if port.name in known else rng.normal(size=port.shape) for port in program.inputs
    }


@needs_cc
@over_cases
def test_c_gives_the_numbers_of_the_plain_run(library: tuple[ctypes.CDLL, str], case: int) -> None:
    functions, dtype = library
    function, robot, keywords = CASES[case]
    program = lw.trace(function, robot, **keywords)
    for seed in range(3):
        state = state_of(robot, program, seed)
        expected = plain(function, robot, keywords, state)
        found = call(functions[f"case{case}"], program, dtype, list(state.values()))
        rounding = conditioned(robot, state["q"]) * float(np.finfo(dtype).eps / np.finfo(float).eps)
        for ours, theirs in zip(found, expected, strict=True):
            assert relative(ours, theirs) < max(PRECISIONS[dtype], rounding)


@needs_cc
@over_cases
def test_results_may_be_stored_over_any_input(library: tuple[ctypes.CDLL, str], case: int) -> None:
    functions, dtype = library
    function, robot, keywords = CASES[case]
    program = lw.trace(function, robot, **keywords)
    inputs = list(state_of(robot, program, 0).values())
    expected = call(functions[f"case{case}"], program, dtype, inputs)
    for k, port in enumerate(program.inputs):
        if port.shape and port.shape == program.outputs[0].shape:
            found = call(functions[f"case{case}"], program, dtype, inputs, into=k)
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def swap(arm: lw.Robot, q: Any) -> Any:
    return [q[2], q[0], q[0] + q[1], q[2], 1.5]


def polynomials(arm: lw.Robot, q: Any, qd: Any) -> Any:
    x, y, z = q[0], q[1], q[2]
    u, v, w = qd[0], qd[1], qd[2]
    sums = [x + (y + z), x - (y - z), -(x * (y * z)), x / (y / z), (x + y) * (u - v) / (w * w + 0.1)]
    return [*sums, np.sqrt(u * u + (v * v + w * w)), x * (u * -0.3) - (y - 1e-7) * (v + 12345678.9), x - 3 * (u + 1e22)]


def signs(arm: lw.Robot, q: Any) -> Any:
    return [sign(q[0]), sign(q[1] * q[2]), 2.0 * sign(q[2])]


@needs_cc
def test_arithmetic_signs_and_choices_are_those_of_python_bit_by_bit(tmp_path: Path) -> None:
    """Also of zeros of both signs, infinite numbers, NaN on either side and equal numbers."""
    functions = (swap, polynomials, signs, choices)
    library = loaded(tmp_path, *(lw.c_source(f, PLANAR) for f in functions), options=("-ffp-contract=off",))
    rng = np.random.default_rng(0)
    for function in functions:
        program = lw.trace(function, PLANAR)
        for q in (*rng.normal(size=(20, 3)), *SPECIAL):
            inputs = [np.asarray(q), rng.normal(size=3)][: len(program.inputs)]
            with np.errstate(all="ignore"):
                expected = np.array(function(PLANAR, *inputs), dtype=float)
            assert np.array_equal(
                call(library[function.__name__], program, "float64", inputs)[0], expected, equal_nan=True
            )
    swapped = call(library.swap, lw.trace(lambda arm, q: swap(arm, q)[:3], PLANAR), "float64", [np.arange(5.0)], into=0)
    assert swapped[0].tolist() == [2.0, 0.0, 1.0, 2.0, 1.5]


def run_main(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(compiled(folder, text, output="test"))], capture_output=True, text=True, check=False)


@needs_cc
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_self_test_passes_and_fails_when_the_file_is_tampered_with(dtype: str, tmp_path: Path) -> None:
    m1 = lw.symbols("m1")
    rows = [{**row, "mass": m1} if k == 0 else row for k, row in enumerate(PLANAR.rows)]
    arm = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    text = lw.c_source(lw.forward_dynamics, arm, wrench=lw.Input(6), dtype=dtype, self_test=True)
    good = run_main(tmp_path, text)
    assert good.returncode == 0
    *lines, last = good.stdout.splitlines()
    assert [line.partition(",")[0] for line in lines] == [f"state {k}: ok" for k in (1, 2, 3, 4)]
    assert re.match(r"forward_dynamics: ok, largest deviation \d", last)
    assert "9.81" in text
    for worse in (text.replace("9.81", "9.82", 1), text.replace("qdd[1] = ", "qdd[1] = 0/(q[0] - q[0]) + ")):
        bad = run_main(tmp_path, worse)
        assert bad.returncode == 1
        assert bad.stdout.splitlines()[-1].startswith("forward_dynamics: FAILED")
    assert "nan" in bad.stdout


def test_a_self_test_needs_finite_results() -> None:
    with raises(ValueError, "root", "finite", "self_test=True"):
        lw.c_source(named("root", lambda arm, q: np.sqrt(-1.0 - q * q)), PLANAR, self_test=True)


@needs_cxx
def test_the_header_serves_c_and_cpp(tmp_path: Path) -> None:
    assert CC is not None
    assert CXX is not None
    source = lw.c_source(lw.gravity_torque, PLANAR)
    file, _ = source.save(tmp_path)
    q = [0.5, -0.25, 1.5]
    main = (
        '#include "gravity_torque.h"\n#include "gravity_torque.h"\n#include <stdio.h>\n'
        f"int main(void) {{ const double q[3] = {{{', '.join(map(repr, q))}}}; double tau[3];\n"
        'gravity_torque(q, tau); printf("%.17g %.17g %.17g", tau[0], tau[1], tau[2]); return 0; }\n'
    )
    for name, compiler, standard in (("main.c", CC, "-std=c99"), ("main.cpp", CXX, "-std=c++11")):
        (tmp_path / name).write_text(main)
        subprocess.run([CC, "-std=c99", *STRICT, "-c", str(file), "-o", str(tmp_path / "part.o")], check=True)
        parts = [str(tmp_path / name), str(tmp_path / "part.o")]
        subprocess.run([compiler, standard, *STRICT, *parts, "-o", str(tmp_path / "program"), "-lm"], check=True)
        shown = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=True).stdout
        assert relative([float(x) for x in shown.split()], lw.gravity_torque(PLANAR, q)) < 1e-12


@needs_cc
def test_the_controller_of_the_documentation_compiles_and_runs(tmp_path: Path) -> None:
    assert CC is not None
    page = (Path(__file__).parents[2] / "docs" / "c-source.md").read_text()
    (controller,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    lw.c_source(lw.inverse_dynamics, WIDE, name="stanford_torque").save(tmp_path)
    main = (
        f"{controller}\n#include <stdio.h>\nint main(void) {{ double q[6] = {{0}}, qd[6] = {{0}}, tau[6]; int i;\n"
        'control(q, qd, q, qd, qd, tau); for (i = 0; i < 6; ++i) printf("%.17g ", tau[i]); return 0; }\n'
    )
    (tmp_path / "main.c").write_text(main)
    files = [str(tmp_path / "main.c"), str(tmp_path / "stanford_torque.c")]
    subprocess.run([CC, "-std=c99", *STRICT, *files, "-o", str(tmp_path / "main"), "-lm"], check=True)
    shown = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout
    assert relative([float(x) for x in shown.split()], lw.gravity_torque(WIDE, np.zeros(6))) < 1e-12


HOSTILE = ["*/ int main(){} /*", "??/", "?" * 5 + "/*/", "é #error line\\", "\\", "%s", "/", "*"]


def named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


@needs_cc
def test_hostile_names_are_made_safe(tmp_path: Path) -> None:
    arms = [lw.Robot.from_dh(PLANAR.rows, convention="standard", name=name) for name in HOSTILE]
    texts = [lw.c_source(lw.gravity_torque, arm, name=f"safe{k}") for k, arm in enumerate(arms)]
    assert all(text.isascii() and text.header.isascii() for text in texts)

    def words(arm: lw.Robot, sin: Any, t1: Any, _q: Any, j0: Any, out: Any, double_: Any, θ: Any) -> Any:
        return np.sin(sin) * (t1 + _q) * (t1 + _q) + j0 - out + double_ / θ

    functions: list[Any] = [words]
    functions += [
        named(name, lambda arm, q: 2.0 * np.cos(q)) for name in ("double", "y1", "main", "_x", "state_", "3", "é")
    ]
    functions.append(lambda arm, q: q + 1.0)
    texts += [lw.c_source(f, PLANAR, self_test=False) for f in functions]
    made = [text.name for text in texts[len(HOSTILE) :]]
    assert made == ["words", "double_", "y1_", "main_", "x", "state", "f3", "e", "lambda"]
    library = loaded(tmp_path, *texts)
    inputs = list(np.random.default_rng(0).normal(size=(7, 3)))
    for name, function in zip(made, functions, strict=True):
        program = lw.trace(function, PLANAR)
        own = inputs[: len(program.inputs)]
        found = call(library[name], program, "float64", own)
        assert relative(found[0], function(PLANAR, *own)) < 1e-12


@needs_cc
def test_symbols_are_passed_by_value_under_safe_names(tmp_path: Path) -> None:
    y1, main, length = lw.symbols("y1 main tau")
    row = {**PLANAR.rows[0], "a": length, "mass": y1, "com": (-0.5 * length, 0, 0), "rotor_inertia": main}
    arm = lw.Robot.from_dh([row], convention="standard", gravity=(0, -9.81, 0))
    text = lw.c_source(lw.inverse_dynamics, arm)
    signature = "const double q[1], const double qd[1], const double qdd[1], double main_, double tau, double y1_"
    assert f"void inverse_dynamics({signature}, double tau_2[1])" in re.sub(r"\n *", " ", text).replace("( ", "(")
    function, program = loaded(tmp_path, text).inverse_dynamics, lw.trace(lw.inverse_dynamics, arm)
    found = call(function, program, "float64", [[0.3], [0.4], [0.5], 0.1, 0.7, 2.0])
    known = lw.bind(arm, main=0.1, tau=0.7, y1=2.0)
    assert relative(found[0], lw.inverse_dynamics(known, [0.3], [0.4], [0.5])) < 1e-12


@needs_cc
@pytest.mark.parametrize("compiler", [CC, CXX])
def test_no_name_of_the_standard_libraries_is_taken(compiler: str | None, tmp_path: Path) -> None:
    if compiler is None:
        pytest.skip("runs where there is a C++ compiler")
    library = [*KEYWORDS.split(), *LIBRARY.split(), *(word + end for word in MATH.split() for end in ("", "f", "l"))]
    names = c_names([*library, "M_PI", "NAN", "EOF", "sqrtf128", "FP_ZERO", "lgamma_r", "_Bool", "__x"], reserved=())
    assert len(set(names)) == len(names)
    headers = (
        "ctype", "errno", "fenv", "float", "limits", "math", "setjmp", "signal", "stdio", "stdlib", "string",
        "time",
    )  # fmt: skip
    lines = [*(f"#include <{header}.h>" for header in headers), *(f"void {name}(double {name});" for name in names)]
    file = tmp_path / ("names.c" if compiler == CC else "names.cpp")
    file.write_text("\n".join(lines) + "\n")
    for options in ((), ("-std=c99" if compiler == CC else "-std=c++17",)):
        subprocess.run([compiler, *options, *STRICT, "-fsyntax-only", str(file)], check=True)


@given(st.text())
def test_any_text_makes_a_name_and_no_text_ends_a_comment(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?", c_name(text))
    assert c_name(c_name(text)) in (c_name(text), c_name(text).rstrip("_"))
    comment = c_comment([text, " " + text])
    assert comment.isascii()
    assert comment.index("*/") == len(comment) - 3
    assert comment.rindex("/*") == 0
    assert "??" not in comment


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_read_back_as_the_same_numbers(x: float) -> None:
    assert float(c_number(x, "float64")) == x
    assert set(c_number(x, "float64")) & {".", "e"}
    if abs(x) <= float(np.finfo(np.float32).max):
        text = c_number(x, "float32")
        assert text[-1] == "f"
        assert set(text) & {".", "e"}
        assert np.float32(text[:-1]) == np.float32(x)


def test_constants_too_large_for_a_float_are_an_error() -> None:
    with raises(ValueError, "1e+39", "dtype='float32'", "dtype='float64'"):
        lw.c_source(named("huge", lambda arm, q: 1e39 * q), PLANAR, dtype="float32")


def test_errors_say_what_was_expected() -> None:
    with raises(ValueError, "dtype", "'float16'", "'float64'", "'float32'"):
        lw.c_source(lw.gravity_torque, PLANAR, dtype="float16")
    for name in ("double", "1st", "a b", "_g", "é", "", "g__h"):
        with raises(ValueError, repr(name), "C++"):
            lw.c_source(lw.gravity_torque, PLANAR, name=name)


def test_files_of_ours_are_replaced_and_no_others(tmp_path: Path) -> None:
    source = lw.c_source(lw.gravity_torque, PLANAR, name="g")
    folder = tmp_path / "new" / "folder"
    paths = source.save(folder)
    assert paths == (folder / "g.c", folder / "g.h")
    assert [path.read_text() for path in paths] == [source, source.header]
    paths[0].write_text(source.replace(f"Linkwise {lw.__version__}", "Linkwise 0.0.1"))
    lw.c_source(lw.gravity_torque, lw.load("gantry"), name="g").save(str(folder))
    assert "gantry" in paths[0].read_text()
    paths[1].write_text("#define MINE\n")
    with raises(FileExistsError, "g.h", "name="):
        source.save(folder)
    assert "gantry" in paths[0].read_text()
    assert paths[1].read_text() == "#define MINE\n"


def test_the_text_travels_with_its_header() -> None:
    source = lw.c_source(lw.gravity_torque, PLANAR)
    again = pickle.loads(pickle.dumps(source))
    assert (again, again.header, again.name) == (source, source.header, source.name)


def test_the_comment_says_what_it_is_what_it_costs_and_where_it_comes_from() -> None:
    text = lw.c_source(lw.inverse_dynamics, WIDE, method="denoc")
    comment = text[: text.index("*/")]
    for part in (
        f"generated by Linkwise {lw.__version__}",
        "inverse_dynamics of the robot stanford, with method='denoc'",
        str(lw.count(lw.inverse_dynamics, WIDE, method="denoc")),
        "inverse_dynamics(q, qd, qdd, tau);",
        "in   double q[6]: joint angles (rad) and displacements (m)",
        "section 5.1 (RIDIM)",
        "@article{saha1999jam,",
        "link3 (prismatic)",
    ):
        assert part in comment
    assert f"those of {hold.__module__}.hold in Python" in lw.c_source(hold, WIDE).header
    assert "those of linkwise.kinetic_energy in Python" in lw.c_source(lw.kinetic_energy, WIDE)


def test_every_method_has_a_source() -> None:
    offered = {f: lw.methods(f) for f in (lw.inverse_dynamics, lw.forward_dynamics, lw.inertia_matrix)}
    found = [published_as(f, WIDE, method) for f, names in offered.items() for method in names]
    places = (lw, lw.formulations, lw.identification)
    cited = [f for place in places for name in place.__all__ if hasattr(f := getattr(place, name), "published")]
    assert len(cited) > 15
    quasi = lw.formulations.normalized.coriolis, lw.formulations.unnormalized.force
    found += [published_as(f, WIDE) for f in (*offered, *cited, *quasi)]
    assert all(name is not None and lw.cite(name) for name in found)
    assert published_as(lw.forward_dynamics, PLANAR, "fewest") == "composite-udu"
