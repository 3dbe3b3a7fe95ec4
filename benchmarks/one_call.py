"""One state, one call from Python on NumPy arrays: how long does it take?

python benchmarks/one_call.py [--rounds 11]
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from arms import Arm, arms
from contestants import CALL, CASADI_CALL, FD, FUNCTION, ID, KERNEL, PEERS, PLAIN, TASKS, M, Task, one_state
from timing import ROUNDS, Section, Table, Times, agree, at_least, command, interleaved, one_core, ratios, spread

ABOUT = (
    "Arrays (n,) in, a new array out; pinned to one core. The kernel is `lw.compile(function, arm)`, in hand; the"
    " function is `lw.inverse_dynamics(arm, q, qd, qdd)` itself, after it has been compiled for this robot."
)
REMARKS = [
    "Pinocchio: `pin.rnea(model, data, q, qd, qdd)` and so on, with `data` made before. MuJoCo: the state is set,"
    " computed with contacts and constraints off, and copied out.",
    "CasADi's C is entered by ctypes without arguments: the same arrays again and again, nothing checked, converted or"
    " allocated. Not like for like; a user's new state would first have to be copied into the bound arrays.",
    "The plain text runs until a function has been called 32 times, or where the numbers are not NumPy's.",
]
Found = dict[Task, dict[str, Times]]


def race(arm: Arm, rounds: int, peers: Sequence[str]) -> Found:
    """Seconds for one call."""
    found: Found = {}
    for task in TASKS:
        entered = one_state(arm, task, peers)
        agree(entered, 1e-9)
        found[task] = interleaved(entered, rounds)
    return found


def tables(arm: Arm, found: Found) -> list[Table]:
    labels = list(dict.fromkeys(label for each in found.values() for label in each))
    header = [arm.label, *(task.label for task in found)]
    times = [
        [label, *(spread(each[label], 1e9) if label in each else "" for each in found.values())] for label in labels
    ]
    slower = [
        [label, *(spread(ratios(each[label], each[KERNEL])) if label in each else "" for each in found.values())]
        for label in labels
        if label not in (KERNEL, PLAIN)
    ]
    return [
        Table(f"{arm.label}, {arm.robot.n} joints, nanoseconds for one call:", header, times),
        Table(f"{arm.label}, how many times as long as the Linkwise kernel:", header, slower),
    ]


def wins(everything: dict[str, Found]) -> list[str]:
    """Where a peer is faster."""
    said = []
    for name, found in everything.items():
        for label in dict.fromkeys(label for each in found.values() for label in each if label[:8] != "Linkwise"):
            for ours, words in ((KERNEL, "the kernel"), (FUNCTION, "the function")):
                where = [t.label for t, x in found.items() if label in x and median(x, label) < median(x, ours)]
                if where:
                    said.append(f"**{label}, is faster** than {words}, {name}: {', '.join(where)}.")
    return said or ["No peer is faster than the kernel or the function at anything in these tables."]


def median(times: dict[str, Times], label: str) -> float:
    return statistics.median(times[label])


def measure(rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Section:
    section = Section("One call", "python benchmarks/one_call.py", ABOUT)
    with one_core():
        everything = {arm.label: (arm, race(arm, rounds, peers)) for arm in arms()}
    for arm, found in everything.values():
        section.tables += tables(arm, found)
    times = {label: found for label, (_, found) in everything.items()}
    section.remarks = [*wins(times), *REMARKS]
    if CASADI_CALL not in str(section.tables):
        section.remarks.remove(REMARKS[1])
    for task in (ID, FD, M):
        for ours, words in ((KERNEL, "the kernel"), (FUNCTION, "the function")):
            ratio = {
                name: ratios(found[task][CALL], found[task][ours])
                for name, found in times.items()
                if CALL in found[task]
            }
            section.claims.append(at_least(f"{task.label}, {words}: at least 4 × `pin.{task.pinocchio}`", 4.0, ratio))
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, None, rounds=ROUNDS)))
