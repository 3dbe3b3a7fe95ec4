"""Derivatives of functions by their arguments, and their products with vectors, as functions like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

from ..errors import one_of
from ..graph import Node, Port, Program, count
from ..graph import derivative as of_programs
from ..graph.derivative import derivative as differentiate
from ..graph.derivative import derivative_shape
from ..kernels.sources import qualified_name
from ..lazy import cached_property
from ..robot import Robot
from ..tracing.tracing import Prepared, function_name
from .closed_form_derivatives import closed_form, has_closed_form
from .derived import DerivedFunction

Name = str | Node  # an argument, or a symbol of the robot
Names = Name | Sequence[Name]
Mode = Literal["fewest", "forward", "reverse", "closed-form"]
MODES = get_args(Mode)
MAX_COMPARED_JOINTS = 30  # degrees of freedom up to which modes are compared where the closed form usually takes fewer


class Derivative(DerivedFunction):
    __doc__ = f"""The derivative of a function by its arguments, for one robot. {DerivedFunction.__doc__}
    `mode` is "forward", "reverse" or "closed-form".
    """
    maker = "derivative"

    def __init__(
        self,
        function: Callable[..., Any],
        robot: Robot,
        wrt: Names,
        mode: str,
        value: bool,
        keywords: Mapping[str, Any],
    ) -> None:
        names = argument_names(wrt)
        if qualified_name(function) is not None:  # defaults that are written out
            keywords = {key: x for key, x in keywords.items() if not (key in ("friction", "check") and x is False)}
        self.wrt, self._mode, self._value = wrt, mode, value
        self._modes: list[tuple[Program, str]] = []  # of each program
        by = ", ".join(names)
        self.__doc__ = f"The derivative of {function_name(function)} by {by}."
        if mode == "closed-form" and (isinstance(function, Prepared) or not has_closed_form(function, names, keywords)):
            raise ValueError(
                f"{function_name(function)} by {by} with these options has no closed form (expected inverse or forward"
                " dynamics by some of q, qd, qdd, tau, without method and friction, wrenches as lw.Input; or"
                " mode='fewest')"
            )
        super().__init__(function, robot, names, f"d_{function_name(function)}_d_{'_'.join(names)}", keywords)

    @property
    def options(self) -> tuple[Any, ...]:
        return self.names, self._mode, self._value

    @property
    def mode(self) -> str:
        """The mode that was taken: "forward", "reverse" or "closed-form"."""
        program = self.program
        return next(mode for own, mode in self._modes if own is program)

    @property
    def _has_closed_form(self) -> bool:
        return not isinstance(self.function, Prepared) and has_closed_form(self.function, self.names, self.keywords)

    def _trace(self) -> Program:
        """In closed form where that is requested, or takes the fewest operations.

        By several names the closed form takes fewer for every robot that was counted. By one name it is compared with
        the graph's derivative, except for long robots, where counting takes long.
        """
        if self._mode not in ("fewest", "closed-form") or not self._has_closed_form:
            return super()._trace()
        closed = closed_form(self.function, self.robot, self.names, self.keywords, self._value)
        self._modes.append((closed, "closed-form"))
        if self._mode == "closed-form" or len(self.names) > 1 or self.robot.n > MAX_COMPARED_JOINTS:
            return closed
        return min(closed, super()._trace(), key=lambda program: count(program).total)

    def transform(self, original: Program) -> Program:
        """By the requested mode.

        "fewest" compares both modes where there are fewer results than numbers to differentiate by. Otherwise it is
        forward mode, which took fewer operations for every function that was counted.
        """
        modes: tuple[str, ...] = (self._mode,)
        if self._mode == "fewest":
            ports = [port for port in self.function_inputs if port.name in self.names]
            directions = sum(Port("", derivative_shape(port, self.moves.get(port.name))).size for port in ports)
            few = sum(port.size for port in original.outputs) < directions
            modes = ("forward", "reverse") if few else ("forward",)
        programs = {mode: differentiate(original, self.names, mode, self.moves, self._value) for mode in modes}
        best = min(programs, key=lambda mode: count(programs[mode]).total)
        self._modes.append((programs[best], best))
        return programs[best]

    def for_robot(self, robot: Robot) -> Derivative:
        return Derivative(self.function, robot, self.wrt, self._mode, self._value, self.keywords)

    def _mode_text(self) -> str:
        return ", in closed form" if self.mode == "closed-form" else f", by {self.mode} mode"


class Product(DerivedFunction):
    """Products of a derivative with vectors, without its matrix: the common base of both sides."""

    about: ClassVar[str]  # docstring with places for the function and the names

    def __init__(
        self, function: Callable[..., Any], robot: Robot, wrt: Names, value: bool, keywords: Mapping[str, Any]
    ) -> None:
        self.wrt, self._value = wrt, value
        names, name = argument_names(wrt), function_name(function)
        self.__doc__ = self.about.format(name, ", ".join(names))
        super().__init__(function, robot, names, f"{self.maker}_{name}_d_{'_'.join(names)}", keywords)

    @property
    def options(self) -> tuple[Any, ...]:
        return self.names, self._value

    def for_robot(self, robot: Robot) -> DerivedFunction:
        product: DerivedFunction = self.base_class(self.function, robot, self.wrt, self._value, self.keywords)
        return product


class JacobianVector(Product):
    __doc__ = f"""The derivative of a function along vectors, without its matrix. {DerivedFunction.__doc__}"""
    maker, about = "jvp", "The derivative of {} along vectors, by {}."

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        ports = {port.name: port for port in self.function_inputs}
        more = of_programs.tangent_ports([ports[name] for name in self.names], self.moves, self.function_inputs)
        cut = len(ports) - len(self.symbols)
        return (*self.function_inputs[:cut], *more, *self.function_inputs[cut:])

    def transform(self, original: Program) -> Program:
        return of_programs.jvp(original, self.names, self.moves, len(self.symbols), self._value)


class VectorJacobian(Product):
    __doc__ = f"""The gradient of the weighted results of a function, without its matrix. {DerivedFunction.__doc__}"""
    maker, about = "vjp", "The gradient of weight · {} by {}."

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        return self.program.inputs  # the shapes of the results are known from there only

    def transform(self, original: Program) -> Program:
        return of_programs.vjp(original, self.names, self.moves, len(self.symbols), self._value)


def argument_names(wrt: object) -> tuple[str, ...]:
    """One name or several, as a tuple; a symbol stands for its name."""
    if isinstance(wrt, (str, Node)):
        wrt = (wrt,)
    if not isinstance(wrt, (tuple, list)):
        raise TypeError(f"wrt is {wrt!r} (expected the name of an argument, or several: ('q', 'qd'))")
    if not wrt:
        raise ValueError("wrt is empty (expected the name of an argument, or several)")
    return tuple(argument_name(each) for each in wrt)


def argument_name(wrt: object) -> str:
    if isinstance(wrt, Node) and wrt.op == "input" and wrt.graph.scalar_inputs:
        return str(wrt.payload[0])
    if not isinstance(wrt, str):
        raise TypeError(f"wrt contains {wrt!r} (expected the name of an argument, or a symbol of the robot)")
    return wrt


def derivative(
    function: Callable[..., Any],
    robot: Robot,
    wrt: Names,
    *,
    mode: Mode = "fewest",
    value: bool = False,
    **keywords: Any,
) -> Derivative:
    """The exact derivative of `function(robot, ...)` by its argument `wrt`, or by several.

    By a configuration (q, q0, q1) the derivative is along the velocities, (..., *output, n): for a ball joint by the
    three components of a small rotation in the body's frame, not by the numbers of the quaternion.

    Parameters
    ----------
    function : callable
        One of Linkwise's, your own, or itself a derivative.
    robot : Robot
    wrt : str or sequence of str
        Arguments, or symbols of the robot.
    mode : {"fewest", "forward", "reverse", "closed-form"}
        Forward or reverse mode on the graph, or the closed form of `lw.inverse_dynamics_derivatives` or
        `lw.forward_dynamics_derivatives`. "fewest" takes the one with the fewest operations; the closed form is a
        candidate where there is one and no method is named.
    value : bool
        Put the function's own results first.
    **keywords
        As for `lw.trace`.

    Returns
    -------
    Derivative
        Takes the function's arrays and returns (..., *output, *argument); a tuple for several names, of each output
        by each name, in this order.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> by_q, by_qd = lw.derivative(lw.bias_torque, arm, ("q", "qd"))(*np.zeros((2, 3)))
    >>> by_q.shape, by_qd.shape
    ((3, 3), (3, 3))
    >>> print(lw.count(lw.derivative(lw.bias_torque, arm, "q"), arm).functions)
    6
    """
    one_of(mode, MODES, "mode")
    return Derivative(function, robot, wrt, mode, value, keywords)


def jvp(
    function: Callable[..., Any], robot: Robot, wrt: Names, *, value: bool = False, **keywords: Any
) -> JacobianVector:
    """The derivative of `function(robot, ...)` along vectors: J ẋ without the matrix J, by forward mode.

    Parameters
    ----------
    function, robot, wrt, value, **keywords
        As for `lw.derivative`.

    Returns
    -------
    JacobianVector
        Takes the function's arrays, then a vector for each name in `wrt`, called dq for q (dq2 where the function has
        a dq already); configurations move along velocities, so dq has n numbers. The shapes are those of the
        function's results.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q, dq = np.random.default_rng(0).normal(size=(2, 3))
    >>> along = lw.jvp(lw.gravity_torque, arm, "q")
    >>> np.allclose(along(q, dq), lw.derivative(lw.gravity_torque, arm, "q")(q) @ dq)
    True
    """
    return JacobianVector(function, robot, wrt, value, keywords)


def vjp(
    function: Callable[..., Any], robot: Robot, wrt: Names, *, value: bool = False, **keywords: Any
) -> VectorJacobian:
    """The gradient of weighted results of `function(robot, ...)`: Jᵀ λ without the matrix J, by reverse mode.

    Parameters
    ----------
    function, robot, wrt, value, **keywords
        As for `lw.derivative`.

    Returns
    -------
    VectorJacobian
        Takes the function's arrays, then `weight` of the shape of the function's result (`weight_0`, `weight_1`, ...
        for several; `weight2` where the function has a `weight` already). Returns the derivative of Σ weight · result
        by each name in `wrt`.

    Examples
    --------
    >>> import numpy as np, linkwise as lw
    >>> arm = lw.load("planar3")
    >>> q, weight = np.random.default_rng(0).normal(size=(2, 3))
    >>> gradient = lw.vjp(lw.gravity_torque, arm, "q")
    >>> np.allclose(gradient(q, weight), weight @ lw.derivative(lw.gravity_torque, arm, "q")(q))
    True
    """
    return VectorJacobian(function, robot, wrt, value, keywords)
