"""Go1 on four feet: accelerations and ground forces beside Pinocchio, one call and a batch.

python benchmarks/constrained.py [--states 4096] [--rounds 5] [--processes 5]
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from arms import converters, robot_data
from contestants import CALL, FUNCTION, KERNEL, KERNEL_OUT, LOOP
from report import Race, Section, against, at_least, race_tables, wins
from timing import Contestant, agree, interleaved, one_core, optional, pooled, raced

import linkwise as lw

ONE, MANY, TASK = "one call", "a batch", "constrained dynamics"
GO1 = "Go1 on four feet"
FIXED = dict.fromkeys(("FL_foot", "FR_foot", "RL_foot", "RR_foot"), "point")
ABOUT = (
    "Go1, a quadruped with 18 degrees of freedom, from the URDF file of example-robot-data, whose four feet are held:"
    " 12 constraints. The function is `lw.constrained_dynamics(robot, q, qd, tau, fixed=feet)` as a user calls it,"
    " after it has been compiled; the kernel is `lw.compile` of it. Pinocchio: `pin.constraintDynamics` with four"
    " contacts of type `CONTACT_3D`; `initConstraintDynamics` and its settings are outside the clock. Both give"
    " accelerations and forces. Five processes of five rounds, each pinned to one core where the platform allows it,"
    " `LINKWISE_THREADS=1`."
)
REMARKS = [
    "Pinocchio has no batched function: the batch is a loop in Python, whose results are not kept.",
    "Pinocchio factors a matrix of known structure without looking for redundant constraints (μ = 0, one iteration);"
    " Linkwise decides the rank and computes the pseudoinverse.",
    "Each gets the same states in its own coordinates, brought there outside the clock.",
]


class Standing:
    """Go1 in both libraries, and its states in both."""

    def __init__(self, path: Any) -> None:
        pin: Any = optional("pinocchio")
        converters()  # tests/helpers on the path
        from urdf_peers import Peer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the body of its base cannot be one
            self.robot = lw.load(path, base="free", unphysical="warn")
        self.model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        self.peer, self.data = Peer(self.robot, self.model), self.model.createData()
        self.contacts, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for foot in FIXED:
            frame, ground = self.model.frames[self.model.getFrameId(foot)], pin.SE3.Identity()
            place = frame.parentJoint, frame.placement, 0, ground, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            self.contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.model, *place))
        for contact in self.contacts:
            self.datas.append(contact.createData())
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.datas)

    def theirs(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        there = [self.peer.state(*state) for state in zip(q, qd, strict=True)]
        torques = lw.convert_force(self.robot, q, tau, target="pinocchio")
        return (*map(np.array, zip(*there, strict=True)), np.array(list(map(self.peer.ordered, torques))))

    def ours(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Accelerations of Linkwise in the coordinates of Pinocchio."""
        return np.array([self.peer.state(*state)[2] for state in zip(q, qd, qdd, strict=True)])


def contestants(standing: Standing, arrays: list[np.ndarray], batch: bool) -> list[Contestant]:
    """Results are accelerations in Pinocchio's coordinates; `arrays` are batches, of one state for one call."""
    pin: Any = optional("pinocchio")
    q, qd, tau = arrays if batch else [array[0] for array in arrays]
    kernel = lw.compile(lw.constrained_dynamics, standing.robot, fixed=FIXED)
    with lw.use_kernels("always"):
        lw.constrained_dynamics(standing.robot, q, qd, tau, fixed=FIXED)
    names = {"q": q, "qd": qd, "tau": tau, "kernel": kernel, "function": lw.constrained_dynamics, "feet": FIXED}
    names |= {"robot": standing.robot, "out": kernel(q, qd, tau), "there": standing.ours, "np": np}
    in_theirs = "there(*map(np.atleast_2d, (q, qd, {})))"
    call, into = "kernel(q, qd, tau)", "kernel(q, qd, tau, out=out)"
    function = "function(robot, q, qd, tau, fixed=feet)"
    entered = [
        Contestant(KERNEL, call, names, in_theirs.format(f"{call}[0]")),
        Contestant(KERNEL_OUT, into, names, in_theirs.format(f"{into}[0]")),
        Contestant(FUNCTION, function, names, in_theirs.format(f"{function}.qdd")),
    ]
    if pin is not None:
        of_pinocchio = {"pin": pin, "model": standing.model, "data": standing.data, "np": np}
        of_pinocchio |= {"contacts": standing.contacts, "datas": standing.datas}
        of_pinocchio |= {"settings": pin.ProximalSettings(1e-12, 0.0, 1), "states": standing.theirs(*arrays)}
        of_pinocchio |= {"state": [array[0] for array in of_pinocchio["states"]]}
        one = "pin.constraintDynamics(model, data, *{}, contacts, datas, settings)"
        loop = f"[{one.format('x')} for x in zip(*states)]"
        kept = loop.replace("[pin", "[np.array(pin", 1).replace(") for", ")) for")
        entered += [
            Contestant(LOOP, loop, of_pinocchio, f"np.array({kept})")
            if batch
            else Contestant(CALL, one.format("state"), of_pinocchio, f"np.array([{one.format('state')}])")
        ]
    return entered


def raw(states: int = 4096, rounds: int = 5) -> dict[str, dict[str, Race]]:
    """Seconds by what is measured and robot: for one call, for one state of a batch."""
    races: dict[str, dict[str, Race]] = {ONE: {}, MANY: {}}
    path = robot_data("urdf/go1.urdf")
    if path is None or optional("pinocchio") is None:
        return races
    standing, rng = Standing(path), np.random.default_rng(0)
    robot = standing.robot
    q = lw.random_configuration(robot, rng, (states,))
    arrays = [q, *rng.normal(size=(2, states, robot.n))]
    with one_core():
        for what, part in ((ONE, [array[:1] for array in arrays]), (MANY, arrays)):
            entered = contestants(standing, part, what == MANY)
            agree(entered, 1e-9)
            each = len(part[0])
            times = {label: [t / each for t in found] for label, found in interleaved(entered, rounds).items()}
            races[what][GO1] = {TASK: times}
    return races


def measure(states: int = 4096, rounds: int = 5, processes: int = 5) -> Section:
    options = {"states": states, "rounds": rounds}
    races = pooled(__file__, processes, **options) if processes else raw(**options)
    section = Section("Feet that are held", "python benchmarks/constrained.py", ABOUT)
    for kind, what in ((ONE, "call"), (MANY, "state of a batch")):
        for robot, race in races[kind].items():
            section.tables += race_tables(robot, race, what, KERNEL)
        section.remarks += wins(races[kind], [KERNEL, FUNCTION])
    section.remarks += REMARKS
    for ours, words in ((KERNEL, "the kernel"), (FUNCTION, "the function")):
        ratio = against(races[ONE], TASK, CALL, ours)
        section.claims.append(at_least(f"one call of {words}: at least 3 × `pin.constraintDynamics`", 3.0, ratio))
        ratio = against(races[MANY], TASK, LOOP, ours)
        text = f"a batch of {states:,} by {words}: at least 15 × `pin.constraintDynamics` in a loop"
        section.claims.append(at_least(text, 15.0, ratio))
    return section


if __name__ == "__main__":
    raced(__doc__, raw, measure, states=4096, rounds=5, processes=5)
