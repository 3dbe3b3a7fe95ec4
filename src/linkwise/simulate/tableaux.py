"""The integrators, read from tableaux.toml."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from typing import Any

from ..errors import one_of
from ..render.llvm_integrator import Method

DEFAULT = "verner65"
RADAU = "radau"  # implicit: see `implicit`


@lru_cache(maxsize=1)
def entries() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("tableaux.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def integrators() -> list[str]:
    """The names of all integrators that `simulate` offers.

    >>> import linkwise as lw
    >>> lw.integrators()
    ['verner65', 'dormand54', 'cash-karp54', 'rk4', 'dop853', 'radau']
    """
    return [*entries(), RADAU]


@lru_cache(maxsize=16)
def method(name: str) -> Method:
    one_of(name, integrators(), "integrator")
    if name == RADAU:
        return Method(name, 5, (), (), (), ())
    entry = entries()[name]
    exact = [[Fraction(x) for x in row] for row in entry["a"]]
    weights = {key: tuple(float(Fraction(x)) for x in entry.get(key, ())) for key in ("b", "error", "damp")}
    return Method(
        name,
        entry["order"],
        tuple(tuple(map(float, [*row, *[0] * (s - len(row))])) for s, row in enumerate(exact)),
        c=tuple(float(sum(row)) for row in exact),
        fixed=entry.get("fixed", False),
        first_is_last=entry.get("last") == "first",
        **weights,
    )
