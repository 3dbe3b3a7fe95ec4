"""The inertias D of the joints, with all joints beyond them free, of an identified robot, and how well they are known.

With I = U D Uᵀ and u_k the joint rates whose only quasi-velocity ξ = Uᵀ u is ξ_k = 1,

    D_k = u_kᵀ I u_k        ∂D_k/∂π = u_kᵀ ∂I/∂π u_k

since U⁻¹ U' is strictly upper triangular: what the u_k change by does not count. u_kᵀ ∂I/∂π u_k is the regressor of the
torques at the accelerations u_k, less that at rest, times u_k. σ follows from the covariance of the fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..api.functions import udu
from ..api.integration import normalize
from ..regressors.regressors import regressor
from .identifiability import sigma_of_unknowns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .result import Identification


class JointInertias(NamedTuple):
    """D (..., n) in kg m², or kg where joints slide, and its standard deviations (..., n)."""

    D: np.ndarray
    sigma: np.ndarray


def joint_inertias(fit: Identification, q: ArrayLike) -> JointInertias:
    """The diagonal D of I = U D Uᵀ of an identified robot, with the standard deviation that the fit gives it.

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
        the data do not tell D.

    Examples
    --------
    >>> import linkwise as lw
    >>> fit = lw.identify(arm, "log.csv")                                           # doctest: +SKIP
    >>> D, sigma = lw.identification.joint_inertias(fit, [0.0, -1.0, 1.0, 0, 0, 0])      # doctest: +SKIP
    """
    q = np.asarray(normalize(fit.robot, q))  # columns with names in the robot's order
    U, D = udu(fit.robot, q)
    rows = inertia_regressor(fit, q, np.linalg.inv(U))[..., fit.model.free]
    sigma, _ = sigma_of_unknowns(fit.model, fit.solution, fit.spread, rows.reshape(-1, rows.shape[-1]))
    return JointInertias(D, sigma.reshape(D.shape))


def inertia_regressor(fit: Identification, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """uᵀ ∂I/∂π u of each row u of `rates` (..., n, n): (..., n, p)."""
    q, still = q[..., None, :], np.zeros(fit.robot.n)
    with_gravity = regressor(fit.robot, q, still, rates, friction=fit.friction)
    columns = with_gravity - regressor(fit.robot, q, still, still, friction=fit.friction)
    return np.asarray(np.einsum("...i,...ip->...p", rates, columns))
