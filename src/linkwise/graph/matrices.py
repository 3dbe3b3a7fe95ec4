"""np.linalg on arrays of nodes; and what a graph knows of its matrices: which are positive definite by construction.

A matrix is known by its nodes: equal expressions are one node, so that the record holds for every copy of the matrix,
and for no other. Nothing follows from values. Positive (semi)definite are

    what was remembered as such     with a function that solves for a column, if that takes less than the elements do
    B @ B.T and B.T @ X             A X = B, X by np.linalg.solve of such an A
    A + A', A + D                   D diagonal, its elements squares or constants that are not negative
    c A                             c > 0 constant
    rows and columns of A           the same ones of both
    the inverse of A

A matrix that is merely symmetric may need exchanges of rows, as [[sin q, 1], [1, 0]] does at q = 0, and gets them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import linear_algebra, rules
from .conditions import as_number
from .linear_algebra import Column, Definite, Rows, transposed

Solver = Callable[[Column], Column]
Matrix = Sequence[Sequence[Any]] | np.ndarray
Key = tuple[tuple[Any, ...], ...]
LARGEST = 40  # rows of a matrix: the code has no loops, and pivots in 40 rows take 90,000 operations
EXPANDED = 8  # rows of determinants by minors, 2,000 operations; each further row doubles them


def remember(rows: Matrix, make_solver: Callable[[], Solver | None] | None = None) -> None:
    """Record a positive definite matrix A, if it has nodes.

    `make_solver`, which only a matrix has that does not lose rank, is called when there is something to solve: for a
    function of b that gives x of A x = b, if there is one. It is used where it takes less than the elements of A do.
    """
    graph = graph_of(rows)
    if graph is not None:
        graph.matrices[key_of(rows)] = make_solver


def graph_of(rows: Matrix) -> Any:
    return next((x.graph for row in rows for x in row if not rules.is_number(x)), None)


def key_of(rows: Matrix) -> Key:
    """The matrix by the places of its nodes; its constants as text, which is no place."""
    return tuple(tuple(x.index if hasattr(x, "graph") else repr(x) for x in row) for row in entries(rows).tolist())


def solver_of(rows: Matrix) -> Solver | None:
    """The function that was remembered with this matrix."""
    graph = graph_of(rows)
    make_solver = None if graph is None else graph.matrices.get(key_of(rows))
    return None if make_solver is None else make_solver()


def is_definite(rows: Matrix) -> bool:
    """Whether these are rows and columns of the same numbers of a matrix that was recorded."""
    graph = graph_of(rows)
    if graph is None or not graph.matrices:
        return False
    key = key_of(rows)
    return key in graph.matrices or any(is_principal_part(key, known) for known in graph.matrices)


def is_principal_part(part: Key, of: Key) -> bool:
    diagonal = [row[k] for k, row in enumerate(of)]
    if any(row[k] not in diagonal for k, row in enumerate(part)):
        return False
    places = [diagonal.index(row[k]) for k, row in enumerate(part)]
    same = all(part[i][j] == of[k][l] for i, k in enumerate(places) for j, l in enumerate(places))
    return same and len(set(places)) == len(places)


def record_product(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """B @ B.T; and B.T @ X, from the halves on both sides of the factors of A where these were taken."""
    graph = graph_of(product)
    if graph is None or a.shape != b.shape[::-1]:
        return product
    of_solution, factors = graph.solutions.get(key_of(b), (None, None))
    if key_of(a.T) == of_solution and factors is not None:
        product = np.array(factors.congruent(a.T.tolist()), dtype=object)
    if key_of(a.T) in (key_of(b), of_solution):
        remember(product)
    return product


def record_sum(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """A + A', A + D"""
    if a.shape == b.shape == total.shape[::-1] and (
        (is_definite(a) and (is_definite(b) or is_diagonal(b))) or (is_definite(b) and is_diagonal(a))
    ):
        remember(total)
    return total


