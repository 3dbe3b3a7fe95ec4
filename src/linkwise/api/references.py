"""The publication and the equations of each method. The BibTeX is in references.bib."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import resources
from typing import Any

from ..errors import one_of
from ..printing import Description
from ..robot import Robot
from .method_table import has_methods, method_name
from .quasi import QuasiCoordinates

SOURCES: dict[str, list[tuple[str, str]]] = {
    "newton-euler": [("angeles", "algorithms 7.4.1 and 7.4.2, eqs. (7.25)-(7.40), (7.44)")],
    "newton-euler-centres": [
        (
            "angeles",
            "algorithms 7.4.1 and 7.4.2 as printed, eqs. (7.23), (7.24), (7.26), (7.32)-(7.44), Tables 7.1, 7.2",
        )
    ],
    "denoc": [
        (
            "saha1999jam",
            "section 5.1 (RIDIM), eqs. (12)-(17), (24), (28)-(32); section 5.2 (RFDSIM), eqs. (33)-(37), (46)-(55)",
        )
    ],
    "denoc-centres": [("saha1999jam", "section 5.1 (RIDIM) as printed, eqs. (4), (8), (13), (15), (30), (32)")],
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
    "constrained-dynamics": [
        ("gauss1829", "the principle of least constraint"),
        ("lilly1993", "the inertia of the task"),
        ("khatib1987", "operational space"),
        ("jain1995", "velocities in which distance is kinetic energy"),
    ],
    "constraints": [("angeles", "eqs. (7.50)-(7.55)")],
    "curvature": [("kozlowski1995", "section 1: the condition"), ("spong1992", "quasi-velocities that are integrable")],
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


def bibtex() -> dict[str, str]:
    """The entries by their keys."""
    text = resources.files(__package__).joinpath("references.bib").read_text(encoding="utf-8")
    return dict(re.findall(r"(?=@\w+{(\w+),)(.+?\n})\n", text, re.S))


def cite(method: str | QuasiCoordinates) -> Description:
    """BibTeX and equation numbers of a method, as text.

    Parameters
    ----------
    method : str or QuasiCoordinates
        A name of `lw.methods` or of another source (an error lists all), or `lw.formulations.normalized` or
        `unnormalized`.

    Returns
    -------
    Description

    Examples
    --------
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
    one_of(name, SOURCES, "method")
    sources = SOURCES[str(name)]
    entries = bibtex()
    lines = [f"{name}: {equations} of {key}" for key, equations in sources]
    return Description("\n\n".join(["\n".join(lines), *(entries[key] for key, _ in sources)]))


def quasi_name(kind: QuasiCoordinates) -> str:
    return repr(kind).rpartition(".")[2]


def published_as(function: Callable[..., Any], robot: Robot, method: str | None = None) -> str | None:
    """The name by which `cite` knows the method of a public function on this robot; None without a source."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, QuasiCoordinates):
        return quasi_name(owner)
    if has_methods(function):
        return method_name(function, method or inspect.signature(function).parameters["method"].default, robot)
    return getattr(function, "published", None)
