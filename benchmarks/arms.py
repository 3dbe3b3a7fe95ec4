"""The robots of the benchmarks, as Linkwise, Pinocchio and MuJoCo have them.

The Stanford arm is Linkwise's, handed on by tests/helpers/peers.py. The Panda (7 revolute joints) is read by
Pinocchio from the URDF file in the package example-robot-data: fingers locked, no armature. Numbers of its placements
within 1e-9 of 0, 1 and -1 (the file has angles of 90 degrees in decimals) are made these for Linkwise; Pinocchio
keeps what it read. The two agree to 1e-12, or nothing is measured.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from timing import differ, optional

import linkwise as lw

sys.path.append(str(Path(__file__).parent.parent / "tests" / "helpers"))


@dataclass(frozen=True)
class Arm:
    label: str
    robot: lw.Robot
    pinocchio: Any = None  # models, where these are installed
    mujoco: Any = None

    def states(self, count: int) -> dict[str, np.ndarray]:
        """q, qd, qdd, tau: (count, n), numbers about 1, the same every time."""
        drawn = np.random.default_rng(0).normal(size=(4, count, self.robot.n))
        return dict(zip(("q", "qd", "qdd", "tau"), drawn, strict=True))


def arms(*labels: str) -> list[Arm]:
    """Panda and Stanford, or those named; without the Panda where what it is read with is not installed."""
    made = [make() for label, make in (("Panda", panda), ("Stanford", stanford)) if not labels or label in labels]
    return [arm for arm in made if arm is not None]


def stanford() -> Arm:
    return of_robot("Stanford", lw.load("stanford"))


def of_robot(label: str, robot: lw.Robot) -> Arm:
    """The same robot everywhere, link by link."""
    pinocchio = optional("pinocchio") and optional("mujoco") and converters().to_pinocchio(robot)[0]
    return Arm(label, robot, pinocchio or None, mujoco_model(robot))


def converters() -> Any:
    import peers

    return peers


def mujoco_model(robot: lw.Robot) -> Any:
    """Without what MuJoCo would do besides: energies, contacts, constraints."""
    mujoco = optional("mujoco")
    if mujoco is None or optional("pinocchio") is None:
        return None
    model = converters().to_mujoco(robot)
    model.opt.enableflags = 0
    off = mujoco.mjtDisableBit
    model.opt.disableflags = off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT
    return model


def panda() -> Arm | None:
    pin, file = optional("pinocchio"), robot_data("urdf/panda.urdf")
    if pin is None or file is None:
        return None
    whole = pin.buildModelFromUrdf(str(file))
    fingers = [k for k in range(1, whole.njoints) if "finger" in whole.names[k]]
    model = pin.buildReducedModel(whole, fingers, pin.neutral(whole))
    model.armature[:] = 0.0
    rows = []
    for k in range(1, model.njoints):
        placement, body = model.jointPlacements[k], model.inertias[k]
        row = {"name": model.names[k], "joint": "revolute", "mass": body.mass}
        row |= {"translation": snapped(placement.translation), "rotation": snapped(placement.rotation)}
        rows.append({**row, "com": body.lever.tolist(), "inertia": body.inertia.tolist()})
    arm = Arm("Panda", robot := lw.Robot.from_frames(rows, name="panda"), model, mujoco_model(robot))
    x, data = arm.states(64), model.createData()
    q, qd, qdd = x["q"], x["qd"], x["qdd"]
    theirs = np.array([pin.rnea(model, data, *each) for each in zip(q, qd, qdd, strict=True)])
    assert differ(lw.inverse_dynamics(robot, q, qd, qdd, method="newton-euler"), theirs) < 1e-12
    return arm


def robot_data(ending: str) -> Path | None:
    """A file of the package example-robot-data, where that is installed."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if str(file).endswith(ending)), None)


def snapped(numbers: np.ndarray) -> list[Any]:
    x = np.array(numbers, dtype=float)
    for whole in (0.0, 1.0, -1.0):
        x[np.abs(x - whole) < 1e-9] = whole
    return x.tolist()
