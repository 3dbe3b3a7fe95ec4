"""Functions without the zeros and repetitions in their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import wrap
from typing import Any

import numpy as np

from ..api.states import Array, library_of
from ..graph import Program
from ..graph.passes import pack_results as packed_program
from ..lazy import cached_property
from ..robot import Robot
from ..tracing.tracing import function_name, prefer_fewest
from .derived import DerivedFunction

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
        """The elements of the function's result, by the numbers of their values."""
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
