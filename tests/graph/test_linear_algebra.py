"""np.linalg inside traced functions: errors, operations, slopes, and every form of the program."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwise as lw
from effort import in_turn, rest_slow
from facts import raises
from fake_cuda import fake_driver
from linkwise.api.compiling import spec_of
from linkwise.graph import Program
from linkwise.graph.derivative import derivative
from linkwise.graph.matrices import EXPANDED, LARGEST
from linkwise.targets.cpu.host import host_target
from robots import CHAINS, FREE, TEXTBOOK, TREES, ids, relative

ARM = lw.load("planar3")
EPS = {"float64": np.finfo(float).eps, "float32": np.finfo(np.float32).eps}
CHOICES = {"select", "where_lt", "where_le", "where_eq"}
FORMS: dict[str, Callable[[Any, Any], Any]] = {  # of a square matrix and right-hand sides in columns
    "solve": lambda A, B: np.linalg.solve(A, B),
    "one right-hand side": lambda A, B: np.linalg.solve(A, B[:, 0]),
    "inv": lambda A, B: np.linalg.inv(A),
    "det": lambda A, B: np.linalg.det(A),
    "least squares": lambda A, B: np.linalg.lstsq(A, B, rcond=None)[0],
    "definite": lambda A, B: np.linalg.solve(A @ A.T, B),
    "inv of definite": lambda A, B: np.linalg.inv(A @ A.T),
    "cholesky": lambda A, B: np.linalg.cholesky(A @ A.T),
}


@cache
def program(form: str, n: int, m: int = 2) -> Program:
    def function(arm: lw.Robot, A: Any, B: Any) -> Any:
        return FORMS[form](A, B)

    return lw.trace(function, ARM, A=lw.Input(n, n), B=lw.Input(n, m))


def matrices(n: int, rng: np.random.Generator, count: int = 6) -> np.ndarray:
    """Random ones, each with a smallest singular value from 1 down to 1e-9 of what it was; rows in other units."""
    u, s, v = np.linalg.svd(rng.normal(size=(count, n, n)))
    s[:, -1] *= 10.0 ** -np.linspace(0.0, 9.0, count)
    return np.asarray((u * s[:, None]) @ v)


def exact(form: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The result with 50 digits, from the same numbers."""
    with mpmath.workdps(50):
        a, b = mpmath.matrix(A.tolist()), mpmath.matrix(B.tolist())
        gram = a * a.T
        results = {
            "solve": lambda: mpmath.lu_solve(a, b) if B.shape[1] == 1 else a**-1 * b,
            "one right-hand side": lambda: mpmath.lu_solve(a, b[:, 0]),
            "inv": lambda: a**-1,
            "det": lambda: mpmath.matrix([[mpmath.det(a)]]),
            "least squares": lambda: a**-1 * b,
            "definite": lambda: gram**-1 * b,
            "inv of definite": lambda: gram**-1,
            "cholesky": lambda: mpmath.cholesky(gram),
        }
        return np.array(results[form]().tolist(), dtype=float)


@in_turn([(form, n) for n in (1, 2, 3, 6) for form in FORMS])
def test_errors_are_below_ten_conditions(case: tuple[str, int]) -> None:
    form, n = case
    rng = np.random.default_rng(n)
    A, B = matrices(n, rng), rng.normal(size=(6, n, 2))
    if n == 1:
        A[A == 0.0] = 1.0
    with np.errstate(all="ignore"):  # of the squares of nearly singular ones
        found = lw.graph.evaluate(program(form, n), A, B)[0]
    definite = "definite" in form or form == "cholesky"
    for k in range(len(A)):
        result = exact(form, A[k], B[k])
        condition = np.linalg.cond(A[k]) ** (2 if definite else 1)
        if condition * EPS["float64"] < 0.01:
            error = np.linalg.norm(found[k].ravel() - result.ravel()) / np.linalg.norm(result)
            assert error <= 10.0 * condition * EPS["float64"], (k, error, condition)


