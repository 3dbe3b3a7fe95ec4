"""Where each method was published, and by which equations it is written here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Any

from ..api.budget import budget
from ..api.free_flying import generalized_jacobian
from ..api.functions import bias_torque, gravity_torque, joint_wrenches, udu
from ..api.matrices import (
    complement_matrices,
    constraint_wrenches,
    coriolis_matrix,
    denoc_matrices,
    inverse_inertia_matrix,
    mass_factor,
    mass_factor_rate,
    operators,
)
from ..api.method_table import has_methods, method_name
from ..api.momentum import momentum, momentum_bias, momentum_matrix
from ..api.quasi import QuasiCoordinates
from ..derivatives.closed_form_derivatives import (
    forward_dynamics_derivatives,
    forward_dynamics_second_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_second_derivatives,
)
from ..errors import one_of
from ..printing import Description
from ..robot import Robot

BIBTEX = {
    "angeles": """@book{angeles,
  author    = {Angeles, Jorge},
  title     = {Fundamentals of Robotic Mechanical Systems: Theory, Methods, and Algorithms},
  publisher = {Springer},
  note      = {Chapter 7: Dynamics of serial robotic manipulators}
}""",
    "angeles1988": """@article{angeles1988,
  author  = {Angeles, Jorge and Ma, Ou},
  title   = {Dynamic Simulation of n-Axis Serial Robotic Manipulators Using a Natural Orthogonal Complement},
  journal = {The International Journal of Robotics Research},
  volume  = {7}, number = {5}, pages = {32--47}, year = {1988}
}""",
    "balafoutis1991": """@book{balafoutis1991,
  author    = {Balafoutis, Constantinos A. and Patel, Rajnikant V.},
  title     = {Dynamic Analysis of Robot Manipulators: A {C}artesian Tensor Approach},
  publisher = {Kluwer}, year = {1991}
}""",
    "carpentier2018": """@inproceedings{carpentier2018,
  author    = {Carpentier, Justin and Mansard, Nicolas},
  title     = {Analytical Derivatives of Rigid Body Dynamics Algorithms},
  booktitle = {Robotics: Science and Systems},
  year      = {2018}
}""",
    "featherstone1983": """@article{featherstone1983,
  author  = {Featherstone, Roy},
  title   = {The Calculation of Robot Dynamics Using Articulated-Body Inertias},
  journal = {The International Journal of Robotics Research},
  volume  = {2}, number = {1}, pages = {13--30}, year = {1983}
}""",
    "featherstone1999": """@article{featherstone1999,
  author  = {Featherstone, Roy},
  title   = {A Divide-and-Conquer Articulated-Body Algorithm for Parallel {O}(log(n)) Calculation of
             Rigid-Body Dynamics. Part 1: Basic Algorithm},
  journal = {The International Journal of Robotics Research},
  volume  = {18}, number = {9}, pages = {867--875}, year = {1999}
}""",
    "fijany1995": """@article{fijany1995,
  author  = {Fijany, Amir and Sharf, Inna and D'Eleuterio, Gabriele M. T.},
  title   = {Parallel {O}(log {N}) Algorithms for Computation of Manipulator Forward Dynamics},
  journal = {IEEE Transactions on Robotics and Automation},
  volume  = {11}, number = {3}, pages = {389--400}, year = {1995}
}""",
    "gautier1990": """@article{gautier1990,
  author  = {Gautier, Maxime and Khalil, Wisama},
  title   = {Direct Calculation of Minimum Set of Inertial Parameters of Serial Robots},
  journal = {IEEE Transactions on Robotics and Automation},
  volume  = {6}, number = {3}, pages = {368--373}, year = {1990}
}""",
    "jain1995": """@article{jain1995,
  author  = {Jain, Abhinandan and Rodriguez, Guillermo},
  title   = {Diagonalized {L}agrangian Robot Dynamics},
  journal = {IEEE Transactions on Robotics and Automation},
  volume  = {11}, number = {4}, pages = {571--584}, year = {1995}
}""",
    "kozlowski1993": r"""@article{kozlowski1993,
  author  = {Koz{\l}owski, Krzysztof},
  title   = {Computational Requirements for a Discrete {K}alman Filter in Robot Dynamics Algorithms},
  journal = {Robotica},
  volume  = {11}, pages = {27--36}, year = {1993}
}""",
    "kozlowski1995": r"""@article{kozlowski1995,
  author  = {Koz{\l}owski, Krzysztof},
  title   = {Robot Dynamics Models in Terms of Generalized and Quasi-Coordinates: A Comparison},
  journal = {Applied Mathematics and Computer Science},
  volume  = {5}, number = {2}, pages = {305--328}, year = {1995}
}""",
    "orin2013": """@article{orin2013,
  author  = {Orin, David E. and Goswami, Ambarish and Lee, Sung-Hee},
  title   = {Centroidal Dynamics of a Humanoid Robot},
  journal = {Autonomous Robots},
  volume  = {35}, number = {2--3}, pages = {161--176}, year = {2013}
}""",
    "rodriguez1987": """@article{rodriguez1987,
  author  = {Rodriguez, Guillermo},
  title   = {Kalman Filtering, Smoothing, and Recursive Robot Arm Forward and Inverse Dynamics},
  journal = {IEEE Journal of Robotics and Automation},
  volume  = {RA-3}, number = {6}, pages = {624--639}, year = {1987}
}""",
    "sarkka2021": r"""@article{sarkka2021,
  author  = {S{\"a}rkk{\"a}, Simo and Garc{\'\i}a-Fern{\'a}ndez, {\'A}ngel F.},
  title   = {Temporal Parallelization of {B}ayesian Smoothers},
  journal = {IEEE Transactions on Automatic Control},
  volume  = {66}, number = {1}, pages = {299--306}, year = {2021}
}""",
    "saha1999ijrr": """@article{saha1999ijrr,
  author  = {Saha, Subir Kumar},
  title   = {Analytical Expression for the Inverted Inertia Matrix of Serial Robots},
  journal = {The International Journal of Robotics Research},
  volume  = {18}, number = {1}, pages = {116--124}, year = {1999}
}""",
    "saha1999jam": """@article{saha1999jam,
  author  = {Saha, Subir Kumar},
  title   = {Dynamics of Serial Multibody Systems Using the Decoupled Natural Orthogonal Complement Matrices},
  journal = {Journal of Applied Mechanics},
  volume  = {66}, number = {4}, pages = {986--996}, year = {1999}
}""",
    "singh2022": """@article{singh2022,
  author  = {Singh, Shubham and Russell, Ryan P. and Wensing, Patrick M.},
  title   = {Efficient Analytical Derivatives of Rigid-Body Dynamics Using Spatial Vector Algebra},
  journal = {IEEE Robotics and Automation Letters},
  volume  = {7}, number = {2}, pages = {1776--1783}, year = {2022}
}""",
    "singh2023": """@misc{singh2023,
  author = {Singh, Shubham and Russell, Ryan P. and Wensing, Patrick M.},
  title  = {On Second-Order Derivatives of Rigid-Body Dynamics: Theory and Implementation},
  note   = {arXiv:2302.06001}, year = {2023}
}""",
    "thornton1976": """@phdthesis{thornton1976,
  author  = {Thornton, Catherine L.},
  title   = {Triangular Covariance Factorizations for {K}alman Filtering},
  school  = {University of California, Los Angeles}, year = {1976}
}""",
    "umetani1989": """@article{umetani1989,
  author  = {Umetani, Yoji and Yoshida, Kazuya},
  title   = {Resolved Motion Rate Control of Space Manipulators with Generalized {J}acobian Matrix},
  journal = {IEEE Transactions on Robotics and Automation},
  volume  = {5}, number = {3}, pages = {303--314}, year = {1989}
}""",
    "walker1982": """@article{walker1982,
  author  = {Walker, Michael W. and Orin, David E.},
  title   = {Efficient Dynamic Computer Simulation of Robotic Mechanisms},
  journal = {Journal of Dynamic Systems, Measurement, and Control},
  volume  = {104}, number = {3}, pages = {205--211}, year = {1982}
}""",
}

WHERE: dict[str, list[tuple[str, str]]] = {
    "newton-euler": [("angeles", "algorithms 7.4.1 and 7.4.2, eqs. (7.25)-(7.40), (7.44)")],
    "denoc": [
        (
            "saha1999jam",
            "section 5.1 (RIDIM), eqs. (12)-(17), (24), (28)-(32); section 5.2 (RFDSIM), eqs. (33)-(37), (46)-(55)",
        )
    ],
    "complement": [("angeles", "section 7.5, eqs. (7.47)-(7.58)"), ("angeles1988", "forward dynamics with Cholesky")],
    "operators": [("kozlowski1995", "eqs. (12), (22)-(25), (38), Table 1"), ("rodriguez1987", "the operators")],
    "composite": [("saha1999jam", "eqs. (23b), (24)"), ("walker1982", "method 3")],
    "udu": [("saha1999jam", "appendix B, eqs. (40)-(55)")],
    "articulated": [("featherstone1983", "the articulated-body method")],
    "kalman": [("rodriguez1987", "filter and smoother"), ("kozlowski1993", "their cost")],
    "inverse-inertia": [("saha1999ijrr", "section 5.2, eqs. (32)-(41)")],
    "elimination": [("saha1999ijrr", "sections 5 and 6, eqs. (33), (36), (39), (45)-(48)")],
    "normalized": [("kozlowski1995", "eqs. (28), (40)-(42), (47), (48), section 6"), ("jain1995", "the equations")],
    "unnormalized": [("kozlowski1995", "eqs. (34), (36), (44)-(46), section 6"), ("jain1995", "the equations")],
    "fewest": [("balafoutis1991", "the angular acceleration matrix"), ("gautier1990", "base parameters")],
    "composite-udu": [("saha1999jam", "eqs. (23b), (24), (55)"), ("gautier1990", "base parameters")],
    "composite-regrouped": [("saha1999jam", "eqs. (23b), (24)"), ("gautier1990", "base parameters")],
    "articulated-regrouped": [("featherstone1983", "articulated bodies"), ("gautier1990", "base parameters")],
    "parallel": [
        ("fijany1995", "the first of O(log n) rounds"),
        ("featherstone1999", "divide and conquer"),
        ("sarkka2021", "steps of a Riccati recursion, joined"),
        ("thornton1976", "the weighted Gram-Schmidt process"),
    ],
    "budget": [("kozlowski1995", "sections 3 and 5, eqs. (38), (39), (48), (49)")],
    "coriolis": [("saha1999jam", "eqs. (25)-(29)")],
    "constraints": [("angeles", "eqs. (7.50)-(7.55)")],
    "mass-factor": [("kozlowski1995", "eqs. (26)-(32)")],
    "centroidal-momentum": [("orin2013", "the centroidal momentum matrix")],
    "derivatives": [
        ("carpentier2018", "the derivatives"),
        ("singh2022", "composite bodies, here in the links' frames"),
    ],
    "second-derivatives": [("singh2023", "the second derivatives, here in the base frame")],
    "generalized-jacobian": [("umetani1989", "the generalized Jacobian matrix")],
    **{f"walker-orin-{k}": [("walker1982", f"method {k}")] for k in (1, 2, 3, 4)},
}

PUBLISHED: dict[Callable[..., Any], str] = {  # of functions without a choice of methods
    bias_torque: "newton-euler",
    gravity_torque: "newton-euler",
    joint_wrenches: "newton-euler",
    budget: "budget",
    udu: "udu",
    coriolis_matrix: "coriolis",
    inverse_inertia_matrix: "inverse-inertia",
    denoc_matrices: "denoc",
    complement_matrices: "constraints",
    constraint_wrenches: "constraints",
    operators: "operators",
    mass_factor: "mass-factor",
    mass_factor_rate: "mass-factor",
    momentum: "centroidal-momentum",
    momentum_matrix: "centroidal-momentum",
    momentum_bias: "centroidal-momentum",
    generalized_jacobian: "generalized-jacobian",
    inverse_dynamics_derivatives: "derivatives",
    forward_dynamics_derivatives: "derivatives",
    inverse_dynamics_second_derivatives: "second-derivatives",
    forward_dynamics_second_derivatives: "second-derivatives",
}


def cite(method: str | QuasiCoordinates) -> Description:
    """BibTeX and equation numbers of a method, as text.

    >>> import linkwise as lw
    >>> print(lw.cite("inverse-inertia"))
    inverse-inertia: section 5.2, eqs. (32)-(41) of saha1999ijrr
    <BLANKLINE>
    @article{saha1999ijrr,
      author  = {Saha, Subir Kumar},
      title   = {Analytical Expression for the Inverted Inertia Matrix of Serial Robots},
      journal = {The International Journal of Robotics Research},
      volume  = {18}, number = {1}, pages = {116--124}, year = {1999}
    }
    """
    name = quasi_name(method) if isinstance(method, QuasiCoordinates) else method
    one_of(name, WHERE, "method")
    sources = WHERE[str(name)]
    lines = [f"{name}: {equations} of {key}" for key, equations in sources]
    return Description("\n\n".join(["\n".join(lines), *(BIBTEX[key] for key, _ in sources)]))


def quasi_name(kind: QuasiCoordinates) -> str:
    return repr(kind).removeprefix("linkwise.")


def published_as(function: Callable[..., Any], arm: Robot, method: str | None = None) -> str | None:
    """What `cite` calls the method by which a public function computes on this robot; None if it has no source."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, QuasiCoordinates):
        return quasi_name(owner)
    if not isinstance(function, Hashable):
        return None
    if has_methods(function):
        return method_name(function, method or inspect.signature(function).parameters["method"].default, arm)
    return PUBLISHED.get(function)
