"""A rollout whose torque function is traced beforehand, for many short runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from ..control.drives import function_name
from ..errors import one_of
from ..kernels.arrays import finite, on_gpu
from ..kernels.dispatch import DTYPES
from ..kernels.interface import described
from ..kernels.kernel import real_array
from ..kernels.target import target_named
from ..ode.rollout import RolloutCode, fixed_step_integrators
from ..robot import Friction, Robot, require_robot
from ..robot.symbols import symbols_of
from ..tracing import Input
from .compiled import frozen, per_trajectory_too_early, refuse_defaults
from .friction_steps import warn_of_long_steps
from .parameters import PerTrajectory, declared_shapes, parameters_of, values_of
from .prepared import checked
from .problem import wrong_torques
from .rollout_inputs import refuse_exact, refuse_sampled, refuse_unknown_names
from .rollouts import Options, RolloutResult, refuse_unknown, rolled_out, rollout, solver, whole
from .traced import TracedFunction, traced

COMPILE = "lw.compile(lw.rollout, ...)"
FROZEN = ("friction", "integrator", "target", "dtype")  # and a torque function
OF_A_RUN = ("q0", "qd0", "table", "wrench", "stream", "out")


class CompiledRollout:
    """`run(q0, qd0, parameters={...})`: as `lw.rollout`, with the torque function frozen as it was.

    Whatever that function read, globals, attributes or arrays, was read once, when this was made. All numbers may be
    given again for each run. Arrays and lists were copied; arrays on a GPU are read by each run. Machine code stays as
    long as this does: CUDA graphs that captured a run need it.
    """

    def __init__(
        self,
        arm: Robot,
        law: TracedFunction | None,
        parameters: Mapping[str, Any],
        options: Mapping[str, Any],
        defaults: Sequence[str] = (),
    ) -> None:
        """`defaults` are parameters of the torque function that were not named."""
        self.robot, self.law, self.parameters, self.options, self.defaults = arm, law, parameters, options, defaults
        self.solvers: dict[Any, RolloutCode] = {}
        self.told = False  # whether it was said that steps are too long for friction
        if (friction := Friction.of(options.get("friction", False))) is not None and "dt" in options:
            symbols = {name: values_of(parameters.get(name)) for name in (symbols_of(arm) if arm.symbolic else ())}
            if all(isinstance(value, (int, float, np.ndarray)) for value in symbols.values()):
                integrator, dt = options.get("integrator", "rk4"), checked(dt=options["dt"])["dt"]
                arrays = {name: np.asarray(value, dtype=float) for name, value in symbols.items()}
                self.told = warn_of_long_steps(arm, friction, dt, integrator, arrays)

    def __call__(
        self, q0: Any, qd0: Any = None, *, parameters: Mapping[str, Any] | None = None, **others: Any
    ) -> RolloutResult:
        for name in others:
            if name in FROZEN or (name == "torque" and (self.law is not None or callable(others[name]))):
                raise TypeError(f"{name!r} is frozen in {self!r} (expected it in {COMPILE})")
        refuse_unknown(others, self, Options._fields)
        refuse_defaults(self.defaults, parameters or {}, self, COMPILE)
        options = {**self.options, **others, "parameters": {**self.parameters, **(parameters or {})}}
        if self.law is not None:
            options["torque"] = self.law
        for name in ("steps", "dt"):
            if name not in options:
                raise TypeError(f"{name} is missing (expected {name}=..., here or in {COMPILE})")
        look = None if self.told else self.look_at_friction
        return rolled_out(self.robot, q0, qd0, Options(**options), look, self.solver)

    def solver(self, *key: Any) -> RolloutCode:
        """The machine code of a run, which is kept; there are few kinds."""
        found = self.solvers.get(key)
        return self.solvers.setdefault(key, solver(*key)) if found is None else found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "solvers": {}}  # machine code is of this process

    def look_at_friction(self, *given: Any) -> None:
        """Warn once of steps that are too long."""
        self.told = warn_of_long_steps(*given)

    def __repr__(self) -> str:
        names = ["torque"] * (self.law is not None) + [name for name in FROZEN if name in self.options]
        needed = [f"{name} {shape}" for name, shape in self.needed.items()]
        takes = f"; parameters of a run: {', '.join(needed)}" if needed else ""
        return f"<Rollout of robot {self.robot.name!r}, frozen{': ' if names else ''}{', '.join(names)}{takes}>"

    @property
    def needed(self) -> dict[str, tuple[int, ...]]:
        """The parameters that each run is given, with the shapes that one trajectory has of them."""
        every = {
            **declared_shapes(self.law),
            **dict.fromkeys(symbols_of(self.robot) if self.robot.symbolic else (), ()),
        }
        return {name: shape for name, shape in every.items() if name not in self.parameters}


def compile_rollout(
    arm: Robot, *, torque: Any = None, parameters: Mapping[str, Any] | None = None, **options: Any
) -> CompiledRollout:
    """`lw.compile(lw.rollout, arm, ...)`: traced now, to be called as run(q0, qd0, parameters={...}).

    `lw.rollout` traces its torque function at every call, since what it reads may have changed; that takes
    milliseconds. Machine code is made at the first run. Parameters that are not named keep their defaults. Symbols of
    the robot are always given to each run, unless they have numbers here. `steps`, `dt`, `every`, `hold` and `threads`
    may be given here or to the run, the arrays `table`, `wrench` and `out` to the run; `friction`, `integrator`,
    `target` and `dtype` are given here.

    >>> import numpy as np
    >>> import linkwise as lw
    >>> arm = lw.load("planar3")
    >>> spring = lambda arm, t, q, qd, goal, kp: kp * (goal - q) - 0.5 * qd
    >>> shapes = {"goal": lw.Input(3), "kp": 2.0}
    >>> run = lw.compile(lw.rollout, arm, steps=20, dt=1e-3, torque=spring, parameters=shapes)
    >>> run(np.zeros((1000, 3)), parameters={"goal": [0.1, 0.2, 0.3]})
    <rollout of robot 'planar3': trajectories (1000,), 20 steps of 0.001 s>
    """
    require_robot(arm)
    refuse_what_is_no_option(arm, options)
    if torque is not None and not callable(torque):
        raise TypeError(f"torque is {torque!r} (expected a torque function; constant torques are given to each run)")
    refuse_sampled(torque)
    if not isinstance(parameters, (Mapping, NoneType)):
        raise TypeError(f"parameters is {described(parameters)} (expected a mapping from names to numbers or lw.Input)")
    given = frozen(parameters or {}, "parameters")
    symbols = symbols_of(arm) if arm.symbolic else ()
    refuse_unknown_names(arm, torque, symbols, given)
    for name, x in given.items():
        if isinstance(x, PerTrajectory) and name not in symbols:
            raise per_trajectory_too_early(name, COMPILE)
        if not isinstance(x, Input) and not on_gpu(values_of(x)):
            finite(f"parameters: {name!r}", real_array(f"parameters: {name!r}", values_of(x), "float64"))
    shapes = {name: x.shape if isinstance(x, Input) else np.shape(values_of(x)) for name, x in given.items()}
    for name in symbols:
        if isinstance(given.get(name), Input) and shapes[name]:
            raise ValueError(
                f"parameters: {name!r} has the shape {shapes[name]} (expected lw.Input(): it is a symbol of the robot)"
            )
    for name, needed in parameters_of(torque).items():
        if needed and name not in given:
            raise ValueError(
                f"parameters: {name!r} has no value (expected parameters={{{name!r}: lw.Input(...)}} with the shape"
                " that one trajectory has of it, lw.Input() for a number; or numbers)"
            )
    law = None if torque is None else frozen_law(arm, torque, {k: v for k, v in shapes.items() if k not in symbols})
    numbers = {name: value for name, value in given.items() if not isinstance(value, Input)}
    return CompiledRollout(arm, law, numbers, options, [name for name in parameters_of(torque) if name not in given])


def frozen_law(arm: Robot, torque: Any, shapes: Mapping[str, tuple[int, ...]]) -> TracedFunction:
    """The torque function as it is now, with parameters of these shapes."""
    law = traced(torque, arm, f"the torque function {function_name(torque)!r}", tuple(sorted(shapes.items())))
    shape = law.program.outputs[0].shape
    if shape != (arm.n,):
        raise wrong_torques(arm, shape, tuple(sorted(shapes.items())))
    return law


def refuse_what_is_no_option(arm: Robot, options: Mapping[str, Any]) -> None:
    known = [name for name in inspect.signature(rollout).parameters if name not in ("arm", "unknown", *OF_A_RUN)]
    for name in options:
        if name in OF_A_RUN:
            raise TypeError(f"{name!r} is not an argument of {COMPILE} (expected it in each run)")
    refuse_unknown(options, COMPILE, known)
    target_named(options.get("target", "cpu")).check_run(options.get("threads"))
    for name in ("steps", "every", "hold"):
        if options.get(name) is not None:
            whole(name, options[name])
    if "dt" in options:
        checked(dt=options["dt"])
    if (law := Friction.of(options.get("friction", False))) is not None:
        refuse_exact(arm, law)
    one_of(options.get("integrator", "rk4"), fixed_step_integrators(), "integrator")
    one_of(options.get("dtype") or DTYPES[0], DTYPES, "dtype")
