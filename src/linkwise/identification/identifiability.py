"""Parameters that the data do not determine, with reasons; the inertias D of the joints of an identified robot.

The inertias D of the joints, with all joints beyond them free, of an identified robot, with their σ.

With I = U D Uᵀ and u_k the joint rates whose only quasi-velocity ξ = Uᵀ u is ξ_k = 1,

    D_k = u_kᵀ I u_k        ∂D_k/∂π = u_kᵀ ∂I/∂π u_k

since U⁻¹ U' is strictly upper triangular: the change of the u_k has no effect. u_kᵀ ∂I/∂π u_k is the regressor of the
torques at the accelerations u_k, less that at rest, times u_k. σ follows from the covariance of the fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..api.kinematics import normalize
from ..api.matrices import udu
from ..regressors.base_parameters import mobilities
from ..regressors.regressors import regressor
from ..robot import LinkMobility, Robot
from .least_squares import HIDDEN, Solution, Spread, sigma_of
from .model import TorqueModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .result import Identification


MOST = 3  # base parameters that a sentence lists
AXES = "xyz"
SMALL = 1e-9
ALIKE = 1e4  # condition number above which combinations of base parameters have nearly the same effect


def recovery(model: TorqueModel) -> tuple[np.ndarray, np.ndarray]:
    """The matrix (p, b) from base parameters to unknowns, and which unknowns it determines one by one."""
    T = model.scaled
    inverse = np.linalg.pinv(T)
    alone = np.abs(inverse @ T - np.eye(T.shape[1])).max(axis=1, initial=0.0) < HIDDEN
    return model.unknown_sizes[:, None] * inverse / model.sizes[: len(T)], alone


def sigma_of_unknowns(
    model: TorqueModel, solution: Solution, spread: Spread, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """σ of rows · unknowns, and that of white noise alone; infinite where the data do not determine them."""
    based = rows @ recovery(model)[0]
    size = np.abs(rows * model.unknown_sizes).max(axis=1, initial=0.0)
    off = np.abs((based @ model.T - rows) * model.unknown_sizes).max(axis=1, initial=0.0)
    hidden = (off > HIDDEN * size) | lost(based, solution)
    sigma, white = sigma_of(solution, spread, padded(based, solution))
    return np.where(hidden, np.inf, sigma), np.where(hidden, np.inf, white)


def lost(rows: np.ndarray, solution: Solution) -> np.ndarray:
    """Which rows over the base parameters change along directions that the data do not determine."""
    return ~solution.is_determined(padded(rows, solution))


def padded(rows: np.ndarray, solution: Solution) -> np.ndarray:
    """Rows over the base parameters, with zeros for offsets."""
    return np.concatenate([rows, np.zeros((len(rows), len(solution.x) - rows.shape[1]))], axis=1)


def not_identifiable(model: TorqueModel, solution: Solution, alone: np.ndarray) -> dict[str, str]:
    """Why a parameter is not identifiable: reasons by the name of the parameter."""
    T, unknowns, base = model.scaled, model.unknowns, model.base_names
    links = {
        link.name: mobility for link, mobility in zip(model.robot.links, mobilities(model.robot.uncoupled), strict=True)
    }
    determined = solution.determined
    silent = silent_columns(model, solution)
    reasons: dict[str, str] = {}
    for k, name in enumerate(unknowns):
        parts = np.flatnonzero(np.abs(T[:, k]) > SMALL)
        if not len(parts):
            reasons[name] = no_effect(model.robot, name, links)
        elif not determined[parts].all():
            lost = [base[i] for i in parts if not determined[i]]
            why = "has no effect in these data" if silent[parts].all() else "these data cannot separate it from others"
            reasons[name] = f"not excited: {why}" + ("" if lost == [name] else f" (in {listed(lost)})")
        elif not alone[k] and [base[i] for i in parts] == [name]:
            others = [unknowns[i] for i in np.flatnonzero(np.abs(T[parts[0]]) > SMALL) if i != k]
            reasons[name] = f"known only in a sum with {listed(others)}"
        elif not alone[k]:
            reasons[name] = f"known only as a part of {listed([base[i] for i in parts])}"
    for name, known in zip(base[len(T) :], determined[len(T) :], strict=True):
        if not known:
            reasons[name] = "these data cannot separate the offset from gravity or friction"
    return reasons


def notes_on_condition(model: TorqueModel, solution: Solution) -> list[str]:
    """A note where columns are nearly linear combinations of others, with the names of their parameters."""
    if not solution.rank or solution.condition < ALIKE:
        return []
    weakest = np.abs(solution.basis[:, -1] * np.linalg.norm(solution.system[:, :-1], axis=0))
    names = [model.base_names[k] for k in np.argsort(-weakest) if weakest[k] > 0.3 * weakest.max()]
    return [
        f"condition number {solution.condition:.2g}: in these data {listed(names)} have almost the same effect, and"
        " physical=False may give them absurd values; rounded angles in the table (1.5708) cause this, and motions that"
        " are small or slow"
    ]


def silent_columns(model: TorqueModel, solution: Solution) -> np.ndarray:
    sizes = np.linalg.norm(solution.system[:, :-1], axis=0) * model.sizes
    return np.asarray(sizes <= SMALL * sizes.max(initial=0.0))


def no_effect(robot: Robot, name: str, links: dict[str, LinkMobility]) -> str:
    """Why no torque depends on a parameter in any motion."""
    link, _, number = name.rpartition(".")
    mobility = links.get(link)
    if mobility is None:
        return "no torque depends on it"
    if mobility.turns == 0:
        return "the link only slides and never turns" if number[0] in "hJ" else "nothing moves or lifts it"
    if mobility.turns == 1:
        along = [axis for axis, there in zip(AXES, mobility.along, strict=True) if there]
        about = f"about {along[0]}" if len(along) == 1 else "about one direction"
        if number.startswith("J"):
            return f"the link only turns {about}"
        return f"the link only turns {about}, and neither gravity nor its acceleration acts on this"
    return "the link turns about a fixed point, and gravity does not act on it"


def listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


class JointInertias(NamedTuple):
    """D (..., n) in kg m², or kg where joints slide, and its standard deviations (..., n)."""

    D: np.ndarray
    sigma: np.ndarray


def joint_inertias(fit: Identification, q: ArrayLike) -> JointInertias:
    """The diagonal D of I = U D Uᵀ of an identified robot, with its standard deviation from the fit.

    D_k is the inertia along joint k of all that it carries, the joints beyond it free: Kozłowski's D(k).

    Parameters
    ----------
    fit : Identification
        A result of `lw.identify`.
    q : array_like, (..., nq)

    Returns
    -------
    JointInertias
        A named tuple of D and sigma, (..., n) each. sigma is that of changes of first order; it is infinite where
        the data do not determine D, and NaN where D is.

    Examples
    --------
    >>> import linkwise as lw
    >>> fit = lw.identify(arm, "log.csv")                                           # doctest: +SKIP
    >>> D, sigma = lw.identification.joint_inertias(fit, [0.0, -1.0, 1.0, 0, 0, 0])      # doctest: +SKIP
    """
    if not hasattr(fit, "solution"):
        raise TypeError(f"fit is {fit!r} (expected a result of lw.identify)")
    q = np.asarray(normalize(fit.robot, q))  # columns with names in the robot's order
    U, D = udu(fit.robot, q)
    rows = inertia_regressor(fit, q, np.linalg.inv(U))[..., fit.model.free]
    sigma, _ = sigma_of_unknowns(fit.model, fit.solution, fit.spread, rows.reshape(-1, rows.shape[-1]))
    return JointInertias(D, np.where(np.isnan(D), np.nan, sigma.reshape(D.shape)))


def inertia_regressor(fit: Identification, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """uᵀ ∂I/∂π u of each row u of `rates` (..., n, n): (..., n, p)."""
    q, still = q[..., None, :], np.zeros(fit.robot.n)
    with_gravity = regressor(fit.robot, q, still, rates, friction=fit.friction)
    columns = with_gravity - regressor(fit.robot, q, still, still, friction=fit.friction)
    return np.asarray(np.einsum("...i,...ip->...p", rates, columns))
