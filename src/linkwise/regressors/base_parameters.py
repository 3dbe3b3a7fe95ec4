"""Base inertial parameters: the least set of numbers that torques depend on, with the grouping of each.

The mobility of each link decides which inertial numbers torques depend on, and is determined from random states.
Parallel axes, points at rest and the pull of gravity cannot be decided in symbols. They are decided for several random
values of the symbols, and the least special result is taken: it holds for all values except special ones.

The columns of base parameters in regressors, and the matrix from all parameters to base parameters.

A base parameter is a sum of multiples of the links' own parameters. Its column is the column of any bodies for which it
is one and all other base parameters are zero. Usually this is a unit of the parameter of the same name. Where J_zz is
eliminated from the tensor, it is a unit of J_xx (or J_yy) and J_zz together; where the rest of a body has moved to a
link without one, of J_xx and J_yy. Rotors and coefficients of friction that depend on others are found in random
states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..dynamics import kinematics
from ..errors import RobotError
from ..robot import Friction, Link, LinkMobility, PerRobot, Robot, outward, require_robot
from ..robot.configurations import neutral
from ..robot.link import own_numbers
from ..robot.regroup import TEN, body_of, identifiable_parameters, ten_numbers
from ..robot.scales import length_unit, with_lengths_in
from ..robot.symbols import random_bindings, refuse_symbols
from ..spatial import Placement, RigidInertia, Scalar, Twist, Vector, add, cross, dot, dot_product, mul, reciprocal
from ..symbolic import Collector, collected_text
from .parameters import Column, all_columns
from .regressors import random_torques

ROUNDING = 1e-12  # multiples this close to an integer are rounded to it


@dataclass(frozen=True)
class BaseParameter:
    """One base parameter: its value, and the multiples of the links' own parameters that add up to it.

    For a robot made of symbols the value and the multiples are expressions.
    """

    name: str
    value: Scalar
    made_of: dict[str, Scalar]

    def __str__(self) -> str:
        terms = [signed_term(name, collected_text(x)) for name, x in self.made_of.items()]
        return f"{self.name} = {collected_text(self.value)} = " + " ".join(terms).removeprefix("+ ")


class BaseParameters(tuple[BaseParameter, ...]):
    """Base parameters, printed one to a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def base_parameters(robot: Robot) -> BaseParameters:
    """The least set of inertial parameters that the torques depend on, with the grouping of each.

    Names are those of the link's joint-aligned frame, whose z is the joint's axis: first moments h = m c and the tensor
    J about the joint's origin. Of a revolute link that turns about several directions J_zz is eliminated: the entries
    J_xx and J_yy stand for all three, with J_zz = J_xx + J_yy. Of one that turns about a single direction J_zz alone is
    left. A joint of several degrees of freedom has links without bodies, `"wrist.rx"`, to which parts of the body may
    move. With coupled joints or screws the grouping is decided numerically, to nine digits.

    Parameters
    ----------
    robot : Robot
        It may be made of symbols, but then have no coupled joints; with screws and without gravity it may keep more
        than the least. Values are then expressions, for general lengths and angles: special values that make more
        axes parallel can leave fewer parameters (see `lw.bind`).

    Returns
    -------
    BaseParameters
        A tuple that prints one parameter on a line.

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.base_parameters(lw.load("gantry"))
    bridge.m = 5 = bridge.m
    trolley.m = 4 = trolley.m
    hoist.m = 3 = hoist.m
    >>> print(lw.base_parameters(lw.load("planar3"))[3])
    link2.hx = 0.125 = link2.hx + 0.25 link3.m
    """
    require_robot(robot)
    robot = robot.without_rotors()
    if not robot.symbolic:
        robot = robot.mapped(float)
    regrouped = [] if robot.symbolic else [ten_numbers(link.rigid) for link in robot.uncoupled.regrouped().links]
    if not np.isfinite(regrouped).all():
        raise RobotError(f"robot {robot.name!r}: its base parameters are larger than floating-point numbers can be")
    unit = length_unit(robot)
    values = link_parameter_values(robot)
    return BaseParameters(to_metres(p, unit, values) for p in base_parameters_of_scaled(with_lengths_in(robot, unit)))