def record_multiple(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """c A, c > 0"""
    for factor, matrix in ((a, b), (b, a)):
        if factor.ndim == 0 and matrix.ndim == 2 and is_positive(factor[()]) and is_definite(matrix):
            remember(product)
    return product


def is_diagonal(a: np.ndarray) -> bool:
    """Whether it is zero off its diagonal, and not negative on it, whatever the nodes are."""
    off = (x for (i, j), x in np.ndenumerate(a) if i != j)
    return all(is_real(x) and x == 0 for x in off) and all(
        is_square(x) or (is_real(x) and x >= 0) for x in a.diagonal()
    )


def is_square(x: Any) -> bool:
    return not rules.is_number(x) and x.op == "mul" and x.args[0] is x.args[1]


def is_positive(x: Any) -> bool:
    return is_real(x) and x > 0


def is_real(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


RECORDS: dict[Any, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {  # the result, recorded
    np.matmul: record_product,
    np.add: record_sum,
    np.multiply: record_multiple,
}


def entries(a: Any) -> np.ndarray:
    """An object array of nodes and Python floats."""
    return np.asarray(ENTRY(np.asarray(a, dtype=object)))


def entry(x: Any) -> Any:
    return float(x) if is_real(x) else as_number(x)


ENTRY = np.frompyfunc(entry, 1, 1)


def check_size(function: str, n: int) -> None:
    if n <= LARGEST:
        return
    from .node import UntraceableError  # late: it imports this module

    raise UntraceableError(
        f"np.linalg.{function} of {n} rows cannot be traced: the code has no loops and would be too long (expected at"
        f" most {LARGEST} rows)"
    )


def like_numbers(a: np.ndarray) -> np.ndarray:
    """A regular matrix of numbers of this shape, with which NumPy checks arguments."""
    return np.zeros(a.shape) + np.eye(*a.shape[-2:]) if a.ndim > 1 else np.zeros(a.shape)


def fill(shape: tuple[int, ...], part: Callable[..., Rows], *stacks: np.ndarray) -> Any:
    """An array of this shape, with the result of `part` for each matrix of the stacks."""
    out = np.empty(shape, dtype=object)
    batch = shape[:-2]
    parts = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in stacks]
    for index in np.ndindex(batch):
        rows = part(*([list(row) for row in x[index]] for x in parts))
        for place in np.ndindex(shape[-2:]):
            out[(*index, *place)] = rows[place[0]][place[1]]
    return out


def solve_rows(a: Rows, b: Rows, function: str = "solve") -> Rows:
    solver = solver_of(a)
    if not is_definite(a):
        check_size(function, len(a))
        return linear_algebra.solve(a, b)
    ways: list[tuple[Rows, Definite | None]] = []
    if solver is not None:
        ways.append((transposed([solver(column) for column in transposed(b)]), None))
    if solver is None or len(a) <= LARGEST:
        check_size(function, len(a))
        factors = Definite(a)
        ways.append((factors.solve(b), factors))
    x, factored = min(ways, key=lambda way: operations(way[0])) if len(ways) > 1 else ways[0]
    graph_of(a).solutions[key_of(x)] = key_of(b), factored
    return x


def operations(rows: Rows) -> int:
    """How many operations give these numbers."""
    from .program import Program, count  # late: it imports this module

    nodes = [x for row in rows for x in row if not rules.is_number(x)]
    return count(Program.of(nodes[0].graph, (), (), [nodes])).total if nodes else 0


def solve(a: Any, b: Any) -> Any:
    a, b = entries(a), entries(b)
    shape = np.linalg.solve(like_numbers(a), np.zeros(b.shape)).shape
    vector = b.ndim == (1 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else a.ndim - 1)
    if vector:
        return fill((*shape, 1), solve_rows, a, b[..., None])[..., 0]
    return fill(shape, solve_rows, a, b)


def inverse_of(a: Rows) -> Rows:
    if not is_definite(a) or solver_of(a) is not None:
        return solve_rows(a, np.eye(len(a)).tolist(), "inv")
    check_size("inv", len(a))
    inverse = Definite(a).congruent(np.eye(len(a)).tolist())
    remember(inverse)
    return inverse


def inv(a: Any) -> Any:
    a = entries(a)
    return fill(np.linalg.inv(like_numbers(a)).shape, inverse_of, a)


def determinant_of(a: Rows) -> Rows:
    """An inertia matrix is definite; B @ B.T need not be, and where it loses rank a pivot has no inverse."""
    check_size("det", len(a))
    if is_definite(a) and (len(a) > EXPANDED or (len(a) > 3 and graph_of(a).matrices.get(key_of(a)) is not None)):
        return [[Definite(a, linear_algebra.reciprocal_unless_zero).determinant]]
    expand = len(a) <= EXPANDED
    return [[(linear_algebra.determinant_by_minors if expand else linear_algebra.determinant)(a)]]


def det(a: Any) -> Any:
    a = entries(a)
    return fill((*np.linalg.det(like_numbers(a)).shape, 1, 1), determinant_of, a)[..., 0, 0]


def lower_factor(a: Rows) -> Rows:
    check_size("cholesky", len(a))
    return linear_algebra.cholesky(a)


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """NumPy reads the lower triangle, or the upper one with `upper`."""
    a = entries(a)
    shape = np.linalg.cholesky(like_numbers(a)).shape
    return fill(shape, lambda rows: transposed(lower_factor(transposed(rows))) if upper else lower_factor(rows), a)


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, int, None]:
    """x, the squares of the residuals, the rank, which is taken as full, and no singular values."""
    a, b = entries(a), entries(b)
    x, _, rank, _ = np.linalg.lstsq(like_numbers(a), np.zeros(b.shape), rcond=None)
    check_size("lstsq", max(a.shape))
    rows, right = a.tolist(), (b[:, None] if b.ndim == 1 else b).tolist()
    squares: Column = []
    if a.shape[0] < a.shape[1]:
        solution = linear_algebra.least_norm(rows, right)
    else:
        solution, residuals = linear_algebra.least_squares(rows, right)
        squares = [linear_algebra.dot(r, r) for r in residuals] if a.shape[0] > a.shape[1] else []
    result = fill((len(solution), len(right[0])), lambda: solution)
    return result.reshape(x.shape), entries(squares), int(rank), None


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.linalg.solve: solve,
    np.linalg.inv: inv,
    np.linalg.det: det,
    np.linalg.cholesky: cholesky,
    np.linalg.lstsq: lstsq,
}
