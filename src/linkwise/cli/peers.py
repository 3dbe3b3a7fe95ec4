"""Pinocchio and MuJoCo on the same robot, written for them as URDF, where they are installed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import RobotError
from ..robot import Robot

GRAVITY = (0.0, 0.0, -9.81)


class Peer(NamedTuple):
    inverse: Callable[..., Any]  # (q, qd, qdd) -> tau
    forward: Callable[..., Any]  # (q, qd, tau) -> qdd


def on(arm: Robot) -> Iterator[tuple[str, Peer | str]]:
    """Each peer that is installed, or why it is left out."""
    for name, make in (("Pinocchio", pinocchio), ("MuJoCo", mujoco)):
        try:
            yield name, make(arm)
        except ImportError:
            yield name, "it is not installed: pip install 'linkwise[peers]'"
        except (RobotError, ValueError, RuntimeError) as error:
            yield name, str(error).splitlines()[0].rpartition("robot.urdf: ")[2]


def urdf(arm: Robot) -> str:
    from ..formats import save

    if arm.nq != arm.n or arm.couplings:
        raise ValueError("its joints are not all of one degree of freedom")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        save(arm.without_rotors().with_gravity(GRAVITY), path)  # URDF has no rotors, and one gravity
        text = path.read_text(encoding="utf-8")
    # without limits a joint would have two coordinates in Pinocchio
    limit = '<limit lower="-1000" upper="1000" effort="0" velocity="0"/>'
    return text.replace('type="continuous">', f'type="revolute">{limit}')


def pinocchio(arm: Robot) -> Peer:
    import numpy as np
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf(arm))
    model.gravity.linear = np.array([float(x) for x in arm.gravity])
    model.armature = np.array([float(link.joint.rotor_inertia) for link, _ in arm.driving])
    data = model.createData()
    return Peer(lambda *state: pin.rnea(model, data, *state), lambda *state: pin.aba(model, data, *state))


def mujoco(arm: Robot) -> Peer:
    import mujoco as mj
    import numpy as np

    model = mj.MjModel.from_xml_string(urdf(arm))
    model.opt.gravity[:] = [float(x) for x in arm.gravity]
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_armature[:] = [float(link.joint.rotor_inertia) for link, _ in arm.driving]
    model.dof_damping[:] = 0.0
    data = mj.MjData(model)

    def inverse(q: Any, qd: Any, qdd: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mj.mj_inverse(model, data)
        return np.array(data.qfrc_inverse)

    def forward(q: Any, qd: Any, tau: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mj.mj_forward(model, data)
        return np.array(data.qacc)

    return Peer(inverse, forward)
