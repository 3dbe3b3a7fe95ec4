"""One state, one call from Python on NumPy arrays: how long does it take?

python benchmarks/one_call.py [--rounds 5] [--processes 5]
"""

from __future__ import annotations

from collections.abc import Sequence

from arms import arms
from contestants import CALL, FD, FUNCTION, ID, KERNEL, PEERS, PLAIN, TASKS, M, absent, one_state
from report import Race, Section, against, at_least, race_tables, wins
from timing import agree, interleaved, one_core, pooled, raced

ABOUT = (
    "Arrays (n,) in, a new array out; five processes of five rounds, each pinned to one core. The kernel is"
    " `lw.compile(function, arm)`, in hand; the function is `lw.inverse_dynamics(arm, q, qd, qdd)` itself, after it has"
    " been compiled for this robot."
)
REMARKS = [
    "Pinocchio: `pin.rnea(model, data, q, qd, qdd)` and so on, with `data` made before. MuJoCo: the state is set,"
    " computed with contacts and constraints off, and copied out.",
    "CasADi's C is entered by ctypes without arguments: the same arrays again and again, nothing checked, converted or"
    " allocated. Not like for like; a user's new state would first have to be copied into the bound arrays.",
    "The plain text runs until compiling pays (docs/compiled.md), or where the numbers are not NumPy's.",
]


def raw(rounds: int = 5, peers: Sequence[str] = PEERS) -> dict[str, Race]:
    """Seconds for one call, by robot."""
    races: dict[str, Race] = {}
    with one_core():
        for arm in arms():
            race = races.setdefault(arm.label, {})
            for task in TASKS:
                entered = one_state(arm, task, peers)
                agree(entered, 1e-9)
                race[task.label] = interleaved(entered, rounds)
    return races


def measure(rounds: int = 5, processes: int = 5, peers: Sequence[str] = PEERS) -> Section:
    races = pooled(__file__, processes, rounds=rounds) if processes else raw(rounds, peers)
    section = Section("One call", "python benchmarks/one_call.py", ABOUT)
    for arm, race in races.items():
        section.tables += race_tables(arm, race, "call", KERNEL, left_out=[PLAIN], absent=absent(peers))
    section.remarks = [*wins(races, [KERNEL, FUNCTION]), *REMARKS]
    for task in (ID, FD, M):
        for ours, words in ((KERNEL, "the kernel"), (FUNCTION, "the function")):
            ratio = against(races, task.label, CALL, ours)
            section.claims.append(at_least(f"{task.label}, {words}: at least 4 × `pin.{task.pinocchio}`", 4.0, ratio))
    return section


if __name__ == "__main__":
    raced(__doc__, raw, measure, rounds=5, processes=5)