def base_parameters_of_scaled(robot: Robot) -> list[BaseParameter]:
    """The base parameters of a robot whose lengths are about 1: rounding errors are recognised by their size."""
    base = group_parameters(robot.uncoupled)
    if robot.couplings:
        refuse_symbols(robot)
    screws = any(own_numbers(type(link.joint)) for link in robot.links)  # joints whose numbers enter the parameters
    return regroup_dependent(robot, base) if robot.couplings or (screws and not robot.symbolic) else base


def to_metres(p: BaseParameter, unit: float, values: dict[str, Scalar]) -> BaseParameter:
    """Convert a base parameter from another unit of length."""
    if unit == 1.0:
        return p
    made_of = {part: mul(x, unit ** (length_degree(p.name) - length_degree(part))) for part, x in p.made_of.items()}
    return BaseParameter(p.name, dot_product(made_of.values(), map(values.__getitem__, made_of)), made_of)


def length_degree(name: str) -> int:
    """The power of length in a parameter: 0 of m, 1 of hx, 2 of Jxx."""
    return "mhJ".index(name.rpartition(".")[2][0])


def group_parameters(robot: Robot) -> list[BaseParameter]:
    """The base parameters of a robot without coupled joints."""
    moving, collect = mobilities(robot), Collector()
    values = link_parameter_values(robot)
    groups: dict[str, dict[str, Scalar]] = {}
    for link in robot.links:
        for name, unit in zip(TEN, np.eye(10).tolist(), strict=True):
            if link.virtual:
                continue  # it has no body
            bodies = [body_of(unit) if k is link else RigidInertia.zero() for k in robot.links]
            for k, parameters in zip(robot.links, identifiable_parameters(robot.links, moving, bodies), strict=True):
                for number, x in parameters.items():
                    groups.setdefault(f"{k.name}.{number}", {})[f"{link.name}.{name}"] = round_to_integer(collect(x))
    base = []
    for name, shares in groups.items():
        multiples = {part: x for part, x in shares.items() if not (type(x) is float and x == 0.0)}
        if multiples:  # a link without a body may have got nothing
            value = dot_product(multiples.values(), map(values.__getitem__, multiples))
            base.append(BaseParameter(name, collect(value), multiples))
    return rename_virtual_links(robot, base, collect)


def rename_virtual_links(robot: Robot, base: list[BaseParameter], collect: Collector) -> list[BaseParameter]:
    """Name the mass and first moment on a link without a body after the one body of its joint.

    That first moment has one direction, so several numbers on the link are multiples of one another: the first is kept.
    """
    bodies = {link.name: joint.name for joint in robot.moving for link in robot.links[joint.first : joint.link]}
    names = {p.name for p in base}
    renamed: dict[str, BaseParameter] = {}
    for p in base:
        link, _, number = p.name.rpartition(".")
        candidates = (
            [f"{bodies[link]}.{new_name}" for new_name in TEN[:4]] if link in bodies and number in TEN[:4] else []
        )
        new_name = next((name for name in candidates if name in p.made_of and name not in names), None)
        if new_name is not None:
            scale = reciprocal(p.made_of[new_name])
            made_of = {part: round_to_integer(collect(mul(scale, x))) for part, x in p.made_of.items()} | {
                new_name: 1.0
            }
            p = BaseParameter(new_name, collect(mul(scale, p.value)), made_of)
        renamed.setdefault(p.name, p)
    return list(renamed.values())


def link_parameter_values(robot: Robot) -> dict[str, Scalar]:
    """The ten numbers of each link that has a body, by name."""
    bodies = [link for link in robot.links if not link.virtual]
    numbers = ((link.name, zip(TEN, ten_numbers(link.rigid), strict=True)) for link in bodies)
    return {f"{link}.{name}": x for link, ten in numbers for name, x in ten}


