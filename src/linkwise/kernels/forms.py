"""Which form compiled code takes: straight-line, or loops over the links."""

from __future__ import annotations

from typing import Any

from ..robot import Robot
from . import image
from .compiler import Compiled, count_in
from .dispatch import LARGEST, LONGEST, Function, llvm_is_loaded
from .host import known_host
from .spec import KernelSpec, LoopSpec, inputs_of
from .targets import Target

FORMS = ("auto", "straight", "loops")


def spec_for(
    function: Function,
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    loop_method: str | None = None,
    form: str = "auto",
    passes: tuple[str, ...] = (),
    target: Target | None = None,
) -> KernelSpec:
    """Straight-line code, or loops where that would be too long.

    `loop_method` is the method that loops take; without one the function has no form with loops.
    """
    straight = KernelSpec(function, robot, dtype, keywords, passes, target)
    if form == "straight" or loop_method is None:
        return straight
    shapes = inputs_of(function, keywords).values()
    per_link = all(shape is None or shape[:1] == (robot.n,) for shape in shapes)
    uniform = getattr(keywords.get("friction"), "uniform", True)  # numbers for each joint are not in the loops' table
    can_loop = per_link and uniform and not passes and robot.n > 0 and not robot.non_floats
    if not can_loop or (form == "auto" and not too_long(straight)):
        return straight
    return LoopSpec(function, robot, dtype, {**keywords, "method": loop_method}, target=target)


def cached_kernel(function: Function, robot: Robot, dtype: str, keywords: dict[str, Any]) -> Compiled | None:
    """The kernel that `spec_for` leads to, if it is in the cache and loads without tracing and LLVM."""
    if robot.n > LARGEST or not (image.supported() or llvm_is_loaded()):
        return None
    try:
        target = known_host()
    except ImportError:  # there is no llvmlite
        return None
    spec = KernelSpec(function, robot, dtype, keywords, target=target)
    if target is None or spec.identity is None:
        return None
    if spec.cached is None or count_in(spec.cached[0]).total > LONGEST:
        return None
    return Compiled(spec)


def too_long(spec: KernelSpec) -> bool:
    """Whether straight-line code would be too long, also where it is in the cache."""
    if isinstance(spec, LoopSpec):
        return False
    if spec.robot.n > LARGEST:
        return True
    cached = spec.cached if spec.identity else None  # which need not be traced
    return (spec.count if cached is None else count_in(cached[0])).total > LONGEST
