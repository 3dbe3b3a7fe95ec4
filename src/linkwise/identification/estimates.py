"""Tables of the results of an identification: parameters with their σ, and errors of predicted torques."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import near_miss
from ..extras import import_optional
from ..robot import Robot
from ..robot.scales import reach
from .text import ROUNDING, digits, percent, share, table

ZERO = 3.0  # σ: a smaller parameter is not distinguishable from zero
UNITS = {  # for revolute and for prismatic joints; and the powers of mass and length in each
    "m": (("kg", 1, 0),) * 2,
    "h": (("kg m", 1, 1),) * 2,
    "J": (("kg m2", 1, 2),) * 2,
    "rotor": (("kg m2", 1, 2), ("kg", 1, 0)),
    "viscous": (("N m s/rad", 1, 2), ("N s/m", 1, 0)),
    "coulomb": (("N m", 1, 2), ("N", 1, 1)),
    "offset": (("N m", 1, 2), ("N", 1, 1)),
    "quadratic": (("N m s2/rad2", 1, 2), ("N s2/m2", 1, -1)),
    "stribeck": (("N m", 1, 2), ("N", 1, 1)),
    "load": (("1", 0, 0),) * 2,
    "spring": (("N m/rad", 1, 2), ("N/m", 1, 0)),
}
OF_DRIVES = tuple(UNITS)[3:]


class Tabular(ABC):
    """A result with columns that prints as a table."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The columns of the table by name."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The table as text."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_pandas(self) -> Any:
        """The table as a DataFrame; needs pandas."""
        return import_optional("pandas").DataFrame(self.columns())


@dataclass(frozen=True, repr=False, eq=False)
class Estimates(Tabular):
    """Parameters by name: `values` with their `sigma`, and their values in the `nominal` robot. It prints as a table.

    `sigma` is infinite where the data cannot separate a parameter from others. `white_sigma` is σ for residuals that
    are white noise; `sigma` is the larger of that and of the spread between blocks of time. Bodies are in
    the joint-aligned frames of their links, as in `lw.parameters`. `columns()` and `to_pandas()` give a table.
    """

    names: tuple[str, ...]
    values: np.ndarray
    sigma: np.ndarray
    white_sigma: np.ndarray
    nominal: np.ndarray
    units: tuple[str, ...]

    @property
    def relative_sigma(self) -> np.ndarray:
        """σ divided by the magnitude of the value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(np.isinf(self.sigma), np.inf, self.sigma / np.abs(self.values)))

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            hint = near_miss(name, self.names)
            raise KeyError(f"{name!r} is not a parameter{hint} (expected {', '.join(self.names)})")
        return float(self.values[self.names.index(name)])

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(np.array(self.values, dtype=dtype))

    def __repr__(self) -> str:
        known = int(np.isfinite(self.sigma).sum())
        return f"<Estimates of {len(self)} parameters, {known} of them with a σ: print shows the table>"

    def columns(self) -> dict[str, Any]:
        values = {"value": self.values, "sigma": self.sigma, "nominal": self.nominal}
        return {"parameter": list(self.names), **values, "unit": list(self.units)}

    def lines(self) -> list[str]:
        head = ["parameter", "value", "σ", "relative", "nominal", "unit", ""]
        rows = [[*self.cells(k)[:-1], self.units[k], self.cells(k)[-1]] for k in range(len(self))]
        return table(head, rows)

    def cells(self, k: int, unknown: str = "not identifiable") -> list[str]:
        """Name, value, σ, relative σ, nominal value and a remark."""
        value, sigma, alike = self.values[k], self.sigma[k], np.array(self.units) == self.units[k]
        largest = max(np.abs(numbers[alike]).max() for numbers in (self.values, self.nominal))
        shown, nominal = (digits(x, 4, largest) for x in (value, self.nominal[k]))
        if np.isinf(sigma):
            return [self.names[k], shown, "-", "-", nominal, unknown]
        if sigma == 0.0 and value == self.nominal[k]:
            return [self.names[k], shown, "-", "-", nominal, "kept"]
        word = f"zero within {ZERO:g} σ" if abs(value) < ZERO * sigma else ""
        return [self.names[k], shown, digits(sigma, 2), percent(self.relative_sigma[k]), nominal, word]


def parameter_units(robot: Robot, names: Sequence[str]) -> tuple[str, ...]:
    """The units of parameters by their names: link2.m, link2.rotor, joint2.offset."""
    return tuple(", ".join(UNITS[kind][k][0] for k in slides) for kind, slides in kinds_of(robot, names))


def kinds_of(robot: Robot, names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """The kind of each parameter, and whether its joint turns (0), slides (1), or does both."""
    slides = {j.name: sorted({not k.joint.angular for k in robot.links[j.first : j.link + 1]}) for j in robot.moving}
    slides |= {name: [unit == "N"] for name, unit in zip(robot.v_names, robot.effort_units, strict=True)}
    parts = [name.rpartition(".") for name in names]
    return [
        (number, list(map(int, slides[owner]))) if number in OF_DRIVES else (number[0], [0])
        for owner, _, number in parts
    ]


def parameter_scales(
    robot: Robot, names: Sequence[str], mass: float | None = None, length: float | None = None
) -> np.ndarray:
    """The scale of each parameter: a mass, by default the mean of the links' masses, times powers of a length.

    The length is by default the size of the robot. The scale of time is one second.
    """
    masses = [float(link.mass) for link in robot.links if float(link.mass) > 0.0]
    mean = (float(np.mean(masses)) if masses else 1.0) if mass is None else mass
    size = reach(robot) if length is None else length
    powers = [UNITS[kind][slides[0]][1:] for kind, slides in kinds_of(robot, names)]
    return np.array([mean**of_mass * size**of_length for of_mass, of_length in powers])


class Certificate(NamedTuple):
    """The eigenvalues of a link's pseudo-inertia: not negative if the link is physically consistent."""

    eigenvalues: np.ndarray
    possible: bool


