"""The public call that gives a kernel in hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import one_of
from ..kernels.lock import LOCK
from ..robot import Robot
from ..trace.tracing import check_function_and_robot

if TYPE_CHECKING:
    from ..kernels.compiler import Compiled


def compile(  # noqa: A001
    function: Callable[..., Any],
    arm: Robot,
    *,
    target: str = "cpu",
    dtype: str = "float64",
    form: str = "auto",
    passes: Iterable[str] = (),
    **keywords: Any,
) -> Compiled:
    """The function, one of Linkwise's or your own over them, compiled for this robot.

    Parameters without a default become inputs of one number per joint, the time `t` of one number; keywords are handed
    on, or become inputs of another shape when they are `lw.Input(...)`. Where the function has a choice of methods and
    none is named, the one with the fewest operations is taken. `form` is "straight" for code without loops, customised
    to the robot, or "loops" for loops over the links, which long chains and large trees get by themselves ("auto"). The
    kernel takes arrays of any batch shape, `out=` and `threads=`, and has `.source`, `.ir`, `.count` and
    `.compile_seconds`.

    >>> import linkwise as lw
    >>> kernel = lw.compile(lw.gravity_torque, lw.load("gantry"))
    >>> kernel([0, 0, 0])
    array([  0.  ,   0.  , -29.43])
    """
    with LOCK:
        from ..kernels.compiler import Compiled  # the compiler's rooms are entered only when something is compiled
        from ..kernels.forms import FORMS, recipe_for

        check_function_and_robot(function, arm)
        one_of(target, ("cpu",), "target")
        one_of(dtype, ("float64", "float32"), "dtype")
        one_of(form, FORMS, "form")
        return Compiled(recipe_for(function, arm, dtype, keywords, form, tuple(passes)))
