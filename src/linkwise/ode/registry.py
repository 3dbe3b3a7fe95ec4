"""All integrators."""

from __future__ import annotations

from functools import lru_cache

from ..errors import one_of
from .interface import Integrator
from .methods import entries
from .radau import Radau
from .runge_kutta import RungeKutta

DEFAULT = "verner65"


@lru_cache(maxsize=1)
def members() -> dict[str, Integrator]:
    listed: list[Integrator] = [*map(RungeKutta, entries()), Radau()]
    return {member.name: member for member in listed}


def integrators() -> list[str]:
    """The names of all integrators."""
    return list(members())


def integrator(name: str) -> Integrator:
    one_of(name, members(), "integrator")
    return members()[name]
