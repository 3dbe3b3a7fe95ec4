"""`lw.compile`: a function compiled for a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import one_of
from ..kernels.dispatch import DTYPES
from ..kernels.lock import LOCK
from ..robot import Robot
from ..tracing.tracing import Motion, check_function_and_robot, traceable
from .method_table import LOOP_METHODS, for_generated_code, has_methods, methods
from .singular import explain_non_finite

if TYPE_CHECKING:
    from ..kernels.spec import KernelSpec
    from ..kernels.target import Target


def compile(  # noqa: A001
    function: Callable[..., Any],
    arm: Robot,
    *,
    target: str = "cpu",
    dtype: str | None = None,
    form: str = "auto",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> Any:
    """The function, one of Linkwise's or your own over them, compiled for this robot.

    Parameters without a default become inputs of one number per joint, the time `t` of one number; keywords are handed
    on, or become inputs of another shape when they are `lw.Input(...)`. Where the function has a choice of methods and
    none is named, the one with the fewest operations is taken (`.method` of the kernel). `form` is "straight" for code
    without loops, customised to the robot; "loops" for loops over the links, which long chains and large trees get by
    themselves ("auto"); "rounds" for `method="parallel"` with all links at a time, one state after the other. The
    kernel takes arrays of any batch shape, `out=` and `threads=`, and has `.source`, `.ir`, `.count` and
    `.compile_seconds`. `lw.forward_dynamics_second_derivatives` becomes several kernels that run one after another,
    called as one, without `.source` and `.ir`.

    `lw.simulate` and `lw.rollout` are compiled with what acts and how it is integrated: run(q0, qd0, ...) then takes
    the other arguments and gives what they give. Functions of `torque=` and `events=` are traced once, here: later
    changes of a global or of a controller's attributes have no effect. `parameters` of the torque function are
    numbers, or `lw.Input(...)` with the shape that one trajectory has of it, whose numbers are then given to each run.

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
        return motion.compiled(arm, **given_options(dtype, form, passes, target), **keywords)
    dtype = dtype or DTYPES[0]
    with LOCK:
        from ..kernels.target import target_named, this_machine  # imported only when something is compiled

        machine = target_named(target)
        check_function_and_robot(function, arm)
        one_of(dtype, DTYPES, "dtype")
        own: Any = getattr(function, "compiled_for", None)  # several kernels together, rather than one program
        passes = tuple(passes)
        if (
            own is not None
            and machine is this_machine()
            and form == "auto"
            and not (keywords or passes or arm.non_floats)
        ):
            return own(arm, dtype)
        spec = checked_spec(function, arm, machine, dtype, form, passes, keywords)
        return machine.kernel(spec, explain_non_finite)


def given_options(dtype: str | None, form: str, passes: Iterable[str], target: str = "cpu") -> dict[str, Any]:
    """Those that are not their defaults: options of kernels, which motions have or refuse by name."""
    options = {"dtype": (dtype, None), "form": (form, "auto"), "passes": (tuple(passes), ()), "target": (target, "cpu")}
    return {name: value for name, (value, default) in options.items() if value != default}


def checked_spec(
    function: Callable[..., Any],
    arm: Robot,
    target: Target,
    dtype: str,
    form: str,
    passes: Iterable[str],
    keywords: dict[str, Any],
) -> KernelSpec:
    """What is compiled for a target, from what a user asks for."""
    from ..kernels.spec import FORMS, LoopSpec, constant_arrays

    check_function_and_robot(function, arm)
    one_of(dtype, DTYPES, "dtype")
    one_of(form, FORMS, "form")
    spec = spec_of(function, arm, dtype, keywords, form, tuple(passes), target)
    if form == "loops" and not isinstance(spec, LoopSpec):
        if not target.has_loops:
            raise ValueError(f"target {target.kind!r} has no form with loops (expected form 'straight')")
        if arm.couplings:
            raise ValueError(f"robot {arm.name!r} has coupled joints, for which there is no form with loops")
        for name in constant_arrays(keywords):
            raise ValueError(
                f"{name} is constant, and loops over links have no place for it (expected an input with numbers of"
                f" every link, {name}=lw.Input({len(arm.names)}, ...), or form 'straight')"
            )
        offered = ", ".join(f"{name} ({', '.join(methods)})" for name, methods in LOOP_METHODS.items())
        raise ValueError(f"{function!r} with these options has no form with loops (these have: {offered})")
    return spec


def too_long_to_compile(function: Callable[..., Any], arm: Robot, dtype: str, keywords: dict[str, Any]) -> bool:
    """Whether the code is so long that it is compiled only where that is asked for."""
    from ..kernels.spec import too_long

    return too_long(spec_of(function, arm, dtype, keywords))


def ptx_source(
    function: Callable[..., Any],
    arm: Robot,
    *,
    dtype: str = "float64",
    architecture: str = "sm_80",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> str:
    """The kernel that `compile(..., target="cuda")` gives to the CUDA driver, in PTX; no GPU is needed.

        .entry kernel(.u64 count, .u64 input, ..., .u64 output, ...)

    Inputs and outputs are the addresses of `count` rows each, in the GPU's memory, one row after another; no output may
    share memory with an input. Each thread computes one state: a launch needs `count` threads in all, in blocks of as
    many as `.maxntid` says. `architecture` is the oldest that the text is for. Keywords as for `compile`.

    >>> import linkwise as lw
    >>> ".target sm_80" in lw.ptx_source(lw.gravity_torque, lw.load("gantry"))
    True
    """
    with LOCK:
        from ..kernels.target import target_named

        function, keywords = traceable(function, arm, keywords)
        check_function_and_robot(function, arm)
        one_of(dtype, DTYPES, "dtype")
        machine: Any = target_named("cuda", architecture=architecture)
        if "form" in keywords:
            raise TypeError("lw.ptx_source has no argument 'form': its text is straight-line code (expected none)")
        spec = spec_of(function, arm, dtype, keywords, "straight", tuple(passes), machine)
        return machine.source(spec)  # type: ignore[no-any-return]


def spec_of(
    function: Callable[..., Any],
    arm: Robot,
    dtype: str,
    keywords: dict[str, Any],
    form: str = "auto",
    passes: tuple[str, ...] = (),
    target: Target | None = None,
) -> KernelSpec:
    """What `compile` compiles, with the method that generated code takes by default."""
    from ..kernels.spec import ROUNDS, spec_for

    if form == "rounds" and has_methods(function) and ROUNDS in methods(function):
        keywords = {"method": ROUNDS, **keywords}
    keywords, loop_method = for_generated_code(function, keywords)
    return spec_for(function, arm, dtype, keywords, loop_method, form, passes, target)
