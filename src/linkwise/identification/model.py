"""What is identified: the unknowns of a robot, the combinations that torques depend on, and their columns.

    τ = Y b + Z x,   b = T π        π: ten numbers a link, rotors, viscous and Coulomb friction; x: further terms

Rotors and friction act at drives, whose rates are s = A q̇ and whose torques Aᵀ f(s). A is one where each joint has its
drive; joints that are coupled, and transmissions (wrists whose motors turn with several joints) have others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import near_miss
from ..lazy import cached_property
from ..regressors.parameters import parameters
from ..regressors.regressors import regressor
from ..robot import Friction, Robot
from ..robot.configurations import random_configuration
from ..robot.regroup import TEN
from ..robot.scales import coordinate_scales
from .estimates import parameter_scales

INDEPENDENT, EXACT_ZERO = 1e-9, 1e-12  # of the norm of columns: smaller remainders are rounding
OF_JOINTS = ("offset", "spring")  # of each degree of freedom; the others are of drives
TERMS = ("offset", "quadratic", "stribeck", "load", "spring")  # that may be added to viscous and Coulomb friction


@dataclass(frozen=True)
class Drives:
    """Where rotors and friction act: drives of the rates A q̇; a joint of several drives has one coefficient."""

    A: np.ndarray  # (drives, n)
    of: np.ndarray  # (drives, joints): one where a drive belongs to a joint

    @staticmethod
    def from_transmission(robot: Robot, transmission: Any = None) -> Drives:
        """The drives of the robot: one for each joint, or motors whose rates are `transmission` times joint rates."""
        joints = robot.moving
        if transmission is None:
            A, of = np.zeros((len(robot.slots), robot.n)), np.zeros((len(robot.slots), len(joints)))
            for k, slot in enumerate(robot.slots):
                A[k, slot.v] = float(slot.ratio)
            for k, joint in enumerate(joints):
                of[joint.first : joint.link + 1, k] = 1.0
            return Drives(A, of)
        R = np.array(transmission, dtype=float)
        if R.shape != (robot.n, robot.n) or len(joints) != robot.n or np.linalg.matrix_rank(R) < robot.n:
            raise ValueError(
                f"transmission has the shape {R.shape} (expected an invertible matrix ({robot.n}, {robot.n}): rates of"
                " motors are this matrix times the rates of the joints, which have one degree of freedom each)"
            )
        ratios = np.where(np.diag(R) != 0.0, np.diag(R), np.abs(R).max(axis=1))
        return Drives(R / ratios[:, None], np.eye(robot.n))

    @property
    def invertible(self) -> bool:
        return bool(self.A.shape[0] == self.A.shape[1] == self.of.shape[1])

    def columns(self, torque: np.ndarray) -> np.ndarray:
        """Columns (N, n, joints) of the joint torques, from the torques (N, drives) of unit coefficients."""
        return np.asarray((torque[:, None, :] * self.A.T) @ self.of)


def drive_torque(kind: str, s: np.ndarray, law: Friction, rate: float, load: np.ndarray | None) -> np.ndarray:
    """The torque (N, drives) of a coefficient of 1, at the rates s."""
    smooth = float(law.smooth)
    sense: np.ndarray = np.sign(s) if smooth == 0.0 else s / np.sqrt(s * s + smooth * smooth)
    if kind == "load":
        assert load is not None
        return np.asarray(np.abs(load) * sense)
    if kind == "viscous":
        return np.asarray(s)
    if kind == "quadratic":
        return np.asarray(s * np.abs(s))
    return np.asarray(sense if kind == "coulomb" else sense / (1.0 + (s / rate) ** 2))


@dataclass(frozen=True)
class TorqueModel:
    """The unknowns π of a robot by name, with nominal values, and the matrix T of their combinations b."""

    robot: Robot
    friction: Friction | None
    drives: Drives
    terms: tuple[tuple[str, int], ...]  # kinds of further terms, each with its joint
    stribeck_rate: float
    names: tuple[str, ...]  # of all parameters
    nominal: np.ndarray
    free: np.ndarray  # which parameters are unknown
    combined: tuple[str, ...]  # names of b
    T: np.ndarray  # (b, unknowns)
    grouping: np.ndarray  # of all base parameters from all parameters
    picked: np.ndarray  # the columns of `all_columns` that belong to all base parameters
    mixing: np.ndarray  # (all base parameters, b)
    bodies: np.ndarray  # (base parameters of bodies, ten numbers a link)
    chosen: tuple[str, ...] = ()  # the user's names of what is free; empty: all
    carried: np.ndarray | None = None  # base parameters of the bodies that load the drives
    known: tuple[TorqueModel, np.ndarray] | None = None  # terms of an earlier fit, with their values

    @staticmethod
    def of(
        robot: Robot,
        friction: bool | Friction = True,
        rotors: bool = True,
        terms: Sequence[tuple[str, int]] = (),
        chosen: Sequence[str] | None = None,
        transmission: Any = None,
    ) -> TorqueModel:
        """`chosen`: links whose bodies are unknown, and names such as link2.viscous; None: all."""
        law, drives = Friction.of(friction), Drives.from_transmission(robot, transmission)
        every, base = parameters(robot, friction), parameters(robot, base=True)
        of_bodies = [k for k, name in enumerate(base.names) if not name.endswith(".rotor")]
        count = len(TEN) * len(robot.names)
        bodies = np.asarray(base.grouping, dtype=float)[of_bodies, :count]
        column_names = [*(base.names[k] for k in of_bodies), *every.names[count:]]
        model = TorqueModel(
            robot, law, drives, tuple(terms), 1.0, every.names, np.asarray(every, dtype=float), np.ones(0, dtype=bool),
            (), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0, dtype=int), np.zeros((0, 0)), bodies,
        )  # fmt: skip
        rng = np.random.default_rng(robot.n)
        states = 2 * len(column_names) // robot.n + 20
        q, rates = rng.normal(size=(states, robot.nq)), rng.normal(size=(2, states, robot.n))
        Z = model.all_columns(q, *rates).reshape(-1, len(column_names))
        sizes = np.linalg.norm(Z, axis=0)
        Z = Z / np.where(sizes > 0.0, sizes, 1.0)
        picked = np.array(independent(Z))
        shares = np.linalg.lstsq(Z[:, picked], Z, rcond=None)[0] * sizes / sizes[picked, None]
        shares = np.where(np.abs(shares) * sizes[picked, None] > INDEPENDENT * sizes, shares, 0.0)
        shares = np.where(np.abs(shares - np.round(shares)) < INDEPENDENT, np.round(shares), shares)
        lifted = np.zeros((len(column_names), len(every)))
        lifted[: len(bodies), :count] = bodies
        lifted[len(bodies) :, count:] = np.eye(len(every) - count)
        grouping, base_names = shares @ lifted, [column_names[k] for k in picked]
        model = replace(model, grouping=grouping, picked=picked)
        nominal = model.nominal
        if chosen is not None:
            free = chosen_parameters(robot, every.names, chosen)
            names = [name for name, yes in zip(every.names, free, strict=True) if yes]
            own_sizes = parameter_scales(robot, names)
            scaled = grouping[:, free] * own_sizes / parameter_scales(robot, base_names)[:, None]
            first = independent(scaled)
            mixing, combined = grouping[:, free][:, first], tuple(names[k] for k in first)
            T = np.linalg.lstsq(scaled[:, first], scaled, rcond=None)[0]
            T = np.where(np.abs(T) < EXACT_ZERO, 0.0, T) * own_sizes[first][:, None] / own_sizes
            return replace(model, free=free, combined=combined, T=T, mixing=mixing, chosen=tuple(chosen))
        free = np.array([rotors or not name.endswith(".rotor") for name in every.names])
        kept = (grouping[:, free] != 0.0).any(axis=1)
        combined = tuple(name for name, yes in zip(base_names, kept, strict=True) if yes)
        T, mixing = grouping[np.ix_(kept, free)], np.eye(len(grouping))[:, kept]
        return replace(model, nominal=nominal, free=free, combined=combined, T=T, mixing=mixing)

    @property
    def unknowns(self) -> list[str]:
        return [name for name, free in zip(self.names, self.free, strict=True) if free]

    @property
    def base_names(self) -> list[str]:
        """The names of the columns, further terms included."""
        return [*self.combined, *(f"{self.owner(*term)}.{term[0]}" for term in self.terms)]

    def owner(self, kind: str, joint: int) -> str:
        return self.robot.v_names[joint] if kind in OF_JOINTS else self.robot.names[joint]

    def joints_of(self, kind: str) -> int:
        return self.robot.n if kind in OF_JOINTS else len(self.robot.names)

    @property
    def base_nominal(self) -> np.ndarray:
        return np.concatenate([self.T @ self.nominal[self.free], np.zeros(len(self.terms))])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The scales of the unknowns of the columns."""
        return parameter_scales(self.robot, self.base_names)

    @cached_property
    def arms(self) -> np.ndarray:
        return coordinate_scales(self.robot)

    @cached_property
    def unknown_sizes(self) -> np.ndarray:
        return parameter_scales(self.robot, self.unknowns)

    @property
    def scaled(self) -> np.ndarray:
        """T for parameters in units of their scales."""
        return np.asarray(self.T * self.unknown_sizes / self.sizes[: len(self.T), None])

    @property
    def links(self) -> list[int]:
        """The links with unknown bodies, whose numbers, ten each, come first."""
        return [k for k in range(len(self.robot.names)) if self.free[len(TEN) * k]]

    @property
    def body_size(self) -> int:
        return len(TEN) * len(self.links)

    def all_columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, terms: bool = False) -> np.ndarray:
        """Columns (N, n, c) of base parameters of bodies, of rotors and of friction; with terms, those at the end."""
        Y = np.asarray(regressor(self.robot, q, qd, qdd, base=True))
        names = parameters(self.robot, base=True).names
        if any(name.endswith(".rotor") for name in names):
            Y = Y[..., [k for k, name in enumerate(names) if not name.endswith(".rotor")]]
        s, law, drives = qd @ self.drives.A.T, self.friction, self.drives
        parts = [Y, drives.columns(qdd @ drives.A.T)]
        if law is not None:
            parts += [drives.columns(drive_torque(kind, s, law, 1.0, None)) for kind in ("viscous", "coulomb")]
        kinds = dict.fromkeys(kind for kind, _ in self.terms) if terms else {}
        for kind in kinds:
            if kind == "offset":
                columns = np.broadcast_to(np.eye(self.robot.n), (len(q), self.robot.n, self.robot.n))
            elif kind == "spring":
                columns = q[:, : self.robot.n, None] * np.eye(self.robot.n)
            else:
                columns = drives.columns(drive_torque(kind, s, law or Friction(), self.stribeck_rate, self.load(Y)))
            parts.append(columns[..., [joint for own, joint in self.terms if own == kind]])
        return np.concatenate(parts, axis=-1)

    def load(self, bodies: np.ndarray) -> np.ndarray | None:
        """The torque (N, drives) with which the bodies load the drives."""
        if self.carried is None:
            return None
        return np.asarray(np.linalg.solve(self.drives.A.T, (bodies @ self.carried).T).T)

    def carrying(self, bodies: np.ndarray) -> TorqueModel:
        """The model with the load of these base parameters of bodies, also in its known terms."""
        known = self.known and (replace(self.known[0], carried=bodies), self.known[1])
        return replace(self, carried=None if self.carried is None else bodies, known=known)

    @property
    def depends_on_load(self) -> bool:
        terms = self.terms if self.known is None else (*self.terms, *self.known[0].terms)
        return any(kind == "load" for kind, _ in terms)

    def base_of_bodies(self, x: np.ndarray) -> np.ndarray:
        """The base parameters of all bodies from those of a fit."""
        every = self.mixing @ x[: len(self.T)] + self.grouping[:, ~self.free] @ self.nominal[~self.free]
        inside = self.picked < len(self.bodies)
        values = np.zeros(len(self.bodies))
        values[self.picked[inside]] = every[inside]
        return values

    def rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """The columns of base parameters and terms, and the torque of what is not identified: (N, n, b + x + 1)."""
        every = self.all_columns(q, qd, qdd, terms=True)
        cut = every.shape[-1] - len(self.terms)
        Y, fixed = every[..., :cut][..., self.picked], ~self.free
        known = np.zeros((*Y.shape[:2], 1))
        if fixed.any():
            known = Y @ (self.grouping[:, fixed] @ self.nominal[fixed])[:, None]
        if self.known is not None:
            model, values = self.known
            known = known + model.all_columns(q, qd, qdd, terms=True)[..., -len(values) :] @ values[:, None]
        if self.mixing.shape[0] != self.mixing.shape[1] or self.chosen:
            Y = Y @ self.mixing
        return np.concatenate([Y, every[..., cut:], known], axis=-1)

    @cached_property
    def support(self) -> list[np.ndarray]:
        """The columns of each joint that are not zero in every state."""
        rng = np.random.default_rng(0)
        states = 4
        q = np.asarray(random_configuration(self.robot, rng, (states,)))
        rows = self.rows(q, *rng.normal(size=(2, states, self.robot.n)))[..., :-1]
        return [np.flatnonzero(rows[:, j].any(axis=0)) for j in range(self.robot.n)]

    def with_unknowns(self, values: np.ndarray) -> np.ndarray:
        """All parameters, with these values of the unknowns."""
        every = self.nominal.copy()
        every[self.free] = values
        return every


def chosen_parameters(robot: Robot, names: Sequence[str], chosen: Sequence[str]) -> np.ndarray:
    """The parameters that belong to names of links, rotors or coefficients of friction."""
    if isinstance(chosen, str) or not all(isinstance(name, str) for name in chosen) or not len(chosen):
        raise TypeError(f"free is {chosen!r} (expected a list of links, such as [{robot.names[-1]!r}])")
    own = {f"{link}.{number}": link for link in robot.names for number in TEN}
    scalars = [name for name in names if name not in own]
    for name in chosen:
        if name not in robot.names and name not in scalars:
            raise ValueError(f"free has {name!r}{meant(robot, name, scalars)}")
    return np.array([own.get(name, name) in chosen for name in names])


def meant(robot: Robot, name: str, scalars: Sequence[str]) -> str:
    """A hint for a name that is no link: the probable link, and the names that were expected."""
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
    """The columns that are no linear combination of earlier ones."""
    size = np.abs(columns).max(initial=0.0)
    left, found = columns.astype(float), []
    for k in range(columns.shape[1]):
        length = np.linalg.norm(left[:, k])
        if length > INDEPENDENT * size:
            unit = left[:, k] / length
            left = left - np.outer(unit, unit @ left)
            found.append(k)
    return found
