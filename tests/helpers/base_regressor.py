"""The torques that each number of a robot's links needs alone, and the law of the base parameters."""

from dataclasses import replace

import numpy as np

import linkwise as lw
from linkwise.regressors.base_parameters import TEN, body_of
from linkwise.spatial import RigidInertia
from robots import relative


def regressor(arm: lw.Robot, names: list[str], motion: tuple[np.ndarray, ...]) -> np.ndarray:
    """Torques, all in a row, that each of the named numbers needs alone: a column for each."""
    columns, joints = [], {link.name: link.joint for link in arm.links}
    for link, _, name in (full.rpartition(".") for full in names):
        body = body_of([float(name == other) for other in TEN])
        J = body.tensor
        turns = joints[link].turns and joints[link].width == 1  # of a ball's axes each has a width of its own
        if name in ("Jxx", "Jyy") and f"{link}.Jzz" not in names and turns:
            body = RigidInertia(0.0, body.moment, type(J)(J.xx, J.xy, J.xz, J.yy, J.yz, J.xx + J.yy))
        links = tuple(replace(k, grouped=body if k.name == link else RigidInertia.zero()) for k in arm.links)
        columns.append(lw.inverse_dynamics(replace(arm, links=links), *motion, method="denoc").ravel())
    return np.stack(columns, axis=-1)


def enough_and_no_more(robot: lw.Robot, motion: tuple[np.ndarray, ...], exact: float = 1e-12) -> None:
    """The base parameters of a robot are as many as the rank of its regressor, and give every torque."""
    found = lw.base_parameters(robot)
    full = regressor(robot, [f"{link}.{name}" for link in robot.names for name in TEN], motion)
    scale = np.linalg.norm(full, axis=0)
    felt = scale > 1e-9 * scale.max()
    assert len(found) == np.linalg.matrix_rank(full[:, felt] / scale[felt], tol=1e-8)
    tau = regressor(robot, [p.name for p in found], motion) @ [p.value for p in found]
    assert relative(tau.reshape(motion[1].shape), lw.inverse_dynamics(robot, *motion)) < exact