def regroup_dependent(robot: Robot, base: list[BaseParameter]) -> list[BaseParameter]:
    """Add each parameter whose torques are a sum of others' to these.

    Coupled joints and screws make such parameters, beyond those that move from link to link. They and their multiples
    are found from the torques of random states: Gautier, Numerical calculation of the base inertial parameters of
    robots, J. Robotic Systems 8 (1991).
    """
    from .parameters import all_columns
    from .regressors import random_torques

    values = link_parameter_values(robot)
    shares = np.array([[p.made_of.get(name, 0.0) for name in values] for p in base])
    columns = random_torques(robot, None, [column for column in all_columns(robot, None) if column.bodies])
    torques = columns @ np.linalg.pinv(shares)  # that a unit of each parameter needs
    sizes = np.linalg.norm(torques, axis=0)
    span = Span(np.empty((len(torques), 0)))
    independent: list[int] = []
    dropped: list[int] = []
    for k in np.flatnonzero(sizes > SMALL * sizes.max()).tolist():
        (independent if span.extend(torques[:, k] / sizes[k]) else dropped).append(k)
    if len(independent) == len(base):
        return base
    multiples = fit(torques[:, independent] / sizes[independent], torques[:, dropped] / sizes[dropped])
    reduced = []
    for k, row in zip(independent, multiples.tolist(), strict=True):
        parts = {
            j: round_to_integer(x * sizes[j] / sizes[k]) for j, x in zip(dropped, row, strict=True) if abs(x) > SMALL
        }
        made_of = dict(base[k].made_of)
        for j, x in parts.items():
            for name, share in base[j].made_of.items():
                made_of[name] = made_of.get(name, 0.0) + x * share
        made_of = {name: made_of[name] for name in values if made_of.get(name, 0.0) != 0.0}
        reduced.append(BaseParameter(base[k].name, dot_product(made_of.values(), map(values.get, made_of)), made_of))
    return reduced


