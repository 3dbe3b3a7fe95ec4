"""What is identified: the unknowns of a robot, the combinations that torques depend on, and their columns.

τ = Y b + o,   b = T π                π: ten numbers a link, rotors, friction; b: base parameters; o: torque offsets
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..api.configuration import random_configuration
from ..api.parameters import parameters
from ..api.regressors import regressor
from ..robot import Friction, Robot
from ..robot.regroup import TEN

ROTOR = ".rotor"
OFFSET = ".offset"
STATES = 4  # random ones, in which columns are seen to be zero


@dataclass(frozen=True)
class TorqueModel:
    """The unknowns π of a robot by name, with nominal values, and the matrix T of their combinations b."""

    arm: Robot
    friction: bool | Friction
    offset: bool
    names: tuple[str, ...]  # of all parameters
    nominal: np.ndarray
    free: np.ndarray  # which of them are unknown
    kept: np.ndarray  # columns of the base regressor that have an unknown
    combined: np.ndarray  # names of base parameters
    grouping: np.ndarray  # of all base parameters from all parameters

    @staticmethod
    def of(arm: Robot, friction: bool | Friction, rotors: bool, offset: bool) -> TorqueModel:
        every, base = parameters(arm, friction), parameters(arm, friction, base=True)
        grouping = np.asarray(base.grouping, dtype=float)
        free = np.array([rotors or not name.endswith(ROTOR) for name in every.names])
        kept = (grouping[:, free] != 0.0).any(axis=1)
        nominal, names = np.asarray(every, dtype=float), np.array(base.names)
        return TorqueModel(arm, friction, offset, every.names, nominal, free, kept, names, grouping)

    @property
    def T(self) -> np.ndarray:
        """(b, p) of the unknowns, without offsets."""
        return np.asarray(self.grouping[np.ix_(self.kept, self.free)])

    @property
    def unknowns(self) -> list[str]:
        return [name for name, free in zip(self.names, self.free, strict=True) if free]

    @property
    def base_names(self) -> list[str]:
        """Of the columns, offsets among them."""
        offsets = [f"{name}{OFFSET}" for name in self.arm.v_names] if self.offset else []
        return [*self.combined[self.kept].tolist(), *offsets]

    @property
    def base_nominal(self) -> np.ndarray:
        return np.concatenate([self.T @ self.nominal[self.free], np.zeros(self.arm.n if self.offset else 0)])

    @property
    def bodies(self) -> int:
        """How many links have a body; their numbers, ten each, come first."""
        return len(self.arm.names)

    @property
    def body_size(self) -> int:
        return len(TEN) * self.bodies

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """The columns of base parameters and offsets, and the torque of what is not identified: (N, n, b + 1)."""
        Y = np.asarray(regressor(self.arm, q, qd, qdd, friction=self.friction, base=True))
        fixed, count = ~self.free, int(self.kept.sum())
        rows = np.zeros((*Y.shape[:2], count + (self.arm.n if self.offset else 0) + 1))
        rows[..., :count] = Y if count == Y.shape[-1] else Y[..., self.kept]
        if self.offset:
            rows[:, range(self.arm.n), range(count, count + self.arm.n)] = 1.0
        if fixed.any():
            rows[..., -1] = Y @ (self.grouping[:, fixed] @ self.nominal[fixed])
        return rows

    @property
    def support(self) -> list[np.ndarray]:
        """Of each joint: the columns that are not zero in every state."""
        rng = np.random.default_rng(0)
        q = np.asarray(random_configuration(self.arm, rng, (STATES,)))
        rows = self.rows(q, *rng.normal(size=(2, STATES, self.arm.n)))[..., :-1]
        return [np.flatnonzero(rows[:, j].any(axis=0)) for j in range(self.arm.n)]

    def with_unknowns(self, values: np.ndarray) -> np.ndarray:
        """All parameters, of which the unknowns have these values."""
        every = self.nominal.copy()
        every[self.free] = values
        return every
