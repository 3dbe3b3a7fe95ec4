"""What a fit of possible bodies is drawn to: the nominal robot, made definite where its numbers are not.

The entropic distance needs bodies with mass and extent in all directions. What a nominal link lacks is filled in, by
rules, and each case is noted:

- a link without mass: a tenth of the mean mass of the others, spread over a quarter of the mean distance between
  joints; if no link has any, the mass with which all of them together explain the size of the torques;
- a link that is thinner than a twentieth of that distance in some direction (rods, point masses, inconsistent
  numbers): that thickness;
- a rotor inertia or a coefficient of friction that is zero: a tenth of what would explain all torques alone; zero, but
  for rounding beside masses and distances, where the data have no effect of it, where its σ is larger than that
  tenth, or a tenth of that and no smaller than the value itself. Where torques do not tell it from parameters of
  bodies, as the rotor of a first joint, its distance counts little: bodies that explain the torques stay as they are,
  and what they would have to grow by becomes a rotor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from ..robot.scales import reach
from .estimates import sizes_of
from .physical import pseudo_inertias, ten_numbers

LITTLE_MASS = 1e-3  # of the mean mass
SHARE = 0.1
SPREAD, THIN = 0.25, 0.05  # of the mean distance between joints
NO_EFFECT, NOTHING = 1e-9, 1e-12  # a column of a scalar beside the others; a scalar beside a mass times a distance²
AT_ONE_PLACE = 1e-6  # of the largest distance between joints
VAGUE = 0.1  # of that σ: where a value is not larger than its σ
LITTLE_SHARE = 1e-4  # of the distance: its root is what a rotor takes of a body that needs none
DISTANCE = 0.2  # of the robot's size, where all joints are in one place


class Prior(NamedTuple):
    bodies: np.ndarray  # (links, 4, 4)
    scalars: np.ndarray
    shares: np.ndarray  # of the scalars in the distance
    notes: tuple[str, ...]
    kept: tuple[str, ...] = ()  # a note on scalars that are kept at zero


class Evidence(NamedTuple):
    """What torques tell of scalars, and the columns by which they depend on bodies."""

    bodies: np.ndarray
    columns: np.ndarray
    alone: np.ndarray  # which of them torques tell from other parameters
    sigma: np.ndarray  # or more, where the value is smaller than that
    torque: float  # the size of all torques


def prior_of(
    robot: Robot,
    links: Sequence[int],
    ten: np.ndarray,
    scalars: np.ndarray,
    names: Sequence[str],
    evidence: Evidence,
) -> Prior:
    """From the nominal numbers (links, 10) of these links, and (scalars,) with their names."""
    nominal = pseudo_inertias(ten)
    notes: list[str] = []
    thin: list[str] = []
    masses = nominal[:, 3, 3]
    positive = masses[masses > 0.0]
    away = [float(np.linalg.norm([float(x) for x in link.placement.translation])) for link in robot.links]
    away = [x for x in away if x > AT_ONE_PLACE * max(away)]
    distance = float(np.mean(away)) if away else DISTANCE * reach(robot)
    spread = (SPREAD * distance) ** 2 * np.eye(3)
    mass = float(positive.mean()) if len(positive) else explaining_mass(evidence, spread) / SHARE
    bodies = np.empty_like(nominal)
    for k, (name, P) in enumerate(zip([robot.names[k] for k in links], nominal, strict=True)):
        if P[3, 3] <= LITTLE_MASS * mass:
            bodies[k] = pseudo_inertia_of(SHARE * mass, np.zeros(3), spread)
            notes.append(f"{name} has no mass in the nominal robot: drawn to {SHARE * mass:.3g} kg at its joint")
            continue
        centre = P[:3, 3] / P[3, 3]
        values, vectors = np.linalg.eigh(P[:3, :3] / P[3, 3] - np.outer(centre, centre))
        least = (THIN * distance) ** 2
        if values[0] < least:
            thin.append(name)
        bodies[k] = pseudo_inertia_of(P[3, 3], centre, (vectors * np.maximum(values, least)) @ vectors.T)
    words = f"{', '.join(thin)}: thin, or no body, in the nominal robot; drawn to one {THIN * distance:.2g} m thick"
    own = sizes_of(robot, names, mass, distance)
    sizes = np.linalg.norm(evidence.columns, axis=0)
    seen = sizes * own > NO_EFFECT * (sizes * own).max(initial=0.0)
    guess = np.where(seen, SHARE * evidence.torque / np.where(seen, sizes, 1.0), 0.0)
    vague, kept = seen & evidence.alone & (scalars <= 0.0) & (evidence.sigma > guess), tuple[str, ...]()
    if vague.any():
        which = ", ".join(name for name, yes in zip(names, vague, strict=True) if yes)
        kept = (f"{which}: these data do not tell; zero in the nominal robot, and kept at that",)
    guess = np.where(vague, 0.0, guess)
    shares = np.where(seen & ~evidence.alone & (scalars <= 0.0), LITTLE_SHARE, 1.0)
    scalars = np.where(scalars > 0.0, scalars, np.maximum(guess, NOTHING * own))
    return Prior(bodies, scalars, shares, (*notes, words) if thin else tuple(notes), kept)


def explaining_mass(evidence: Evidence, spread: np.ndarray) -> float:
    """Of each link, at its joint, with which all together make torques of the measured size; 1 kg if none do."""
    body = ten_numbers(pseudo_inertia_of(1.0, np.zeros(3), spread))
    torque = np.linalg.norm(evidence.bodies.reshape(len(evidence.bodies), -1, len(body)).sum(axis=1) @ body)
    return float(evidence.torque / torque) if torque > 0.0 else 1.0


def pseudo_inertia_of(mass: float, centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """P of a mass with these second moments (per mass) about its centre."""
    P = np.empty((4, 4))
    P[:3, :3] = mass * (spread + np.outer(centre, centre))
    P[:3, 3] = P[3, :3] = mass * centre
    P[3, 3] = mass
    return P