@in_turn([(3, 7), (2, 2), (5, 1), (3, 4)])
def test_least_squares_of_other_shapes(shape: tuple[int, int]) -> None:
    """Long ones for the residual, wide ones for the norm; both compared with NumPy, whose way is by singular values."""
    n, m = shape
    rng = np.random.default_rng(n + m)
    A, b = rng.normal(size=(m, n)), rng.normal(size=n + m)
    for matrix, right in ((A, b[:m]), (A.T, b[:n]), (A, np.stack([b, b[::-1]], axis=1)[:m])):

        def function(arm: lw.Robot, A: Any, b: Any) -> Any:
            x, residuals, rank, _ = np.linalg.lstsq(A, b, rcond=None)
            assert rank == min(A.shape)
            return x, residuals

        traced = lw.trace(function, ARM, A=lw.Input(*matrix.shape), b=lw.Input(*right.shape))
        x, residuals = lw.graph.evaluate(traced, matrix, right)
        expected = np.linalg.lstsq(matrix, right, rcond=None)
        bound = 10 * np.linalg.cond(matrix) ** 2 * EPS["float64"]
        assert relative(x, expected[0]) < bound
        assert residuals.shape == expected[1].shape
        assert relative(residuals, expected[1]) < bound


def test_shapes_and_mistakes_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    shapes: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
        ("solve", ((3, 3), (3,))),
        ("solve", ((2, 3, 3), (3, 1))),
        ("solve", ((2, 1, 3, 3), (4, 3, 2))),
        ("solve", ((2, 3, 3), (2, 3))),
        ("solve", ((3, 2), (3,))),
        ("solve", ((3,), (3,))),
        ("solve", ((3, 3), (4,))),
        ("inv", ((2, 2, 3, 3),)),
        ("inv", ((2, 3),)),
        ("det", ((4, 3, 3),)),
        ("det", ((3,),)),
        ("cholesky", ((2, 3, 3),)),
        ("lstsq", ((4, 2), (4,))),
        ("lstsq", ((2, 4, 2), (4,))),
        ("lstsq", ((4, 2), (3,))),
    ]
    for name, parts in shapes:
        arrays = [rng.normal(size=shape) for shape in parts]
        if name == "cholesky":
            arrays = [x @ np.swapaxes(x, -1, -2) for x in arrays]
        inputs = {f"x{k}": lw.Input(*x.shape) for k, x in enumerate(arrays)}

        def function(arm: lw.Robot, name: str = name, **given: Any) -> Any:
            result = getattr(np.linalg, name)(*given.values())
            return result[0] if name == "lstsq" else result

        try:
            expected = function(ARM, **{f"x{k}": x for k, x in enumerate(arrays)})
        except ValueError as error:
            with pytest.raises(type(error)):
                lw.trace(function, ARM, **inputs)
        else:
            found = lw.graph.evaluate(lw.trace(function, ARM, **inputs), *arrays)[0]
            assert found.shape == expected.shape, (name, parts)
            assert relative(found, expected) < 1e-9


def test_a_singular_matrix_gives_nan_and_determinant_zero() -> None:
    A = np.array([[[2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 4.0]], np.zeros((3, 3)), np.eye(3)])
    B = np.ones((3, 3, 2))
    for form in FORMS:
        kernel = lw.compile(lambda arm, A, B, form=form: FORMS[form](A, B), ARM, A=lw.Input(3, 3), B=lw.Input(3, 2))
        found = kernel(A, B)
        if form == "det":
            assert found.tolist() == [0.0, 0.0, 1.0]
        elif form == "cholesky":
            assert all(np.isnan(x).any() for x in found[:2])
        else:
            assert np.isnan(found[:2]).all()
        assert np.isfinite(found[2]).all()


def test_a_matrix_that_is_singular_by_construction_is_an_error_as_in_numpy() -> None:
    for write in (
        lambda q: np.linalg.solve(np.stack([np.stack([q[0], 0.0 * q[1]]), np.stack([q[1], 0.0 * q[0]])]), q[:2]),
        lambda q: np.linalg.inv(np.outer(q, [1.0, 0.0, 2.0])),
        lambda q: np.linalg.cholesky(np.diag([-1.0, 2.0, 0.0]) + 0.0 * np.outer(q, q)),
        lambda q: np.linalg.solve(np.zeros((3, 3)), q),
    ):
        with raises(np.linalg.LinAlgError, "matrix"):
            lw.trace(lambda arm, q, write=write: write(q), ARM)
    assert lw.trace(lambda arm, q: np.linalg.det(np.outer(q, [1.0, 0.0, 2.0])), ARM).results[0][0].payload == 0.0