class ErrorArrays(NamedTuple):
    rms: np.ndarray
    relative: np.ndarray
    r2: np.ndarray


class JointErrors(Tabular, ErrorArrays):
    """Errors of predicted torques for each of `joints`: a tuple of arrays. It prints as a table.

    `rms` in `units`, N m or N; `relative` to the root mean square of the measured torque; `r2`, the share of its
    variance that the model explains. `columns()` and `to_pandas()` give a table.
    """

    joints: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __new__(
        cls,
        rms: np.ndarray,
        relative: np.ndarray,
        r2: np.ndarray,
        joints: tuple[str, ...] = (),
        units: tuple[str, ...] = (),
    ) -> JointErrors:
        errors = super().__new__(cls, rms, relative, r2)
        errors.joints, errors.units = joints, units
        return errors

    @staticmethod
    def of(robot: Robot, rms: np.ndarray, size: np.ndarray, variation: np.ndarray) -> JointErrors:
        with np.errstate(divide="ignore", invalid="ignore"):
            return JointErrors(rms, rms / size, 1.0 - (rms / variation) ** 2, robot.v_names, robot.effort_units)

    def __repr__(self) -> str:
        relative, r2 = (values[np.isfinite(values)] for values in (self.relative, self.r2))
        worst = f", relative up to {percent(relative.max())}" if len(relative) else ""
        least = f", R² from {share(r2.min())} on" if len(r2) else ""
        return f"<JointErrors of {len(self.rms)} joints{worst}{least}: print shows the table>"

    def columns(self) -> dict[str, Any]:
        return {"joint": list(self.joints), **self._asdict(), "unit": list(self.units)}

    def lines(self) -> list[str]:
        rows = [[name, *self.cells(j), self.units[j]] for j, name in enumerate(self.joints)]
        return table(["joint", "rms", "relative", "R²", "unit"], rows)

    def cells(self, j: int) -> list[str]:
        rms = 0.0 if self.relative[j] < ROUNDING else self.rms[j]
        return [digits(rms, 3), percent(self.relative[j]), share(self.r2[j])]
