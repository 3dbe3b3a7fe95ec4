"""`explain`: the intermediates of one state by name, as numbers, text, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..api.functions import refuse_coupled
from ..api.quasi import check_quasi_robot
from ..api.singular import explain_division_by_zero
from ..api.states import Array, States
from ..api.torque_functions import host_array
from ..equality import ComparesArrays
from ..errors import near_miss
from ..printing import Description, align_columns, notebook_html
from ..robot import Robot
from ..robot.named_arrays import refuse_gradients
from ..robot.symbols import is_expression, mass_symbols
from ..symbolic.equations import as_sympy
from ..symbolic.latex.format import check_digits
from .definitions import DEFINITIONS, NEEDED, hint
from .identities import is_sympy, with_identities
from .quantities import Quantity, Rounded, quantities, rounded_robot
from .sheets import Sheet, Symbols


class OfLinks(dict[Any, Any]):
    """Values by links: by their names, or by those of their joints' rates ("wrist.wz") where these differ."""

    def __init__(self, values: Mapping[Any, Any], robot: Robot) -> None:
        super().__init__(values)
        self.robot = robot

    def __missing__(self, key: Any) -> Any:
        names = dict(zip(self.robot.v_names, (link.name for link in self.robot.links), strict=True))
        other = tuple(names.get(x, x) for x in key) if isinstance(key, tuple) else names.get(key, key)
        if other in self:
            return self[other]
        known = [name if isinstance(name, str) else ", ".join(name) for name in self]
        word = ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        text = f"{word!r} has no value{near_miss(word, known)} (expected one of {', '.join(map(repr, known))})"
        raise KeyError(Description(text))


class Explanation(ComparesArrays, Mapping[str, Any]):
    """The intermediates by name.

    `e["U"]` is an array; `e["psi"]["link3"]` and `e["B"]["link2", "link1"]` belong to links. `print(e)` shows all,
    the prompt lists the names, a notebook shows all of them folded; `text(...)`, `latex(...)` and `html(...)` show
    selected ones.
    """

    def __init__(self, robot: Robot, quantities: Iterable[Quantity], symbols: Symbols | None = None) -> None:
        self.robot, self.symbols = robot, symbols or Symbols()
        self.quantities = {quantity.name: quantity for quantity in quantities}

    def __getitem__(self, name: str) -> Any:
        if name not in self.quantities:
            raise KeyError(Description(self._absence(name)))
        values = self.quantities[name].values
        if () in values:
            return as_array(values[()])
        names = [link.name for link in self.robot.links]
        by_link = {
            (names[key[0]] if len(key) == 1 else tuple(names[i] for i in key)): as_array(v) for key, v in values.items()
        }
        return OfLinks(by_link, self.robot)

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        rows = [["name", "symbol", "paper, equation", "what it is"], *self.contents()]
        head = f"{len(self)} quantities of {self.robot.name}; their values: e[name], e.text(name, ...), print(e)"
        return "\n".join([head, "", *align_columns(rows)])

    def contents(self) -> list[list[str]]:
        """Name, symbol, source and meaning of each quantity."""
        return [
            [x.name, x.symbol, f"{x.source} {x.equation}", x.meaning.split(";")[0]] for x in self.quantities.values()
        ]

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def _absence(self, name: str) -> str:
        """Why there is no such quantity: what it needs, or that there is none of this name."""
        if name not in DEFINITIONS:
            return f"{name!r} is no quantity{hint(name)} (expected one of {', '.join(self.quantities)})"
        definition, robot = DEFINITIONS[name], self.robot
        if not definition.rotors and any(link.joint.has_rotor for link in robot.links):
            return f"{name!r} of robot {robot.name!r} needs links without rotor inertia: robot.without_rotors()"
        if definition.needs:
            return f"{name!r} needs {NEEDED[definition.needs]} in the call of lw.explain"
        return f"{name!r} of robot {robot.name!r} has no value"

    def _select(self, names: tuple[str, ...]) -> list[Quantity]:
        for name in names:
            if name not in self.quantities:
                raise ValueError(self._absence(name))
        return [self.quantities[name] for name in names or self.quantities]

    def text(self, *names: str, digits: int = 5) -> str:
        """As readable text; without names, everything. Intermediates of expressions are numbered through."""
        return self._sheet(digits).text(self._select(names))

    def latex(self, *names: str, digits: int = 5) -> str:
        """As LaTeX, display equations with their sources; needs amsmath.

        With symbols, common subexpressions come first, each with a name of its own. A stacked matrix is an equation of
        its blocks, which follow.
        """
        return self._sheet(digits).latex(self._select(names))

    def html(self, *names: str, digits: int = 5) -> str:
        """As HTML that folds: one heading for each quantity, which opens to its values."""
        return self._sheet(digits).html(self._select(names))

    def _sheet(self, digits: int) -> Sheet:
        check_digits(digits)
        return Sheet(self.robot, self.symbols, digits)


