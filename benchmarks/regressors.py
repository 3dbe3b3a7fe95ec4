"""Regressors beside Pinocchio: one call and a batch.

python benchmarks/regressors.py [--states 1024] [--rounds 5] [--processes 3]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from arms import Arm, arms
from contestants import FUNCTION, KERNEL, KERNEL_OUT
from report import Race, Section, against, at_least, race_tables, wins
from timing import Contestant, agree, interleaved, one_core, optional, pooled, raced

import linkwise as lw

ONE, MANY = "one call", "a batch"
CALL, LOOP, BASE = "Pinocchio", "Pinocchio, Python loop", "Linkwise kernel, base parameters"
TASK = "regressor"
THEIRS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # where their ten numbers of a link are in ours
INPUTS = "q, qd, qdd"
ABOUT = (
    "The torques as a matrix times the parameters of the robot, `lw.regressor`. Pinocchio:"
    " `pin.computeJointTorqueRegressor`, which has no columns of rotors; of those, Linkwise has one for each joint."
    " Three processes of five rounds, each pinned to one core where the platform allows it, `LINKWISE_THREADS=1`."
)
REMARKS = [
    "Pinocchio has no batched regressor: the batch is a loop in Python, whose results are not kept. Those of Linkwise"
    " are, 4.3 kB a state for the Panda, in new memory or, with `out=`, in the same.",
    "The kernel for base parameters has the columns of these, which Pinocchio does not have.",
]


def in_their_order(regressor: Any) -> np.ndarray:
    """The columns of the bodies, as Pinocchio has them."""
    Y = np.asarray(regressor)
    n = Y.shape[-2]
    bodies = Y[..., : 10 * n].reshape(*Y.shape[:-1], n, 10)
    return bodies[..., THEIRS].reshape(*Y.shape[:-1], 10 * n)


def linkwise(arm: Arm, x: dict[str, np.ndarray]) -> list[Contestant]:
    kernel, base = lw.compile(lw.regressor, arm.robot), lw.compile(lw.regressor, arm.robot, base=True)
    with lw.use_kernels("always"):
        out = lw.regressor(arm.robot, x["q"], x["qd"], x["qdd"])
    names = {**x, "kernel": kernel, "base": base, "lw": lw, "arm": arm.robot, "out": out, "same": in_their_order}
    ours = f"same(kernel({INPUTS}))"
    return [
        Contestant(KERNEL, f"kernel({INPUTS})", names, ours),
        Contestant(KERNEL_OUT, f"kernel({INPUTS}, out=out)", names, "same(out)"),
        Contestant(FUNCTION, f"lw.regressor(arm, {INPUTS})", names, f"same(lw.regressor(arm, {INPUTS}))"),
        Contestant(BASE, f"base({INPUTS})", names, ours),
    ]


def pinocchio(arm: Arm, x: dict[str, np.ndarray], label: str) -> list[Contestant]:
    if arm.pinocchio is None:
        return []
    compute = optional("pinocchio").computeJointTorqueRegressor  # type: ignore[union-attr]
    names = {**x, "f": compute, "model": arm.pinocchio, "data": arm.pinocchio.createData(), "np": np}
    if label == CALL:
        return [Contestant(label, f"f(model, data, {INPUTS})", names)]
    loop = f"[{{}} for x in zip({INPUTS})]"
    each = loop.format("np.array(f(model, data, *x))")
    return [Contestant(label, loop.format("f(model, data, *x)"), names, f"np.array({each})")]


def raw(states: int = 1024, rounds: int = 5) -> dict[str, dict[str, Race]]:
    """Seconds by what is measured and robot: for one call, and for one state of a batch."""
    races: dict[str, dict[str, Race]] = {ONE: {}, MANY: {}}
    with one_core():
        for arm in arms():
            many = {name: array for name, array in arm.states(states).items() if name != "tau"}
            one = {name: array[0] for name, array in many.items()}
            for kind, x, label, size in ((ONE, one, CALL, 1), (MANY, many, LOOP, states)):
                entered = linkwise(arm, x) + pinocchio(arm, x, label)
                agree(entered, 1e-9)
                times = interleaved(entered, rounds)
                races[kind][arm.label] = {TASK: {label: [t / size for t in each] for label, each in times.items()}}
    return races


def measure(states: int = 1024, rounds: int = 5, processes: int = 3) -> Section:
    options = {"states": states, "rounds": rounds}
    races = pooled(__file__, processes, **options) if processes else raw(**options)
    section = Section("Regressors", "python benchmarks/regressors.py", ABOUT)
    for kind, what in ((ONE, "call"), (MANY, "state of a batch")):
        for arm, race in races[kind].items():
            section.tables += race_tables(arm, race, what, KERNEL)
        section.remarks += wins(races[kind], [KERNEL, FUNCTION])
    section.remarks += REMARKS
    ratio = against(races[ONE], TASK, CALL, FUNCTION)
    section.claims.append(at_least("a regressor, one call: at least 2 × `pin.computeJointTorqueRegressor`", 2.0, ratio))
    ratio = against(races[MANY], TASK, LOOP, KERNEL_OUT)
    text = f"a regressor, a batch of {states:,}: at least 5 × `pin.computeJointTorqueRegressor` in a loop"
    section.claims.append(at_least(text, 5.0, ratio))
    return section


if __name__ == "__main__":
    raced(__doc__, raw, measure, states=1024, rounds=5, processes=3)
