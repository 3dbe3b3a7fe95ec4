"""Joint friction over generic scalars: the law of all functions with `friction=`.

    τ = b q̇ + k q̇ |q̇| + (c + (s - c) / (1 + (q̇/w)²)) S + o S² + λ |x| S

b and k are viscous friction, c is Coulomb friction. s - c is what Stribeck's law adds at rest, half of it at the rate
w. With o Coulomb friction depends on the direction: c + o forward, c - o backward. With λ friction grows with the load
x, the torque of the joint without its friction. The drive's torque is x + τ. Where this torque is given, u is the
remainder after all friction except that of the load. Since |λ S| < 1, the load follows without iteration:

    x + λ S |x| = u,    x = u / (1 + λ S sign u)

With ε > 0, S = q̇ / √(q̇² + ε²) is regularised. A joint under a load f < c then creeps instead of sticking: for b = 0 and
s = c, at the rate ε (f/c) / √(1 - (f/c)²). With ε = 0, S is the sign of q̇, 0 at rest. In a simulation a joint at rest
then sticks while the torque needed to hold it is from o - s to o + s; see `simulation.sticking`.

Friction takes energy: q̇ τ ≥ 0 for b, k, c, λ from 0 on, s ≥ c and |o| ≤ c.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import RobotError, is_real
from ..spatial import Scalar, Scalars, add, is_zero, mul, sign, sqrt, sub
from .entries import friction_problems, is_symbol
from .joint import FRICTION_NUMBERS
from .model import Robot
from .named_arrays import refuse_gradients, refuse_labels

PerJoint = float | tuple[float, ...] | None
PART_OF = {"stribeck": "coulomb", "offset": "coulomb", "load": "coulomb", "quadratic": "viscous"}
LINEAR = ("viscous", "coulomb", "stribeck", "offset", "quadratic")  # coefficients in which torques are linear
DRY = ("coulomb", "offset", "stribeck")


class Coefficients(NamedTuple):
    """The numbers of one link, or columns for all of them."""

    viscous: Scalar
    coulomb: Scalar
    excess: Scalar  # s - c
    stribeck_rate: Scalar
    offset: Scalar
    quadratic: Scalar


def difference(a: Scalar, b: Scalar) -> Scalar:
    """a - b, the constant 0 where numbers are equal."""
    result = 0.0 if a is b else sub(a, b)
    return 0.0 if not is_symbol(result) and result == 0.0 else result


def law_problems(numbers: Mapping[str, Scalar]) -> Iterator[tuple[str, str]]:
    """Numbers of `DRY` with which friction would drive a joint, and why."""
    names = {FRICTION_NUMBERS[name]: name for name in numbers}
    for key, problem in friction_problems({key: numbers[name] for key, name in names.items()}):
        yield names[key], f"{names[key]} {problem.replace('coulomb_friction', 'coulomb')}"


@dataclass(frozen=True)
class Friction:
    """Coefficients of joint friction: τ = b q̇ + k q̇ |q̇| + (c + (s - c) / (1 + (q̇/w)²)) S(q̇) + o S² + λ |x| S.

    Numbers that are None are those of the robot's table. `coulomb` replaces all dry friction of the table: `stribeck`,
    `offset` and `load` are then without effect unless they are given too. `viscous` replaces `quadratic` likewise.

    Parameters
    ----------
    viscous, coulomb : float or sequence, optional
        b in N m s/rad (N s/m) and c in N m (N): one number, or (n,).
    stribeck : float or sequence, optional
        s, the friction on breaking loose in N m (N).
    stribeck_rate : float or sequence, optional
        w in rad/s or m/s, at which half of s - c is left.
    smooth : float, optional
        ε of S = q̇ / √(q̇² + ε²) in rad/s or m/s. 0: S is the sign, and joints stick.
    offset : float or sequence, optional
        o in N m (N): Coulomb friction is c + o forward and c - o backward.
    quadratic : float or sequence, optional
        k in N m s²/rad² (N s²/m²).
    load : float or sequence, optional
        λ, below 1: friction per load x, the torque of the joint without friction.

    Examples
    --------
    >>> import numpy as np
    >>> import linkwise as lw
    >>> lw.Friction(viscous=0, coulomb=[0.5, 0.4, 0.3]).torque(lw.load("planar3"), np.array([1.0, 0.001, 0.0])).round(4)
    array([0.5   , 0.2828, 0.    ])
    """

    viscous: PerJoint = None
    coulomb: PerJoint = None
    stribeck: PerJoint = None
    stribeck_rate: PerJoint = None
    smooth: float = 1e-3
    offset: PerJoint = None
    quadratic: PerJoint = None
    load: PerJoint = None

    def __post_init__(self) -> None:
        for name in FRICTION_NUMBERS:
            value = getattr(self, name)
            if value is None:
                continue
            refuse_labels(name, value)
            refuse_gradients(name, value)
            numbers = np.asarray(value)
            if numbers.dtype.kind not in "fiu" or numbers.ndim > 1:
                raise TypeError(f"{name} is {value!r} (expected a number, or one for each joint)")
            lowest = -math.inf if name == "offset" else 0.0
            if not (np.isfinite(numbers) & (numbers >= lowest)).all():
                bound = "" if name == "offset" else " from 0 on"
                raise ValueError(f"{name} is {value!r} (expected finite numbers{bound})")
            if name == "stribeck_rate" and not numbers.all():
                raise ValueError(f"{name} is {value!r} (expected rates above 0)")
            if name == "load" and (numbers >= 1.0).any():
                raise ValueError(f"{name} is {value!r} (expected shares of the load, below 1)")
            if numbers.ndim:
                object.__setattr__(self, name, tuple(numbers.astype(float).tolist()))
        given = {name: np.atleast_1d(getattr(self, name)) for name in DRY if getattr(self, name) is not None}
        if "coulomb" in given and len({x.size for x in given.values()} - {1}) < 2:  # others: refused with a robot
            for row in zip(*np.broadcast_arrays(*given.values()), strict=True):
                for _, problem in law_problems(dict(zip(given, row, strict=True))):
                    raise ValueError(problem)
        if not is_real(self.smooth):
            raise TypeError(f"smooth is {self.smooth!r} (expected a number)")
        if not 0.0 <= self.smooth < math.inf:
            raise ValueError(f"smooth is {self.smooth!r} (expected a finite number from 0 on)")

    @staticmethod
    def of(friction: bool | Friction) -> Friction | None:
        """The friction of a `friction=` argument. True: the robot's coefficients; False: None."""
        if isinstance(friction, bool):
            return Friction() if friction else None
        if not isinstance(friction, Friction):
            raise TypeError(f"friction is {friction!r} (expected True, False or a Friction)")
        return friction

    @property
    def uniform(self) -> bool:
        """Whether no coefficient is given per joint."""
        return not any(isinstance(getattr(self, name), tuple) for name in FRICTION_NUMBERS)

    def argument(self, name: str) -> str:
        """The argument that gives a coefficient; "" if joints give it."""
        names = (name, PART_OF[name]) if name in PART_OF else (name,)
        return next((given for given in names if getattr(self, given) is not None), "")

    def torques(
        self,
        robot: Robot,
        rates: Scalars,
        directions: Scalars | None = None,
        *,
        load: Scalars | None = None,
        applied: Scalars | None = None,
    ) -> list[Scalar]:
        """The friction torque of each joint, a list over generic scalars.

        `directions` (1 or -1) are the directions of sliding; by default the signs of the rates. The load that friction
        grows with is given by `load`, the torques without friction, or follows from the torques that are `applied`; it
        is zero if neither is given.
        """
        coordinates = robot.coordinates
        link_rates = coordinates.rates(rates)
        senses: list[Scalar] = [None] * len(link_rates)
        if directions is not None:
            senses = [mul(sign(slot.ratio), directions[slot.v]) for slot in robot.slots]
        rows = zip(self._coefficients(robot), link_rates, senses, strict=True)
        torques = coordinates.torques([self._law(*row) for row in rows])
        growth = self._growth(robot, link_rates, senses)
        if all(map(is_zero, growth)):
            return torques
        if applied is not None:
            load = self._load(growth, [sub(*pair) for pair in zip(applied, torques, strict=True)])
        if load is None:
            return torques
        return [add(f, mul(g, mul(x, sign(x)))) for f, g, x in zip(torques, growth, load, strict=True)]

    def torque(
        self, robot: Robot, qd: Any, direction: Any = None, *, load: Any = None, applied: Any = None
    ) -> np.ndarray:
        """Friction torques (..., n) for rates qd (..., n); `load` and `applied` as in `torques`."""
        refuse_gradients("qd", qd)
        qd = np.asarray(qd)
        if not self.grows(robot):
            load = applied = None
        given = [None if x is None else np.asarray(x) for x in (qd, direction, load, applied)]
        plain = not robot.non_floats and all(x is None or x.dtype != object for x in given)
        if not plain or robot.couplings or not (load is None and applied is None):
            parts: Any = [None if x is None else [x[..., i] for i in range(robot.n)] for x in given]
            torques = self.torques(robot, *parts[:2], load=parts[2], applied=parts[3])
            if plain:  # a joint without friction has one zero for all states
                batch = np.broadcast_shapes(*(x.shape[:-1] for x in given if x is not None))
                return np.stack([np.broadcast_to(np.asarray(x, dtype=float), batch) for x in torques], axis=-1)
            array = np.array(torques, dtype=object)  # nodes, symbols, mpmath
            return np.moveaxis(array, 0, -1) if array.ndim > 1 else array
        columns = [np.array(column) for column in zip(*self._coefficients(robot), strict=True)]
        numbers = Coefficients(*columns[:2], *(column if column.any() else 0.0 for column in columns[2:]))
        return np.asarray(self._law(numbers, qd, direction))

    def _direction(self, rate: Scalar) -> Scalar:
        """S."""
        smooth = float(self.smooth)
        return sign(rate) if smooth == 0.0 else rate / sqrt(rate * rate + smooth * smooth)

    def _law(self, numbers: Coefficients, rate: Scalar, direction: Scalar | None) -> Scalar:
        level = numbers.coulomb
        if not is_zero(numbers.excess):
            slow = rate / numbers.stribeck_rate
            level = add(level, mul(numbers.excess, 1.0 / (1.0 + slow * slow)))
        if direction is None:
            direction = self._direction(rate)
        torque = add(mul(numbers.viscous, rate), mul(level, direction))
        if not is_zero(numbers.offset):
            torque = add(torque, mul(numbers.offset, direction * direction))
        if not is_zero(numbers.quadratic):
            torque = add(torque, mul(numbers.quadratic, rate * (rate * sign(rate))))
        return torque

    def grows(self, robot: Robot) -> bool:
        """Whether the friction of a joint grows with its load."""
        return not all(map(is_zero, self._load_coefficients(robot)))

    def refuse_load(self, robot: Robot, problem: str) -> None:
        """Raise an error that names a joint whose friction grows with its load."""
        for link, share in zip(robot.links, self._load_coefficients(robot), strict=True):
            if not is_zero(share):
                where = f"robot {robot.name!r}, joint of link {link.name!r}"
                raise ValueError(f"{where}: friction grows by {share} of the load, {problem}")

    def _load_coefficients(self, robot: Robot) -> list[Scalar]:
        """λ of each link; 0 of coupled joints, whose loads are not known apart."""
        return [0.0 if k in robot.coupled else x for k, x in enumerate(self.of_links(robot, "load"))]

    def _growth(self, robot: Robot, rates: Scalars, senses: Scalars) -> list[Scalar]:
        """λ S of each joint, from the rates and directions of the links."""
        rows = zip(self._load_coefficients(robot), rates, senses, strict=True)
        of_links = [
            0.0 if is_zero(share) else mul(share, self._direction(rate) if sense is None else sense)
            for share, rate, sense in rows
        ]
        return robot.coordinates.torques(of_links)

    @staticmethod
    def _load(growth: Scalars, left: Scalars) -> list[Scalar]:
        """x of x + λ S |x| = u."""
        return [u if is_zero(g) else u / (1.0 + g * sign(u)) for g, u in zip(growth, left, strict=True)]

    @property
    def parts(self) -> tuple[Friction, Friction]:
        """The viscous part, linear and quadratic, and the rest; their sum is this friction."""
        viscous = replace(self, coulomb=0.0, stribeck=None, offset=None, load=None)
        return viscous, replace(self, viscous=0.0, quadratic=None)

    def coefficients(self, robot: Robot) -> tuple[str, ...]:
        """The names of the coefficients in which torques are linear: viscous, Coulomb, others given or not zero.

        Raises an error if friction grows with the load, which depends on other parameters.
        """
        self.refuse_load(robot, "and torques are not linear in both (expected lw.Friction(load=0), without this part)")
        return ("viscous", "coulomb", *(name for name in LINEAR[2:] if self._acts(robot, name)))

    def _acts(self, robot: Robot, name: str) -> bool:
        """Whether a coefficient is given, or not zero for some joint."""
        if name == "stribeck":
            column = [numbers.excess for numbers in self._coefficients(robot)]
        else:
            column = self.of_links(robot, name)
        return getattr(self, name) is not None or not all(map(is_zero, column))

    def unit_torques(self, robot: Robot, rates: Scalars) -> dict[str, list[Scalar]]:
        """For each coefficient the torques of the links at these rates, if it is 1 and the others are 0."""
        names = self.coefficients(robot)
        less = -1.0 if "stribeck" in names else 0.0  # c is not at rest where s is
        units = {
            "viscous": (1.0, 0.0, 0.0, 0.0, 0.0),
            "coulomb": (0.0, 1.0, less, 0.0, 0.0),
            "stribeck": (0.0, 0.0, 1.0, 0.0, 0.0),
            "offset": (0.0, 0.0, 0.0, 1.0, 0.0),
            "quadratic": (0.0, 0.0, 0.0, 0.0, 1.0),
        }
        torques: dict[str, list[Scalar]] = {}
        slow = self.of_links(robot, "stribeck_rate")
        for name in names:
            b, c, excess, o, k = units[name]
            rows = zip(slow, rates, strict=True)
            torques[name] = [self._law(Coefficients(b, c, excess, w, o, k), rate, None) for w, rate in rows]
        return torques

    def values(self, robot: Robot) -> dict[str, list[Scalar]]:
        """The value of each coefficient for each link."""
        return {name: self.of_links(robot, name) for name in self.coefficients(robot)}

    def slopes(self, robot: Robot, rates: Scalars, load: Scalars | None = None) -> list[Scalar]:
        """∂τ/∂q̇ of each joint at constant load; the derivative of the sign (ε = 0) is taken as 0."""
        coordinates = robot.coordinates
        link_rates = coordinates.rates(rates)
        rows = zip(self._coefficients(robot), link_rates, strict=True)
        torques = [mul(slot.ratio, self._slope(*row)) for slot, row in zip(robot.slots, rows, strict=True)]
        slopes = coordinates.torques(torques)
        if load is None or not self.grows(robot) or self.smooth == 0.0:
            return slopes
        rows = zip(self._load_coefficients(robot), link_rates, strict=True)
        growth = coordinates.torques([mul(share, self._direction_slope(rate)) for share, rate in rows])
        return [add(d, mul(g, mul(x, sign(x)))) for d, g, x in zip(slopes, growth, load, strict=True)]

    def shares(self, robot: Robot, rates: Scalars, load: Scalars) -> list[Scalar]:
        """∂x/∂u of each joint: the share of a change of torque that reaches the load x, 1 / (1 + λ S sign x)."""
        link_rates = robot.coordinates.rates(rates)
        growth = self._growth(robot, link_rates, [None] * len(link_rates))
        return [1.0 if is_zero(g) else 1.0 / (1.0 + g * sign(x)) for g, x in zip(growth, load, strict=True)]

    def _direction_slope(self, rate: Scalar) -> Scalar:
        """S' = ε² / (q̇² + ε²)^(3/2)."""
        smooth = float(self.smooth)
        root = sqrt(rate * rate + smooth * smooth)
        return smooth * smooth / (root * root * root)

    def _slope(self, numbers: Coefficients, rate: Scalar) -> Scalar:
        """b + 2 k |q̇| + l S' + l' S + 2 o S S', with the level l: l' = -2 (s - c) q̇ / w² / (1 + (q̇/w)²)²."""
        level, level_slope = numbers.coulomb, 0.0
        if not is_zero(numbers.excess):
            w = numbers.stribeck_rate
            slow = rate / w
            share = 1.0 / (1.0 + slow * slow)
            level = add(level, mul(numbers.excess, share))
            level_slope = mul(mul(numbers.excess, -2.0 / w), slow * share * share)
        slope = numbers.viscous
        if self.smooth == 0.0:
            slope = add(slope, mul(level_slope, sign(rate)))
        else:
            direction, direction_slope = self._direction(rate), self._direction_slope(rate)
            slope = add(slope, add(mul(level, direction_slope), mul(level_slope, direction)))
            slope = add(slope, mul(mul(2.0, numbers.offset), direction * direction_slope))
        return add(slope, mul(mul(2.0, numbers.quadratic), rate * sign(rate)))

    def _coefficients(self, robot: Robot) -> list[Coefficients]:
        """The numbers of each link."""
        self.refuse_driving(robot)
        columns = {name: self.of_links(robot, name) for name in FRICTION_NUMBERS}
        excess = [difference(*pair) for pair in zip(columns["stribeck"], columns["coulomb"], strict=True)]
        rows = zip(*({**columns, "excess": excess}[name] for name in Coefficients._fields), strict=True)
        return [Coefficients(*row) for row in rows]

    def depends_on_coulomb(self) -> bool:
        """Whether a number of this law is compared with the Coulomb friction of robots."""
        return self.coulomb is None and not (self.stribeck is None and self.offset is None)

    def refuse_driving(self, robot: Robot, columns: Mapping[str, list[Scalar]] | None = None, note: str = "") -> None:
        """Raise an error that names the first link whose joint a number of this law would drive.

        `columns` are the numbers of `DRY` by link, if they are not those of the robot.
        """
        if self.stribeck is None and self.offset is None:  # coulomb alone replaces all three
            return
        columns = columns or {name: self.of_links(robot, name) for name in DRY}
        for link, *numbers in zip(robot.links, *(columns[name] for name in DRY), strict=True):
            for name, problem in law_problems(dict(zip(DRY, numbers, strict=True))):
                if self.argument(name):  # others are those of a table with unphysical=True
                    raise RobotError(f"robot {robot.name!r}, friction of link {link.name!r}: {problem}{note}")

    def at_rest(self, robot: Robot) -> np.ndarray:
        """The breakaway torque of each joint, its coupled joints included."""
        return self._at_joints(robot, self.of_links(robot, "stribeck"), signed=False)

    def offsets(self, robot: Robot) -> np.ndarray:
        """The torque about which the breakaway torques of the two directions lie symmetrically, of each joint."""
        return self._at_joints(robot, self.of_links(robot, "offset"), signed=True)

    def dry(self, robot: Robot) -> tuple[int, ...]:
        """The joints that can stick: those with dry friction (ε = 0)."""
        if self.smooth > 0.0:
            return ()
        total = self._at_joints(robot, self.of_links(robot, "coulomb"), signed=False) + self.at_rest(robot)
        return tuple(np.flatnonzero(total > 0.0).tolist())

    def _at_joints(self, robot: Robot, levels: list[Scalar], signed: bool) -> np.ndarray:
        """Torques of the links at the joints that drive them: Σ ratio level, or Σ |ratio| level."""
        if not robot.couplings:
            return np.array(levels)
        at_joints = np.zeros(robot.n)
        for slot, level in zip(robot.slots, levels, strict=True):
            at_joints[slot.v] += (slot.ratio if signed else abs(slot.ratio)) * level
        return at_joints

    def of_links(self, robot: Robot, name: str) -> list[Scalar]:
        """A coefficient for each link; of coupled links, if given per joint, 0, but 1 for w and their c for s."""
        value = getattr(self, name)
        if value is None and self.argument(name):
            return self.of_links(robot, "coulomb") if name == "stribeck" else [0.0] * len(robot.links)
        if value is None:
            return [getattr(link.joint, FRICTION_NUMBERS[name]) for link in robot.links]
        numbers = np.asarray(value, dtype=float)
        if numbers.shape == ():
            return [float(numbers)] * len(robot.links)
        if numbers.shape != (robot.n,):
            raise ValueError(f"friction has {numbers.size} coefficients (expected one, or one for each of {robot.n})")
        zero = 1.0 if name == "stribeck_rate" else 0.0
        rest = self.of_links(robot, "coulomb") if name == "stribeck" else [zero] * len(robot.links)
        return [rest[k] if k in robot.coupled else float(numbers[slot.v]) for k, slot in enumerate(robot.slots)]
