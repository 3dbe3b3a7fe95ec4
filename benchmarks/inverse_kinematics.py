"""Inverse kinematics of seven arms beside Pinocchio's loop and ikpy: how many poses are found, and how long it takes.

python benchmarks/inverse_kinematics.py [--poses 10000] [--loops 300] [--slow 20] [--rounds 3]
"""

from __future__ import annotations

import re
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Section, Table, at_least, number, spread
from timing import command, one_core, optional

import linkwise as lw

ARMS = ("fr3", "iiwa14", "panda", "sawyer", "ur3e", "ur5e", "xarm7")
OURS, ONE_BY_ONE = "Linkwise, a batch", "Linkwise, one by one"
EXAMPLE, RESTARTS, IKPY = "Pinocchio, the loop of its example", "Pinocchio, full steps, restarts", "ikpy"
WITHIN = 1e-9  # rad, m
ABOUT = (
    "Poses of the last link at random configurations within the limits, which are therefore within reach; the search"
    " starts at the middle of the ranges, and has to end within the limits. The peers read the arm from the URDF file"
    " that `lw.save` writes (the Panda without its fingers). Linkwise: `lw.inverse_kinematics(robot, targets, q0)` as"
    " it is, in float64, on one thread, compiled before. Pinocchio: the loop of its example (CLIK: Δt = 0.1, damping"
    " 1e-12, at most 1,000 steps, error 1e-4), in Python as there; and the same with Δt = 1, damping 1e-6, at most 100"
    " steps and error 1e-10 from up to 17 starts, as many as Linkwise has, until the result, less full turns, is within"
    " the limits. ikpy: `inverse_kinematics_frame` with bounds and orientations, from the same start. An answer counts"
    " as found if the pose is met to 1e-9 (1e-4 for the example and ikpy, which stop there) and all joints are within"
    " their limits. The peers solve the first of the poses: {loops} by Pinocchio, 30 by its example, {slow} by ikpy."
)


class Result(NamedTuple):
    found: float  # share
    seconds: list[float]  # for one pose, by rounds


class Poses(NamedTuple):
    """An arm, and poses of its last link."""

    robot: lw.Robot
    start: np.ndarray
    targets: np.ndarray

    @property
    def frame(self) -> str:
        return self.robot.names[-1]

    def found(self, q: np.ndarray, within: float) -> float:
        """The share of poses that are met within the limits."""
        low, high = np.array(self.robot.limits).T
        apart = np.abs(lw.poses(self.robot, q, frame=self.frame) - self.targets[: len(q)]).max(axis=(1, 2))
        inside = ((q > low - 1e-9) & (q < high + 1e-9)).all(axis=1)
        return float(((apart < within) & inside).mean())

    def timed(self, solve: Callable[[np.ndarray], np.ndarray], count: int, rounds: int, within: float) -> Result:
        targets, seconds = self.targets[:count], []
        solve(targets[: min(count, 300)])
        for _ in range(rounds):
            begun = time.perf_counter()
            q = solve(targets)
            seconds.append((time.perf_counter() - begun) / count)
        return Result(self.found(q, within), seconds)


def poses_of(name: str, count: int) -> Poses:
    robot = lw.load(name)
    if name == "panda":
        robot = robot.with_locked("panda_finger_joint1", 0.02)
    q = lw.random_configuration(robot, np.random.default_rng(2), count)
    return Poses(robot, np.mean(robot.limits, axis=1), lw.poses(robot, q, frame=robot.names[-1]))


def ours(poses: Poses, targets: np.ndarray) -> np.ndarray:
    return lw.inverse_kinematics(poses.robot, {poses.frame: targets}, poses.start).q


def one_by_one(poses: Poses, targets: np.ndarray) -> np.ndarray:
    return np.array([ours(poses, target) for target in targets])


