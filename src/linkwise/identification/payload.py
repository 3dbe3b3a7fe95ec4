"""The payload of a link: its body less that of the nominal robot, in any frame of the link, with σ.

A fit of some links determines the difference between their bodies and those of the nominal robot. The nominal bodies
need not be right one by one: torques of the arm without its load determine only combinations of them. The difference is
that of pseudo-inertias P, which are linear in the ten numbers of a body and move between frames as A P Aᵀ:

    P = [S h; hᵀ m]     c = h / m     I = tr(S_c) 1 - S_c,  S_c = S - h hᵀ / m       about the mass centre
    dc = (dh - c dm) / m              dS_c = dS - dh cᵀ - c dhᵀ + c cᵀ dm

σ follows from these derivatives and the covariance of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..robot.regroup import TEN
from .estimates import ZERO, Tabular
from .identifiability import sigma_of_unknowns
from .physical import pseudo_inertias
from .text import rounded, table, within

if TYPE_CHECKING:
    from .result import Identification

ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of the tensor, as `lw.describe` lists them
NAMES = ("mass", "cx", "cy", "cz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
UNITS = ("kg", *["m"] * 3, *["kg m2"] * 6)
POSSIBLE = 1e-9  # of the largest second moment: smaller negative ones are rounding


@dataclass(frozen=True, repr=False, eq=False)
class Payload(Tabular):
    """The payload of `link`, which the nominal robot lacks: mass, mass centre and inertia about it, in `frame`.

    Printed, it is a table; `columns()` and `to_pandas()` give one. `com` (3,) is in the frame, `inertia` (3, 3) the
    tensor about the mass centre, along the frame's axes. `mass_sigma`, `com_sigma` and `inertia_sigma` are the σ of the
    difference to the nominal robot. What torques do not determine is NaN, with an infinite σ. `possible` says whether
    these numbers are physically consistent; None if they are not all known. `robot.with_payload(load.mass, load.com,
    load.inertia, link=load.frame)` is the arm that carries it.
    """

    link: str
    frame: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    mass_sigma: float
    com_sigma: np.ndarray
    inertia_sigma: np.ndarray
    possible: bool | None

    @property
    def values(self) -> np.ndarray:
        """Mass, mass centre, and Ixx, Iyy, Izz, Ixy, Ixz, Iyz: (10,)."""
        return np.array([self.mass, *self.com, *(self.inertia[entry] for entry in ENTRIES)])

    @property
    def sigma(self) -> np.ndarray:
        """The σ of `values`: (10,)."""
        return np.array([self.mass_sigma, *self.com_sigma, *(self.inertia_sigma[entry] for entry in ENTRIES)])

    @property
    def title(self) -> str:
        return f"payload: what {self.link} has more than the nominal robot, in the frame {self.frame}"

    @property
    def sentence(self) -> str:
        """Mass and mass centre."""
        if np.isnan(self.mass):
            return f"its mass is not identifiable ({self.link})"
        mass = f"{within(self.mass, self.mass_sigma)} kg"
        if np.isnan(self.com).all():
            vague = "not distinguishable from zero" if np.isfinite(self.mass_sigma) else "not identifiable"
            return f"{mass}, {vague if abs(self.mass) < ZERO * self.mass_sigma else 'mass centre not identifiable'}"
        centre = ", ".join(within(x, s) for x, s in zip(self.com, self.com_sigma, strict=True))
        return f"{mass} at ({centre}) m in {self.frame}"

    def __repr__(self) -> str:
        return f"<Payload of {self.link!r}: {self.sentence}>"

    def columns(self) -> dict[str, Any]:
        return {"quantity": list(NAMES), "value": self.values, "sigma": self.sigma, "unit": list(UNITS)}

    def lines(self) -> list[str]:
        lines = [self.title, *table(["", "value", "σ", "unit"], self.rows())]
        return [*lines, *self.remarks()]

    def rows(self) -> list[list[str]]:
        values = zip(NAMES, self.values, self.sigma, UNITS, strict=True)
        return [[name, *(rounded(x, s) if np.isfinite(s) else "--"), unit] for name, x, s, unit in values]

    def remarks(self) -> list[str]:
        lines = ["c: mass centre; I: inertia about it (Ixy is minus the integral of x y dm); σ: of the difference"]
        if np.isfinite(self.mass_sigma) and abs(self.mass) < ZERO * self.mass_sigma:
            lines.append(f"the mass is zero within {ZERO:g} σ: there is no mass centre to determine")
        elif not np.isfinite(self.sigma).all():
            lines.append("-: these torques do not determine it")
        if self.possible is False and self.mass > 0.0:
            if np.all(np.abs(self.inertia) <= ZERO * self.inertia_sigma):
                lines.append(f"the inertia is zero within {ZERO:g} σ: with_payload(mass, com) is a point mass")
            else:
                lines.append("not physically consistent; a value within its σ may be, as for a point mass")
        return lines


def payload_of(result: Identification, frame: str | None = None) -> Payload:
    """The payload of the free link to which the frame belongs; by default of the only free link, in its table frame."""
    robot, model = result.nominal, result.model
    links = [robot.names[k] for k in model.links] if model.chosen else []
    if not links:
        raise ValueError(
            "this fit identified all links, or none (expected a fit of the link that carries the payload, with all"
            f" else as it was identified before: lw.identify(robot, data, free=[{robot.names[-1]!r}]))"
        )
    if frame is None:
        if len(links) > 1:
            raise ValueError(f"several links are free: {', '.join(links)} (expected the name of one, or of its frame)")
        frame = links[0]
    if not isinstance(frame, str):
        raise TypeError(f"frame is {frame!r} (expected the name of a link or frame)")
    place = robot.frame(frame)
    link = "the base" if place.on_base else robot.names[place.link]
    if link not in links:
        raise ValueError(f"frame {frame!r} is fixed to {link}, which is not free (expected a frame of {links[0]})")
    position = [robot.names[k] for k in model.links].index(link)
    own = np.flatnonzero(model.free)[len(TEN) * position + np.arange(len(TEN))]
    ten = result.parameters.values[own] - model.nominal[own]
    columns = len(TEN) * position + np.arange(len(TEN))
    into = np.array(robot.seat(place)[1].inverse().matrix(), dtype=float)

    def sigma(rows: np.ndarray) -> np.ndarray:
        """The σ of quantities with these derivatives by the ten numbers."""
        every = np.zeros((len(rows), int(model.free.sum())))
        every[:, columns] = rows
        return sigma_of_unknowns(model, result.solution, result.spread, every)[0]

    units = into @ pseudo_inertias(np.eye(len(TEN))) @ into.T
    P = into @ pseudo_inertias(ten) @ into.T
    mass, mass_sigma = float(P[3, 3]), float(sigma(units[:, 3, 3][None])[0])
    com, inertia = np.full(3, np.nan), np.full((3, 3), np.nan)
    com_sigma, inertia_sigma = np.full(3, np.inf), np.full((3, 3), np.inf)
    possible = None
    if np.isfinite(mass_sigma) and abs(mass) >= ZERO * mass_sigma and mass != 0.0:
        dS, dh, dm = units[:, :3, :3], units[:, :3, 3], units[:, 3, 3]
        c = P[:3, 3] / mass
        spread = P[:3, :3] - mass * np.outer(c, c)
        com_sigma = sigma(((dh - np.outer(dm, c)) / mass).T)
        both = dh[:, :, None] * c
        dS_c = dS - both - np.swapaxes(both, 1, 2) + dm[:, None, None] * np.outer(c, c)
        inertia_sigma = sigma(tensors(dS_c).reshape(len(TEN), 9).T).reshape(3, 3)
        com = np.where(np.isfinite(com_sigma), c, np.nan)
        inertia = np.where(np.isfinite(inertia_sigma), tensors(spread), np.nan)
        if np.isfinite(inertia_sigma).all():
            moments = np.linalg.eigvalsh(spread)
            possible = bool(mass > 0.0 and moments[0] >= -POSSIBLE * abs(moments[-1]))
    mass = mass if np.isfinite(mass_sigma) else float("nan")
    return Payload(link, frame, mass, com, inertia, mass_sigma, com_sigma, inertia_sigma, possible)


def tensors(moments: np.ndarray) -> np.ndarray:
    """Inertia tensors (..., 3, 3) of second moments."""
    trace = np.trace(moments, axis1=-2, axis2=-1)
    return np.asarray(trace[..., None, None] * np.eye(3) - moments)