def operations(write: Callable[..., Any], robot: lw.Robot = ARM, **inputs: Any) -> set[str]:
    return {node.op for node in lw.trace(lambda robot, **given: write(**given), robot, **inputs).nodes}


def test_zeros_that_are_known_cost_nothing() -> None:
    n, square, vector = 6, lw.Input(6, 6), lw.Input(6)

    def counted(write: Callable[[Any, Any], Any]) -> lw.results.Count:
        return lw.count(lambda arm, A, b: write(A, b), ARM, A=square, b=vector)

    for triangle in (np.triu, np.tril):
        count = counted(lambda A, b, triangle=triangle: np.linalg.solve(A * triangle(np.ones((n, n))), b))
        assert (count.multiplications, count.additions) == (n * (n + 1) // 2 + 2 * n, n * (n - 1) // 2)
        assert (count.divisions, count.functions) == (n, 0)
    blocks = np.kron(np.eye(2), np.ones((3, 3)))
    both = counted(lambda A, b: np.linalg.solve(A * blocks, b))
    one = lw.count(lambda arm, A, b: np.linalg.solve(A, b), ARM, A=lw.Input(3, 3), b=lw.Input(3))
    assert both == one + one
    hub = np.eye(n)  # an arrow: elimination from its first row would fill it
    hub[0] = 1.0
    arrow = counted(lambda A, b: (A * hub) @ (A * hub).T)
    sparse = counted(lambda A, b: np.linalg.solve((A * hub) @ (A * hub).T, b))
    assert sparse == arrow + lw.results.Count(3 * n + 4 * (n - 1), 3 * (n - 1), n, 0, 0)
    numbers = counted(lambda A, b: np.linalg.solve(np.arange(36.0).reshape(6, 6) + np.diag(b * 0.0 + 7.0), b))
    assert (numbers.multiplications, numbers.divisions, numbers.functions) == (n * n, 0, 0)


def test_definite_by_construction_is_no_guess() -> None:
    """Exchanges are left out only where no number could need them; a copy keeps what is known, a change does not."""
    square, wide = lw.Input(4, 4), lw.Input(4, 6)
    rng = np.random.default_rng(2)
    definite: dict[str, Callable[[Any, Any], Any]] = {
        "product": lambda A, B: B @ B.T,
        "copy": lambda A, B: np.array(B @ B.T).view(type(B)) + 0.0,
        "damped": lambda A, B: B @ B.T + 0.1 * np.eye(4) + np.diag(A[0] * A[0]),
        "sum": lambda A, B: 2.0 * (A @ A.T) + B @ B.T,
        "part": lambda A, B: (B.T @ B + np.eye(6))[1:5, 1:5],
        "reversed": lambda A, B: (B @ B.T)[::-1, ::-1],
        "inverse": lambda A, B: np.linalg.inv(B @ B.T),
        "congruent": lambda A, B: A.T @ np.linalg.solve(B @ B.T, A),
    }
    others: dict[str, Callable[[Any, Any], Any]] = {
        "symmetric": lambda A, B: A + A.T,
        "changed": lambda A, B: changed(B @ B.T, A),
        "difference": lambda A, B: B @ B.T - A @ A.T,
        "negative": lambda A, B: -1.0 * (B @ B.T),
        "shifted": lambda A, B: B @ B.T + np.diag(A[0]),
        "part": lambda A, B: (B @ B.T)[:3, 1:],
    }
    for names, exchanged in ((definite, False), (others, True)):
        for name, write in names.items():

            def function(arm: lw.Robot, A: Any, B: Any, write: Any = write) -> Any:
                matrix = write(A, B)
                return np.linalg.solve(matrix, np.ones(len(matrix)))

            traced = lw.trace(function, ARM, A=square, B=wide)
            assert ("where_lt" in {node.op for node in traced.nodes}) == exchanged, name
            A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, 6))
            assert relative(lw.graph.evaluate(traced, A, B)[0], function(ARM, A, B)) < 1e-11, name


