"""Parameters with their errors, and errors of predicted torques: arrays with names, which print as tables."""

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

ZERO = 3.0  # σ: a parameter nearer to zero is not known from it
SUM, MOMENT, INERTIA = "kg", "kg m", "kg m2"
OF_DRIVES = {  # of joints that turn, and of those that slide
    "rotor": ("kg m2", "kg"),
    "viscous": ("N m s/rad", "N s/m"),
    "coulomb": ("N m", "N"),
    "offset": ("N m", "N"),
}
LENGTHS = {SUM: 0, MOMENT: 1, INERTIA: 2, "N m s/rad": 2, "N s/m": 0, "N m": 2, "N": 1}  # powers of m in a unit


class Tabular(ABC):
    """What has columns of a table, and prints as one."""

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
    """Parameters by name: `values` with their `sigma`, and what they are in the `nominal` robot. Printed, a table.

    `sigma` is infinite where the data do not tell a parameter from others. `white_sigma` is what σ would be if the
    residuals were white noise; `sigma` is the larger of that and of the spread between blocks of time. Bodies are in
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
        """σ over the size of the value."""
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


def parameter_units(robot: Robot, names: tuple[str, ...]) -> tuple[str, ...]:
    """Of parameters by their names: link2.m, link2.rotor, joint2.offset."""
    slides = {joint.name: drive_kinds(robot, joint.first, joint.link) for joint in robot.moving}
    slides |= {name: {unit == "N"} for name, unit in zip(robot.v_names, robot.effort_units, strict=True)}
    units = []
    for name in names:
        owner, _, number = name.rpartition(".")
        if number in OF_DRIVES:
            units.append(", ".join(OF_DRIVES[number][k] for k in sorted(slides[owner])))
        else:
            units.append({"m": SUM, "h": MOMENT, "J": INERTIA}[number[0]])
    return tuple(units)


def sizes_of(robot: Robot, names: Sequence[str], mass: float | None = None, length: float | None = None) -> np.ndarray:
    """What parameters are small beside: this mass, by default the mean of the links' masses, times powers of a length.

    By default that length is the size of the robot. Per second they are what they are: no decision is about seconds.
    """
    masses = [float(link.mass) for link in robot.links if float(link.mass) > 0.0]
    mean = (float(np.mean(masses)) if masses else 1.0) if mass is None else mass
    powers = [LENGTHS[unit.partition(",")[0]] for unit in parameter_units(robot, tuple(names))]
    return np.asarray(mean * (reach(robot) if length is None else length) ** np.array(powers, dtype=float))


def drive_kinds(robot: Robot, first: int, last: int) -> set[bool]:
    """Of a joint, which may have several degrees of freedom: whether some slide, and some turn."""
    return {not link.joint.angular for link in robot.links[first : last + 1]}


class ErrorArrays(NamedTuple):
    rms: np.ndarray
    relative: np.ndarray
    r2: np.ndarray


class JointErrors(Tabular, ErrorArrays):
    """How far predicted torques are from measured ones, for each of `joints`: a tuple of arrays. Printed, a table.

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
