"""What is integrated: y' = f(t, y, parameters) for a robot under torques, wrenches and friction.

    y = (q, v, work, heat)      v: joint rates, or quasi-velocities; work: of torques and wrench; heat: lost to friction

The last two are there only where something acts. f is a plain function over `lw` pieces: it is traced and
compiled like any other, or runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import edge
from ..errors import one_of
from ..graph import Program
from ..robot import Robot
from ..trace import Input, trace
from ..trace.tracing import few_operations
from .events import Event
from .friction import Friction

COORDINATES = {"joint": None, "normalized": edge.normalized, "unnormalized": edge.unnormalized}
Torque = Callable[..., Any]  # torque(arm, t, q, qd)


@dataclass(frozen=True)
class Problem:
    """A robot and what acts on it; `tau` and `wrench` say whether constant ones do, and of which shape.

    `symbols` are those of the robot, if it stands for a family: each trajectory then has numbers of its own for them.
    """

    robot: Robot
    torque: Torque | None = None
    tau: bool = False
    wrench: tuple[int, ...] | None = None
    friction: Friction | None = None
    coordinates: str = "joint"
    method: str | None = None
    events: tuple[Event, ...] = ()
    symbols: tuple[str, ...] = ()  # in order of the alphabet, as `trace` has them

    def __post_init__(self) -> None:
        one_of(self.coordinates, COORDINATES, "coordinates")
        if self.coordinates != "joint" and self.method is not None:
            raise ValueError(
                f"method is {self.method!r} (expected none: {self.coordinates} coordinates have their own)"
            )

    @property
    def accounted(self) -> bool:
        """Whether work and heat are integrated along."""
        return self.torque is not None or self.tau or self.wrench is not None or self.friction is not None

    @property
    def size(self) -> int:
        return 2 * self.robot.n + 2 * self.accounted

    def side(self, arm: Robot, t: Any, y: Any, tau: Any = None, wrench: Any = None) -> Any:
        """f for one state."""
        n, quasi = arm.n, COORDINATES[self.coordinates]
        q, v = y[:n], y[n : 2 * n]
        qd = v if quasi is None else quasi.joint_rates(arm, q, v)
        applied = self.applied(arm, t, q, qd, tau)
        drag = None if self.friction is None else self.friction.torque(arm, qd)
        net = applied if drag is None else applied - drag
        if quasi is None:
            vd = edge.forward_dynamics(arm, q, qd, net, wrench, method=self.method)
        else:
            vd = quasi.acceleration(arm, q, v, net, wrench)
        parts = [qd, vd]
        if self.accounted:
            pushed = applied if wrench is None else applied + self.pushed(arm, q, wrench)
            parts.append([(pushed * qd).sum(), 0.0 if drag is None else (drag * qd).sum()])
        return np.concatenate([np.asarray(part, dtype=object) for part in parts])

    def pushed(self, arm: Robot, q: Any, wrench: Any) -> Any:
        """The torques that do the same work as the wrench."""
        return edge.gravity_torque(arm, q) - edge.bias_torque(arm, q, np.zeros(arm.n), wrench)

    def applied(self, arm: Robot, t: Any, q: Any, qd: Any, tau: Any = None) -> Any:
        """The torques that act, without friction."""
        given = np.zeros(arm.n) if tau is None else np.asarray(tau)
        if self.torque is None:
            return given
        found = np.asarray(self.torque(arm, t, q, qd))
        if found.shape != (arm.n,):
            raise ValueError(f"the torque function gave shape {found.shape} (expected ({arm.n},), one for each joint)")
        return given + found

    def gauges(self, arm: Robot, t: Any, y: Any) -> list[Any]:
        """The values of the events for one state."""
        q = y[: arm.n]
        quasi, v = COORDINATES[self.coordinates], y[arm.n : 2 * arm.n]
        qd = v if quasi is None else quasi.joint_rates(arm, q, v)
        return [event.value(arm, t, q, qd) for event in self.events]

    @property
    def parameters(self) -> dict[str, Input]:
        """All that is constant along a trajectory and differs between them."""
        return {**self.loads, **{name: Input() for name in self.symbols}}

    @property
    def loads(self) -> dict[str, Input]:
        shapes = {"tau": (self.robot.n,) if self.tau else None, "wrench": self.wrench}
        return {name: Input(*shape) for name, shape in shapes.items() if shape is not None}

    def program(self) -> Program:
        def side(arm: Robot, t: Any, y: Any, **parameters: Any) -> Any:
            rates = self.side(arm, t, y, **parameters)
            return (rates, np.array(self.gauges(arm, t, y), dtype=object)) if self.events else rates

        with few_operations():
            inputs: dict[str, Any] = {"t": Input(), "y": Input(self.size), **self.loads}
            return trace(side, self.robot, **inputs)

    def plain_side(self, parameters: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """f for a batch, one state after another, in Python."""
        names, start = [], 0
        for name, shape in self.parameters.items():
            size = int(np.prod(shape.shape))
            names.append((name, slice(start, start + size), shape.shape))
            start += size

        def side(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            found = np.empty_like(y)
            for k in range(len(y)):
                given = {name: parameters[k, part].reshape(shape) for name, part, shape in names}
                found[k] = self.side(self.robot, float(t[k]), y[k], **given).astype(float)
            return found

        return side

    def initial(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        quasi = COORDINATES[self.coordinates]
        v = qd if quasi is None else quasi.velocity(self.robot, q, qd)
        zeros = np.zeros((*q.shape[:-1], 2 * self.accounted))
        return np.concatenate([q, v, zeros], axis=-1)

    def rates(self, q: Any, v: Any) -> Any:
        """Joint rates of the velocities that were integrated."""
        quasi = COORDINATES[self.coordinates]
        return v if quasi is None else quasi.joint_rates(self.robot, q, v)

    def plain_gauge(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The values of the events for a batch, one state after another."""
        found = [self.gauges(self.robot, float(time), state) for time, state in zip(t, y, strict=True)]
        return np.array(found, dtype=float).reshape(len(y), len(self.events))
