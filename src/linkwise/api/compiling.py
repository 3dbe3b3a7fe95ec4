"""`lw.compile`, `lw.ptx_source` and `lw.wasm`: compiled functions, and code for other compilers and machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from ..errors import one_of
from ..kernels.dispatch import DTYPES
from ..kernels.lock import LOCK
from ..robot import Robot
from ..tracing import Input
from ..tracing.tracing import Motion, check_function_and_robot, traceable
from . import functions, kinematics
from .method_table import LOOP_METHODS, for_generated_code, has_methods, methods
from .singular import explain_non_finite

if TYPE_CHECKING:
    from ..kernels.spec import KernelSpec
    from ..kernels.target import Target

DType = Literal["float64", "float32"]
Form = Literal["auto", "straight", "loops", "rounds"]


def compile(  # noqa: A001
    function: Callable[..., Any],
    robot: Robot,
    *,
    target: Literal["cpu", "cuda", "wasm"] = "cpu",
    dtype: DType | None = None,
    form: Form = "auto",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> Any:
    """Compile a function for this robot: one of Linkwise's, or your own, written with them.

    Parameters without a default become inputs of one number per joint; the time `t` is one number.

    Parameters
    ----------
    function : callable
        `function(robot, ...)`. `lw.simulate` and `lw.rollout` are compiled with their torques and integrator:
        run(q0, qd0, ...) then takes the other arguments. Functions of `torque=` and `events=` are traced once,
        here: later changes of globals or attributes have no effect. `parameters` of the torque function are
        numbers, or `lw.Input(...)` with the shape for one trajectory, which each run is then given.
    robot : Robot
    target : {"cpu", "cuda", "wasm"}
    dtype : {"float64", "float32"}, optional
    form : {"auto", "straight", "loops", "rounds"}
        "straight" is code without loops; "loops" are loops over the links, which "auto" takes for long chains and
        large trees; "rounds" is for `method="parallel"`, all links at a time.
    passes : iterable of str
        Passes over the graph.
    **keywords
        Arguments of the function; `lw.Input(...)` makes an input of another shape. Without `method`, the one with
        the fewest operations is compiled; `.method` of the kernel names it.

    Returns
    -------
    Kernel
        Takes arrays of any batch shape, `out=` and `threads=`; has `.source`, `.ir`, `.count` and
        `.compile_seconds`. `lw.forward_dynamics_second_derivatives` becomes several kernels called as one,
        without `.source` and `.ir`.

    Examples
    --------
    >>> import linkwise as lw
    >>> kernel = lw.compile(lw.gravity_torque, lw.load("gantry"))
    >>> kernel([0, 0, 0])
    array([  0.  ,   0.  , -29.43])
    >>> spring = lambda arm, t, q, qd, k: -k * q
    >>> run = lw.compile(lw.rollout, lw.load("planar3"), torque=spring, parameters={"k": lw.Input()})
    >>> run([[0.1, 0.2, 0.3]], steps=20, dt=1e-3, parameters={"k": 2.0})
    <rollout of robot 'planar3': trajectories (1,), 20 steps of 0.001 s>
    """
    motion: Motion | None = getattr(function, "motion", None)
    if motion is not None:
        return motion.compiled(robot, **non_default_options(dtype, form, passes, target), **keywords)
    dtype = dtype or "float64"
    with LOCK:
        from ..kernels.target import target_by_name, this_machine  # imported only when something is compiled

        machine = target_by_name(target)
        check_function_and_robot(function, robot)
        one_of(dtype, DTYPES, "dtype")
        compiled_for: Any = getattr(function, "compiled_for", None)  # several kernels together, rather than one program
        passes = tuple(passes)
        if (
            compiled_for is not None
            and machine is this_machine()
            and form == "auto"
            and not (keywords or passes or robot.non_floats)
        ):
            return compiled_for(robot, dtype)
        spec = check_spec(function, robot, machine, dtype, form, passes, keywords)
        return machine.kernel(spec, explain_non_finite)


def non_default_options(dtype: str | None, form: str, passes: Iterable[str], target: str = "cpu") -> dict[str, Any]:
    """The options that differ from their defaults; motions take them or refuse them by name."""
    options = {"dtype": (dtype, None), "form": (form, "auto"), "passes": (tuple(passes), ()), "target": (target, "cpu")}
    return {name: value for name, (value, default) in options.items() if value != default}


def check_spec(
    function: Callable[..., Any],
    robot: Robot,
    target: Target,
    dtype: str,
    form: str,
    passes: Iterable[str],
    keywords: dict[str, Any],
) -> KernelSpec:
    """The checked specification of a kernel for a target."""
    from ..kernels.spec import FORMS, LoopSpec, constant_arrays

    check_function_and_robot(function, robot)
    one_of(dtype, DTYPES, "dtype")
    one_of(form, FORMS, "form")
    spec = spec_of(function, robot, dtype, keywords, form, tuple(passes), target)
    if form == "loops" and not isinstance(spec, LoopSpec):
        if not target.has_loops:
            raise ValueError(f"target {target.kind!r} has no form with loops (expected form 'straight')")
        if robot.couplings:
            raise ValueError(f"robot {robot.name!r} has coupled joints, for which there is no form with loops")
        for name in constant_arrays(keywords):
            raise ValueError(
                f"{name} is constant, which the form with loops does not support (expected an input with numbers of"
                f" every link, {name}=lw.Input({len(robot.names)}, ...), or form 'straight')"
            )
        offered = ", ".join(f"{name} ({', '.join(methods)})" for name, methods in LOOP_METHODS.items())
        raise ValueError(f"{function!r} with these options has no form with loops (these have: {offered})")
    return spec


def too_long_to_compile(function: Callable[..., Any], robot: Robot, dtype: str, keywords: dict[str, Any]) -> bool:
    """Whether the code is so long that it is compiled only on request."""
    from ..kernels.spec import too_long

    return too_long(spec_of(function, robot, dtype, keywords))


def ptx_source(
    function: Callable[..., Any],
    robot: Robot,
    *,
    dtype: DType = "float64",
    architecture: str = "sm_80",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> str:
    """The PTX of the kernel that `compile(..., target="cuda")` gives to the CUDA driver; no GPU is needed.

        .entry kernel(.u64 count, .u64 input, ..., .u64 output, ...)

    Inputs and outputs are addresses in the GPU's memory, each of `count` contiguous rows; no output may
    share memory with an input. Each thread computes one state: a launch needs `count` threads in all, in blocks of
    `.maxntid` threads.

    Parameters
    ----------
    function, robot, dtype, passes, **keywords
        As for `lw.compile`.
    architecture : str
        The oldest architecture on which the PTX runs.

    Returns
    -------
    str

    Examples
    --------
    >>> import linkwise as lw
    >>> ".target sm_80" in lw.ptx_source(lw.gravity_torque, lw.load("gantry"))
    True
    """
    with LOCK:
        from ..kernels.target import target_by_name

        function, keywords = traceable(function, robot, keywords)
        check_function_and_robot(function, robot)
        one_of(dtype, DTYPES, "dtype")
        machine: Any = target_by_name("cuda", architecture=architecture)
        if "form" in keywords:
            raise TypeError("lw.ptx_source has no argument 'form': its text is straight-line code (expected none)")
        spec = spec_of(function, robot, dtype, keywords, "straight", tuple(passes), machine)
        return machine.source(spec)  # type: ignore[no-any-return]


def spec_of(
    function: Callable[..., Any],
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    form: str = "auto",
    passes: tuple[str, ...] = (),
    target: Target | None = None,
) -> KernelSpec:
    """The specification of what `compile` compiles, with the default method of generated code."""
    from ..kernels.spec import ROUNDS, spec_for

    if form == "rounds" and has_methods(function) and ROUNDS in methods(function):
        keywords = {"method": ROUNDS, **keywords}
    keywords, loop_method = for_generated_code(function, keywords)
    return spec_for(function, robot, dtype, keywords, loop_method, form, passes, target)


UNIVERSAL_METHODS = {  # of modules for any robot: they use mass, mass centre and inertia as the record has them
    "inverse_dynamics": "newton-euler",
    "bias_torque": "newton-euler",
    "gravity_torque": "newton-euler",
    "forward_dynamics": "articulated",
}

LOAD_SHAPES = {"wrench": (6,), "point": (3,)}  # inputs on every link, on request


class WasmModule(bytes):
    """A WebAssembly module of `lw.wasm`: the bytes of its file.

    `lw.results.WasmModule(path.read_bytes())` reads one from a file.
    """

    @property
    def interface(self) -> dict[str, Any]:
        """The interface of the module, from its section "linkwise", which is JSON.

        `arguments` are those of `run` after the count, in order: each with its name, its role ("input", "output",
        "robot" or "work") and, for arrays, the shape for one state. In the module of one robot each has an `offset`,
        its place in memory when one state is computed; so has the robot.
        """
        return wasm_target().interface_of(self)

    def robot(self, robot: Robot) -> bytes:
        """The robot as data for this module, which `lw.wasm(function)` made. Its address must be a multiple of 16.

        It begins with 32-bit numbers: n, nq, and the places of gravity, the tree and the table of the links' numbers;
        `interface["record"]` names them. Numbers may be changed in place.

        Examples
        --------
        >>> import linkwise as lw
        >>> len(lw.wasm(lw.gravity_torque).robot(lw.load("planar3")))
        1472
        """
        interface = self.interface
        if "record" not in interface:
            raise ValueError(
                "this module takes no robot as data (expected a module made by lw.wasm(function), without a robot)"
            )
        return wasm_target().robot_as_data(robot, interface["dtype"])


def wasm_target() -> Target:
    from ..kernels.target import target_by_name

    return target_by_name("wasm")


def wasm(
    function: Callable[..., Any],
    robot: Robot | None = None,
    *,
    dtype: DType | None = None,
    form: Form = "auto",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> WasmModule:
    """The function as a WebAssembly module, for browsers, node and other runtimes. It imports nothing.

    It exports `memory`, `heap` (the first free byte) and, with addresses of `count` rows each,

        run(count, ..., inputs, ..., outputs, ...)     number of finite states whose results are not finite

    `lw.simulate` becomes a simulation that continues from call to call, in float64:

        advance(simulation, end)      integrate to the time `end`, and return 1; other codes say why it ended before

    `module.interface["simulation"]` is its place in memory. It begins at q0 (by default neutral) with the rates qd0.
    If t is at `end` or beyond, nothing happens. Between calls t, q, qd and the parameters may be read and
    changed: constant torques (`torque=` an array), wrenches, numbers of a torque function, and symbols of the robot
    with their values in `parameters`. Events, sampled laws, torques that jump in time and exact friction are refused.

    Parameters
    ----------
    function : callable
    robot : Robot, optional
        Without one the module takes any robot as data (`WasmModule.robot`): for inverse_dynamics,
        forward_dynamics, bias_torque, gravity_torque and poses. `wrench=True` then adds an input of a wrench on
        every link, `point=True` one of the points where they act.
    dtype, form, passes, **keywords
        As for `lw.compile`.

    Returns
    -------
    WasmModule

    Examples
    --------
    >>> import linkwise as lw
    >>> module = lw.wasm(lw.gravity_torque, lw.load("gantry"))
    >>> module[:4], [argument["name"] for argument in module.interface["arguments"]]
    (b'\\x00asm', ['q', 'gravity_torque'])
    >>> module = lw.wasm(lw.simulate, lw.load("planar3"), torque=[0, 0, 0])
    >>> [number["name"] for number in module.interface["numbers"]]
    ['rtol', 'max_steps', 't', 'h', 'steps', 'rejected', 'status', 'q', 'qd', 'work', 'heat', 'tau', 'atol']
    """
    motion: Motion | None = getattr(function, "motion", None)
    if motion is not None:
        if robot is None:
            raise TypeError(f"lw.{function.__name__} has no form that takes any robot (expected a robot)")
        return WasmModule(motion.module(robot, **non_default_options(dtype, form, passes), **keywords))
    dtype = dtype or "float64"
    with LOCK:
        machine = wasm_target()
        if robot is None:
            return WasmModule(
                machine.universal_module(*universal_arguments(function, dtype, keywords, form, tuple(passes)))
            )
        return WasmModule(machine.module(check_spec(function, robot, machine, dtype, form, passes, keywords)))


def universal_arguments(
    function: Callable[..., Any], dtype: str, keywords: dict[str, Any], form: str, passes: tuple[str, ...]
) -> tuple[Callable[..., Any], dict[str, tuple[int, ...]], str, dict[str, Any]]:
    """The checked arguments of `universal_module`."""
    from ..kernels.spec import FORMS, constant_arrays, inputs_of

    one_of(dtype, DTYPES, "dtype")
    one_of(form, FORMS, "form")
    name = getattr(function, "__name__", repr(function))
    offered = (*UNIVERSAL_METHODS, "poses")
    if function not in [kinematics.poses, *(getattr(functions, name) for name in UNIVERSAL_METHODS)]:
        raise ValueError(
            f"{name} has no form that takes any robot (expected one of {', '.join(offered)}; or a robot:"
            " lw.wasm(function, robot))"
        )
    if form == "straight" or passes:
        raise ValueError(
            "modules for any robot are loops over its links (expected no passes, and form 'auto' or 'loops')"
        )
    if any(isinstance(value, Input) for value in keywords.values()):
        raise ValueError(
            "modules for any robot take no lw.Input (expected wrench=True for a wrench on every link, or a robot:"
            " lw.wasm(function, robot, ...))"
        )
    for key in constant_arrays(keywords):
        expected = (
            f"{key}=True for an input with numbers of every link, or a robot" if key in LOAD_SHAPES else "a robot"
        )
        raise ValueError(
            f"{key} is constant, and there is no robot (expected {expected}: lw.wasm(function, robot, ...))"
        )
    if not getattr(keywords.get("friction"), "uniform", True):
        raise ValueError(
            "friction has numbers for each joint, and there is no robot (expected one number for all joints,"
            " friction=True, or a robot: lw.wasm(function, robot, ...))"
        )
    keywords = {key: value for key, value in keywords.items() if value is not None}
    arrays: dict[str, tuple[int, ...]] = dict.fromkeys(inputs_of(function, {}), ())
    arrays |= {key: shape for key, shape in LOAD_SHAPES.items() if keywords.get(key) is True}
    keywords = {key: value for key, value in keywords.items() if key not in arrays}
    if name in UNIVERSAL_METHODS:
        keywords = {"method": UNIVERSAL_METHODS[name]} | keywords
        one_of(keywords["method"], LOOP_METHODS[name], f"{name}: method")
        keywords["method"] = LOOP_METHODS[name][keywords["method"]]
    return function, arrays, dtype, keywords
