"""Robots on free bases and ball joints, 4,096 states on one core, beside Pinocchio.

python benchmarks/free_flyers.py [--states 4096] [--rounds 5] [--processes 5]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from contestants import FD, FUNCTION, ID, KERNEL, KERNEL_OUT, LOOP, PARALLEL, PEERS, Task, absent
from report import Race, Section, against, at_least, race_tables, wins
from timing import Contestant, agree, interleaved, one_core, optional, pooled, raced

import linkwise as lw

SERIES = ", revolute"  # joints in series in place of ball and universal joints
HUMANOIDS = (f"humanoid{SERIES}", "humanoid")
ROBOTS = (*HUMANOIDS, "quadruped", "satellite", "ball_chain")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
IN_SERIES = {"ball": "zxy", "universal": "xy"}
CLAIMED = 25.0
ABOUT = (
    "Robots of Linkwise's library, built for Pinocchio row by row with its own joints: `JointModelFreeFlyer`,"
    " `JointModelSpherical`, `JointModelUniversal`, `JointModelRX` and the like. The humanoid has 35 degrees of"
    ' freedom: a free pelvis, four ball joints, six universal joints and five revolute ones; "humanoid, revolute" has'
    " revolute joints in series in their place, as the joints of robots are built. Five processes of five rounds, each"
    " pinned to one core where the platform allows it, `LINKWISE_THREADS=1`."
)
REMARKS = [
    "Pinocchio's `…InParallel` writes into an array that is given, and so does the kernel with `out=`. Without it, a"
    " new array is made at each call, here of a megabyte, whose memory may have to be mapped anew.",
    "Pinocchio's time goes with the number of joints: a ball joint costs it little more than a revolute one. Linkwise's"
    " goes with the operations, of which a ball joint has about as many as three revolute ones.",
    "Both get the same states, each in its own coordinates, brought there outside the clock: Pinocchio has quaternions"
    " (x, y, z, w) and linear velocities in the body's axes. Results are compared in Linkwise's coordinates."
    " Pinocchio's quaternions are unit; Linkwise takes any, and normalises them inside the clock.",
]  # fmt: skip


class PinocchioModel:
    """A robot of frames in Pinocchio, and its states in Pinocchio's coordinates: arrays (states, nq) or (states, n).

    A free joint has linear velocity u = Rᵀ v, acceleration Rᵀ v̇ - ω × u and force Rᵀ f there; the rest is the same.
    """

    def __init__(self, robot: lw.Robot) -> None:
        pin: Any = optional("pinocchio")
        axes = dict(zip(AXES.values(), (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ), strict=True))
        kinds = {"ball": pin.JointModelSpherical, "free": pin.JointModelFreeFlyer}
        self.robot, self.model = robot, pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        joints = {"base": 0}
        for row in robot.rows:
            if row["joint"] == "universal":
                joint = pin.JointModelUniversal(np.eye(3)[0], np.eye(3)[1])
            else:
                joint = (axes[row["axis"]] if row["joint"] == "revolute" else kinds[row["joint"]])()
            where = pin.SE3(np.array(row["rotation"]), np.array(row["translation"]))
            index = joints[row["name"]] = self.model.addJoint(joints[row["parent"]], joint, where, row["name"])
            body = pin.Inertia(row["mass"], np.array(row["com"]), np.array(row["inertia"]))
            self.model.appendBodyToJoint(index, body, pin.SE3.Identity())
        where_q = [(self.model.joints[joints[joint.name]].idx_q, joint) for joint in robot.moving]
        assert [joint for _, joint in sorted(where_q)] == list(robot.moving)  # both number the joints alike
        self.free = [joint for joint in robot.moving if joint.kind.name == "free"]

    def states(self, x: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """q, qd, qdd and tau for Pinocchio."""
        q, qd, qdd, tau = (x[name].copy() for name in ("q", "qd", "qdd", "tau"))
        for k in self.robot.quaternions:
            turned = np.roll(q[:, k : k + 4], -1, axis=1)
            q[:, k : k + 4] = turned / np.linalg.norm(turned, axis=1)[:, None]
        for linear, spin, inward in self._free_bases(q):
            for array in (qd, qdd, tau):
                array[:, linear] = np.einsum("sij,sj->si", inward, array[:, linear])
            qdd[:, linear] -= np.cross(qd[:, spin], qd[:, linear])
        return {"q": q, "qd": qd, "qdd": qdd, "tau": tau}

    def result(self, task: Task, theirs: dict[str, np.ndarray], found: np.ndarray) -> np.ndarray:
        """Torques or accelerations in Linkwise's coordinates."""
        found = np.array(found)
        for linear, spin, inward in self._free_bases(theirs["q"]):
            if task is FD:
                found[:, linear] += np.cross(theirs["qd"][:, spin], theirs["qd"][:, linear])
            found[:, linear] = np.einsum("sji,sj->si", inward, found[:, linear])
        return found

    def _free_bases(self, q: np.ndarray) -> list[tuple[slice, slice, np.ndarray]]:
        """For each free joint where its linear and angular velocities are, and Rᵀ from its quaternions x, y, z, w."""
        bases = []
        for joint in self.free:
            v, (x, y, z, w) = joint.v.start, q[:, joint.q][:, 3:].T
            rows = [
                [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
                [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
                [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
            ]
            bases.append((slice(v, v + 3), slice(v + 3, v + 6), np.moveaxis(np.array(rows), -1, 0)))
        return bases


def robot_of(label: str) -> lw.Robot:
    robot = lw.load(label.removesuffix(SERIES))
    return lw.Robot.from_frames(in_series(robot), gravity=robot.gravity, name=label) if SERIES in label else robot


def in_series(robot: lw.Robot) -> Iterator[dict[str, Any]]:
    """The rows of a robot of frames, with revolute joints in place of ball and universal joints; no body between."""
    nothing = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": [[0.0] * 3] * 3}
    for row in robot.rows:
        axes = IN_SERIES.get(row["joint"], "")
        for axis in axes[:-1]:
            name = f"{row['name']}_{axis}"
            place = {key: row[key] for key in ("parent", "translation", "rotation")}
            yield {"name": name, **place, "joint": "revolute", "axis": AXES[axis], **nothing}
            row |= {"parent": name, "translation": (0.0, 0.0, 0.0), "rotation": np.eye(3).tolist()}
        yield {**row, "joint": "revolute", "axis": AXES[axes[-1]]} if axes else row


def states_of(robot: lw.Robot, count: int) -> dict[str, np.ndarray]:
    """q, qd, qdd, tau, the same every time: numbers up to 1, so that joints in series keep away from gimbal lock."""
    rng = np.random.default_rng(0)
    return {name: rng.uniform(-1.0, 1.0, (count, robot.size_of(name))) for name in ("q", "qd", "qdd", "tau")}


def entered(robot: lw.Robot, task: Task, count: int, peers: Sequence[str]) -> list[Contestant]:
    x, inputs = states_of(robot, count), ", ".join(task.inputs)
    names = {**{name: x[name] for name in task.inputs}, "function": task.function, "robot": robot}
    names |= {"kernel": lw.compile(task.function, robot), "out": np.empty((count, robot.n))}
    found = [
        Contestant(KERNEL_OUT, f"kernel({inputs}, out=out)", names),
        Contestant(KERNEL, f"kernel({inputs})", names),
        Contestant(FUNCTION, f"function(robot, {inputs})", names),
    ]
    pin = optional("pinocchio") if "pinocchio" in peers else None
    if pin is not None:
        peer = PinocchioModel(robot)
        theirs = peer.states(x)
        names = {"model": peer.model, "data": peer.model.createData(), "f": getattr(pin, task.pinocchio), "np": np}
        names |= {"mapped": lambda out: peer.result(task, theirs, out), **theirs}
        loop = f"[f(model, data, *x) for x in zip({inputs})]"
        columns = {name: np.asfortranarray(theirs[name].T) for name in task.inputs}
        columns |= {"f": getattr(pin, f"{task.pinocchio}InParallel"), "pool": pin.ModelPool(peer.model, 1)}
        columns |= {"out": np.zeros((robot.n, count), order="F"), "mapped": names["mapped"]}
        found += [
            Contestant(PARALLEL, f"f(1, pool, {inputs}, out)", columns, "mapped(out.T)"),
            Contestant(LOOP, loop, names, f"mapped(np.array({loop}))"),
        ]
    return found


def raw(
    states: int = 4096, rounds: int = 5, peers: Sequence[str] = PEERS, robots: Sequence[str] = ROBOTS
) -> dict[str, Race]:
    """Seconds for one state, by robot."""
    races: dict[str, Race] = {}
    with one_core():
        for name in robots:
            race = races.setdefault(name, {})
            for task in (ID, FD):
                contestants = entered(robot_of(name), task, states, peers)
                agree(contestants, 1e-9)
                times = interleaved(contestants, rounds)
                race[task.label] = {label: [t / states for t in each] for label, each in times.items()}
    return races


def measure(
    states: int = 4096,
    rounds: int = 5,
    processes: int = 5,
    peers: Sequence[str] = PEERS,
    robots: Sequence[str] = ROBOTS,
) -> Section:
    options = {"states": states, "rounds": rounds}
    races = pooled(__file__, processes, **options) if processes else raw(**options, peers=peers, robots=robots)
    title = f"Free bases and ball joints: a batch of {states:,} states on one core"
    section = Section(title, "python benchmarks/free_flyers.py", ABOUT)
    for name, race in races.items():
        section.tables += race_tables(name, race, "state", KERNEL_OUT, absent=absent(["pinocchio"]))
    section.remarks = [*wins(races, [KERNEL_OUT]), *REMARKS]
    what = "free-flying robot of 35 degrees of freedom"
    for joints, name in (("revolute", HUMANOIDS[0]), ("ball and universal", HUMANOIDS[1])):
        own = {label: race for label, race in races.items() if label == name}
        for task, theirs in ((ID, "rneaInParallel"), (FD, "abaInParallel")):
            text = f"{task.label} of a {what} on {joints} joints at least {CLAIMED:.0f} × Pinocchio's `{theirs}`"
            section.claims.append(at_least(text, CLAIMED, against(own, task.label, PARALLEL, KERNEL_OUT)))
    return section


if __name__ == "__main__":
    raced(__doc__, raw, measure, states=4096, rounds=5, processes=5)
