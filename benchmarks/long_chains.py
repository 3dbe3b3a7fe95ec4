"""Long chains and large trees: what does a joint cost, and how long does compiling take?

    python benchmarks/long_chains.py [--largest 10000] [--work 262144] [--rounds 5]

Pinocchio runs beside up to n = 300: its data take about 64 n³ bytes.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from arms import Arm, converters, robot_data
from contestants import FD, ID, PEERS, TASKS, Task, in_parallel, plain
from report import UNKNOWN, Claim, Section, Table, number, ratios, spread, verdict
from timing import Contestant, Times, command, differ, interleaved, one_core, optional, without_cache

import linkwise as lw

SIZES = (7, 12, 30, 100, 300, 1000, 3000, 10_000)
PINOCCHIO = 300
BIAS = next(task for task in TASKS if task.label == "bias")
FAMILIES: dict[str, Callable[[int], lw.Robot]] = {"chains": lw.chain, "trees": lambda n: lw.random_tree(n, seed=0)}
STRAIGHT = 30  # beyond, code without loops takes long to compile
ABOUT = (
    '`lw.compile(function, robot, form="loops")` of `lw.chain(n)` and `lw.random_tree(n, seed=0)`, nothing from the'
    " cache, batches of as many states as make the same number of joints in all, but at least 64, on one core; sizes"
    " take turns as well. Code without loops, which small robots get by themselves, is beside it: it knows a robot's"
    " zeros, of which small random trees have many. Pinocchio is `rneaInParallel` and `abaInParallel` on one thread, up"
    " to n = 300, where its data take gigabytes; it has no batched bias."
)
RULE = (
    "go1",
    "humanoid",
    "g1",
    "talos",
    "chain-20",
    "chain-30",
    "chain-45",
    "tree-60",
)  # robots about where the rule decides
Raced = list[tuple[Task, dict[str, Times], dict[int, float]]]  # seconds for one joint; for compiling, by n


def checked(robot: lw.Robot, task: Task, arrays: Sequence[np.ndarray], kernel: lw.results.Compiled) -> None:
    """Two states against the plain text; accelerations by the torques that they need, whatever the conditioning."""
    few = [np.ascontiguousarray(array[:2]) for array in arrays]
    found = kernel(*few)
    if task is FD:
        torques = plain(lw.inverse_dynamics, robot, few[0], few[1], found)
        size = np.abs(plain(lw.bias_torque, robot, few[0], few[1])).max() + np.abs(few[2]).max()
        error = np.abs(torques - few[2]).max() / size
    else:
        error = differ(found, plain(task.function, robot, *few))
    if not error < 1e-8:
        raise AssertionError(f"{task.label}, {robot.name}: off by {error:.1e}")


def states_of(arm: Arm, work: int) -> dict[str, np.ndarray]:
    return arm.states(max(64, work // arm.robot.n))


def entered(arm: Arm, task: Task, work: int, form: str) -> tuple[Contestant, float]:
    """The kernel on a batch, and the seconds that compiling took."""
    given = states_of(arm, work)
    names = {name: given[name] for name in task.inputs}
    begun = time.perf_counter()
    kernel = lw.compile(task.function, arm.robot, form=form)
    taken = time.perf_counter() - begun
    checked(arm.robot, task, list(names.values()), kernel)
    label = f"{form} {arm.robot.n}"
    return Contestant(label, f"kernel({', '.join(names)})", {**names, "kernel": kernel}), taken


def pinocchio(arm: Arm, task: Task, work: int) -> Contestant:
    """Our order of the joints is not theirs in a tree; random numbers are as good in any."""
    given = states_of(arm, work // 8)  # it takes its time
    return in_parallel(arm, task, [given[name] for name in task.inputs], 1, f"Pinocchio {arm.robot.n}")


def race(family: str, sizes: Sequence[int], work: int, rounds: int, peers: Sequence[str]) -> Raced:
    convert = optional("pinocchio") and optional("mujoco") and "pinocchio" in peers and converters().to_pinocchio
    robots = [FAMILIES[family](n) for n in sizes]
    arms = [Arm(r.name, r, convert(r)[0] if convert and r.n <= PINOCCHIO else None) for r in robots]
    found = []
    for task in (ID, FD, BIAS):
        lw.compile(task.function, lw.chain(2))  # so that loading LLVM is in nobody's time
        contestants, compiling = [], {}
        for arm in arms:
            contestant, compiling[arm.robot.n] = entered(arm, task, work, "loops")
            contestants.append(contestant)
            if arm.robot.n <= STRAIGHT:
                contestants.append(entered(arm, task, work, "straight")[0])
        contestants += [pinocchio(arm, task, work) for arm in arms if arm.pinocchio and task is not BIAS]
        times = interleaved(contestants, rounds)
        joints = {c.label: c.names["q"].size for c in contestants}
        per_joint = {label: [t / joints[label] for t in each] for label, each in times.items()}
        found.append((task, per_joint, compiling))
    return found


def measure(largest: int = SIZES[-1], work: int = 262_144, rounds: int = 5, peers: Sequence[str] = PEERS) -> Section:
    section = Section("Long chains and large trees", "python benchmarks/long_chains.py", ABOUT)
    section.command += f" --largest {largest}" if largest != SIZES[-1] else ""
    sizes = [n for n in SIZES if n <= largest]
    with one_core(), without_cache():
        for family in FAMILIES:
            rows = []
            for task, times, compiling in race(family, sizes, work, rounds, peers):
                said = [spread(times[f"loops {n}"], 1e9) for n in sizes]
                rows.append([f"{task.label}, ns for one joint of one state", *said])
                line = [times.get(f"straight {n}") for n in sizes]
                rows.append(["the same without loops", *(spread(each, 1e9) if each else "" for each in line)])
                both = [(times.get(f"Pinocchio {n}"), times[f"loops {n}"]) for n in sizes]
                if any(theirs for theirs, _ in both):
                    rows.append(["Pinocchio, times as long", *(spread(ratios(*x)) if x[0] else "" for x in both)])
                rows.append(["compiling, s", *(number(compiling[n]) for n in sizes)])
                section.claims += claims(f"{task.label}, {family}", times, compiling, largest)
            section.tables.append(Table(f"{family.capitalize()}, n =", ["", *map(str, sizes)], rows))
        rule = forms(rounds, largest)
        section.tables += [rule] if rule.rows else []
    return section


def forms(rounds: int, largest: int) -> Table:
    """Forward dynamics of one state and of 256, as straight-line code and in loops: what the rule is made from.

    Coupled joints, as Talos has, have no form with loops.
    """
    rows = []
    for label in RULE:
        robot = robot_of(label)
        if robot is None or robot.n > largest:
            continue
        rng, row, contestants = np.random.default_rng(0), [label], []
        many = [rng.normal(size=(256, size)) for size in (robot.nq, robot.n, robot.n)]
        for form in ("straight", "loops"):
            if form == "loops" and robot.couplings:
                row += ["", ""]
                continue
            begun = time.perf_counter()
            kernel = lw.compile(lw.forward_dynamics, robot, form=form)
            row += [str(kernel.count.total), number(time.perf_counter() - begun)]
            for batch, states in (("one", [array[0].copy() for array in many]), ("batch", many)):
                names = {"kernel": kernel, "states": states}
                contestants.append(Contestant(f"{form} {batch}", "kernel(*states)", names))
        times = interleaved(contestants, rounds)
        for batch, count in (("one", 1), ("batch", 256)):
            both = [times.get(f"{form} {batch}") for form in ("straight", "loops")]
            row += [spread(each, 1e6 / count) if each else "" for each in both]
        rows.append(row)
    head = ["", "straight: operations", "compiling, s", "loops: operations", "compiling, s"]
    head += [f"{states}, {form}" for states in ("one state, µs", "µs a state of 256") for form in ("straight", "loops")]
    return Table("Forward dynamics as straight-line code and in loops", head, rows)


def robot_of(label: str) -> lw.Robot | None:
    """A robot of `RULE`; None where its file is not installed."""
    word, _, n = label.partition("-")
    if word == "chain":
        return lw.chain(int(n))
    if word == "tree":
        return lw.random_tree(int(n), seed=1, joints="R")
    if word != "talos":
        return lw.load(word)
    file = robot_data("talos_full_v2.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of bodies that cannot exist
        return file and lw.load(file, mimic="coupled", base="free", unphysical="warn")


def claims(what: str, times: dict[str, Times], compiling: dict[int, float], largest: int) -> list[Claim]:
    cost = {n: statistics.median(times[f"loops {n}"]) for n in compiling if n >= 12}
    range_of = max(cost.values()) / min(cost.values()) if cost else 0.0
    flat = (
        f"from n = 12 to {max(cost)} the dearest joint costs {number(range_of)} × the cheapest" if cost else "nothing"
    )
    flatness = verdict([[1.3 - range_of]]) if largest >= SIZES[-1] else UNKNOWN
    quick = f"{number(compiling[1000])} s" if 1000 in compiling else f"only n up to {max(compiling)} compiled"
    speed = verdict([[1.0 - compiling[1000]]]) if 1000 in compiling else UNKNOWN
    return [
        Claim(f"{what}: cost per joint within 1.3 × from n = 12 to n = 10,000", flat, flatness),
        Claim(f"{what}: compiled within 1 s at n = 1,000", quick, speed),
    ]


if __name__ == "__main__":
    print(measure(**command(__doc__, largest=SIZES[-1], work=262_144, rounds=5)))
