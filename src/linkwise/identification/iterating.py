"""The motion that most reduces the uncertainty of a fit: D-optimal together with its recordings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..robot.layout import join_names
from .exciting_motions import Excitation
from .exciting_motions.optimization import searched_excitation
from .least_squares import triangle
from .result import Identification


def next_motion(
    fit: Identification,
    limits: Any = None,
    *,
    harmonics: int | None = None,
    duration: float = 10.0,
    starts: int = 4,
    seed: int = 1,
    **options: Any,
) -> Excitation:
    """The motion within the limits that most reduces the uncertainty of a fit.

    Its information is added to that of the recordings of the fit: the determinant of the sum is maximised. Directions
    that are well determined count little; those that are not excited yet count most.

    Parameters
    ----------
    fit : Identification
        A result of `lw.identify`; its robot, noise and rows are taken.
    limits : mapping, optional
        As for `lw.excitation`.
    harmonics, duration, starts, seed, **options
        As for `lw.excitation`.

    Returns
    -------
    Excitation
        `sigma` are the expected standard deviations from this motion alone.

    Examples
    --------
    >>> import linkwise as lw
    >>> move = lw.identification.next_motion(fit, {"position": (-2, 2), "velocity": 2})      # doctest: +SKIP
    >>> better = lw.identify(arm, [first, measured_along(move)])                             # doctest: +SKIP
    """
    if not isinstance(fit, Identification):
        raise TypeError(f"fit is {type(fit).__name__} (expected a result of lw.identify)")
    if fit.model.chosen:
        raise ValueError(f"only {join_names(fit.model.chosen)} was free (expected a fit of the whole robot)")
    noise = np.where(np.isfinite(fit.noise), fit.noise, 1.0)
    seconds = fit.duration / fit.rows  # between rows of the fit, which are nearly independent
    known, names = known_rows(fit)
    return searched_excitation(
        fit.robot, harmonics, duration, limits, criterion="logdet", friction=fit.friction, noise=noise, starts=starts,
        seed=seed, known=(known, names, seconds), **options,
    )  # fmt: skip


def known_rows(fit: Identification) -> tuple[np.ndarray, tuple[str, ...]]:
    """A triangle over the base parameters that replaces all rows of the fit; further terms remain unknown."""
    b = len(fit.model.combined)
    system = fit.solution.system[:, :-1]
    turned = triangle(np.concatenate([system[:, b:], system[:, :b]], axis=1))
    return turned[system.shape[1] - b :, system.shape[1] - b :], fit.model.combined