def explain(
    robot: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None, tau: Array | None = None
) -> Explanation:
    """Every intermediate of the four papers for one state, by name and by link, with its equation and source.

    With q: Saha's B, p, M, M̃, M̂, ψ̂, m̂, ψ, N_l, N_d, I, E_k, L_k, U, D, M̂_ik, U⁻¹, I⁻¹, Angeles' K and T,
    Kozłowski's P, D, G, r and his operators. With qd the rates: Ω, Ṁ, Ḃ, H̃, M̃', C, Ṫ, ω, both columns of
    Kozłowski's Table 1, V, λ̇, a, b, ν, ξ, C(θ,ν), C(θ,ξ) and their elements c_ki. With qdd inverse dynamics: ν, ξ, γ
    of RIDIM (`"ridim_nu"`, ...), w^A, w^G, w^D, w^C, λ, τ and its terms (`lw.budget`). With tau forward dynamics: φ, τ̂,
    η, τ̃, μ of RFDSIM, filter and smoother. `linkwise explain ROBOT` lists the names.

    A joint of several degrees of freedom is several links, those without a body named after it ("base.vx"); a ball
    joint is three, about the body's x, y and z, whose frames turn with the body. Rates are those along the motion, of
    such joints too. c_nu has the elements (48); for c_xi the paper refers to them too, but means them times D^½ on both
    sides.

    A number below 32 standard deviations of its rounding error is shown as 0, and so is what is zero for every state.
    The error is estimated with the number, from independent roundings of the largest possible size, those of
    the state and the robot included. Such a number usually has no correct digit. A few have some, for the state as it
    is stored: differences of much larger terms, or multiples of these. With symbols, expressions that are zero at three
    random points, to about 14 digits each, are 0, and expressions that are equal there are all written as the shortest
    of them, M̂ of a tip as M (identity testing). Numbers below 1e-13 of the largest of a closed form are left out.

    Parameters
    ----------
    robot : Robot
        It may be made of symbols.
    q : array_like, (nq,)
    qd, qdd : array_like, (n,), optional
        Numbers, or symbols of `lw.symbols` or SymPy.
    tau : array_like, (n,), optional
        Joint torques and forces, N m and N, for the quantities of forward dynamics; needs qd.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        A batch of states; qdd or tau without qd; coupled joints.
    KeyError
        By `e["phi"]`, where tau was not given; the message says so.

    Examples
    --------
    >>> import linkwise as lw
    >>> e = lw.explain(lw.load("planar3"), q=[0, 0, 0], qd=[0, 0, 0], tau=[1, 0, 0])
    >>> print(e.text("m_hat"))
    m̂_i   articulated inertia along joint i, p_i · ψ̂_i, the rotor's with it   [saha1999jam, (47)]
      link1: 0.02508
      link2: 0.013021
      link3: 0.00484
    >>> print("\\n".join(e.text("N_l").splitlines()[1:6]))
      1     0     0
      B_21  1     0
      B_31  B_32  1
      B_21: 1  0      0  0  0  0
            0  1      0  0  0  0
    >>> e["qdd"].round(3)
    array([ -2.606, -45.062,  67.366])
    """
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    arrays = {name: value for name, value in given.items() if value is not None}
    for name in ("qdd", "tau"):
        if name in arrays and qd is None:
            raise ValueError(f"{name} is given without qd (expected both, or neither)")
    for name, value in arrays.items():
        refuse_gradients(name, value)
    states = States(robot, {name: host_array(name, value) for name, value in arrays.items()})
    if states.batch:
        expected = f"q ({robot.nq},)" if robot.nq != robot.n else f"arrays of shape ({robot.n},)"
        raise ValueError(f"explain takes one state (expected {expected}, not a batch {states.batch})")
    refuse_coupled(robot, "the intermediates of the formulations")
    if qd is not None:
        check_quasi_robot(robot)
    with np.errstate(all="ignore"), explain_division_by_zero(states):
        computed, values = scalars_of(robot, states)
        return Explanation(
            robot, with_identities(computed, values, quantities(computed, **values)), symbols_of(robot, values)
        )


def scalars_of(robot: Robot, states: States) -> tuple[Robot, dict[str, list[Any]]]:
    """Numbers with their rounding errors; SymPy's expressions where one is SymPy's; others as they are."""
    values = {name: states.scalars(name) for name in states.arrays}
    if states.numeric and not robot.non_floats:
        rounded = {name: [Rounded.of(x) for x in array] for name, array in values.items()}
        return rounded_robot(robot), rounded
    if any(is_sympy(x) for array in values.values() for x in array):
        robot = robot.mapped(lambda x: as_sympy(x) if is_expression(x) else x)
        return robot, {name: [as_sympy(x) if is_expression(x) else x for x in array] for name, array in values.items()}
    return robot, values


def symbols_of(robot: Robot, state: Mapping[str, list[Any]]) -> Symbols:
    """The symbols of masses and, by name, those that are the numbers of the state."""
    places = {
        x.payload[0]: (array, k)
        for array, values in state.items()
        for k, x in enumerate(values)
        if is_expression(x) and x.op == "input"
    }
    return Symbols(frozenset(mass_symbols(robot)), places)


def as_array(value: Any) -> Any:
    array = np.array(value)
    return array[()] if array.dtype == object else array.astype(float)[()]
