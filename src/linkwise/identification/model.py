"""What is identified: the unknowns of a robot, the combinations that torques depend on, and their columns.

τ = Y b + o,   b = T π                π: ten numbers a link, rotors, friction; b: base parameters; o: torque offsets
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import near_miss
from ..lazy import cached_property
from ..regressors.parameters import parameters
from ..regressors.regressors import regressor
from ..robot import Friction, Robot
from ..robot.configurations import random_configuration
from ..robot.regroup import TEN
from ..robot.scales import coordinate_scales
from .estimates import sizes_of

ROTOR = ".rotor"
OFFSET = ".offset"
INDEPENDENT, ROUNDING = 1e-9, 1e-12
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
            T = np.where(np.abs(T) < ROUNDING, 0.0, T) * sizes[own][:, None] / sizes
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
