"""The fit of physically consistent bodies by Clarabel, through cvxpy: what the barrier method is compared with."""

from __future__ import annotations

import clarabel  # noqa: F401
import cvxpy
import numpy as np

from linkwise.identification.physical import UNITS, PhysicalFit, PhysicalProblem

FAILED = "Clarabel did not solve the problem"


def solve_with_clarabel(problem: PhysicalProblem) -> PhysicalFit:
    """The minimum of (2) of `physical`, or with weight 0 of the residuals alone over physically consistent bodies."""
    links, scalars, free = problem.sizes
    root = np.linalg.cholesky(problem.prior)  # P = C₀ X C₀ᵀ: numbers about one
    X = [cvxpy.Variable((4, 4), PSD=True) for _ in range(links)]
    x = cvxpy.Variable(scalars, nonneg=True)
    y = cvxpy.Variable(free)
    as_ten = np.linalg.pinv(UNITS.reshape(10, 16)).T  # ten numbers from all sixteen entries
    residual = -problem.target
    for k in range(links):
        turn = np.kron(root[k], root[k])  # vec(C X Cᵀ), X symmetric
        columns = problem.matrix[:, 10 * k : 10 * k + 10] @ as_ten @ turn
        residual = residual + columns @ cvxpy.vec(X[k], order="C")
    cut = 10 * links + scalars
    residual = residual + (problem.matrix[:, 10 * links : cut] * problem.prior_scalars) @ x
    if free:
        residual = residual + problem.matrix[:, cut:] @ y
    cost = 0.5 * cvxpy.sum_squares(residual)
    if problem.weight:
        barrier = sum(cvxpy.trace(part) - cvxpy.log_det(part) for part in X)
        if scalars:
            barrier = barrier + problem.shares @ (x - cvxpy.log(x))
        cost = cost + problem.weight * barrier
    found = cvxpy.Problem(cvxpy.Minimize(cost))
    try:
        found.solve(solver="CLARABEL")
    except cvxpy.error.SolverError:
        raise RuntimeError(FAILED) from None
    if found.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(f"{FAILED}: {found.status}")
    within = np.array([part.value for part in X]).reshape(links, 4, 4)
    within = 0.5 * (within + np.swapaxes(within, -1, -2))
    bodies = root @ within @ np.swapaxes(root, -1, -2)
    values = np.zeros(0) if not scalars else np.asarray(x.value) * problem.prior_scalars
    offsets = np.zeros(0) if not free else np.asarray(y.value)
    steps = int(found.solver_stats.num_iters or 0)
    sizes, vectors = np.linalg.eigh(within)
    roots = root @ vectors * np.sqrt(np.maximum(sizes, 1e-12 * sizes[:, -1:]))[:, None, :]
    return PhysicalFit(bodies, roots, values, offsets, problem.weight * problem.eigenvalues, steps, np.nan)
