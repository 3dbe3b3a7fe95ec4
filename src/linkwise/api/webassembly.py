"""`lw.wasm`: functions as WebAssembly modules, for one robot or for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import one_of
from ..kernels.dispatch import DTYPES
from ..kernels.lock import LOCK
from ..robot import Robot
from ..tracing import Input
from ..tracing.tracing import Motion
from .compiling import checked_spec, given_options
from .functions import poses
from .method_table import LOOP_METHODS

METHODS = {  # for any robot: those that compute with mass, mass centre and inertia as a record has them
    "inverse_dynamics": "newton-euler",
    "bias_torque": "newton-euler",
    "gravity_torque": "newton-euler",
    "forward_dynamics": "articulated",
}

LOADS = {"wrench": (6,), "point": (3,)}  # of every link, where they are asked for


def wasm(
    function: Callable[..., Any],
    arm: Robot | None = None,
    *,
    dtype: str | None = None,
    form: str = "auto",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> bytes:
    """The function as a WebAssembly module, for browsers, node and every other place that runs such modules.

    With a robot it is compiled for that, as by `compile(..., target="wasm")`, with the same parameters. Without one the
    module takes any robot as data (`wasm_robot`): inverse_dynamics, forward_dynamics, bias_torque, gravity_torque and
    poses have this form; `wrench=True` adds an input of a wrench on every link, and `point=True` one of where these
    act. The module imports nothing. It exports `memory`, `heap` (the first byte that is free) and

        run(count, ..., inputs, ..., outputs, ...)     how many finite states have results that are not finite

    with the addresses of `count` rows each. `wasm_interface` says what it takes, and so does its section "linkwise".

    `lw.simulate` with its arguments becomes a simulation that goes on from call to call:

        advance(simulation, end)      integrate to the time `end`, and return 1; other codes say why it ended before

    `simulation` is where the trajectory is in memory: `lw.wasm_interface(module)["simulation"]`. It begins at q0 (by
    default neutral) with the rates qd0. Where t is at `end` or beyond, nothing happens. The interface says where t, q,
    qd and the parameters are, which may be read and changed between two calls: constant torques (`torque=` an array),
    wrenches, numbers of a torque function and symbols of the robot (`"mass": lw.symbols("m2")` in its table), whose
    values at the start are in `parameters`. Torque functions are traced. There are no events, sampled laws, jumps in
    time and exact friction. Computed in float64.

    >>> import linkwise as lw
    >>> module = lw.wasm(lw.gravity_torque, lw.load("gantry"))
    >>> module[:4], [argument["name"] for argument in lw.wasm_interface(module)["arguments"]]
    (b'\\x00asm', ['q', 'gravity_torque'])
    >>> module = lw.wasm(lw.simulate, lw.load("planar3"), torque=[0, 0, 0])
    >>> [number["name"] for number in lw.wasm_interface(module)["numbers"]]
    ['rtol', 'max_steps', 't', 'h', 'steps', 'rejected', 'status', 'q', 'qd', 'work', 'heat', 'tau', 'atol']
    """
    motion: Motion | None = getattr(function, "motion", None)
    if motion is not None:
        if arm is None:
            raise TypeError(f"lw.{function.__name__} has no form that takes any robot (expected a robot)")
        return motion.module(arm, **given_options(dtype, form, passes), **keywords)
    dtype = dtype or DTYPES[0]
    with LOCK:
        from ..kernels.target import target_named

        machine = target_named("wasm")
        if arm is None:
            return machine.universal_module(*universal(function, dtype, keywords, form, tuple(passes)))
        return machine.module(checked_spec(function, arm, machine, dtype, form, passes, keywords))


def universal(
    function: Callable[..., Any], dtype: str, keywords: dict[str, Any], form: str, passes: tuple[str, ...]
) -> tuple[Callable[..., Any], dict[str, tuple[int, ...]], str, dict[str, Any]]:
    """The arguments of `universal_module`, checked."""
    from ..kernels.spec import FORMS, constant_arrays, inputs_of

    one_of(dtype, DTYPES, "dtype")
    one_of(form, FORMS, "form")
    name = getattr(function, "__name__", repr(function))
    offered = {**METHODS, poses.__name__: ""}
    if function not in public_functions(offered):
        raise ValueError(
            f"{name} has no form that takes any robot (expected one of {', '.join(offered)}; or a robot:"
            " lw.wasm(function, arm))"
        )
    if form == "straight" or passes:
        raise ValueError("modules for any robot are loops over its links (expected no passes, and not form 'straight')")
    if any(isinstance(value, Input) for value in keywords.values()):
        raise ValueError(
            "modules for any robot take no lw.Input (expected wrench=True for a wrench on every link, or a robot:"
            " lw.wasm(function, arm, ...))"
        )
    for key in constant_arrays(keywords):
        expected = f"{key}=True for an input with numbers of every link, or a robot" if key in LOADS else "a robot"
        raise ValueError(f"{key} is constant, and there is no robot (expected {expected}: lw.wasm(function, arm, ...))")
    if not getattr(keywords.get("friction"), "uniform", True):
        raise ValueError(
            "friction has numbers for each joint, and there is no robot (expected one number for all joints,"
            " friction=True, or a robot: lw.wasm(function, arm, ...))"
        )
    keywords = {key: value for key, value in keywords.items() if value is not None}
    arrays: dict[str, tuple[int, ...]] = dict.fromkeys(inputs_of(function, {}), ())
    arrays |= {key: shape for key, shape in LOADS.items() if keywords.get(key) is True}
    keywords = {key: value for key, value in keywords.items() if key not in arrays}
    if name in METHODS:
        keywords = {"method": METHODS[name]} | keywords
        one_of(keywords["method"], LOOP_METHODS[name], f"{name}: method")
        keywords["method"] = LOOP_METHODS[name][keywords["method"]]
    return function, arrays, dtype, keywords


def public_functions(names: Iterable[str]) -> list[Callable[..., Any]]:
    from . import functions

    return [getattr(functions, name) for name in names]
