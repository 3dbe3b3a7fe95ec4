"""Tracing: a function is called on nodes, and its operations become a program."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ..graph import Count, Graph, Node, Port, Program, as_traced, check
from ..graph.node import UntraceableError, is_scalar
from ..graph.passes import Transplant, apply_passes
from ..graph.program import count as count_operations
from ..robot import Robot, require_robot
from ..robot.coordinates import CONFIGURATIONS
from ..robot.named_arrays import gradient_error
from ..robot.symbols import symbols_of

ONE_NUMBER = ("t",)  # the time: one number per state, not one per joint
FEWEST_PREFERRED: ContextVar[bool] = ContextVar("fewest_preferred", default=False)  # see `prefer_fewest`


@dataclass(frozen=True)
class Input:
    """Declare an argument of a traced function as an input of the program, with its shape for one state.

    Parameters
    ----------
    *shape : int
        `lw.Input(6)` is a vector of six numbers, `lw.Input()` a number.
    """

    shape: tuple[int, ...]

    def __init__(self, *shape: int) -> None:
        if not all(type(size) is int and size >= 0 for size in shape):
            raise TypeError(f"Input{shape} is not a shape (expected whole numbers: Input(6), Input(4, 4))")
        object.__setattr__(self, "shape", shape)


class Prepared:
    """A function of a robot that makes its own program, such as a derivative.

    `identity` identifies it in every process, if that is possible without the program. `plain(robot, ...)` computes it
    without dispatch. Up to `max_operations` it is compiled automatically. `maker` is the public function that derives
    it from another function, if any. `equations` are the function and keywords of its equations.
    """

    __name__: str
    identity: str | None = None
    max_operations = 0
    maker: ClassVar[str | None] = None

    @property
    def equations(self) -> tuple[Any, Mapping[str, Any]]:
        return self, {}

    def remarks(self, result: str) -> list[str]:
        """Lines about this result for the comment of a generated file."""
        return []

    def program_for(self, robot: Robot) -> Program:
        raise NotImplementedError

    def plain(self, robot: Robot, *arrays: Any, **named: Any) -> Any:
        raise NotImplementedError


class Motion(ABC):
    """The interface of a function that integrates equations of motion, for compilation and export.

    It is the attribute `motion` of such a function.
    """

    @abstractmethod
    def methods(self) -> list[str]:
        """The names of its integrators, its default first."""

    @abstractmethod
    def compiled(self, robot: Robot, **options: Any) -> Callable[..., Any]:
        """The result of `lw.compile`."""

    @abstractmethod
    def module(self, robot: Robot, **options: Any) -> bytes:
        """The result of `lw.wasm`."""

    @abstractmethod
    def equations(self, robot: Robot, **options: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The right-hand side as a traceable function, and its keywords."""


