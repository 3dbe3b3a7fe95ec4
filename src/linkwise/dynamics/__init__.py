"""The algorithms, each written once, one file per formulation. To be listed here is to be tested."""

from collections.abc import Callable
from typing import Any

from . import composite, denoc, newton_euler

Methods = dict[str, Callable[..., Any]]

ALL_INVERSE_DYNAMICS: Methods = {
    "newton-euler": newton_euler.inverse_dynamics,
}
ALL_FORWARD_DYNAMICS: Methods = {
    "denoc": denoc.forward_dynamics,
}
ALL_INERTIA_MATRICES: Methods = {
    "composite": composite.inertia_matrix,
    "udu": denoc.inertia_matrix,
}
