"""Compilation of `lw.simulate` and `lw.rollout`, and the equations of motion that they integrate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..api.functions import forward_dynamics
from ..errors import near_miss
from ..ode.registry import integrators
from ..ode.rollout import fixed_step_integrators
from ..robot import Friction, Robot
from ..tracing import Input
from ..tracing.tracing import Motion
from .base_motions import base_function, motion_at
from .parameters import call_torque, check_parameters, parameters_of
from .sampling import split_sampled_laws


class EquationsOfMotion(Motion):
    """Equations of motion with torques, wrenches and friction: q̈ from q, q̇ and, for a torque function, t."""

    name: ClassVar[str]
    equation_options: ClassVar[Sequence[str]]  # options that change the right-hand side

    def equations(self, robot: Robot, **options: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The right-hand side and its inputs: constant torques, tables, wrenches, parameters that are `lw.Input`."""
        for name in options:
            if name not in self.equation_options:
                raise TypeError(
                    f"the equations of motion of {self.name} have no argument {name!r}"
                    f"{near_miss(name, self.equation_options)} (they have {', '.join(self.equation_options)})"
                )
        torque, laws = split_sampled_laws(options.get("torque"))
        if laws:
            raise ValueError(
                "the torque has a sampled law, which is computed at its own times (expected a torque function, or"
                " lw.trace of the law's step)"
            )
        friction = Friction.of(options.get("friction", False))
        if friction is not None and friction.smooth == 0.0:
            raise ValueError(
                "friction is exact: the equations depend on which joints stick (expected lw.Friction with smooth above"
                " 0)"
            )
        inputs, numbers = split_inputs(torque, options.get("parameters"))
        base = base_function(options.get("base"))
        more: dict[str, Any] = {"t": Input()} if callable(torque) or callable(options.get("base")) else {}
        if options.get("table") is not None or not (torque is None or callable(torque)):
            more["tau"] = Input(robot.n)
        if options.get("wrench") is not None:
            more["wrench"] = wrench_input(robot, options["wrench"])
        passed = {name: options[name] for name in ("point", "axes", "method") if options.get(name) is not None}

        def equations_of_motion(
            robot: Robot, q: Any, qd: Any, t: Any = None, tau: Any = None, wrench: Any = None, **parameters: Any
        ) -> Any:
            net = np.zeros(robot.n) if tau is None else tau
            if callable(torque):
                net = net + call_torque(torque, robot, t, q, qd, {**numbers, **parameters})
            if friction is not None:
                net = net - friction.torque(robot, qd, applied=net)
            return forward_dynamics(robot, q, qd, net, wrench, base=motion_at(base, robot, t, q, qd), **passed)

        equations_of_motion.__doc__ = f"The accelerations that {self.name} integrates."
        equations_of_motion.__qualname__ = self.name.removeprefix("lw.")  # where exported code says it comes from
        equations_of_motion.result_names = ("qdd",)  # type: ignore[attr-defined]
        return equations_of_motion, {**more, **inputs}


def wrench_input(robot: Robot, wrench: Any) -> Any:
    """The wrench as an input, or by frame as inputs."""
    if isinstance(wrench, Mapping):
        return {name: Input(6) for name in wrench}
    shape = np.shape(wrench)
    return Input(*shape[-1:] if len(robot.leaves) == 1 and len(shape) == 1 else shape[-2:])


def split_inputs(torque: Any, given: Mapping[str, Any] | None) -> tuple[dict[str, Input], dict[str, Any]]:
    """Split the parameters of a torque function into inputs and numbers."""
    inputs = {name: value for name, value in (given or {}).items() if isinstance(value, Input)}
    numbers = {name: value for name, value in (given or {}).items() if name not in inputs}
    held = {name: np.zeros(value.shape) for name, value in inputs.items()}
    check_parameters(torque, {**numbers, **held}, ())
    clash = sorted({"q", "qd", "t", "tau", "wrench"} & set(parameters_of(torque)))
    if clash:
        raise ValueError(
            f"the torque function has a parameter {clash[0]!r}, which is an argument of the equations (expected"
            " another name)"
        )
    return inputs, {name: np.asarray(value, dtype=float) for name, value in numbers.items()}


class SimulationMotion(EquationsOfMotion):
    name = "lw.simulate"
    equation_options = ("torque", "wrench", "point", "axes", "friction", "base", "method", "parameters")

    def methods(self) -> list[str]:
        return integrators()

    def compiled(self, robot: Robot, **options: Any) -> Callable[..., Any]:
        from .compiled_motions import compile_simulation

        return compile_simulation(robot, **options)

    def module(self, robot: Robot, **options: Any) -> bytes:
        from .webassembly import wasm_simulation

        return wasm_simulation(robot, **options)


class RolloutMotion(EquationsOfMotion):
    name = "lw.rollout"
    equation_options = ("torque", "table", "wrench", "axes", "friction", "base", "parameters")

    def methods(self) -> list[str]:
        return fixed_step_integrators()

    def compiled(self, robot: Robot, **options: Any) -> Callable[..., Any]:
        from .compiled_motions import compile_rollout

        return compile_rollout(robot, **options)

    def module(self, robot: Robot, **options: Any) -> bytes:
        raise ValueError(
            "lw.rollout has no form in WebAssembly (expected lw.wasm(lw.simulate, robot, integrator='rk4', dt=...))"
        )
