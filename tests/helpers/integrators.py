"""The integrators by sort, and options for the length of their steps."""

import linkwise as lw
from linkwise.ode.methods import method
from linkwise.ode.registry import integrator

INTEGRATORS = lw.methods(lw.simulate)
FIXED = [name for name in INTEGRATORS if integrator(name).fixed]
ADAPTIVE = [name for name in INTEGRATORS if name not in FIXED]


def fixed_steps(name: str, length: float) -> dict[str, float]:
    """Nothing for methods that choose their steps; for others such steps, or shorter ones where their order is low."""
    return {"dt": length / 8.0 ** max(0, 4 - method(name).order)} if name in FIXED else {}


def steps_of(name: str, length: float) -> dict[str, float]:
    """The option for the length of every step of an integrator, or of its first one."""
    return {"dt" if name in FIXED else "first_step": length}
