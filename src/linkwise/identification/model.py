"""What is identified: the unknowns of a robot, the combinations that torques depend on, and their columns; the
parameters with their errors, and errors of predicted torques.

τ = Y b + o,   b = T π                π: ten numbers a link, rotors, friction; b: base parameters; o: torque offsets
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import near_miss
from ..extras import import_optional
from ..lazy import cached_property
from ..regressors.parameters import parameters
from ..regressors.regressors import regressor
from ..robot import Friction, Robot
from ..robot.configurations import random_configuration
from ..robot.regroup import TEN
from ..robot.scales import coordinate_scales, reach
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


ROTOR = ".rotor"
OFFSET = ".offset"
INDEPENDENT, EXACT_ZERO = 1e-9, 1e-12
STATES = 4  # random ones, in which columns are seen to be zero


@dataclass(frozen=True)
class TorqueModel:
    """The unknowns π of a robot by name, with nominal values, and the matrix T of their combinations b."""

    robot: Robot
    friction: bool | Friction
    offset: bool
    names: tuple[str, ...]  # of all parameters
    nominal: np.ndarray
    free: np.ndarray  # which of them are unknown
    combined: tuple[str, ...]  # names of b
    T: np.ndarray  # (b, p) of the unknowns, without offsets
    grouping: np.ndarray  # of all base parameters from all parameters
    mixing: np.ndarray  # (all base parameters, b): the columns of b are those of the base regressor times this
    chosen: tuple[str, ...] = ()  # what alone is free, by the user's names; empty: all

    @staticmethod
    def of(
        robot: Robot, friction: bool | Friction, rotors: bool, offset: bool, chosen: Sequence[str] | None = None
    ) -> TorqueModel:
        """`chosen`: links whose bodies are unknown, and names such as link2.viscous; None: all."""
        every, base = parameters(robot, friction), parameters(robot, friction, base=True)
        grouping = np.asarray(base.grouping, dtype=float)
        nominal = np.asarray(every, dtype=float)
        if chosen is not None:
            free = chosen_parameters(robot, every.names, chosen)
            names = [name for name, yes in zip(every.names, free, strict=True) if yes]
            sizes = sizes_of(robot, names)
            scaled = grouping[:, free] * sizes / sizes_of(robot, base.names)[:, None]
            own = independent(scaled)
            mixing, combined = grouping[:, free][:, own], tuple(names[k] for k in own)
            T = np.linalg.lstsq(scaled[:, own], scaled, rcond=None)[0]
            T = np.where(np.abs(T) < EXACT_ZERO, 0.0, T) * sizes[own][:, None] / sizes
            return TorqueModel(
                robot, friction, offset, every.names, nominal, free, combined, T, grouping, mixing, tuple(chosen)
            )
        free = np.array([rotors or not name.endswith(ROTOR) for name in every.names])
        kept = (grouping[:, free] != 0.0).any(axis=1)
        combined = tuple(name for name, yes in zip(base.names, kept, strict=True) if yes)
        T, mixing = grouping[np.ix_(kept, free)], np.eye(len(grouping))[:, kept]
        return TorqueModel(robot, friction, offset, every.names, nominal, free, combined, T, grouping, mixing)

    @property
    def unknowns(self) -> list[str]:
        return [name for name, free in zip(self.names, self.free, strict=True) if free]

    @property
    def base_names(self) -> list[str]:
        """Of the columns, offsets among them."""
        offsets = [f"{name}{OFFSET}" for name in self.robot.v_names] if self.offset else []
        return [*self.combined, *offsets]

    @property
    def base_nominal(self) -> np.ndarray:
        return np.concatenate([self.T @ self.nominal[self.free], np.zeros(self.robot.n if self.offset else 0)])

    @cached_property
    def sizes(self) -> np.ndarray:
        """Of the columns: what each of their unknowns is small beside."""
        return sizes_of(self.robot, self.base_names)

    @cached_property
    def arms(self) -> np.ndarray:
        return coordinate_scales(self.robot)

    @cached_property
    def unknown_sizes(self) -> np.ndarray:
        return sizes_of(self.robot, self.unknowns)

    @property
    def scaled(self) -> np.ndarray:
        """T of parameters in units of their sizes."""
        return np.asarray(self.T * self.unknown_sizes / self.sizes[: len(self.T), None])

    @property
    def links(self) -> list[int]:
        """Whose bodies are unknown; their numbers, ten each, come first."""
        return [k for k in range(len(self.robot.names)) if self.free[len(TEN) * k]]

    @property
    def body_size(self) -> int:
        return len(TEN) * len(self.links)

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """The columns of base parameters and offsets, and the torque of what is not identified: (N, n, b + 1)."""
        Y = np.asarray(regressor(self.robot, q, qd, qdd, friction=self.friction, base=True))
        fixed, count = ~self.free, len(self.combined)
        rows = np.zeros((*Y.shape[:2], count + (self.robot.n if self.offset else 0) + 1))
        rows[..., :count] = Y if count == Y.shape[-1] else Y @ self.mixing
        if self.offset:
            rows[:, range(self.robot.n), range(count, count + self.robot.n)] = 1.0
        if fixed.any():
            rows[..., -1] = Y @ (self.grouping[:, fixed] @ self.nominal[fixed])
        return rows

    @property
    def support(self) -> list[np.ndarray]:
        """Of each joint: the columns that are not zero in every state."""
        rng = np.random.default_rng(0)
        q = np.asarray(random_configuration(self.robot, rng, (STATES,)))
        rows = self.rows(q, *rng.normal(size=(2, STATES, self.robot.n)))[..., :-1]
        return [np.flatnonzero(rows[:, j].any(axis=0)) for j in range(self.robot.n)]

    def with_unknowns(self, values: np.ndarray) -> np.ndarray:
        """All parameters, of which the unknowns have these values."""
        every = self.nominal.copy()
        every[self.free] = values
        return every


def chosen_parameters(robot: Robot, names: Sequence[str], chosen: Sequence[str]) -> np.ndarray:
    """Which parameters are meant by names of links and of rotors or coefficients of friction."""
    if isinstance(chosen, str) or not all(isinstance(name, str) for name in chosen) or not len(chosen):
        raise TypeError(f"free is {chosen!r} (expected a list of links, such as [{robot.names[-1]!r}])")
    own = {f"{link}.{number}": link for link in robot.names for number in TEN}
    scalars = [name for name in names if name not in own]
    for name in chosen:
        if name not in robot.names and name not in scalars:
            raise ValueError(f"free has {name!r}{meant(robot, name, scalars)}")
    return np.array([own.get(name, name) in chosen for name in names])


def meant(robot: Robot, name: str, scalars: Sequence[str]) -> str:
    """What was probably meant by a name that is no link, and what was expected."""
    joints = {joint.joint: joint.name for joint in robot.moving}
    fixed = {frame.name: robot.names[frame.link] for frame in robot.frames if not frame.on_base}
    if name in joints:
        return f", a joint (expected its link, {joints[name]!r})"
    if name in fixed:
        return (
            f", a frame that is fixed to {fixed[name]!r} (expected that link; fit.payload({name!r}) then gives what it"
            " carries in this frame)"
        )
    links = ", ".join(robot.names)
    drives = f"; or rotors and friction such as {scalars[-1]}" if scalars else ""
    return f"{near_miss(name, [*robot.names, *scalars])} (expected names of links: {links}{drives})"


def independent(columns: np.ndarray) -> list[int]:
    """The first columns that are no sum of those before them."""
    size = np.abs(columns).max(initial=0.0)
    left, found = columns.astype(float), []
    for k in range(columns.shape[1]):
        length = np.linalg.norm(left[:, k])
        if length > INDEPENDENT * size:
            unit = left[:, k] / length
            left = left - np.outer(unit, unit @ left)
            found.append(k)
    return found
