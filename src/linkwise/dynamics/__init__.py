"""The algorithms, each written once, one file per formulation. To be listed here is to be tested."""

from collections.abc import Callable
from typing import Any

from . import (
    articulated,
    complement,
    composite,
    denoc,
    denoc_centres,
    elimination,
    fewest,
    inverse_inertia,
    kalman,
    newton_euler,
    newton_euler_centres,
    operators,
    parallel,
    quasi,
    udu,
    walker_orin,
)

Methods = dict[str, Callable[..., Any]]

ALL_INVERSE_DYNAMICS: Methods = {
    "newton-euler": newton_euler.inverse_dynamics,
    "denoc": denoc.inverse_dynamics,
    "complement": complement.inverse_dynamics,
    "operators": operators.inverse_dynamics,
    "newton-euler-centres": newton_euler_centres.inverse_dynamics,
    "denoc-centres": denoc_centres.inverse_dynamics,
    "fewest": fewest.inverse_dynamics,
}
ALL_FORWARD_DYNAMICS: Methods = {
    "denoc": udu.forward_dynamics,
    "articulated": articulated.forward_dynamics,
    "kalman": kalman.forward_dynamics,
    "walker-orin-1": walker_orin.method_1,
    "walker-orin-2": walker_orin.method_2,
    "walker-orin-3": walker_orin.method_3,
    "walker-orin-4": walker_orin.method_4,
    "complement": complement.forward_dynamics,
    "inverse-inertia": inverse_inertia.forward_dynamics,
    "normalized": quasi.normalized.forward_dynamics,
    "unnormalized": quasi.unnormalized.forward_dynamics,
    "composite-udu": fewest.composite_udu,
    "articulated-regrouped": fewest.articulated_regrouped,
    "parallel": parallel.forward_dynamics,
}
ALL_INERTIA_MATRICES: Methods = {
    "composite": composite.inertia_matrix,
    "denoc": denoc.inertia_matrix,
    "complement": complement.inertia_matrix,
    "operators": operators.inertia_matrix,
    "udu": udu.inertia_matrix,
    "composite-regrouped": fewest.composite_matrix,
}
ALL_UDU: Methods = {"denoc": udu.udu, "elimination": elimination.udu}
ALL_INVERSE_INERTIA_MATRICES: Methods = {
    "inverse-inertia": inverse_inertia.inverse_inertia_matrix,
    "elimination": elimination.inverse_inertia_matrix,
}

# Further capabilities of some methods:
ANY_COUPLING = (fewest.composite_udu, elimination.udu, elimination.inverse_inertia_matrix)  # by the matrix I alone
ANY_LENGTH = (  # in loops over the links, which are compiled for long robots
    newton_euler.inverse_dynamics,
    fewest.inverse_dynamics,
    udu.forward_dynamics,
    articulated.forward_dynamics,
    kalman.forward_dynamics,
    fewest.articulated_regrouped,
)
CONTRACTIONS = {parallel.forward_dynamics: parallel.in_link_frames}  # all links at a time, with wrenches by the second