def traceable(
    function: Callable[..., Any], robot: Robot, keywords: dict[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function with its keywords; for an integrating function, its right-hand side."""
    motion: Motion | None = getattr(function, "motion", None)
    if motion is None:
        return function, keywords
    require_robot(robot, "the second argument", ", for which the function is traced")
    return motion.equations(robot, **keywords)


def trace(function: Callable[..., Any], robot: Robot, *, passes: Iterable[str] = (), **keywords: Any) -> Program:
    """The program of `function(robot, ...)`: straight-line code, specialized to the robot.

    Each parameter without a default becomes an input: nq numbers for a configuration such as `q`, one for the time `t`,
    n for others. For `lw.simulate` and `lw.rollout` the right-hand side is traced: accelerations.

    Parameters
    ----------
    function : callable
        A function of Linkwise or a user function: arithmetic on arrays that never branches on their numbers.
    robot : Robot
        The robot, whose zeros and ones are folded.
    passes : iterable of str
        Optional transformations of the program (see `linkwise.graph.passes`).
    **keywords
        Passed on to the function; an `Input` becomes an input of its shape. Those in a mapping, such as
        `wrench={"tool0": lw.Input(6)}`, are called by both names: `wrench_tool0`.

    Returns
    -------
    Program
        Its inputs, outputs and nodes.
    """
    function, keywords = traceable(function, robot, keywords)
    check_function_and_robot(function, robot)
    if isinstance(function, Prepared):
        if keywords:
            raise TypeError(f"{function_name(function)} takes no keywords here (it was given {', '.join(keywords)})")
        return apply_passes(function.program_for(robot), passes)
    declared = call_arguments(function, robot, keywords)
    graph = Graph()
    ports = [Port(name, x.shape, quaternions(robot, name, x)) for name, x in declared_inputs(declared).items()]
    arguments = with_values(declared, {port.name: placeholders(graph, port) for port in ports})
    if robot.non_floats:
        symbols = symbols_of(robot)
        robot = robot.mapped(Transplant(graph))
        taken = sorted({port.name for port in ports} & set(symbols))
        if taken:
            raise ValueError(f"the symbol {taken[0]!r} of the robot has the name of an argument (expected another)")
        ports += [Port(name, ()) for name in symbols]
    result = call_on_nodes(function, robot, arguments, [name for name in declared if name not in keywords])
    arrays = list(map(as_array, results_of(result)))
    names = (
        [function_name(function)]
        if len(arrays) == 1
        else [f"{function_name(function)}_{k}" for k in range(len(arrays))]
    )
    outputs = [Port(name, array.shape) for name, array in zip(names, arrays, strict=True)]
    program = check(Program.of(graph, ports, outputs, [list(array.flat) for array in arrays]))
    return apply_passes(program, passes)


def call_arguments(function: Callable[..., Any], robot: Robot, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function besides the robot: `Input`s, and the keywords unchanged.

    The attribute `traced_inputs` of a function names optional arguments that are inputs. The attribute `input_shapes`
    of a method maps its object and the robot to the shapes of inputs that only the object knows, such as the memory of
    a controller, with None for an input that it does not take.
    """
    arguments: dict[str, Any] = {}
    optional = getattr(function, "traced_inputs", ())
    shapes = getattr(function, "input_shapes", None)
    fixed = {} if shapes is None else shapes(getattr(function, "__self__", None), robot)
    for name, shape in fixed.items():
        check_required_input(function_name(function), name, shape, keywords)
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in fixed:
            arguments |= {} if fixed[parameter.name] is None else {parameter.name: Input(*fixed[parameter.name])}
        elif parameter.default is parameter.empty or parameter.name in optional:
            arguments[parameter.name] = (
                Input() if parameter.name in ONE_NUMBER else Input(robot.size_of(parameter.name))
            )
    return {**arguments, **keywords}


class Inputs(dict[str, Input]):
    """Inputs by name as one argument, such as the motion of a base; hashable."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def declared_inputs(arguments: Mapping[str, Any]) -> dict[str, Input]:
    """The inputs among the arguments by name; one in a mapping is called `wrench_tool0`."""
    inputs: dict[str, Input] = {}
    for name, value in arguments.items():
        each = {input_name(name, key): x for key, x in value.items()} if isinstance(value, Mapping) else {name: value}
        if isinstance(value, Mapping) and len({*each} - {*arguments, *inputs}) < len(value):
            raise ValueError(
                f"{name} has the names {', '.join(map(repr, value))}, some of whose inputs have one name (expected"
                " names that differ in letters, digits or underscores)"
            )
        inputs |= {key: x for key, x in each.items() if isinstance(x, Input)}
    return inputs


def input_name(name: str, key: object) -> str:
    return f"{name}_{re.sub(r'[^0-9A-Za-z_]', '_', str(key))}"


def with_values(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the values of their inputs, by the names of `declared_inputs`, and all other values."""
    rest, result = dict(values), dict[str, Any]()
    for name, value in arguments.items():
        if isinstance(value, Mapping):
            each = {key: rest.pop(input_name(name, key)) if isinstance(x, Input) else x for key, x in value.items()}
            result[name] = Inputs(each) if isinstance(value, Inputs) else each
        else:
            result[name] = rest.pop(name) if isinstance(value, Input) else value
    return {**result, **rest}


def are_inputs(value: Any) -> bool:
    """Whether a value is an input, or a mapping of inputs."""
    return isinstance(value, Input) or (
        isinstance(value, Mapping) and all(isinstance(x, Input) for x in value.values())
    )


def check_required_input(function: str, name: str, shape: tuple[int, ...] | None, keywords: Mapping[str, Any]) -> None:
    """Raise if a keyword contradicts the shape of an input that only the function knows."""
    if name not in keywords:
        return
    given = keywords[name]
    if isinstance(given, Input) and given.shape == shape:
        return
    if shape is None:
        raise ValueError(f"{name} is {given!r} (expected none: this {function} takes no {name})")
    size = ", ".join(map(str, shape))
    raise ValueError(
        f"{name} is {given!r} (expected no {name}=, or lw.Input({size}): it is an input of {function}, not a constant)"
    )


def quaternions(robot: Robot, name: str, argument: Input) -> tuple[int, ...]:
    """Positions of the quaternions, if the argument is a configuration."""
    return robot.quaternions if name in CONFIGURATIONS and argument.shape == (robot.nq,) else ()


LINEAR_ALGEBRA = re.compile(
    r"Cannot cast ufunc .* dtype\('O'\)|unsupported in linalg"
)  # NumPy's messages about object arrays
PLAIN_ARRAY = re.compile(
    r"ufunc does not support argument \d of type \S+ which has no callable (\w+) method"
    r"|'(?:float|int|numpy.float64)' object has no attribute '(\w+)'"
    r"|ufunc '(\w+)' not supported for the input types"
    r"|Cannot cast array data from dtype\('O'\)"
)
OTHER_LIBRARY = re.compile(
    r"can't convert (cuda|np\.ndarray of type numpy\.object_)|must be Tensor, not|\(Tensor input|and 'Tensor'"
    r"|(received|got) .*\bTracedArray\b|not a valid JAX|as an abstract array"
)
NO_OTHER_LIBRARY = (
    "functions and arrays of torch and JAX cannot be traced: write np.clip and other functions of NumPy, and take"
    " numbers from NumPy arrays (x.cpu().numpy()), or as inputs: the parameters of a torque function, lw.Input(...)"
)
NO_LINEAR_ALGEBRA = (
    "a function of np.linalg cannot be traced: the arguments stand for numbers that are not known yet (expected"
    " np.linalg.solve, inv, det, cholesky, lstsq or norm, of arrays that np.stack or np.block made, not of lists)"
)


SHAPES_DIFFER = re.compile(
    r"could not be broadcast|mismatch in its core dimension|not aligned|must match|out of bounds"
)
USUAL = ("q", "qd", "qdd", "tau", *ONE_NUMBER)  # arguments with conventional shapes


def call_on_nodes(
    function: Callable[..., Any], robot: Robot, arguments: dict[str, Any], assumed: Iterable[str] = ()
) -> Any:
    """Call function(robot, ...) on nodes, with explanations for NumPy's errors about nodes.

    The shapes of `assumed` arguments were not given; shape errors mention them.
    """
    try:
        return function(robot, **arguments)
    except (ValueError, IndexError) as error:
        others = [name for name in assumed if name not in USUAL]
        if not others or not SHAPES_DIFFER.search(str(error)):
            raise
        name, size = others[0], np.size(arguments[others[0]])
        taken = f"{', '.join(others)} {'was' if len(others) == 1 else 'were each'} taken as {size} numbers"
        hint = f"{name}=lw.Input(3) if one state has 3 numbers of it, {name}=lw.Input() for one"
        raise type(error)(f"{error}; {taken} (expected, for another shape, {hint})") from error
    except (AttributeError, RuntimeError, TypeError) as error:
        explained = gradient_error(error, function_name(function))
        if explained is not None:
            raise explained from None
        if isinstance(error.__cause__, UntraceableError):
            raise UntraceableError(str(error.__cause__)).with_traceback(error.__traceback__) from None
        if LINEAR_ALGEBRA.search(str(error)):
            raise UntraceableError(NO_LINEAR_ALGEBRA).with_traceback(error.__traceback__) from None
        if OTHER_LIBRARY.search(str(error)):
            raise UntraceableError(NO_OTHER_LIBRARY).with_traceback(error.__traceback__) from None
        plain = PLAIN_ARRAY.search(str(error))
        name = next(filter(None, plain.groups()), "") if plain else ""
        if plain and hasattr(np, name or "interp"):
            what = f"np.{name}" if name else "a function of NumPy"
            raise UntraceableError(
                f"{what} of an array that np.array or a list made of numbers and of arguments cannot be traced:"
                " write np.stack([...]) instead of np.array([...]) or a list, which NumPy does not let us see"
            ).with_traceback(error.__traceback__) from None
        raise


def check_function_and_robot(function: object, robot: object) -> None:
    if not callable(function):
        raise TypeError(f"the first argument is {function!r} (expected a function, such as linkwise.inverse_dynamics)")
    if getattr(function, "motion", None) is not None:
        raise TypeError(
            f"lw.{function_name(function)} has no form here (expected lw.compile, or a function of a state)"
        )
    require_robot(robot, "the second argument", ", for which the function is traced")


@contextmanager
def prefer_fewest() -> Iterator[None]:
    """Inside this context, functions called without `method` use the one with the fewest operations."""
    before = FEWEST_PREFERRED.set(True)
    try:
        yield
    finally:
        FEWEST_PREFERRED.reset(before)


def count(function: Callable[..., Any], robot: Robot, *, passes: Iterable[str] = (), **keywords: Any) -> Count:
    """Count the operations of a function on a robot; the robot's zeros and ones cost nothing.

    Parameters
    ----------
    function, robot, passes, **keywords
        As for `lw.trace`.

    Returns
    -------
    Count
        Multiplications, additions, divisions and functions; each distinct expression counts once.

    Examples
    --------
    >>> import linkwise as lw
    >>> print(lw.count(lw.gravity_torque, lw.load("planar3")))
    26 multiplications, 13 additions, 0 divisions, 6 functions
    """
    return count_operations(trace(function, robot, passes=passes, **keywords))


@lru_cache(maxsize=256)
def cheapest_method(function: Callable[..., Any], robot: Robot, *candidates: str) -> str:
    """The candidate method with the fewest operations on this robot."""
    return min(candidates, key=lambda method: count(function, robot, method=method).total)


def placeholders(graph: Graph, port: Port) -> Any:
    if not port.shape:
        return graph.input(port.name)
    return array_of_objects([graph.input(port.name, position) for position in range(port.size)], (), port.shape)


def array_of_objects(components: Sequence[Any], batch: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """An object array (*batch, *shape) of scalars or arrays; arrays of nodes are traceable."""
    array = np.empty((*batch, len(components)), dtype=object)
    for k, component in enumerate(components):
        array[..., k] = component
    return as_traced(array.reshape((*batch, *shape)))


class NamedRows(Mapping[str, Any]):
    """The rows of an array (..., rows, columns) by name, such as wrenches by frame.

    Where a function is traced, the array is one of its results.
    """

    def __init__(self, names: Iterable[str], array: Any) -> None:
        self.names, self.array = tuple(names), array

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return self.array[..., self.names.index(name), :]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return repr(dict(self))


def results_of(output: Any) -> list[Any]:
    """The results of a function, as arrays."""
    results = output if isinstance(output, tuple) else (output,)
    return [each.array if isinstance(each, NamedRows) else each for each in results]


def as_array(result: Any) -> np.ndarray:
    if isinstance(result, Node):
        box = np.empty((), dtype=object)
        box[()] = result
        return box
    try:
        array = np.asarray(result)
    except ValueError:  # rows of different lengths
        array = np.empty(1, dtype=object)
    if array.dtype.kind not in "fiu" and not (array.dtype == object and all(map(is_scalar, array.flat))):
        raise TypeError(f"the traced function returned {result!r} (expected an array of numbers, or a tuple of arrays)")
    return array


def function_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "result"))
