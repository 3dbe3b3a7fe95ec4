"""The result of `lw.budget`: arrays of terms, their views, tables and plots; and the base class of budgets."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np

from ...equality import ComparesArrays
from ...errors import one_of
from ...lazy import cached_property
from ...printing import Description
from ...robot import Robot
from ...robot.entries import is_symbol
from ...robot.named_arrays import refuse_gradients
from ...symbolic.equations import Intermediates
from ...symbolic.latex.format import check_digits
from .text import VIEWS, JointBudget, Term, groups, has_shared_numbers, joint_latex, term_table, torque_symbol

Array = Any  # of any library

PLOT_TERMS = 6  # terms that a plot names by default
TABLE_TERMS = 12  # terms that a table lists by default


class BudgetBase(ComparesArrays, ABC):
    """The common base of budgets: `total` (..., n), the sum of `values` (..., n, terms), each with a label."""

    robot: Robot
    t: np.ndarray | None
    views: tuple[str, ...] = VIEWS

    @property
    @abstractmethod
    def what(self) -> str:
        """The totals, in words."""

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The symbol of a total."""

    @property
    @abstractmethod
    def total(self) -> Array:
        """The sums of the terms: (..., n)."""

    @property
    @abstractmethod
    def values(self) -> np.ndarray:
        """The terms: (..., n, terms)."""

    @abstractmethod
    def groups(self, by: str) -> dict[str, list[int]]:
        """The labels of a view, and the columns of the terms that each adds up."""

    def units(self) -> tuple[str, ...]:
        return self.robot.effort_units

    def limits(self) -> Sequence[float]:
        """The limits of the totals' magnitudes; infinite without a limit."""
        return [limit or math.inf for limit in self.robot.effort_limits]  # some files have zero for none

    def through(self, k: int, by: str) -> dict[str, str]:
        """By label: the first link of the composite body that passes a term to total k."""
        return {}

    def symbols(self, k: int, by: str) -> dict[str, str]:
        """By label: the term in the paper's LaTeX; empty where joints and links are numbered differently."""
        return {}

    @abstractmethod
    def _with_arrays(self, arrays: Iterable[Array], t: Array | None) -> Self:
        """The same budget with other arrays."""

    def state(self, index: Any) -> Self:
        """The budget of one state of the batch, or of several."""
        if not self.batch and not (isinstance(index, tuple) and not index):
            raise ValueError(
                f"state({index!r}): the budget has no batch of states (expected a budget of several states)"
            )
        np.broadcast_to(0.0, self.batch)[index]  # raises an IndexError unless the index is one of the batch alone
        parts = index if isinstance(index, tuple) else (index,)
        even = all(isinstance(x, (int, np.integer, slice)) for x in parts)
        along = even and (len(parts) < len(self.batch) or isinstance(parts[-1], slice))  # still along a trajectory
        t = self.t[index] if self.t is not None and along else None
        return self._with_arrays((part[index] for part in tuple(cast(Any, self))), t)

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.total.shape[:-1])

    def view(self, by: str = "") -> tuple[tuple[str, ...], np.ndarray]:
        """The labels of a view, and the terms added up by them: (..., n, labels). Views are listed in `views`."""
        groups = self.groups(self._view(by))
        values = self.values
        columns = [values[..., columns].sum(-1) for columns in groups.values()]
        return tuple(groups), np.stack(columns, axis=-1)

    def _view(self, by: str) -> str:
        one_of(by or self.views[0], self.views, "by")
        return by or self.views[0]

    def index_of(self, joint: str | int) -> int:
        """The index of a joint in qd and tau: by number, by its name or that of its link, or as "base.wx"."""
        names = self.robot.v_names
        if not isinstance(joint, str):
            if isinstance(joint, bool) or not -len(names) <= int(joint) < len(names):
                raise ValueError(f"joint is {joint!r} (expected a name, or a whole number below {len(names)})")
            return int(joint) % len(names)
        if joint in names:
            return names.index(joint)
        if joint.isdecimal():
            raise ValueError(f"joint is {joint!r} (expected a name, or a number without quotes: 0 is the first joint)")
        single_joints = [m for m in self.robot.moving if m.coupling is None and m.kind.degrees == 1]
        single = {m.name: int(m.v.start) for m in single_joints}  # by the link
        one_of(joint, [*names, *(name for name in single if name not in names)], "joint")
        return single[joint]

    def place(self, k: int) -> tuple[int, ...]:
        """The index of the state of a batch at which total k is largest."""
        if not math.prod(self.batch):
            raise ValueError(f"the batch {self.batch} has no states (expected at least one)")
        size = np.abs(as_numpy(self.total)[..., k])
        place = int(np.argmax(np.where(np.isnan(size), -1.0, size)))
        return tuple(int(i) for i in np.unravel_index(place, size.shape)) if self.batch else ()

    def peak(self, joint: str | int) -> Any:
        """The budget of one state, that of a batch at which the total of a joint is largest."""
        where = self.place(self.index_of(joint))
        return self.state(where) if self.batch else self

    def joint(self, joint: str | int, *, by: str = "", most: int | None = TABLE_TERMS) -> JointBudget:
        """The terms of one joint, the largest first: of one state, or of the state of a batch with the largest total.

        `most` terms are listed and the others added up; None lists all. `terms` of the result has them all.
        """
        k, view = self.index_of(joint), self._view(by)
        where = self.place(k)
        one = self.state(where) if self.batch else self
        labels, values = one.view(view)
        return JointBudget(
            name=self.robot.v_names[k],
            symbol=self.symbol,
            unit=self.units()[k],
            total=float(as_numpy(one.total)[k]),
            limit=float(self.limits()[k]),
            terms=tuple(zip(labels, map(float, as_numpy(values)[k]), strict=True)),
            through=self.through(k, view),
            when=self._when(where),
            beyond=self._beyond(k),
            most=most,
        )

    def _beyond(self, k: int) -> str:
        """How long a total exceeds its limit along a trajectory; between samples it is a straight line."""
        limit = float(self.limits()[k])
        if self.t is None or len(self.batch) > 1 or not math.isfinite(limit):
            return ""
        over = np.abs(as_numpy(self.total)[:, k]) - limit
        a, b, steps = over[:-1], over[1:], np.diff(self.t)
        with np.errstate(all="ignore"):
            parts = np.where((a > 0) & (b > 0), 1.0, np.where((a > 0) | (b > 0), np.maximum(a, b) / np.abs(a - b), 0.0))
        seconds = float(np.nansum(parts * steps))
        return f"{seconds:.3g} s of {self.t[-1] - self.t[0]:.3g} s" if seconds > 0.0 else ""

    def _when(self, where: tuple[Any, ...]) -> str:
        """The state of a batch, in words."""
        if not self.batch:
            return ""
        state = f"state {', '.join(str(int(i)) for i in where)}"
        if self.t is None:
            return state
        time = f"t = {self.t[where]:g} s"
        return time if len(where) == 1 else f"{state}, {time}"

    def __getitem__(self, key: Any) -> Any:
        """A joint by name; by number, the arrays of the tuple."""
        return self.joint(key) if isinstance(key, str) else tuple.__getitem__(cast(Any, self), key)

    def table(self, *joints: str | int, by: str = "", most: int | None = TABLE_TERMS) -> Description:
        """The terms of each joint, or of some, as tables; along a trajectory at the state with the largest total.

        `by` is one of `views`; `most` terms of each joint are listed and the others added up, None lists all.
        """
        chosen = joints or range(self.robot.n)
        tables = [str(self.joint(k, by=by, most=most)) for k in chosen]
        return Description("\n\n".join([self.title, *tables]))

    def why(self, joint: str | int, *, by: str = "", most: int = 4) -> Description:
        """A sentence that explains why a joint's total is as large as it is, compared with the limit of its drive.

        Along a trajectory it is about the state where the total is largest.
        """
        return Description(self.joint(joint, by=by).why(most))

    @property
    def title(self) -> str:
        count = math.prod(self.batch)
        states = f"{count} states, each joint where it is largest" if self.batch else "one state"
        return f"{self.what} of {self.robot.name}, {states}"

    def __repr__(self) -> str:
        if any(is_symbol(x) for x in as_numpy(self.total).flat):
            return f"<{type(self).__name__} of robot {self.robot.name!r}, with symbols>"
        if not math.prod(self.batch):
            return f"<{type(self).__name__} of robot {self.robot.name!r}: no states>"
        return "\n".join([self.title, *(self.joint(k).sentence(PLOT_TERMS - 2) for k in range(self.robot.n))])

    def columns(self, by: str = "") -> dict[str, np.ndarray]:
        """The terms as columns of a table, a row for each state: "t", then for each joint its total and its terms.

        `pandas.DataFrame(budget.columns())` is a data frame of them.
        """
        labels, values = self.view(by)
        rows = math.prod(self.batch)
        totals, split = as_numpy(self.total).reshape(rows, -1), as_numpy(values).reshape(rows, -1, len(labels))
        columns = {} if self.t is None else {"t": self.t.ravel()}
        for k, name in enumerate(self.robot.v_names):
            columns[f"{name}: {self.symbol}"] = totals[:, k]
            columns |= {f"{name}: {label}": split[:, k, i] for i, label in enumerate(labels)}
        return columns

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        joints: Sequence[str | int] | None = None,
        by: str = "",
        most: int = PLOT_TERMS,
    ) -> Any:
        """A matplotlib figure: the terms of each joint stacked over time, above and below zero.

        The `most` largest terms have colours of their own, the others are added up; the line is the total. `path` is
        the picture file to write.
        """
        from .plot import plot_budget

        return plot_budget(self, path, joints, self._view(by), most)

    def latex(self, *joints: str | int, by: str = "", digits: int = 5, most: int | None = None) -> str:
        """The terms of one state as LaTeX, an aligned display for each joint, the largest first; needs amsmath.

        Each line has the value, the symbol of the paper and the name. With symbols, all terms that are not zero are
        listed, in the robot's order.
        """
        check_digits(digits)
        if self.batch:
            raise ValueError(
                f"latex takes one state (expected budget.state(k) of the batch {self.batch}, or budget.peak(joint))"
            )
        view = self._view(by)
        labels, values = self.view(view)
        chosen = [self.index_of(joint) for joint in joints] if joints else range(self.robot.n)
        named = Intermediates()
        texts = []
        for k in chosen:
            unit, symbols = self.units()[k], self.symbols(k, view)
            texts.append(
                joint_latex(self._latex_symbol(k), labels, values[k].tolist(), unit, digits, most, symbols, named)
            )
        return "\n".join(texts)

    def _latex_symbol(self, k: int) -> str:
        return rf"\tau_{{{k + 1}}}"