def test_a_congruent_matrix_is_symmetric_and_takes_less() -> None:
    def congruent(arm: lw.Robot, A: Any, B: Any) -> Any:
        return A.T @ np.linalg.solve(B @ B.T, A)

    def by_columns(arm: lw.Robot, A: Any, B: Any) -> Any:
        return np.stack([A.T @ column for column in np.linalg.solve(B @ B.T, A).T], axis=1)

    inputs = {"A": lw.Input(4, 3), "B": lw.Input(4, 5)}
    (nodes,) = lw.trace(congruent, ARM, **inputs).results
    assert all(nodes[3 * i + j] is nodes[3 * j + i] for i in range(3) for j in range(3))
    product = lw.count(lambda arm, A, B: B @ B.T, ARM, **inputs).total
    taken = [lw.count(function, ARM, **inputs).total - product for function in (congruent, by_columns)]
    assert taken[0] < 0.75 * taken[1]


def changed(matrix: Any, A: Any) -> Any:
    matrix[0, 0] = A[0, 0]
    return matrix


def test_a_symmetric_matrix_that_is_not_definite_is_solved_at_every_state() -> None:
    def function(arm: lw.Robot, q: Any) -> Any:
        saddle = np.stack(
            [np.stack([np.sin(q[0]), 1.0, q[1]]), np.stack([1.0, 0.0, q[2]]), np.stack([q[1], q[2], 0.0])]
        )
        return np.linalg.solve(saddle, np.cos(q))

    q = np.array([[0.0, 1.0, 1.0], [0.0, -1.0, 2.0], [1e-9, 1.0, 0.5], [0.3, 2.0, 0.7]])
    found = lw.graph.evaluate(lw.trace(function, ARM), q)[0]
    assert relative(found, [function(ARM, each) for each in q]) < 1e-14


def still_dynamics(robot: lw.Robot, q: Any, tau: Any) -> Any:
    return lw.forward_dynamics(robot, q, np.zeros(robot.n), tau, method=None if robot.couplings else "denoc")


SOLVED = [*TEXTBOOK[1:], CHAINS[4], CHAINS[12], CHAINS[-1], TREES[4], *FREE, lw.load("panda")]


@pytest.mark.parametrize("robot", rest_slow(SOLVED, [SOLVED[0], SOLVED[3], SOLVED[6], SOLVED[-1]]), ids=ids(SOLVED))
def test_solving_with_the_inertia_matrix_takes_what_forward_dynamics_takes(robot: lw.Robot) -> None:
    floating = robot.with_gravity((0.0, 0.0, 0.0))

    def function(robot: lw.Robot, q: Any, tau: Any) -> Any:
        return np.linalg.solve(lw.inertia_matrix(robot, q, method="fewest"), tau)

    traced = lw.trace(function, robot)
    assert lw.graph.count(traced).total < lw.count(lw.forward_dynamics, robot, method="fewest").total
    rng = np.random.default_rng(robot.n)
    q, tau = lw.random_configuration(robot, rng), rng.normal(size=robot.n)
    bound = 10.0 * np.linalg.cond(lw.inertia_matrix(robot, q)) * EPS["float64"]
    assert relative(lw.graph.evaluate(traced, q, tau)[0], still_dynamics(floating, q, tau)) < bound


def test_slopes_are_those_of_the_closed_form() -> None:
    n, rng = 3, np.random.default_rng(5)
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, 1))
    along = rng.normal(size=(n, n))
    inverse = np.linalg.inv(A)
    closed = {
        "one right-hand side": (-inverse @ along @ inverse @ B)[:, 0],
        "inv": -inverse @ along @ inverse,
        "det": np.linalg.det(A) * np.trace(inverse @ along),
        "least squares": -inverse @ along @ inverse @ B,
        "inv of definite": -inverse.T @ (inverse @ along + along.T @ inverse.T) @ inverse,
    }
    for form, expected in closed.items():
        for mode in ("forward", "reverse"):
            slope = lw.graph.evaluate(derivative(program(form, n, 1), "A", mode), A, B)[0]
            assert relative(np.tensordot(slope, along, axes=2), expected) < 1e-12 * np.linalg.cond(A), (form, mode)
    lower = np.linalg.cholesky(A @ A.T)
    slope = np.tensordot(lw.graph.evaluate(derivative(program("cholesky", n, 1), "A"), A, B)[0], along, axes=2)
    assert relative(slope @ lower.T + lower @ slope.T, along @ A.T + A @ along.T) < 1e-12