def fit(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The multiples of the columns that are closest to each target."""
    return np.asarray(np.linalg.lstsq(columns, targets, rcond=None)[0])


class Span:
    """The span of columns of length one, as an orthonormal basis."""

    def __init__(self, basis: np.ndarray) -> None:
        self.basis = basis

    def extend(self, unit: np.ndarray) -> bool:
        """Add a column and return True, unless it depends on those before."""
        for _ in range(2):  # the first time leaves rounding errors
            unit = unit - self.basis @ (self.basis.T @ unit)
        far = float(np.linalg.norm(unit))
        if far > SMALL:
            self.basis = np.column_stack([self.basis, unit / far])
        return far > SMALL


def round_to_integer(x: Scalar) -> Scalar:
    """Round a number within rounding error of an integer."""
    return float(round(x)) if type(x) is float and abs(x - round(x)) < ROUNDING else x


def signed_term(name: str, multiple: str) -> str:
    """`+ name`, `- 0.25 name`, `+ (l1 + l2) name`"""
    if " " in multiple:
        return f"+ ({multiple}) {name}"
    size = multiple.removeprefix("-")
    return f"{'-' if multiple.startswith('-') else '+'} {'' if size == '1' else f'{size} '}{name}"


DRAWS = 3  # random geometries for a robot made of symbols
STATES = 20  # random states of each
SMALL = 1e-9  # numbers this small relative to the others are zero
Z = Vector(0.0, 0.0, 1.0)

Freedom = tuple[int, bool, bool, bool, bool, bool]  # turns, swings, climbs, and the nonzero components of the direction


def mobilities(robot: Robot) -> list[LinkMobility]:
    """The mobility of each link, for a robot of numbers or of symbols."""
    samples = zip(*map(freedoms, random_bindings(robot, DRAWS)), strict=True)
    most = [tuple(map(max, zip(*of_link, strict=True))) for of_link in samples]
    directions = outward(robot, direction, Vector.zero())
    still = [turns == 2 and not swings for turns, swings, *_ in most]
    levers = lever_arms(robot) if any(still) else [0.0] * robot.n
    return [
        LinkMobility(turns, swings, (x, y, z), n, lever if stands else 0.0, climbs)
        for (turns, swings, climbs, x, y, z), n, lever, stands in zip(most, directions, levers, still, strict=True)
    ]


def direction(link: Link, parent: Vector) -> Vector:
    """The direction that a link turns about, if it is unique."""
    return Z if link.joint.turns else link.placement.axes.T @ parent


def lever_arms(robot: Robot) -> list[Scalar]:
    """The distance along z of each link's origin from a point at rest, if there is one: v = l ω × z."""
    above: list[Scalar] = [0.0] * robot.n
    below: list[Scalar] = [0.0] * robot.n
    q = robot.coordinates.positions(neutral(robot).tolist())
    for rates in np.eye(robot.n).tolist():
        for k, twist in enumerate(kinematics.twists(robot, q, rates)):
            across = cross(twist.angular, Z)
            above[k] = add(above[k], dot(across, twist.linear))
            below[k] = add(below[k], dot(across, across))
    known_zero = [type(x) is float and x == 0.0 for x in above]
    return [0.0 if zero else mul(a, reciprocal(b)) for a, b, zero in zip(above, below, known_zero, strict=True)]


def freedoms(robot: Robot) -> list[Freedom]:
    """The freedoms of each link of a robot of numbers."""
    numbers = np.random.default_rng(robot.n).normal(size=(robot.nq + robot.n, STATES))
    q, rates = robot.coordinates.positions(list(numbers[: robot.nq])), list(numbers[robot.nq :])
    twists, poses = kinematics.twists(robot, q, rates), kinematics.poses(robot, q)
    fastest = max(np.abs(stack_components(twist.linear)).max() for twist in twists)
    motions, gravity = zip(robot.links, twists, poses, strict=True), np.array(robot.gravity)
    return [freedom(link, twist, pose, gravity, fastest) for link, twist, pose in motions]


def freedom(link: Link, twist: Twist, pose: Placement, gravity: np.ndarray, fastest: float) -> Freedom:
    w, v = stack_components(twist.angular), stack_components(twist.linear)
    _, sizes, (n, *_) = np.linalg.svd(w)
    turns = int(np.sum(sizes[:2] > SMALL * sizes[0]))
    if turns == 1:
        fixed = stack_components(pose.rotation @ Vector.of(n.tolist()))[0]  # the direction in the base
        pull, left = np.cross(gravity, fixed), np.cross(v, n)
    else:
        across = np.cross(w, tuple(Z))
        pull, left = gravity, v - across * (np.sum(across * v) / max(np.sum(across * across), SMALL))
    swings = np.abs(pull).max() > SMALL * np.abs(gravity).max() or np.abs(left).max() > SMALL * fastest
    lifted = v[:, 2] - w[:, 2] * float(link.joint.axis.linear.z)  # not by the link's own turning
    climbs = (
        np.abs(stack_components(pose.rotation @ Z) @ gravity).max() > SMALL * np.abs(gravity).max()
        or np.abs(lifted).max() > SMALL * fastest
    )
    x, y, z = (bool(size > SMALL) for size in np.abs(n))
    return turns, bool(swings), bool(climbs), x, y, z


def stack_components(v: Vector) -> np.ndarray:
    return np.stack([np.broadcast_to(x, STATES) for x in v], axis=-1)


Shares = dict[str, Scalar]  # multiples of parameters, by their names


class Grouping(NamedTuple):
    """Base parameters: their columns, and the multiples of all parameters that add up to each."""

    columns: list[Column]
    shares: list[Shares]
    names: list[str]  # of all parameters

    def values(self, values: Sequence[Scalar]) -> list[Scalar]:
        """The base parameters, from all parameters."""
        of = dict(zip(self.names, values, strict=True))
        collect = Collector()
        return [collect(dot_product(shares.values(), map(of.__getitem__, shares))) for shares in self.shares]

    @property
    def matrix(self) -> np.ndarray:
        """(b, p)"""
        rows = [[shares.get(name, 0.0) for name in self.names] for shares in self.shares]
        numbers = all(type(x) is float for row in rows for x in row)
        return np.array(rows, dtype=float if numbers else object)


@PerRobot
def base_grouping(robot: Robot, law: Friction | None) -> Grouping:
    """The base parameters of a robot, computed once for each robot and law of friction."""
    bodies, made_of = base_bodies(robot)
    every = all_columns(robot, law)
    drives = [column for column in every if column.drive]
    independent_columns = list(range(len(bodies)))
    columns = [*bodies, *drives]
    shares = [*made_of, *({column.name: 1.0} for column in drives)]
    samples = random_bindings(robot, DRAWS) if robot.symbolic else [robot.mapped(float)]
    torques = [random_torques(sample, law, columns) for sample in samples]
    spans = [Span(np.linalg.qr(units(x[:, independent_columns]))[0]) for x in torques]
    dependent: list[int] = []
    for k in range(len(independent_columns), len(columns)):
        independent = [span.extend(units(x[:, k])) for span, x in zip(spans, torques, strict=True)]
        (independent_columns if any(independent) else dependent).append(k)
    of_each = [multiples(x[:, independent_columns], x[:, dependent]) for x in torques]
    for j, k in enumerate(dependent):
        if any(np.abs(of_each[0][:, j] - other[:, j]).max() > SMALL for other in of_each):
            independent_columns.append(k)  # the multiples depend on lengths and angles
            continue
        for i, x in zip(independent_columns, of_each[0][:, j].tolist(), strict=False):
            if x != 0.0:
                shares[i] = {**shares[i], columns[k].name: x}
    independent_columns.sort()
    return Grouping(
        [columns[k] for k in independent_columns],
        [shares[k] for k in independent_columns],
        [column.name for column in every],
    )


@PerRobot
def base_bodies(robot: Robot) -> tuple[tuple[Column, ...], tuple[Shares, ...]]:
    """The columns of the base parameters of the bodies, and the multiples that make up each."""
    base, unit = base_parameters(robot), length_unit(robot)
    return tuple(body_columns(robot, base, unit)), tuple(parameter.made_of for parameter in base)


def body_columns(robot: Robot, base: Sequence[BaseParameter], unit: float) -> Iterator[Column]:
    """The column of each base parameter, as that of one body on one link. Multiples are compared in units of length."""
    collect = Collector()
    parts: dict[str, dict[int, Scalar]] = {}  # what a unit of each link's own parameter has of each base parameter
    for k, parameter in enumerate(base):
        for name, x in parameter.made_of.items():
            parts.setdefault(name, {})[k] = mul(x, unit ** (length_degree(name) - length_degree(parameter.name)))
    bodies = {robot.links[i].name: joint for joint in robot.moving for i in range(joint.first, joint.link + 1)}
    for k, parameter in enumerate(base):
        link, _, number = parameter.name.rpartition(".")
        joint = bodies[link]
        for units in ((number,), (number, "Jzz"), ("Jxx", "Jyy")):
            if is_unit(k, [parts.get(f"{joint.name}.{unit}", {}) for unit in units], collect):
                body = body_of([float(name in units) for name in TEN])
                yield Column(parameter.name, ((joint.link, body),))
                break
        else:
            yield Column(parameter.name, tuple(nearest_bodies(robot, parts, [p.name for p in base], k, unit)))


def is_unit(k: int, parts: Sequence[Mapping[int, Scalar]], collect: Collector) -> bool:
    """Whether the parts add up to one of the k-th base parameter and zero of all others."""
    total: dict[int, Scalar] = {}
    for part in parts:
        for j, x in part.items():
            total[j] = add(total.get(j, 0.0), x)
    return k in total and all(is_close(collect(x), float(j == k)) for j, x in total.items())


def is_close(x: Scalar, number: float) -> bool:
    return type(x) is float and abs(x - number) < ROUNDING


def nearest_bodies(
    robot: Robot, parts: Mapping[str, Mapping[int, Scalar]], base: Sequence[str], k: int, unit: float
) -> Iterator[tuple[int, RigidInertia]]:
    """The smallest bodies for which the k-th base parameter is one, and all others are zero."""
    names = [column.name for column in all_columns(robot, None) if not column.drive]
    if robot.symbolic:
        raise RobotError(
            f"robot {robot.name!r}: the column of {base[k]!r} cannot be found by algebra on symbols (expected a robot"
            " of numbers)"
        )
    matrix = np.array([[parts.get(name, {}).get(j, 0.0) for name in names] for j in range(len(base))])
    ten = np.linalg.pinv(matrix)[:, k].reshape(-1, len(TEN))
    scale = [unit ** (length_degree(name) - length_degree(base[k])) for name in TEN]
    for joint, numbers in zip(robot.moving, ten.tolist(), strict=True):
        if any(abs(x) > SMALL for x in numbers):
            yield joint.link, body_of(mul(round_to_integer(x), s) for x, s in zip(numbers, scale, strict=True))


def units(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to length one; columns of zeros (drives that do not move) stay zero."""
    sizes = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(sizes > 0.0, sizes, 1.0))


def multiples(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The multiples of independent columns that add up to the targets; small ones are set to zero, halves are exact."""
    basis, upper = np.linalg.qr(units(columns))
    solution = np.linalg.solve(upper, basis.T @ units(targets)) if targets.size else np.empty((columns.shape[1], 0))
    solution[np.abs(solution) < SMALL] = 0.0
    scaled = solution * np.linalg.norm(targets, axis=0) / np.linalg.norm(columns, axis=0)[:, None]
    halves = np.round(2.0 * scaled) / 2.0
    return np.asarray(np.where((halves != 0.0) & (np.abs(scaled - halves) < ROUNDING), halves, scaled))