class Clik:
    """The loop of Pinocchio's example, for the last joint."""

    def __init__(self, poses: Poses, path: Path, dt: float, damping: float, steps: int, error: float) -> None:
        self.pin: Any = optional("pinocchio")
        self.model = self.pin.buildModelFromUrdf(str(path))
        self.data, self.joint = self.model.createData(), self.model.njoints - 1
        self.dt, self.damping, self.steps, self.error = dt, damping, steps, error
        self.low, self.high = self.model.lowerPositionLimit, self.model.upperPositionLimit

    def follow(self, goal: Any, q: np.ndarray) -> tuple[np.ndarray, bool]:
        pin, model, data = self.pin, self.model, self.data
        for _ in range(self.steps):
            pin.forwardKinematics(model, data, q)
            apart = data.oMi[self.joint].actInv(goal)
            error = pin.log(apart).vector
            if np.linalg.norm(error) < self.error:
                return q, True
            J = -pin.Jlog6(apart.inverse()) @ pin.computeJointJacobian(model, data, q, self.joint)
            v = -J.T @ np.linalg.solve(J @ J.T + self.damping * np.eye(6), error)
            q = pin.integrate(model, q, v * self.dt)
        return q, False

    def once(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return np.array([self.follow(self.pin.SE3(target), start)[0] for target in targets])

    def restarted(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(0)
        starts = [start, *rng.uniform(self.low, self.high, (16, self.model.nq))]
        return np.array([self.best(self.pin.SE3(target), starts) for target in targets])

    def best(self, goal: Any, starts: list[np.ndarray]) -> np.ndarray:
        for start in starts:
            q, converged = self.follow(goal, start)
            middle = 0.5 * (self.low + self.high)
            turned = middle + np.remainder(q - middle + np.pi, 2.0 * np.pi) - np.pi
            if converged and (turned >= self.low).all() and (turned <= self.high).all():
                return turned
        return turned


class Ikpy:
    def __init__(self, poses: Poses, path: Path) -> None:
        chain: Any = optional("ikpy.chain")
        base = re.findall(r'<link name="([^"]*)"', path.read_text())[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fixed links
            self.chain = chain.Chain.from_urdf_file(str(path), base_elements=[base])
        turns = [link.joint_type != "fixed" for link in self.chain.links]
        last = max(k for k, turning in enumerate(turns) if turning)
        self.chain = chain.Chain(self.chain.links[: last + 1], active_links_mask=turns[: last + 1])
        self.mask = np.array(turns[: last + 1])

    def solve(self, start: np.ndarray, targets: np.ndarray) -> np.ndarray:
        first = np.zeros(len(self.mask))
        first[self.mask] = start
        options = {"initial_position": first, "orientation_mode": "all"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [self.chain.inverse_kinematics_frame(target, **options) for target in targets]
        return np.array(found)[:, self.mask]


def raced(name: str, poses: int, loops: int, slow: int, rounds: int) -> dict[str, Result]:
    arm = poses_of(name, poses)
    start = arm.start
    with tempfile.TemporaryDirectory() as folder, lw.use_kernels("always"):
        path = Path(folder) / "arm.urdf"
        lw.save(arm.robot, path, urdf_rotors="drop")
        results = {OURS: arm.timed(lambda targets: ours(arm, targets), poses, rounds, WITHIN)}
        loops = min(loops, poses)
        results[ONE_BY_ONE] = arm.timed(lambda targets: one_by_one(arm, targets), loops, rounds, WITHIN)
        if optional("pinocchio") is not None:
            example = Clik(arm, path, 0.1, 1e-12, 1000, 1e-4)
            results[EXAMPLE] = arm.timed(lambda targets: example.once(start, targets), min(loops, 30), rounds, 1e-4)
            full = Clik(arm, path, 1.0, 1e-6, 100, 1e-10)
            results[RESTARTS] = arm.timed(lambda targets: full.restarted(start, targets), loops, rounds, WITHIN)
        if optional("ikpy.chain") is not None:
            peer = Ikpy(arm, path)
            results[IKPY] = arm.timed(lambda targets: peer.solve(start, targets), min(slow, poses), rounds, 1e-4)
    return results


def measure(
    poses: int = 10_000, loops: int = 300, slow: int = 20, rounds: int = 3, arms: tuple[str, ...] = ARMS
) -> Section:
    about = ABOUT.format(loops=loops, slow=slow)
    section = Section("Inverse kinematics", "python benchmarks/inverse_kinematics.py", about)
    with one_core():
        races = {name: raced(name, poses, loops, slow, rounds) for name in arms}
    labels = list(dict.fromkeys(label for race in races.values() for label in race))
    header = ["", *races]
    found = [[x, *(f"{100 * race[x].found:.2f}" for race in races.values())] for x in labels]
    times = [[x, *(spread(race[x].seconds, 1e6) for race in races.values())] for x in labels]
    section.tables.append(Table("Poses found, per cent:", header, found))
    section.tables.append(Table("Microseconds for one pose, found or not:", header, times))
    shares = {name: [100 * race[OURS].found] for name, race in races.items()}
    section.claims.append(at_least(f"at least 99.5 % of {number(poses)} poses of each arm are found", 99.5, shares))
    for label, ratio in ((RESTARTS, 25.0), (IKPY, 500.0)):
        if label in labels:
            pairs = {name: (race[label].seconds, race[OURS].seconds) for name, race in races.items()}
            ratios = {name: [a / b for a, b in zip(*pair, strict=True)] for name, pair in pairs.items()}
            text = f"a batch is at least {ratio:g} × as fast as {label}"
            section.claims.append(at_least(text, ratio, ratios))
    return section


if __name__ == "__main__":
    print(measure(**command(__doc__, poses=10_000, loops=300, slow=20, rounds=3)))