def test_determinants_have_all_derivatives_where_they_are_singular() -> None:
    """det(A + t D) is a polynomial in t; a column of zeros has no pivot, and takes none of its coefficients."""
    n, D = 3, np.random.default_rng(3).normal(size=(3, 3))
    slope = program("det", n)
    cases = [(np.zeros((n, n)), [0.0, 0.0, 6.0 * np.linalg.det(D)])]
    for k in range(n):
        others = [i for i in range(n) if i != k]
        lower = np.linalg.det(D[np.ix_(others, others)])
        cases.append((np.diag(np.eye(n)[k]), [0.0, 2.0 * lower, 6.0 * np.linalg.det(D)]))
        cases.append((np.eye(n) - np.diag(np.eye(n)[k]), [D[k, k]]))
    for order in range(n):
        slope = derivative(slope, "A")
        for A, expected in cases:
            found = lw.graph.evaluate(slope, A, np.zeros((n, 2)))[0]
            for _ in range(order + 1):
                found = np.tensordot(found, D, axes=2)
            if order < len(expected):
                assert found == pytest.approx(expected[order], abs=1e-12), (A, order)


def test_determinants_without_divisions_are_precise_for_columns_in_any_unit() -> None:
    """Relative to the product of the lengths of the columns; with more rows a column of zeros gives NaN."""
    n, rng = EXPANDED, np.random.default_rng(4)
    A = rng.normal(size=(20, n, n)) * 10.0 ** rng.uniform(-20, 20, size=(20, 1, n))
    found = lw.graph.evaluate(program("det", n), A, np.zeros((20, n, 2)))[0]
    for matrix, value in zip(A, found, strict=True):
        length = np.prod(np.linalg.norm(matrix, axis=0))
        assert abs(value - exact("det", matrix, matrix)[0, 0]) < 2.0 * EPS["float64"] * length
    tiny = lw.trace(lambda arm, q: np.linalg.det(np.stack([np.stack([1e-310, q[0]]), np.stack([0.0, q[1]])])), ARM)
    assert lw.graph.evaluate(tiny, np.array([1.0, 1e300, 0.0]))[0] == pytest.approx(1e-10)
    with raises(np.linalg.LinAlgError, "pivot", 1e-310):
        lw.trace(lambda arm, q: np.linalg.solve(np.diag([1e-310, 1.0]), q[:2]), ARM)
    larger = np.array([np.eye(n + 1), np.zeros((n + 1, n + 1))])
    with np.errstate(all="ignore"):
        values = lw.graph.evaluate(program("det", n + 1), larger, np.zeros((n + 1, 2)))[0]
    assert values[0] == 1.0
    assert np.isnan(values[1])


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_the_determinant_of_the_inertia_matrix_has_neither_choices_nor_minors(name: str) -> None:
    robot = lw.load(name)
    traced = lw.trace(lambda robot, q: np.linalg.det(lw.inertia_matrix(robot, q)), robot)
    assert not CHOICES & {node.op for node in traced.nodes}
    n, matrix = robot.n, lw.count(lw.inertia_matrix, robot).total
    assert lw.graph.count(traced).total - matrix < n * (n + 1) * (n + 2) // 3 + n
    q = lw.random_configuration(robot, np.random.default_rng(0))
    assert lw.graph.evaluate(traced, q)[0] == pytest.approx(np.linalg.det(lw.inertia_matrix(robot, q)), rel=1e-12)


def law(arm: lw.Robot, q: Any, qd: Any) -> Any:
    """All five, on matrices of a robot: exchanges, factors, and what is known of the inertia matrix."""
    J = lw.jacobian(arm, q)[3:5]
    spread = np.linalg.inv(J @ np.linalg.solve(lw.inertia_matrix(arm, q), J.T))
    turned = np.linalg.solve(np.stack([q, qd + 1.0, np.cos(q)]), qd)
    pseudo = np.linalg.lstsq(J, spread @ qd[:2], rcond=None)[0]
    root = np.linalg.cholesky(np.outer(q, q) + np.eye(3))
    return turned + pseudo + root @ qd + np.linalg.det(J @ J.T)


def everything(arm: lw.Robot, A: Any, B: Any) -> Any:
    return tuple(write(A, B) for write in FORMS.values())


