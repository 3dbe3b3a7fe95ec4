"""Public functions: declarations, the checks of a call, and its way to a kernel or to plain Python.

    public function       fast path into machine code, if `robot.entries` has an entry (`kernels.dispatch`)
      its declaration     arguments checked, arrays brought to one shape and dtype (`States`): a `Call`
      result(call)        a kernel, if there is one or if compiling pays (`kernels.dispatch.kernel_for`), otherwise:
        call.plain()      the algorithm on scalars, joined to an array

A kernel is traced from the declaration and `plain`, on nodes, below the dispatch. Nodes, symbols and arrays of JAX
that come through the public function run plainly; tensors of torch go to `bridges.torch`, which has a dispatch too.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..dynamics.newton_euler import LinkMotion
from ..equality import ComparesArrays
from ..kernels import bridging, dispatch
from ..robot import Friction, Robot, require_robot
from ..spatial import Placement, Vector
from ..tracing import Input
from ..tracing.tracing import Inputs
from .method_table import algorithm, for_generated_code
from .singular import explain_division_by_zero, refuse_singular
from .states import Array, States

P = ParamSpec("P")
R = TypeVar("R")
Shape = tuple[int | str, ...]
ResultShapes = Shape | list[Shape] | Callable[..., Shape | list[Shape]]
SIZES: dict[str, Callable[[Robot], int]] = {  # of results, where they depend on the robot alone
    "n": lambda robot: robot.n,
    "nq": lambda robot: robot.nq,
    "6n": lambda robot: 6 * robot.n,
    "n - 6": lambda robot: robot.n - 6,
    "2n": lambda robot: 2 * robot.n,
    "links": lambda robot: len(robot.names),
}


class Call(NamedTuple):
    """One call of a public function: its checked arrays, and the computation of its result."""

    function: Callable[..., Any]
    states: States
    compute: Callable[[], Any]  # the result in nested lists of scalars, or a tuple of several
    shape: tuple[int, ...] | list[tuple[int, ...]]  # of the result for one state; a list of shapes for several
    options: dict[str, Any] | None = None  # besides the arrays; None: never compiled
    divides: bool = False  # by inertias: a singular state is an error that names the joint
    pack: Callable[[list[Array]], Any] = tuple  # of several results
    pack_unchecked: Callable[[list[Array]], Any] = tuple  # of the fast path, which does not check

    def plain(self) -> Array:
        """The result by the algorithm itself, without warnings about infinities and NaN on the way."""
        if not self.divides:
            return self.pack_results(self._results())
        with explain_division_by_zero(self.states):
            return self.pack_results([refuse_singular(self.states, array) for array in self._results()])

    def _results(self) -> list[Array]:
        with np.errstate(all="ignore"):
            computed = self.compute()
            values = computed if isinstance(self.shape, list) else (computed,)
            return [self.states.join(value, shape) for value, shape in zip(values, self.shapes, strict=True)]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return self.shape if isinstance(self.shape, list) else [self.shape]

    def pack_results(self, arrays: list[Array]) -> Any:
        """The return value of the public function: an array, or several arrays packed."""
        return self.pack(arrays) if isinstance(self.shape, list) else arrays[0]

    def request(self, dtype: str, target: str | None = None) -> dispatch.Request | None:
        """The kernel that this call needs, or None if it cannot be compiled."""
        states = self.states
        if self.options is None or states.robot.non_floats or dispatch.current_mode() == "never":
            return None
        if dtype not in dispatch.DTYPES:
            return None
        options = {name: value for name, value in self.options.items() if value is not None}
        keywords, loop_method = for_generated_code(self.function, options)
        return dispatch.Request(self.function, (*keywords.items(), *states.loads.items()), dtype, loop_method, target)


def result(call: Call, enter: Callable[..., None] | None = None) -> Array:
    """The result of a call: from a kernel, if there is one or if compiling pays, otherwise in plain Python.

    `enter` gives later calls like this one a fast path into a float64 kernel, and what packs its results.
    """
    states = call.states
    if states.xp is not np and states.xp.__name__ in bridging.BRIDGES:
        return bridging.bridge(states.xp.__name__).result(call, enter)
    request = call.request(np.result_type(*states.arrays.values()).name) if states.numeric else None
    if request is None:
        return call.plain()
    kernel = dispatch.kernel_for(states.robot, request, math.prod(states.batch))
    if kernel is None:
        return call.plain()
    if enter is not None and request.dtype == "float64":
        enter(kernel, call.pack_unchecked)
    out = [np.empty((*states.batch, *shape), request.dtype) for shape in call.shapes]
    rows = [states.rows(BASE_INPUTS.get(name, name), shape) for name, shape in kernel.interface.inputs]
    non_finite = kernel.run(states.batch, rows, out)
    if non_finite and call.divides:
        return call.pack_results([refuse_singular(states, array) for array in out])
    return call.pack_results([array[()] for array in out])


def public_function(
    call: Callable[P, Call], function: Callable[..., Any] | None = None, *, inputs: Sequence[str] = ()
) -> Callable[P, Array]:
    """The public function with the name, signature and docstring of `function`; `call` makes its `Call`.

    `inputs` are its optional arguments that are arrays.
    """
    function = function or call
    keys = dispatch.EntryKeys(function, inputs)

    @wraps(function)
    def public_function(*arguments: P.args, **keywords: P.kwargs) -> Array:
        return result(call(*arguments, **keywords), partial(keys.add_entry, public_function, arguments, keywords))

    @wraps(function)
    def plain(*arguments: P.args, **keywords: P.kwargs) -> Array:
        return call(*arguments, **keywords).plain()

    vars(public_function)["plain"] = plain  # what kernels are traced from
    signature = inspect.signature(function)
    vars(public_function)["__signature__"] = (
        signature.replace(return_annotation="Array") if function is call else signature
    )
    return public_function if keys.names[0] == "self" else dispatch.with_fast_path(public_function, keys)


@dataclass(eq=False)
class PublicFunction:
    """The declaration of a public function, a decorator of its signature and docstring.

    Parameters without a default are the robot, then arrays. `wrench`, `point` and `axes` (`wrench_axes` where the
    result has axes) are loads, `method` is found in the table, `friction` becomes a law, `check` refuses numbers
    that are not finite. Others are options; the body of the function, if it has one, checks them.

    `compute(states)` returns the result in nested lists of scalars. Further parameters of `compute` are passed by
    name: the `algorithm`, the `law` of friction, the moving `base`, any option; for methods first `self`.
    """

    shape: ResultShapes  # for one state; a function of robot and options where it depends on these
    compute: Callable[..., Any]
    _: KW_ONLY
    divides: bool = False  # by inertias: a singular state is an error that names the joint
    compiled: bool = True  # whether calls may run compiled
    takes_base_motion: bool = False  # as `base`
    check_robot: Callable[[Robot], object] | None = None  # raises an error for unsupported robots
    normalize_options: Callable[..., dict[str, Any]] | None = (
        None  # checks robot and options, and returns the options in the form for kernels
    )
    pack: Callable[..., Any] = tuple  # of several results; further parameters by name: the states, the check, options
    optional_arrays: Mapping[str, Callable[..., tuple[int, ...]]] = field(
        default_factory=dict
    )  # options that are arrays: their shapes, from robot and options
    published: str | None = None  # key of its source for `lw.cite`, if it has no choice of methods
    result_names: tuple[str, ...] = ()  # in generated files
    multiplied: Callable[..., Any] | None = None  # of a regressor: the parameters, by robot, friction and base

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        self.names, self.compute_parameters = (
            tuple(parameters),
            set(inspect.signature(self.compute).parameters) - {"states"},
        )
        plain = self.pack is tuple or hasattr(self.pack, "__self__")  # takes the results alone, such as `Result._make`
        self.pack_parameters = [] if plain else list(inspect.signature(self.pack).parameters)[1:]
        self.defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
        self.robot, *self.arrays = [name for name in parameters if name != "self" and name not in self.defaults]
        self.wrench_axes = "wrench_axes" if "wrench_axes" in parameters else "axes"
        loads = ("wrench", "point", self.wrench_axes) if "wrench" in parameters else ()  # a point alone is an option
        self.options = [name for name in self.defaults if name not in (*loads, "check")]
        base = ("base",) if self.takes_base_motion else ()
        self.signature_function, self.function = (
            function,
            public_function(self.call, function, inputs=(*base, *loads[:2], *self.optional_arrays)),
        )
        attributes = ("published", "result_names", "multiplied")
        vars(self.function).update({name: getattr(self, name) for name in attributes if getattr(self, name)})
        return self.function

    def call(self, *arguments: Any, **keywords: Any) -> Call:
        other = self.signature_function(*arguments, **keywords)  # Python refuses arguments that do not fit
        if isinstance(other, Call):  # that of another function, which has these options
            return other
        values = {**self.defaults, **dict(zip(self.names, arguments, strict=False)), **keywords}
        robot = values[self.robot]
        if self.check_robot is not None:
            require_robot(robot)
            self.check_robot(robot)
        function = getattr(values["self"], self.signature_function.__name__) if "self" in values else self.function
        options = {name: values[name] for name in self.options}
        base = options.pop("base") if self.takes_base_motion else None
        if isinstance(base, Inputs):  # of a kernel that is traced
            values["base"] = base = BaseMotion(**base)
        if "method" in options:
            values["algorithm"] = algorithm(function, options["method"], robot)
        if "friction" in options:
            values["law"] = options["friction"] = Friction.of(options["friction"])
        if self.normalize_options is not None:
            require_robot(robot)
            options = self.normalize_options(robot, **options)
            values.update(options)
        arrays = {name: values[name] for name in self.arrays}
        loads = ("wrench", "point", self.wrench_axes) if "wrench" in values else ()
        wrench, point, axes = [values.get(name, "base") for name in loads] or [None, None, "base"]
        shapes = {name: shape(robot, **options) for name, shape in self.optional_arrays.items()}
        more = {name: (options[name], shape) for name, shape in shapes.items() if options[name] is not None}
        options |= {name: Input(*shape) for name, (_, shape) in more.items()}
        states = States(robot, arrays, wrench, values["check"], base_arrays(base) | more, point, axes)
        compute = partial(self.compute, states=states, **{name: values[name] for name in self.compute_parameters})
        shape = self.shape(robot, **options) if callable(self.shape) else self.shape
        of_results = (
            [concrete_shape(each, robot) for each in shape] if isinstance(shape, list) else concrete_shape(shape, robot)
        )
        if base is not None:
            options["base"] = Inputs({name: Input(3) for name in base.components})
        compiled_options = options if self.compiled else None
        pack = unchecked = self.pack
        if self.pack_parameters:
            values["states"] = None
            unchecked = partial(self.pack, **{name: values[name] for name in self.pack_parameters})
            pack = partial(unchecked, states=states) if "states" in self.pack_parameters else unchecked
        return Call(function, states, compute, of_results, compiled_options, self.divides, pack, unchecked)


def concrete_shape(shape: Shape, robot: Robot) -> tuple[int, ...]:
    return tuple([SIZES[size](robot) if isinstance(size, str) else size for size in shape])


STILL = (0.0, 0.0, 0.0)
COMPONENTS = ("angular_velocity", "velocity", "angular_acceleration", "acceleration")
BASE_INPUTS = {f"base_{name}": f"base.{name}" for name in COMPONENTS}  # of kernels: the arrays of a call


@dataclass(frozen=True, eq=False)
class BaseMotion(ComparesArrays, dispatch.Components):
    """Prescribed motion of the base frame and of its origin, with components along the axes of the base.

    Gravity stays `robot.gravity` along these axes; if they tilt by the rotation R, add g - Rᵀ g to the acceleration.

    Parameters
    ----------
    angular_velocity, velocity : array_like, (..., 3)
        rad/s and m/s; no torque depends on the velocity.
    angular_acceleration, acceleration : array_like, (..., 3)
        rad/s² and m/s².

    Examples
    --------
    >>> import linkwise as lw
    >>> lift = lw.BaseMotion(acceleration=(0, 0, 9.81))    # going up feels like more gravity
    >>> lw.inverse_dynamics(lw.load("gantry"), [0, 0, 0], [0, 0, 0], [0, 0, 0], base=lift)
    array([  0.  ,   0.  , -58.86])
    """

    angular_velocity: Array = STILL
    velocity: Array = STILL
    angular_acceleration: Array = STILL
    acceleration: Array = STILL

    @property
    def components(self) -> dict[str, Array]:
        """The components that are given, by name."""
        return {name: value for name in COMPONENTS if (value := getattr(self, name)) is not STILL}

    def arrays(self) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """The components by name, each with its shape for one state."""
        return {f"base.{name}": (getattr(self, name), (3,)) for name in COMPONENTS}


def base_arrays(base: BaseMotion | None) -> dict[str, tuple[Any, tuple[int, ...]]]:
    if base is None:
        return {}
    if not isinstance(base, BaseMotion):
        raise TypeError(f"base is {base!r} (expected a linkwise.BaseMotion; along a trajectory its arrays are (k, 3))")
    return base.arrays()


def base_motion(states: States, base: BaseMotion | None) -> LinkMotion | None:
    """The prescribed motion in scalars; components that are not given cost no operations."""
    if base is None:
        return None

    def vector(name: str) -> Vector:
        return Vector.zero() if getattr(base, name) is STILL else Vector(*states.scalars(f"base.{name}"))

    parts = (vector(name) for name in ("angular_velocity", "angular_acceleration", "acceleration"))
    return LinkMotion(Placement.identity(), *parts)


def moving_base(states: States, base: BaseMotion | None) -> dict[str, LinkMotion]:
    """The prescribed motion as the keyword of an algorithm; a base at rest takes none."""
    motion = base_motion(states, base)
    return {} if motion is None else {"base": motion}


def base_velocity(states: States, base: BaseMotion | None) -> Vector:
    moves = base is not None and base.velocity is not STILL
    return Vector(*states.scalars("base.velocity")) if moves else Vector.zero()
