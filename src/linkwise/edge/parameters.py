"""Base inertial parameters: the least set of numbers that torques depend on, and what each is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..dynamics import denoc
from ..robot import Link, Robot
from ..robot.regroup import regrouped_bodies
from ..spatial import RigidInertia, Symmetric, Vector, Wrench

TEN = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")  # about the joint's origin
STATES = 4  # random states for each joint, to see which parameters matter
RANK = 1e-9  # a column this small beside the others, relatively, carries nothing of its own


@dataclass(frozen=True)
class BaseParameter:
    """One number: its value, and the multiples of the links' own parameters that it is the sum of."""

    name: str
    value: float
    made_of: dict[str, float]

    def __str__(self) -> str:
        terms = []
        for name, x in self.made_of.items():
            size = "" if abs(x) == 1.0 else f"{abs(x):.6g} "
            terms.append(f"{'-' if x < 0 else '+'} {size}{name}")
        return f"{self.name} = {self.value:.6g} = " + " ".join(terms).removeprefix("+ ")


class BaseParameters(tuple[BaseParameter, ...]):
    """Base parameters, printed one to a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def base_parameters(arm: Robot) -> BaseParameters:
    """The least set of inertial parameters that the torques of the robot depend on, with the grouping of each.

    Names are of the link's joint-aligned frame: first moments h = m c and the tensor J about the joint's origin. Where
    the tensor of a revolute link is concerned, J_zz is taken out: its other entries stand for J_xx and J_yy with J_zz =
    J_xx + J_yy. Parallel and perpendicular axes and gravity along an axis are seen by the numbers: what depends on
    others is grouped with them.

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
    if arm.symbolic:
        raise ValueError(f"robot {arm.name!r} is made of symbols: give them values first, with linkwise.bind")
    arm = arm.without_rotors()
    kept = list(kept_numbers(arm))
    own = [(f"{link.name}.{name}", link, body) for link in arm.links for name, body in unit_bodies()]
    grouping = np.array([flat_numbers(arm, {link.index: body}) for _, link, body in own]).T  # kept × own
    columns = np.stack([regressor_column(arm, link, body) for _, link, body in kept], axis=-1)
    scale = np.linalg.norm(columns, axis=0)
    independent: list[int] = []
    for k in sorted(range(len(kept)), key=lambda k: (kept[k][1].index, k)):
        if scale[k] <= RANK * scale.max():
            continue  # nothing feels it
        if independent:
            basis = columns[:, independent]
            share, *_ = np.linalg.lstsq(basis / scale[independent], columns[:, k], rcond=None)
            left = columns[:, k] - basis @ (share / scale[independent])
            if np.linalg.norm(left) <= RANK * scale[k]:
                grouping[independent] += np.outer(share / scale[independent], grouping[k])
                continue
        independent.append(k)
    values = np.array([number for link in arm.links for number in ten_numbers(link.rigid)])
    found = []
    for k in independent:
        row = np.where(np.abs(grouping[k]) > 1e-12, grouping[k], 0.0)
        row = np.where(np.abs(row - np.round(row)) < 1e-12, np.round(row), row)
        made_of = {own[j][0]: float(row[j]) for j in np.flatnonzero(row)}
        found.append(BaseParameter(kept[k][0], float(row @ values), made_of))
    return BaseParameters(found)


def ten_numbers(body: RigidInertia) -> list[float]:
    return [float(x) for x in (body.mass, *body.moment, *body.tensor.upper)]


def body_of(numbers: np.ndarray) -> RigidInertia:
    mass, hx, hy, hz, *tensor = (float(x) for x in numbers)
    return RigidInertia(mass, Vector(hx, hy, hz), Symmetric(*tensor))


def unit_bodies() -> Iterator[tuple[str, RigidInertia]]:
    for name, row in zip(TEN, np.eye(10), strict=True):
        yield name, body_of(row)


def kept_numbers(arm: Robot) -> Iterator[tuple[str, Link, RigidInertia]]:
    """The numbers that regrouping leaves, each with the body that has it alone."""
    for link in arm.links:
        for name, body in unit_bodies():
            left, _ = link.joint.split(body)
            if ten_numbers(left)[TEN.index(name)] != 0.0 and name != "Jzz":
                J = body.tensor
                tied = replace_zz(body, J.xx + J.yy) if link.joint.kind == "revolute" else body
                yield f"{link.name}.{name}", link, tied


def replace_zz(body: RigidInertia, zz: float) -> RigidInertia:
    J = body.tensor
    return RigidInertia(body.mass, body.moment, Symmetric(J.xx, J.xy, J.xz, J.yy, J.yz, zz))


def with_bodies(arm: Robot, bodies: dict[int, RigidInertia]) -> Robot:
    """The robot with these inertias, and none elsewhere."""
    nothing = RigidInertia.zero()
    return replace(arm, links=tuple(replace(k, grouped=bodies.get(k.index, nothing)) for k in arm.links))


def flat_numbers(arm: Robot, bodies: dict[int, RigidInertia]) -> list[float]:
    """What regrouping makes of these inertias: the kept numbers, in the order of `kept_numbers`."""
    left = regrouped_bodies(with_bodies(arm, bodies).links, grouped=True)
    return [ten_numbers(left[link.index])[TEN.index(name.rpartition(".")[2])] for name, link, _ in kept_numbers(arm)]


def regressor_column(arm: Robot, link: Link, body: RigidInertia) -> np.ndarray:
    """The torques that this inertia alone needs in random states."""
    rng = np.random.default_rng(arm.n)
    q, qd, qdd = rng.normal(size=(3, arm.n, STATES * arm.n + 20))
    alone = with_bodies(arm, {link.index: body})
    tau = denoc.inverse_dynamics(alone, list(q), list(qd), list(qdd), [Wrench.zero()] * arm.n)
    return np.concatenate([np.broadcast_to(t, q.shape[1:]) for t in tau])