@pytest.mark.parametrize(("dtype", "n"), [("float64", 3), ("float32", 2)])
def test_every_machine_has_the_bits_of_the_plain_evaluation(dtype: str, n: int) -> None:
    """Where products are rounded before they are added; on a GPU those of a processor that does not."""
    pytest.importorskip("wasmtime")
    inputs = {"A": lw.Input(n, n), "B": lw.Input(n, 2)}
    rng, unfused = np.random.default_rng(7), replace(host_target(), fused=False)
    arrays = [rng.normal(size=(40, *port.shape)).astype(dtype) for port in inputs.values()]
    spec = spec_of(everything, ARM, dtype, inputs, "straight", target=unfused)
    plain = lw.graph.evaluate(spec.program, *arrays)
    wasm = lw.compile(everything, ARM, dtype=dtype, target="wasm", **inputs)
    cpu = lw.compile(everything, ARM, dtype=dtype, **inputs)
    results = cpu(*arrays)
    for found in (unfused.kernel(spec)(*arrays), wasm(*arrays)):
        assert all(np.array_equal(x, y) for x, y in zip(found, plain, strict=True))
    alone = zip(*(cpu(*pair) for pair in zip(*arrays, strict=True)), strict=True)
    with fake_driver():
        gpu = lw.compile(everything, ARM, dtype=dtype, target="cuda", **inputs)(*arrays, copy=True)
    for found in (map(np.array, alone), gpu):
        assert all(np.array_equal(x, y) for x, y in zip(found, results, strict=True))
    for x, y in zip(results, plain, strict=True):
        assert np.median(np.abs(x - y)) < 10.0 * EPS[dtype]


def test_the_slopes_of_a_law_are_compiled_and_agree_with_differences() -> None:
    q, qd, dq, weight = np.random.default_rng(11).normal(size=(4, 3))
    step = 1e-6
    forward = lw.jvp(law, ARM, "q")(q, qd, dq)
    ends = [law(ARM, q + sign * step * dq, qd) for sign in (1, -1)]
    assert relative(forward, (ends[0] - ends[1]) / (2 * step)) < 1e-6
    assert weight @ forward == pytest.approx(lw.vjp(law, ARM, "q")(q, qd, weight) @ dq, rel=1e-9)


def test_a_torque_law_that_solves_is_simulated_compiled() -> None:
    """With M the law is exact: unit masses on springs."""

    def spring(arm: lw.Robot, t: Any, q: Any, qd: Any) -> Any:
        return lw.bias_torque(arm, q, qd) - np.linalg.inv(np.linalg.inv(lw.inertia_matrix(arm, q))) @ q

    run = lw.simulate(ARM, [0.3, -0.2, 0.1], duration=1.0, torque=spring, compiled=True)
    assert run.compiled
    assert run.q[-1] == pytest.approx(np.cos(1.0) * run.q[0], abs=1e-7)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_exported_c_and_formulas_solve_too(tmp_path: Path) -> None:
    def small(arm: lw.Robot, q: Any, qd: Any) -> Any:
        return np.linalg.solve(np.stack([q[:2], qd[:2] + 1.0]), qd[:2])

    source = lw.c_source(small, ARM, self_test=True)
    source.save(tmp_path)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["cc", *flags, "small.c", "-o", "small", "-lm"], cwd=tmp_path, check=True)
    assert "small: ok" in subprocess.run(["./small"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "cases" in str(lw.latex(small, ARM))
    space: dict[str, Any] = {}
    exec(lw.python_source(small, ARM), space)
    q, qd = [0.3, -0.2, 0.9], [1.0, 0.4, -0.7]
    assert space["small"](q, qd) == pytest.approx(small(ARM, np.array(q), np.array(qd)), rel=1e-12)


def test_what_cannot_be_traced_says_what_can() -> None:
    def lists(arm: lw.Robot, q: Any) -> Any:
        return np.linalg.solve([[q[0], 1.0], [0.0, q[1]]], [1.0, 2.0])

    for function in (lists, lambda arm, q: np.linalg.eigvalsh(np.outer(q, q)), lambda arm, q: np.linalg.pinv([[q[0]]])):
        with raises(TypeError, "np.linalg", "solve", "lstsq", "np.stack"):
            lw.trace(function, ARM)
    large = LARGEST + 1
    with raises(TypeError, "np.linalg.inv", large, LARGEST):
        lw.trace(lambda arm, A: np.linalg.inv(A), ARM, A=lw.Input(large, large))
