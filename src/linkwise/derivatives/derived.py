"""Functions derived from the graphs of others: called, compiled and printed as any function is; functions without the
zeros and repetitions in their results.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..api.method_table import has_methods, method_name
from ..api.singular import all_finite, explain_non_finite, explain_states
from ..api.states import REAL, Array, as_array, finite_states, library_of, nan_unless, promote_dtypes, reference_array
from ..errors import one_of
from ..graph import Count, Port, Program, count, evaluate
from ..graph.derivative import TangentMap
from ..graph.passes import pack_results as packed_program
from ..kernels import bridging, dispatch
from ..kernels.interface import batch_of
from ..kernels.lock import LOCK
from ..kernels.sources import qualified_name
from ..lazy import cached_property
from ..robot import Robot
from ..robot.symbols import symbols_of
from ..tracing import Input, trace
from ..tracing.tracing import (
    FEWEST_PREFERRED,
    Prepared,
    call_arguments,
    check_function_and_robot,
    declared_inputs,
    function_name,
    prefer_fewest,
    quaternions,
)

if TYPE_CHECKING:
    from ..kernels.kernel import Compiled


MAX_OPERATIONS = dispatch.MAX_WITHOUT_LOOPS  # longer programs are compiled only on request
PLAIN_OPTIONS = (str, int, float, bool, type(None), Input)  # determined by their `repr`


class DerivedFunction(Prepared):
    """A function of a robot and arrays, made from the graph of another: call it with the arrays, with or without robot.

    Linkwise takes it wherever it takes a function: `lw.compile(slope, robot)`, `lw.count`, `lw.trace`, `lw.c_source`,
    `lw.latex`, `lw.sympy`, `lw.python_source`, `lw.derivative`. For another robot it is derived anew. It runs
    compiled by the rule of the public functions (docs/compiled.md).

    `program` is its straight-line code, `count` its operations, `function_count` those of the original function.
    """

    max_operations = MAX_OPERATIONS
    maker: ClassVar[str]

    def __new__(cls, *args: Any, **keywords: Any) -> DerivedFunction:
        # Python looks up __call__ in the type: with a type of its own the object's entry is called directly
        return object.__new__(type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__}))

    def __init__(
        self, function: Callable[..., Any], robot: Robot, wrt: Sequence[str], name: str, keywords: Mapping[str, Any]
    ) -> None:
        check_function_and_robot(function, robot)
        self.function, self.robot, self.keywords = function, robot, freeze_option(dict(keywords))
        self.names, self.__name__ = tuple(wrt), name
        self.symbols = symbols_of(robot) if robot.non_floats else ()
        if hasattr(function, "interface"):
            raise TypeError(f"{function!r} is compiled already (expected the function itself, not its kernel)")
        if wrt and not self.function_inputs:
            raise TypeError(
                f"{function_name(function)} takes no arrays by name (expected a function of a robot and arrays, such as"
                " f(robot, q))"
            )
        for each in wrt:
            one_of(each, [port.name for port in self.function_inputs], "wrt")
        if len(set(wrt)) < len(wrt):
            raise ValueError(f"wrt is {tuple(wrt)!r} (expected each name once)")
        self._counts: dict[str, dispatch.CallCount] = {}  # by dtype
        self._kernels: dict[str, Compiled | None] = {}  # None: too long to compile
        self._entry: Callable[..., Any] | None = None  # the fast path, for doubles
        self._others: dict[Robot, DerivedFunction] = {}
        check_options(function, robot, self.keywords)
        if self.identity is None:
            self.program  # noqa: B018  traced now: globals that a user's function reads may change
        names = ["robot", *(port.name for port in self.inputs if port.name not in self.symbols)]
        parameters = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names]
        self.__signature__ = inspect.Signature(parameters)  # of a robot, which holds its symbols, and arrays

    @property
    def base_class(self) -> Any:
        """The class that this object's own type is derived from."""
        return type(self).__mro__[1]

    # defined by subclasses

    def transform(self, original: Program) -> Program:
        """The program, from the program of the function."""
        raise NotImplementedError

    def for_robot(self, robot: Robot) -> DerivedFunction:
        """The same for another robot."""
        raise NotImplementedError

    @property
    def options(self) -> tuple[Any, ...]:
        """All that the program depends on besides function, robot and keywords."""
        raise NotImplementedError

    # programs

    @cached_property
    def program(self) -> Program:
        return self.generated if self._is_user_function else self._trace()

    @cached_property
    def generated(self) -> Program:
        """The program for generated code, of the methods with the fewest operations."""
        with prefer_fewest():
            return self._trace()

    def _trace(self) -> Program:
        return self.transform(self._function_program())

    @property
    def _is_user_function(self) -> bool:
        """Whether the function is a user's. What it reads may change, so it is traced once for all purposes."""
        return not isinstance(self.function, Prepared) and qualified_name(self.function) is None

    def _function_program(self) -> Program:
        """The program of the function."""
        return self._traced_once if self._is_user_function else trace(self.function, self.robot, **self.keywords)

    @cached_property
    def _traced_once(self) -> Program:
        with prefer_fewest():
            return trace(self.function, self.robot, **self.keywords)

    @cached_property
    def count(self) -> Count:
        return count(self.program)

    @cached_property
    def function_count(self) -> Count:
        return count(self._function_program())

    @cached_property
    def identity(self) -> str | None:
        """A cache key that is known without the program, for functions derived from Linkwise's own; otherwise None."""
        inner = self.function.identity if isinstance(self.function, Prepared) else qualified_name(self.function)
        if inner is None or not all(type(value) in PLAIN_OPTIONS for value in self.keywords.values()):
            return None
        return repr((type(self).__name__, inner, self.options, sorted(self.keywords.items())))

    @cached_property
    def function_inputs(self) -> tuple[Port, ...]:
        """The arrays that the function takes, then the symbols of the robot."""
        if isinstance(self.function, DerivedFunction):
            return self.function.of(self.robot).inputs
        inputs = declared_inputs(call_arguments(self.function, self.robot, self.keywords)).items()
        ports = [Port(name, x.shape, quaternions(self.robot, name, x)) for name, x in inputs]
        return (*ports, *(Port(name, ()) for name in self.symbols))

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs, known without the program."""
        return self.function_inputs

    @property
    def moves(self) -> dict[str, TangentMap]:
        """The directions of configurations with quaternions: along the velocities."""
        rates = self.robot.coordinates.configuration_rates
        return {port.name: TangentMap(self.robot.n, rates) for port in self.function_inputs if port.quaternions}

    def of(self, robot: Robot) -> DerivedFunction:
        """The same function for this robot."""
        if robot is self.robot or not (robot.non_floats or self.robot.non_floats or robot != self.robot):
            return self
        if robot not in self._others:
            self._others[robot] = self.for_robot(robot)
        return self._others[robot]

    def program_for(self, robot: Robot) -> Program:
        function = self.of(robot)
        return function.generated if FEWEST_PREFERRED.get() else function.program

    # calls

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """`slope(q, qd, qdd)` or `slope(robot, q, qd, qdd)`; calls enter machine code directly where they can."""
        if self._entry is None or dispatch.current_mode() == "never":
            return self._call(*arguments, **named)
        return self._entry(*arguments, **named)

    def check_mode_on_call(self) -> None:
        """Look up the mode at every call from now on: some context has chosen plain Python."""
        if "__call__" in vars(type(self)):
            del type(self).__call__

    def _fallback(self, *arguments: Any, **named: Any) -> Any:
        """Calls that the entry does not take: with the robot first, or with arrays of other libraries."""
        if self._entry is not None and arguments and arguments[0] is self.robot:
            return self._entry(*arguments[1:], **named)
        return self._call(*arguments, **named)

    def _call(self, *arguments: Any, **named: Any) -> Any:
        """A call outside the fast path."""
        if arguments and isinstance(arguments[0], Robot):
            function = self.of(arguments[0])
            if function is not self:
                return function(*arguments[1:], **named)
            arguments = arguments[1:]
        arrays = self._arrays(arguments, named)
        xp = library_of(arrays)
        if xp is not np:
            has_bridge = xp.__name__ in bridging.BRIDGES
            return bridging.bridge(xp.__name__).derived_result(self, arrays) if has_bridge else self._evaluate(arrays)
        kernel = self.kernel(arrays)
        return self._evaluate(arrays) if kernel is None else kernel.general(*arrays)

    def plain(self, robot: Robot, *arrays: Any, **named: Any) -> Any:
        """Evaluate by the interpreter, below the dispatch."""
        function = self.of(robot)
        return function._evaluate(function._arrays(arrays, named))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without machine code, which belongs to this process."""
        state = {**vars(self), "_kernels": {}, "_entry": None, "_counts": {}}
        return restore, (self.base_class, state)

    def _arrays(self, positional: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """One array for each input, all of one library and, for torch and JAX, of one dtype."""
        names = [port.name for port in self.inputs]
        values = dict(zip(names, positional, strict=False)) | named
        twice = [name for name in names[: len(positional)] if name in named]
        if len(positional) > len(names) or twice or set(values) != set(names):
            raise TypeError(
                f"{self.__name__} takes the arrays {', '.join(names)} (it was given {len(positional)} in order"
                f"{''.join(f', {name}' for name in named)})"
            )
        xp = library_of([values[name] for name in names])
        if xp is np:
            return [as_array(np, values[name], name, None) for name in names]
        first = reference_array(xp, list(values.values()))
        return promote_dtypes(xp, [as_array(xp, values[name], name, first) for name in names])

    def _evaluate(self, arrays: Sequence[Any]) -> Any:
        """Evaluate by the interpreter; a state with a number that is not finite gives NaN throughout.

        torch and JAX can differentiate through it.
        """
        xp, batch = library_of(arrays), batch_of(self.inputs, arrays)
        with np.errstate(all="ignore"):
            results = evaluate(self.program, *arrays)
        if xp is not np or all(array.dtype.kind == "f" for array in arrays):
            inputs = ((x, len(port.shape), port.quaternions) for port, x in zip(self.inputs, arrays, strict=True))
            finite = finite_states(xp, inputs, batch)
            pairs = zip(self.program.outputs, results, strict=True)
            results = tuple(nan_unless(xp, finite, x, len(port.shape)) for port, x in pairs)
            if xp is np:
                dtype = np.result_type(*arrays)
                results = tuple(result.astype(dtype, copy=False) for result in results)
                self._explain(arrays, finite, results)
        if xp is np:
            results = tuple(result[()] for result in results)
        return results[0] if len(results) == 1 else results

    def _explain(self, arrays: Sequence[np.ndarray], finite: np.ndarray, results: Sequence[np.ndarray]) -> None:
        """Call the function itself on finite states with non-finite results, so that it raises its own error."""
        non_finite = finite & ~all_finite(results, finite.shape)
        if non_finite.any():
            ports = {port.name: port for port in self.function_inputs}
            named_arrays = zip((port.name for port in self.inputs), arrays, strict=True)
            rows = {
                name: np.broadcast_to(x, (*finite.shape, *ports[name].shape))
                for name, x in named_arrays
                if name in ports
            }
            explain_states(self.function, self.robot, self.keywords, rows, np.argwhere(non_finite))

    # kernels

    def kernel(self, arrays: Sequence[np.ndarray]) -> Compiled | None:
        """The compiled function, once it has been called often enough; see `kernels.dispatch`."""
        dtype = np.result_type(*arrays).name
        mode = dispatch.current_mode()
        if mode == "never" or dtype not in REAL:
            return None
        if dtype not in self._kernels:
            calls = self._counts.setdefault(dtype, dispatch.CallCount())
            if calls.add_call(math.prod(batch_of(self.inputs, arrays))) or mode == "always":
                with LOCK:
                    request = dispatch.Request(self, (), dtype, None)
                    if dtype not in self._kernels:  # another thread may have been first
                        kernel = dispatch.compile_kernel(self.robot, request, calls, explain_non_finite)
                        if kernel is not dispatch.UNDECIDED:
                            self._store(dtype, kernel)
        return self._kernels.get(dtype)

    def compiled(self, dtype: str) -> Compiled:
        """The compiled function, whatever its length."""
        from ..kernels.kernel import Compiled  # imported only when something is compiled
        from ..kernels.spec import KernelSpec

        kernel = self._kernels.get(dtype)
        if kernel is None:
            kernel = Compiled(KernelSpec(self, self.robot, dtype, {}), explain_non_finite)
            self._store(dtype, kernel)
        return kernel

    def _store(self, dtype: str, kernel: Compiled | None) -> None:
        self._kernels[dtype] = kernel
        if kernel is None or dtype != "float64":
            return
        entry = kernel.entry(self._fallback)
        if entry != self._fallback:  # otherwise there is none
            self._entry = entry
            if not dispatch.NEVER_USED:
                type(self).__call__ = staticmethod(entry)  # type: ignore[method-assign]
                dispatch.ENTERED_DIRECTLY.add(self)

    def __repr__(self) -> str:
        names = ", ".join(f"{port.name} {port.shape}" for port in self.program.outputs)
        times = self.count.total / max(1, self.function_count.total)
        return f"<{names}: {self.count}; {times:.1f} times the function{self._mode_text()}>"

    def _mode_text(self) -> str:
        return ""


def freeze_option(option: Any) -> Any:
    """A copy of an option with its arrays, lists and dictionaries, which a user cannot change."""
    if isinstance(option, np.ndarray):
        return option.copy()
    if type(option) in (list, tuple):
        return type(option)(map(freeze_option, option))
    return {key: freeze_option(x) for key, x in option.items()} if type(option) is dict else option


def check_options(function: Callable[..., Any], robot: Robot, keywords: Mapping[str, Any]) -> None:
    """Raise at once the error that the function would raise for its options when it is traced."""
    if isinstance(function, Prepared):
        if keywords:
            raise TypeError(f"{function.__name__} has its options already (expected no {', '.join(keywords)})")
        return
    try:
        inspect.signature(function).bind(robot, **call_arguments(function, robot, keywords))
    except TypeError as error:
        raise TypeError(f"{function_name(function)} {error}") from None
    if has_methods(function):
        method_name(function, keywords.get("method"), robot)


def restore(base_class: type[DerivedFunction], state: dict[str, Any]) -> DerivedFunction:
    """Unpickle."""
    function = base_class.__new__(base_class)
    vars(function).update(state)
    return function


WIDTH = 95  # of remarks in generated files


class Packed(DerivedFunction):
    __doc__ = f"""The values that the results of a function consist of, each once. {DerivedFunction.__doc__}

    `places` says which of the values each element of the function's result is, or -1 where it is always zero: an array
    of the result's shape for one state, a tuple of them for several results. `unpack(values)` are the results.
    """

    def __init__(self, function: Callable[..., Any], robot: Robot, keywords: dict[str, Any]) -> None:
        self.__doc__ = f"The values that the results of {function_name(function)} consist of."
        super().__init__(function, robot, (), f"packed_{function_name(function)}", keywords)

    maker = "packed"
    options = ()

    @cached_property
    def _program_and_places(self) -> tuple[Program, tuple[np.ndarray, ...]]:
        with prefer_fewest():  # also where plain Python runs: the same values, in the same order
            return packed_program(self._function_program(), self.__name__)

    def _trace(self) -> Program:
        return self._program_and_places[0]

    def for_robot(self, robot: Robot) -> Packed:
        return Packed(self.function, robot, self.keywords)

    @property
    def equations(self) -> tuple[Callable[..., Any], Mapping[str, Any]]:
        return self.function, self.keywords

    def remarks(self, result: str) -> list[str]:
        """Which of the values each element of the function's result is, as text."""
        name = function_name(self.function)
        lines = [f"Elements of {name}, by their numbers in {result}; - for what is always zero:"]
        for array in self._program_and_places[1]:
            for k, row in enumerate(array.reshape(-1, array.shape[-1] if array.ndim else 1).tolist()):
                numbers = " ".join("-" if x < 0 else str(x) for x in row)
                lines += wrap(f"row {k}: {numbers}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        return [*lines, ""]

    @property
    def size(self) -> int:
        """The number of values."""
        return self.program.outputs[0].size

    @property
    def places(self) -> Any:
        places = self._program_and_places[1]
        return places[0] if len(places) == 1 else places

    def unpack(self, values: Array) -> Any:
        """The results of the function, from its values (..., m)."""
        xp = library_of([values])
        if xp is np:
            values = np.asarray(values)
        if not values.ndim or values.shape[-1] != self.size:
            raise ValueError(f"values has shape {tuple(values.shape)} (expected (..., {self.size}))")
        extended = xp.concatenate([values, xp.zeros_like(values.sum(-1), dtype=values.dtype)[..., None]], axis=-1)
        results = tuple(extended[..., places] for places in self._program_and_places[1])
        return results[0] if len(results) == 1 else results


def packed(function: Callable[..., Any], robot: Robot, **keywords: Any) -> Packed:
    """The function without zeros and repetitions: the distinct values of its results as (..., m).

    Zero and equal are decided by the equations of this robot: elements of a symmetric matrix, or of joints on
    different branches of a tree.

    Parameters
    ----------
    function : callable
    robot : Robot
    **keywords
        As for `lw.trace`.

    Returns
    -------
    Packed
        Takes the function's arrays. `places` are the indices of the values by element of the result, -1 for zeros;
        `unpack(values)` gives the results.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> inertia = lw.derivatives.packed(lw.inertia_matrix, arm)
    >>> q = np.array([0.1, 0.2, 0.3])
    >>> inertia(q).shape, inertia.places.shape
    ((6,), (3, 3))
    >>> np.allclose(inertia.unpack(inertia(q)), lw.inertia_matrix(arm, q))
    True
    """
    return Packed(function, robot, keywords)