class TorqueTerms(NamedTuple):
    acceleration: Array  # (..., n, n)
    bias_acceleration_terms: Array  # (..., n, terms)
    bias_force_terms: Array  # (..., n, terms)
    gravity: Array  # (..., n, links)
    wrench: Array  # (..., n, links)
    rotor: Array  # (..., n)
    viscous: Array  # (..., n)
    coulomb: Array  # (..., n)
    base: Array  # (..., n)


class Budget(BudgetBase, TorqueTerms):
    """The terms of each joint's torque: a tuple of arrays with names, and views of them.

    `acceleration` [..., k, j] is the share of joint j's acceleration in torque k; `bias_acceleration`, `bias_force`,
    `gravity` and `wrench` [..., k, m] that of link `robot.names[m]`. `rotor`, `viscous` (with quadratic friction) and
    `coulomb` (all dry friction) are of the joint itself; the last two add up to `friction`. `base` is of the motion of
    the base. `centrifugal` (..., n, n) and `coriolis` (..., n, n, n), each pair of joints once, are the bias
    accelerations and forces by joint. All of them add up to `tau`. `terms` are the finest terms, `values` (..., n,
    terms) their torques. `budget["joint2"]` is one joint; `table()`, `why()`, `plot()`, `latex()` and `columns()` show
    it by joints, links, terms or kinds of terms. The difference of two budgets, of an arm with and without its payload,
    is a budget too.
    """

    what, symbol = "torques", "tau"

    def __new__(cls, *arrays: Array, robot: Robot | None = None, t: Array | None = None) -> Budget:
        budget = super().__new__(cls, *arrays)
        if robot is not None:  # a copy gets its attributes later
            budget.robot, budget.t = robot, check_times(t, tuple(budget.rotor.shape[:-1]))
        return budget

    @cached_property
    def tau(self) -> Array:
        """The sum of all terms: (..., n)."""
        acceleration, a, b, gravity, wrench, rotor, viscous, coulomb, base = tuple(self)
        sums = acceleration.sum(-1) + a.sum(-1) + b.sum(-1) + gravity.sum(-1) + wrench.sum(-1)
        return sums + rotor + viscous + coulomb + base

    @property
    def friction(self) -> Array:
        """(..., n)"""
        return self.viscous + self.coulomb

    @property
    def total(self) -> Array:
        return self.tau

    @property
    def terms(self) -> tuple[Term, ...]:
        return term_table(self.robot).terms

    @property
    def values(self) -> np.ndarray:
        parts = [as_numpy(part) for part in tuple(self)]
        return np.concatenate([*parts[:5], *(part[..., None] for part in parts[5:])], axis=-1)

    @property
    def bias_acceleration(self) -> np.ndarray:
        """(..., n, links)"""
        return self._by_link(self.bias_acceleration_terms, term_table(self.robot).accelerations)

    @property
    def bias_force(self) -> np.ndarray:
        """(..., n, links)"""
        return self._by_link(self.bias_force_terms, term_table(self.robot).forces)

    def _by_link(self, terms: Array, keys: Mapping[tuple[int, int, int], int]) -> np.ndarray:
        values = as_numpy(terms)
        out = np.zeros((*values.shape[:-1], len(self.robot.names)), dtype=values.dtype)
        for (m, _, _), column in keys.items():
            out[..., m] = out[..., m] + values[..., column]
        return out

    @cached_property
    def _by_rates(self) -> np.ndarray:
        """(..., n, n, n): bias accelerations and forces by the joints i ≤ j whose rates they are of."""
        table, n = term_table(self.robot), self.robot.n
        accelerations, forces = as_numpy(self.bias_acceleration_terms), as_numpy(self.bias_force_terms)
        out = np.zeros((*self.batch, n, n, n), dtype=forces.dtype)
        for values, keys in ((accelerations, table.accelerations), (forces, table.forces)):
            for (_, i, j), column in keys.items():
                out[..., i, j] = out[..., i, j] + values[..., column]
        return out

    @property
    def centrifugal(self) -> np.ndarray:
        """(..., n, n): [..., k, i] of the square of joint i's rate."""
        diagonal = range(self.robot.n)
        return self._by_rates[..., diagonal, diagonal]

    @property
    def coriolis(self) -> np.ndarray:
        """(..., n, n, n): [..., k, i, j] of the product of two rates, i < j; zeros elsewhere."""
        return self._by_rates * np.triu(np.ones((self.robot.n, self.robot.n)), 1)

    def groups(self, by: str) -> dict[str, list[int]]:
        return groups(self.terms, by)

    def through(self, k: int, by: str) -> dict[str, str]:
        table, links = term_table(self.robot), dict[str, str]()
        for label, columns in self.groups(by).items():
            term = self.terms[columns[0]]
            accelerated = term.what == "acceleration" and by != "kinds"
            if accelerated or (term.what == "bias acceleration" and by in ("links", "terms")):
                links[label] = table.through(k, term)
        return {label: link for label, link in links.items() if link}

    def symbols(self, k: int, by: str) -> dict[str, str]:
        if by == "kinds" or not has_shared_numbers(self.robot):
            return {}
        first = {label: self.terms[columns[0]] for label, columns in self.groups(by).items()}
        return {label: torque_symbol(self.robot, k, term, by) for label, term in first.items()}

    def __sub__(self, other: Any) -> Budget:
        """The budget of the difference to another robot with the same joints and links, such as a payload."""
        if not isinstance(other, Budget):
            return NotImplemented
        if self.terms != other.terms:
            raise ValueError(
                f"the budgets are of {self.robot.name!r} and {other.robot.name!r}, whose joints or links differ"
            )
        if self.batch != other.batch:
            raise ValueError(f"the budgets are of batches {self.batch} and {other.batch} (expected the same states)")
        return self._with_arrays((a - b for a, b in zip(tuple(self), tuple(other), strict=True)), self.t)

    def _with_arrays(self, arrays: Iterable[Array], t: Array | None) -> Budget:
        return Budget(*arrays, robot=self.robot, t=t)


def as_numpy(array: Array) -> np.ndarray:
    """The array as a NumPy array, without its gradient."""
    plain = array.detach().cpu() if hasattr(array, "detach") else array
    refuse_gradients("the budget", plain)
    return np.asarray(plain)


def check_times(t: Array | None, batch: tuple[int, ...]) -> np.ndarray | None:
    if t is None:
        return None
    refuse_gradients("t", t)
    values = np.asarray(t, dtype=float)
    if values.shape == batch and batch:
        return values
    if not batch or values.shape != batch[-1:]:
        along = f", or for those of each trajectory {batch[-1:]}" if len(batch) > 1 else ""
        raise ValueError(f"t has shape {values.shape} (expected one time for each of the states {batch}{along})")
    return np.broadcast_to(values, batch)
