"""Gains of drives, from motor currents to torques, by a known load: the same arm recorded without it and with it.

    i = c (Y b + Z x + L l + m k),   c = 1 / gain of each joint

Y b + Z x are the torques of the arm, L l those of the load's first moment and tensor, which are unknown, and m k those
of its mass, which sets the scale. Errors are those of the currents, which does not bias gains toward zero. c, b, x and
l are found by the Gauss-Newton method on the triangles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import is_real
from ..regressors.regressors import regressor
from ..robot import Friction, Robot, require_robot
from ..robot.regroup import TEN
from .choosing import Fixed, choose
from .estimates import Estimates, parameter_scales
from .filtering import Filtering, Motion, filtered_motion, has_rates
from .least_squares import Factors, Solution, blocks_for, least_squares, sigma_of, spread_of
from .model import TorqueModel
from .reading import recordings_of
from .stacking import stacked

ROUNDS = 20  # of the Gauss-Newton method, at most
SETTLED = 1e-9  # relative change of c at convergence
VAGUE = 0.2  # relative σ above which a gain is not identifiable


@dataclass(frozen=True)
class LoadedModel:
    """The columns of an arm, then those of a load on a link: nine unknown numbers and, last, its known mass."""

    model: TorqueModel
    link: int  # of the robot's bodies
    mass: float  # 0: without the load

    @property
    def sizes(self) -> np.ndarray:
        names = [f"{self.model.robot.names[self.link]}.{number}" for number in TEN[1:]]

        return np.concatenate([self.model.sizes, parameter_scales(self.model.robot, names), [1.0]])

    @property
    def arms(self) -> np.ndarray:
        return self.model.arms

    @property
    def support(self) -> list[np.ndarray]:
        more = np.arange(len(self.model.sizes), len(self.sizes))
        return [np.concatenate([columns, more]) for columns in self.model.support]

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        own = self.model.rows(q, qd, qdd)
        load = np.zeros((*own.shape[:2], len(TEN)))
        if self.mass:
            first = len(TEN) * self.link
            load = np.asarray(regressor(self.model.robot, q, qd, qdd))[..., first : first + len(TEN)]
        known = self.mass * load[..., :1]
        return np.concatenate([own[..., :-1], load[..., 1:], known, 0.0 * known], axis=-1)


def drive_gains(
    robot: Robot,
    empty: Any,
    loaded: Any,
    mass: float,
    *,
    link: str | None = None,
    friction: bool | Friction = True,
    offset: bool | None = None,
    terms: Sequence[str] | None = None,
    transmission: Any = None,
    columns: Mapping[str, Any] | None = None,
    dt: float | None = None,
    degrees: bool = False,
    delay: float = 0.0,
    recorded_rates: bool = True,
    cutoff: float | None = None,
) -> Estimates:
    """The factors from recorded motor currents to torques, from recordings without and with a load of known mass.

    Parameters
    ----------
    robot : Robot
        The nominal robot.
    empty, loaded : as data of `lw.identify`
        The arm without the load and with it, along motions that excite it. Torques are the recorded currents.
    mass : float
        Of the load in kg. Its mass centre and tensor may be unknown.
    link : str, optional
        The link that carries it; default: the last.
    friction, offset, terms, transmission, columns, dt, degrees, delay, recorded_rates, cutoff
        As for `lw.identify`.

    Returns
    -------
    Estimates, (n,)
        `values` and `sigma`; `gains=` of `lw.identify` takes it, and the σ of parameters then includes that of the
        gains. A gain with a σ above a fifth of its value is not identifiable: σ is infinite.

    Examples
    --------
    >>> import linkwise as lw
    >>> gains = lw.identification.drive_gains(arm, "empty.csv", "load.csv", mass=2.8)        # doctest: +SKIP
    >>> fit = lw.identify(arm, "empty.csv", gains=gains)                                     # doctest: +SKIP
    """
    require_robot(robot)
    if not is_real(mass) or not 0.0 < mass < np.inf:
        raise ValueError(f"mass is {mass!r} (expected that of the load in kg, above 0: it sets the scale of the gains)")
    link = robot.names[-1] if link is None else link
    if link not in robot.names:
        raise ValueError(f"link is {link!r} (expected one of {', '.join(robot.names)})")
    gains, sigma = np.ones(robot.n), np.ones(robot.n)
    for kinds in ((), terms):  # terms of friction are chosen with gains that are nearly right
        samples = [
            recordings_of(robot, data, columns, dt, degrees, gains, recorded_rates, delay) for data in (empty, loaded)
        ]
        model = TorqueModel.of(robot, friction, transmission=transmission)
        unfiltered = cutoff is None and has_rates(samples[0])
        fixed = Fixed(cutoff, None, unfiltered, not friction, offset, kinds, np.zeros(robot.n), True, delay)
        chosen = choose(samples[0], model, fixed)
        motions = [[filtered_motion(robot, part, chosen.filtering.cutoff) for part in parts] for parts in samples]
        values, sigma = gains_of(chosen.model, chosen.filtering, motions, robot.names.index(link), mass)
        gains, sigma = gains * values, sigma * gains
    sigma = np.where(sigma <= VAGUE * np.abs(gains), sigma, np.inf)
    names = tuple(f"{name}.gain" for name in robot.v_names)
    return Estimates(names, gains, sigma, sigma, np.ones(robot.n), tuple(f"{unit}/1" for unit in robot.effort_units))


def gains_of(
    model: TorqueModel, filtering: Filtering, motions: Sequence[list[Motion]], link: int, mass: float
) -> tuple[np.ndarray, np.ndarray]:
    """The gains (n,) and their σ."""
    blocks, n = blocks_for(model.robot.n, len(model.base_names)), model.robot.n
    arm, carrying = (LoadedModel(model, link, m) for m in (0.0, mass))
    none = [np.zeros(n)]
    plain = stacked(arm, motions[0], filtering, blocks // 2, none)[-1]
    with_load = stacked(carrying, motions[1], filtering, blocks // 2, none)[-1]
    plain = replace(
        plain,
        triangles=plain.triangles + with_load.triangles,
        counts=plain.counts + with_load.counts,
        torque=plain.torque + with_load.torque,
    )
    c, z = first_guess(plain, n)
    for _ in range(ROUNDS):
        factors = linearized(plain, z, c)
        solution = least_squares(factors, np.zeros(factors.columns), True)
        z, step = z + solution.x[:-n], solution.x[-n:]
        c = np.where(c + step > 0.0, c + step, 0.5 * c)
        if np.abs(step).max() < SETTLED * np.abs(c).max():
            break
    return 1.0 / c, sigma_of_gains(factors, solution, n) / c**2


def first_guess(plain: Factors, n: int) -> tuple[np.ndarray, np.ndarray]:
    """c and z by ordinary least squares of i g - A z = m k, which biases g toward zero."""
    rows, columns = [], plain.columns - 1
    for j in range(n):
        part, own = plain.of_joint(j), plain.support[j]
        row = np.zeros((len(part), columns + n + 1))
        row[:, own[own < columns]] = -part[:, : np.sum(own < columns)]
        row[:, columns + j], row[:, -1] = part[:, -1], part[:, -2]
        rows.append(row)
    A = np.concatenate(rows)
    scale = np.linalg.norm(A[:, :-1], axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    x = np.linalg.lstsq(A[:, :-1] / scale, A[:, -1], rcond=1e-10)[0] / scale
    g = np.where(x[columns:] > 0.0, x[columns:], np.median(np.abs(x[columns:])))
    return 1.0 / g, x[:columns]


def linearized(plain: Factors, z: np.ndarray, c: np.ndarray) -> Factors:
    """The rows of the problem linearised in z and c."""
    columns, n = plain.columns - 1, len(c)
    support = [np.append(own[own < columns], columns + j) for j, own in enumerate(plain.support)]
    factors = Factors(np.concatenate([plain.sizes[:-1], np.ones(n)]), plain.arms, support)
    factors.counts, factors.torque = plain.counts, plain.torque
    for block in plain.triangles:
        parts = []
        for j, part in enumerate(block):
            A, known, measured = part[:, :-2], part[:, -2], part[:, -1]
            predicted = A @ z[support[j][:-1]] + known
            parts.append(np.column_stack([c[j] * A, predicted, measured - c[j] * predicted]))
        factors.triangles.append(parts)
    return factors


def sigma_of_gains(factors: Factors, solution: Solution, n: int) -> np.ndarray:
    rows = np.eye(n, factors.columns, factors.columns - n)
    sigma = sigma_of(solution, spread_of(factors, solution), rows)[0]
    return np.where(solution.is_determined(rows), sigma, np.inf)
