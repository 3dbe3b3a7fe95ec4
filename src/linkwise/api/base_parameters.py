"""Base inertial parameters: the least set of numbers that torques depend on, and what each is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import RobotError
from ..robot import Robot
from ..robot.regroup import identifiable_parameters
from ..spatial import RigidInertia, Scalar, Symmetric, Vector, dot_product
from ..symbolic import Collector, collected_text
from .mobility import mobilities

TEN = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")  # about the joint's origin
ROUNDING = 1e-12  # a multiple this close to a whole number is that number


@dataclass(frozen=True)
class BaseParameter:
    """One number: its value, and the multiples of the links' own parameters that it is the sum of.

    For a robot made of symbols the value and the multiples are expressions of them.
    """

    name: str
    value: Scalar
    made_of: dict[str, Scalar]

    def __str__(self) -> str:
        terms = [signed(name, collected_text(x)) for name, x in self.made_of.items()]
        return f"{self.name} = {collected_text(self.value)} = " + " ".join(terms).removeprefix("+ ")


class BaseParameters(tuple[BaseParameter, ...]):
    """Base parameters, printed one to a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def base_parameters(arm: Robot) -> BaseParameters:
    """The least set of inertial parameters that the torques of the robot depend on, with the grouping of each.

    Names are of the link's joint-aligned frame: first moments h = m c and the tensor J about the joint's origin. Of the
    tensor of a revolute link that turns about several directions, J_zz is taken out: its other entries stand for J_xx
    and J_yy with J_zz = J_xx + J_yy. Of one that turns about one direction, J_zz alone is left.

    The robot may be made of symbols; values and multiples are then expressions, multiplied out. What is parallel or
    stands still is decided for lengths and angles in general: values that make more axes parallel can leave fewer
    parameters, which those of the robot with these values (`linkwise.bind`) show.

    >>> import linkwise as lw
    >>> lw.base_parameters(lw.load("gantry"))
    bridge.m = 5 = bridge.m
    trolley.m = 4 = trolley.m
    hoist.m = 3 = hoist.m
    >>> print(lw.base_parameters(lw.load("planar3"))[3])
    link2.hx = 0.125 = link2.hx + 0.25 link3.m
    """
    if not isinstance(arm, Robot):
        raise TypeError(f"the first argument is {arm!r} (expected a Robot)")
    arm = arm.without_rotors()
    if not arm.symbolic:
        arm = arm.mapped(float)
    moving, collect = mobilities(arm), Collector()
    regrouped = [] if arm.symbolic else [ten_numbers(link.rigid) for link in arm.regrouped().links]
    if not np.isfinite(regrouped).all():
        raise RobotError(f"robot {arm.name!r}: its base parameters are larger than floating-point numbers can be")
    numbers = ((link.name, zip(TEN, ten_numbers(link.rigid), strict=True)) for link in arm.links)
    values = {f"{link}.{name}": x for link, ten in numbers for name, x in ten}
    groups: dict[str, dict[str, Scalar]] = {}
    for link in arm.links:
        for name, unit in zip(TEN, np.eye(10).tolist(), strict=True):
            bodies = [body_of(unit) if k is link else RigidInertia.zero() for k in arm.links]
            for k, parameters in zip(arm.links, identifiable_parameters(arm.links, moving, bodies), strict=True):
                for number, x in parameters.items():
                    groups.setdefault(f"{k.name}.{number}", {})[f"{link.name}.{name}"] = rounded(collect(x))
    base = []
    for name, shares in groups.items():
        multiples = {part: x for part, x in shares.items() if not (type(x) is float and x == 0.0)}
        value = dot_product(multiples.values(), map(values.__getitem__, multiples))
        base.append(BaseParameter(name, collect(value), multiples))
    return BaseParameters(base)


def rounded(x: Scalar) -> Scalar:
    """A number within rounding of a whole one as that."""
    return float(round(x)) if type(x) is float and abs(x - round(x)) < ROUNDING else x


def signed(name: str, multiple: str) -> str:
    """`+ name`, `- 0.25 name`, `+ (l1 + l2) name`"""
    if " " in multiple:
        return f"+ ({multiple}) {name}"
    size = multiple.removeprefix("-")
    return f"{'-' if multiple.startswith('-') else '+'} {'' if size == '1' else f'{size} '}{name}"


def ten_numbers(body: RigidInertia) -> tuple[Scalar, ...]:
    return (body.mass, *body.moment, *body.tensor.upper)


def body_of(numbers: Iterable[Scalar]) -> RigidInertia:
    mass, hx, hy, hz, *tensor = numbers
    return RigidInertia(mass, Vector(hx, hy, hz), Symmetric(*tensor))
