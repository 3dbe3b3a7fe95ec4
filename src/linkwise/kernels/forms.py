"""Which form compiled code takes: straight-line, or loops over the links."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ..robot import Robot
from . import cache, image
from .compiler import Compiled, kept_count
from .dispatch import LARGEST, LONGEST, ROLLED, Function, llvm_is_loaded
from .host import known_processor
from .spec import LoopRecipe, Recipe, inputs_of

FORMS = ("auto", "straight", "loops")


def recipe_for(
    function: Function,
    robot: Robot,
    dtype: str,
    keywords: dict[str, Any],
    form: str = "auto",
    passes: tuple[str, ...] = (),
) -> Recipe:
    """Straight-line code, or loops where that would be long and the function is made of sweeps over the links."""
    straight = Recipe(function, robot, dtype, keywords, passes)
    if form == "straight" or (form == "auto" and not callable(function)):
        return straight
    methods = ROLLED.get(function, {}) if isinstance(function, Hashable) else {}
    shapes = inputs_of(function, keywords).values()
    per_link = all(shape is None or shape[:1] == (robot.n,) for shape in shapes)
    uniform = getattr(keywords.get("friction"), "uniform", True)  # numbers for each joint have no place in a loop
    can = keywords.get("method") in methods and per_link and not passes and robot.n > 0 and not robot.non_floats
    can = can and uniform
    if not can:
        if form == "loops":
            offered = ", ".join(f"{f.__name__} ({', '.join(x for x in m if x)})" for f, m in ROLLED.items())
            raise ValueError(f"{function!r} with these options has no form with loops (these have: {offered})")
        return straight
    if form == "auto" and not too_long(straight):
        return straight
    method = methods[keywords.get("method")]
    return LoopRecipe(function, robot, dtype, {**keywords, "method": method})


def kept(function: Function, robot: Robot, dtype: str, keywords: dict[str, Any]) -> Compiled | None:
    """The kernel that `recipe_for` would have made, if it lies in the cache and loads without tracing and LLVM."""
    if robot.n > LARGEST or not (image.supported() or llvm_is_loaded()):
        return None
    try:
        target = known_processor()
    except ImportError:  # there is no llvmlite
        return None
    recipe = Recipe(function, robot, dtype, keywords, target=target)
    if target is None or recipe.identity is None:
        return None
    found = cache.load(recipe.key)
    if found is None or kept_count(found[0]).total > LONGEST:
        return None
    return Compiled(recipe, found)


def too_long(recipe: Recipe) -> bool:
    """Whether straight-line code is out of proportion, whatever lies in the cache."""
    if isinstance(recipe, LoopRecipe):
        return False
    if recipe.robot.n > LARGEST:
        return True
    return operations(recipe) > LONGEST


def operations(recipe: Recipe) -> int:
    """How many there are in straight-line code; what is kept need not be traced to find out."""
    found = cache.load(recipe.key) if recipe.identity else None
    return recipe.count.total if found is None else kept_count(found[0]).total
