"""The initial value problem: y' = f(t, y, parameters) for a robot under torques, wrenches and friction.

    y = (q, v, work, heat, near)      v: joint rates, or quasi-velocities; work: of torques and wrench; heat:
                                      dissipated by friction; near: nearness of modes to their ends, `sticking`

Quaternions are integrated without normalization, q̇ = ½ q ω. This is linear in q, and nothing else depends on their
length, so a step turns every quaternion like one of unit length. They are normalized only in recordings; normalizing
after every step would give the same orientations.

Work and heat are part of y if torques, wrenches or friction act; `near` if joints may stick, and then their modes are
parameters. f is a plain function written with `lw`: it is traced and compiled like any other, or runs in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..api import functions
from ..api.call import BaseMotion
from ..api.quasi import normalized, unnormalized
from ..control.drives import function_name
from ..control.events import Event
from ..errors import one_of
from ..graph import Program
from ..lazy import cached_property
from ..ode.events import Crossing
from ..printing import warn
from ..robot import Friction, Robot, WrenchFrames
from ..robot.scales import state_scales
from ..tracing import Input, trace
from ..tracing.tracing import prefer_fewest
from .base_motions import BaseFunction, motion_at, trace_base
from .parameters import NONE, PREFIX, call_torque, strip_prefix
from .sticking import NEARNESS_TOLERANCE, Point, Sticking
from .traced_functions import (
    Shapes,
    TracedFunction,
    describe_shapes,
    trace_function,
)

LOW_PRECISION = (
    "the torque function {!r} gives {}: rounding errors then shorten the steps (expected float64, or a larger rtol)"
)
COORDINATES = {"joint": None, "normalized": normalized, "unnormalized": unnormalized}
Coordinates = Literal["joint", "normalized", "unnormalized"]
Torque = Callable[..., Any]  # torque(robot, t, q, qd), or with parameters after these


@dataclass(frozen=True)
class Problem:
    """A robot with its torques, wrench, friction and events.

    `tau` says whether constant torques act, `wrench` is the shape of a constant wrench.

    `symbols` are those of the robot, if it stands for a family. Each trajectory then has its own values for them.
    """

    robot: Robot
    torque: Torque | None = None
    tau: bool = False
    wrench: tuple[int, ...] | None = None
    friction: Friction | None = None
    coordinates: str = "joint"
    method: str | None = None
    events: tuple[Event, ...] = ()
    symbols: tuple[str, ...] = ()  # sorted, as in `trace`
    torque_parameters: Shapes = ()  # the torque function's parameters and their shapes
    point: Point | WrenchFrames | None = None  # where the wrench acts, if not at the mass centre
    energy_balance: bool = True  # whether work and heat are integrated, if something acts
    base: BaseFunction | None = None  # the motion of the base
    like: Robot | None = field(default=None, compare=False)  # a robot of numbers, if this one has symbols

    def __post_init__(self) -> None:
        one_of(self.coordinates, COORDINATES, "coordinates")
        if self.coordinates != "joint" and self.method is not None:
            raise ValueError(
                f"method is {self.method!r} (expected none: {self.coordinates} coordinates have their own)"
            )
        if self.symbols and self.friction is not None and self.friction.smooth == 0.0:
            raise ValueError("exact friction cannot be compiled for a family")
        if self.sticking and (self.coordinates != "joint" or self.method is not None):
            option = f"method is {self.method!r}" if self.method else f"coordinates are {self.coordinates!r}"
            raise ValueError(f"{option}, and friction is exact (expected friction with smooth above 0, or neither)")

    def with_traced_functions(self) -> Problem:
        """The problem with the user's functions traced now. Equal traced functions share compiled code."""
        if self.torque is None and self.base is None and not self.events:
            return self
        what = f"the torque function {function_name(self.torque)!r}" if self.torque else ""
        torque = self.torque and trace_function(self.torque, self.robot, what, self.torque_parameters)
        events = tuple(
            replace(event, function=trace_function(event.function, self.robot, f"the function of event {event.name!r}"))
            for event in self.events
        )
        return replace(self, torque=torque, events=events, base=trace_base(self.base, self.robot))

    @property
    def frozen(self) -> bool:
        """Whether all functions of the user are traced."""
        functions = [self.torque, self.base, *(event.function for event in self.events)]
        return all(function is None or isinstance(function, TracedFunction) for function in functions)

    def call_functions(self, q: np.ndarray, qd: np.ndarray, by_name: Mapping[str, Any]) -> None:
        """Call the user's functions with the numbers of one state, so that their errors are raised unchanged."""
        with np.errstate(all="ignore"):
            if self.torque is not None:
                values = {PREFIX + name: by_name[PREFIX + name] for name, _ in self.torque_parameters}
                try:
                    np.asarray(self.applied_torques(self.robot, 0.0, q, qd, None, values), dtype=float)
                except ValueError as error:
                    shapes = describe_shapes(self.torque_parameters) if values else ""
                    if not values or type(error) is not ValueError or shapes in str(error):
                        raise
                    raise ValueError(f"{error}; {shapes}") from error
            if self.base is not None:
                np.asarray(self.base(self.robot, 0.0, q, qd), dtype=float)
            for event in self.events:
                float(event.value(self.robot, 0.0, q.copy(), qd.copy()))

    @cached_property
    def has_energy_balance(self) -> bool:
        """Whether work and heat are integrated."""
        functions = self.torque is not None or self.base is not None
        acts = functions or self.tau or self.wrench is not None or self.friction is not None
        return acts and self.energy_balance

    @cached_property
    def sticking(self) -> Sticking | None:
        """The joints that may stick; None if there are none."""
        return Sticking.of(self.robot, self.friction, self.point)

    @cached_property
    def size(self) -> int:
        return self.rest + 2 * self.has_energy_balance + (self.sticking is not None)

    @cached_property
    def rest(self) -> int:
        """The index in y after q and v."""
        return self.robot.nq + self.robot.n

    def split(self, y: Any) -> tuple[Any, Any]:
        """q and v of y."""
        return y[..., : self.robot.nq], y[..., self.robot.nq : self.rest]

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """q (..., nq) with quaternions of unit length; a copy if there are any."""
        if self.robot.quaternions:
            q = q.copy()
        for start in self.robot.quaternions:
            part = q[..., start : start + 4]
            part /= np.sqrt((part * part).sum(axis=-1, keepdims=True))
        return q

    def configuration_rates(self, robot: Robot, q: Any, qd: Any) -> Any:
        """q̇ from the rates of the joints."""
        if not robot.quaternions:
            return qd
        components = [q[..., i] for i in range(robot.nq)], [qd[..., i] for i in range(robot.n)]
        return np.stack(np.broadcast_arrays(*robot.coordinates.configuration_rates(*components)), axis=-1)

    def rhs(
        self,
        robot: Robot,
        t: Any,
        y: Any,
        tau: Any = None,
        wrench: Any = None,
        modes: Any = None,
        dynamics: Any = functions,
        **parameters: Any,
    ) -> Any:
        """f for one state, or for many (..., size) unless joints may stick. `dynamics` has the functions to call."""
        if self.sticking is not None:
            return self.rhs_with_modes(self.sticking, robot, t, y, tau, wrench, modes, parameters)
        quasi = COORDINATES[self.coordinates]
        q, v = self.split(y)
        qd = v if quasi is None else quasi.joint_rates(robot, q, v)
        applied = self.applied_torques(robot, t, q, qd, tau, parameters)
        drag = None if self.friction is None else self.friction.torque(robot, qd, applied=applied)
        net = applied if drag is None else applied - drag
        base = motion_at(self.base, robot, t, q, qd)
        if quasi is None:
            optional = (("wrench", wrench), ("point", self.point), ("method", self.method), ("base", base))
            options = {name: value for name, value in optional if value is not None}  # without them: the fast path
            vd = dynamics.forward_dynamics(robot, q, qd, net, **options)
        else:
            vd = quasi.acceleration(robot, q, v, net, wrench, point=self.point, base=base)
        parts = [self.configuration_rates(robot, q, qd), vd]
        if self.has_energy_balance:
            pushed = applied if wrench is None else applied + self.wrench_torques(robot, q, wrench, dynamics)
            if base is not None:
                pushed = pushed + self.inertia_torques(robot, q, qd, base)
            power = (pushed * qd).sum(axis=-1)
            parts.append(np.stack([power, np.zeros(np.shape(power)) if drag is None else (drag * qd).sum(axis=-1)], -1))
        return np.concatenate(parts, axis=-1)

    def rhs_with_modes(
        self, sticking: Sticking, robot: Robot, t: Any, y: Any, tau: Any, wrench: Any, modes: Any, parameters: Any
    ) -> np.ndarray:
        """f for one state of a robot whose joints may stick."""
        (q, qd), mode = self.split(y), modes[: robot.n]
        applied = self.applied_torques(robot, t, q, qd, tau, parameters)
        base = motion_at(self.base, robot, t, q, qd)
        held = sticking.constrained_dynamics(robot, q, qd, applied, wrench, mode, base)
        pushed = applied if wrench is None else applied + self.wrench_torques(robot, q, wrench)
        if base is not None:
            pushed = pushed + self.inertia_torques(robot, q, qd, base)
        drag = sticking.friction.torque(robot, qd, mode)
        rates = self.configuration_rates(robot, q, qd)
        integrals = [(pushed * qd).sum(), (drag * qd).sum(), sticking.nearness(qd, mode, held)]
        return np.concatenate([np.asarray(part, dtype=object) for part in (rates, held.qdd, integrals)])

    def wrench_torques(self, robot: Robot, q: Any, wrench: Any, dynamics: Any = functions) -> Any:
        """The torques equivalent to the wrench."""
        at_rest = dynamics.bias_torque(robot, q, np.zeros(robot.n), wrench, point=self.point)
        return dynamics.gravity_torque(robot, q) - at_rest

    def inertia_torques(self, robot: Robot, q: Any, qd: Any, base: BaseMotion) -> Any:
        """The torques of the inertia forces that the motion of the base makes."""
        return functions.bias_torque(robot, q, qd) - functions.bias_torque(robot, q, qd, base=base)

    def applied_torques(
        self, robot: Robot, t: Any, q: Any, qd: Any, tau: Any = None, parameters: Mapping[str, Any] = NONE
    ) -> Any:
        """The torques without friction. A function that was not traced is called state by state.

        `parameters` are those of the torque function, as `loads` has them.
        """
        constant = np.zeros(robot.n) if tau is None else np.asarray(tau)
        if self.torque is None:
            return constant
        if q.ndim == 1:
            torque = np.asarray(call_torque(self.torque, robot, t, q.copy(), qd.copy(), strip_prefix(parameters)))
            if torque.dtype in (np.float32, np.float16):
                warn(LOW_PRECISION.format(function_name(self.torque), torque.dtype), RuntimeWarning)
        else:
            times, shapes = np.broadcast_to(t, q.shape[:-1]), dict(self.torque_parameters)
            rows = {x: np.broadcast_to(a, (len(q), *shapes[x])) for x, a in strip_prefix(parameters).items()}
            if isinstance(self.torque, TracedFunction):
                torque = self.torque.values_at(times, q, qd, rows)
            else:
                of_row = [{PREFIX + name: array[k] for name, array in rows.items()} for k in range(len(q))]
                states = zip(times.tolist(), q, qd, [None] * len(q), of_row, strict=True)
                return constant + np.array([self.applied_torques(robot, *state) for state in states])
        if torque.shape != qd.shape:
            raise torque_shape_error(robot, torque.shape[q.ndim - 1 :], self.torque_parameters)
        return constant + torque

    def event_values(
        self, robot: Robot, t: Any, y: Any, tau: Any = None, wrench: Any = None, modes: Any = None, **parameters: Any
    ) -> list[Any]:
        """The values of the events for one state, and whether the modes last."""
        quasi, (q, v) = COORDINATES[self.coordinates], self.split(y)
        qd = v if quasi is None else quasi.joint_rates(robot, q, v)
        values = [event.value(robot, t, q.copy(), qd.copy()) for event in self.events]
        if self.sticking is not None:
            applied, mode, since = (
                self.applied_torques(robot, t, q, qd, tau, parameters),
                modes[: robot.n],
                modes[robot.n],
            )
            base = motion_at(self.base, robot, t, q, qd)
            slack = self.sticking.constrained_dynamics(robot, q, qd, applied, wrench, mode, base).slack
            values.append(self.sticking.lasts(qd, mode, slack, t, since))
        return values

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The zero crossings to detect: the events and, last, an end of the modes."""
        modes = [Crossing(-1, stop=True, inside=False)] * (self.sticking is not None)
        return (*(Crossing(event.direction, event.stop) for event in self.events), *modes)

    @property
    def parameters(self) -> dict[str, Input]:
        """The inputs that are constant along a trajectory and differ between trajectories."""
        return {**self.loads, **{name: Input() for name in self.symbols}}

    @property
    def loads(self) -> dict[str, Input]:
        n = self.robot.n
        modes = None if self.sticking is None else (n + 1,)
        shapes = {"tau": (n,) if self.tau else None, "wrench": self.wrench, "modes": modes}
        inputs = {PREFIX + name: Input(*shape) for name, shape in self.torque_parameters}
        return {**{name: Input(*shape) for name, shape in shapes.items() if shape is not None}, **inputs}

    @property
    def columns(self) -> dict[str, slice]:
        """The columns of each parameter in a row; `modes` are the modes of the joints, and since when."""
        columns, start = {}, 0
        for name, parameter in self.parameters.items():
            columns[name] = slice(start, start := start + int(np.prod(parameter.shape)))
        return columns

    def parameters_by_name(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name, in their shapes, from rows (..., columns)."""
        batch, shapes = parameters.shape[:-1], self.parameters
        return {
            name: parameters[..., part].reshape((*batch, *shapes[name].shape)) for name, part in self.columns.items()
        }

    def program(self) -> Program:
        def rhs(robot: Robot, t: Any, y: Any, **parameters: Any) -> Any:
            rates = self.rhs(robot, t, y, **parameters)
            if not self.crossings:
                return rates
            return rates, np.array(self.event_values(robot, t, y, **parameters), dtype=object)

        with prefer_fewest():
            inputs: dict[str, Any] = {"t": Input(), "y": Input(self.size), **self.loads}
            return trace(rhs, self.robot, **inputs)

    def plain_rhs(self, parameters: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """f for a batch, state by state in Python."""

        def rhs(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            rates = np.empty_like(y)
            for k in range(len(y)):
                by_name = self.parameters_by_name(parameters[k])
                rates[k] = self.rhs(self.robot, float(t[k]), y[k], **by_name).astype(float)
            return rates

        return rhs

    def batch_rhs(self, parameters: np.ndarray, dynamics: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        """f for all states at once with the functions of `dynamics`; parameters are rows, or one row for all."""
        by_name = self.parameters_by_name(parameters)

        def rhs(t: Any, y: np.ndarray) -> np.ndarray:
            return np.asarray(self.rhs(self.robot, t, y, **by_name, dynamics=dynamics), dtype=float)

        return rhs

    def plain_event_values(self, parameters: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """The values of the events for a batch, state by state in Python."""

        def event_values(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            states = zip(t.tolist(), y, map(self.parameters_by_name, parameters), strict=True)
            values = [self.event_values(self.robot, time, state, **by_name) for time, state, by_name in states]
            return np.array(values, dtype=float).reshape(len(y), len(self.crossings))

        return event_values

    def initial(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        quasi = COORDINATES[self.coordinates]
        v = qd if quasi is None else quasi.velocity(self.robot, q, qd)
        y = np.zeros((*q.shape[:-1], self.size))
        y[..., : self.robot.nq], y[..., self.robot.nq : self.rest] = self.normalized(q), v
        return y

    def tolerance(self, atol: float | None, rtol: float) -> np.ndarray:
        """The absolute tolerance of each component of y.

        By default it is rtol / 100 times the scale of the component; 1 J for work and heat, on which nothing depends.
        The scale of a quaternion's components is its length, 1, so that all orientations have the same accuracy; an
        error e of the components turns the body by 2 e. `near` has a large tolerance.
        """
        tolerance = np.full(self.size, rtol / 100 if atol is None else atol)
        if atol is None and not (self.symbols and self.like is None):
            tolerance[: self.rest] *= state_scales(self.like or self.robot)
        for start in self.robot.quaternions:
            tolerance[start : start + 4] = np.maximum(tolerance[start : start + 4], 0.5 * rtol)
        if self.sticking is not None:
            tolerance[-1] = max(tolerance[-1], NEARNESS_TOLERANCE)
        return tolerance

    def rates(self, q: Any, v: Any) -> Any:
        """Joint rates from the integrated velocities."""
        quasi = COORDINATES[self.coordinates]
        return v if quasi is None else quasi.joint_rates(self.robot, q, v)


def torque_shape_error(robot: Robot, shape: tuple[int, ...], shapes: Shapes = ()) -> ValueError:
    """The error for a torque function whose result has this shape; it lists the shapes of its parameters."""
    each = "joint" if robot.v_names == robot.joint_names else "degree of freedom"
    why = f"; {describe_shapes(shapes)}" if shapes else ""
    return ValueError(f"the torque function gave shape {shape} (expected ({robot.n},), one for each {each}){why}")


@lru_cache(maxsize=4)
def program_of(problem: Problem) -> Program:
    """The program of a problem with traced functions."""
    return problem.program()
