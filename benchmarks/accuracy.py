"""Who is closer to the truth? Kernels, plain text and Pinocchio against 50 digits.

python benchmarks/accuracy.py [--states 200]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from arms import arms, of_robot
from contestants import FD, PEERS, SYMMETRIC, TASKS, Task, plain, whole
from precision import errors
from report import Section, Table, number
from timing import command, optional

import linkwise as lw

DIGITS = 50
UNIT = 2.0**-53
ABOUT = (
    f"The truth is the plain text on mpmath numbers of {DIGITS} digits, of the very same robot and states: Pinocchio's"
    " model is made from Linkwise's numbers here. For each state, the largest error over the largest number, in units"
    " of 2⁻⁵³ (half a unit in the last place of 1): the median over the states and the worst. The last column counts"
    " the states in which the kernel is at least as near to the truth as Pinocchio."
)
CASES: list[tuple[Task, dict[str, str]]] = [(task, {}) for task in TASKS]
CASES.insert(2, (FD, {"method": "articulated"}))
REMARK = (
    "Forward dynamics is compiled by the method with the fewest operations unless another is named, which may solve"
    ' with the inertia matrix; `method="articulated"` does not: both are in the table.'
)


def exact(function: Callable[..., Any], arm: lw.Robot, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """50 digits, rounded to a double at the end."""
    mpmath = optional("mpmath")
    with mpmath.workdps(DIGITS):
        number_of = np.frompyfunc(mpmath.mpf, 1, 1)
        return np.asarray(function(arm.cast(mpmath.mpf), *map(number_of, arrays)), dtype=float)


def theirs(task: Task, model: Any, arrays: Sequence[np.ndarray]) -> np.ndarray:
    data, f = model.createData(), getattr(optional("pinocchio"), task.pinocchio)
    found = [np.array(f(model, data, *state)) for state in zip(*arrays, strict=True)]
    return np.array([whole(each) for each in found] if task.pinocchio in SYMMETRIC else found)


def measure(states: int = 200, peers: Sequence[str] = PEERS) -> Section:
    section = Section("Accuracy", "python benchmarks/accuracy.py", ABOUT)
    if optional("mpmath") is None:
        section.remarks.append("mpmath is not installed: not measured.")
        return section
    rows, behind = [], []
    for arm in arms():
        model = of_robot(arm.label, arm.robot).pinocchio if "pinocchio" in peers else None
        given = arm.states(states)
        for task, options in CASES:
            arrays = [given[name] for name in task.inputs]
            truth = exact(task.function, arm.robot, arrays)
            kernel = errors(lw.compile(task.function, arm.robot, **options)(*arrays), truth) / UNIT
            text = errors(plain(task.function, arm.robot, *arrays), truth) / UNIT
            label = ", ".join([arm.label, task.label, *options.values()])
            row = [label, said(kernel), said(text)]
            if model is not None:
                pinocchio = errors(theirs(task, model, arrays), truth) / UNIT
                row += [said(pinocchio), f"{np.mean(kernel <= pinocchio):.0%}"]
                if np.median(kernel) > 1.1 * np.median(pinocchio):
                    behind.append(f"{label} ({number(float(np.median(kernel) / np.median(pinocchio)))} ×)")
            rows.append([*row, *[""] * (5 - len(row))])
    header = ["", "kernel", "plain text", "Pinocchio", "kernel nearer"]
    section.tables = [Table(f"{states} states; median, worst:", header, rows)]
    if behind:
        section.remarks.append(f"**Pinocchio's median error is smaller** by more than a tenth at {'; '.join(behind)}.")
    section.remarks.append(REMARK)
    return section


def said(values: np.ndarray) -> str:
    return f"{number(float(np.median(values)))}, {number(float(values.max()))}"


if __name__ == "__main__":
    print(measure(**command(__doc__, states=200)))
