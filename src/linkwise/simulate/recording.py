"""What a simulation gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .. import edge
from ..robot import Robot

STATUS = {0: "interrupted", 1: "done", 2: "stuck", 3: "lost", 4: "stopped"}


@dataclass(frozen=True, repr=False)
class Recording:
    """Trajectories at the times `t`: q and qd are (..., len(t), n). What was not reached is NaN.

    `status` is "done", "stopped" (by an event), "interrupted", "stuck" (the step shrank to nothing) or "lost" (a number
    was no longer finite), for each trajectory of a batch; `reached` is the time until which it went. `evaluations`
    counts those of the right-hand side for steps; samples take as many again as a step has stages.
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    status: Any
    reached: Any
    steps: Any
    rejected: Any
    evaluations: Any
    integrator: str
    rtol: float
    atol: float
    compiled: bool
    work: np.ndarray | None = None  # of the torques since the start
    heat: np.ndarray | None = None  # lost to friction since the start
    events: Any = ()  # what was met, for each trajectory: `Happening`s in order
    acting: Any = field(default=None, compare=False)  # the problem and its parameters, to find torques again

    def __repr__(self) -> str:
        batch = self.q.shape[:-2]
        many = f"{batch} trajectories, " if batch else ""
        how = "" if self.compiled else ", in Python"
        ends = sorted(set(np.atleast_1d(self.status).ravel().tolist()))
        return (
            f"<Recording of {self.robot.name!r}: {many}{self.t[-1]:g} s, {len(self.t)} samples, {', '.join(ends)};"
            f" {int(np.sum(self.steps))} steps of {self.integrator}{how}>"
        )

    @cached_property
    def tau(self) -> np.ndarray:
        """The torques that acted, friction not among them."""
        if self.acting is None:
            return np.zeros_like(self.q)
        return np.asarray(self.acting.torques(self.t, self.q, self.qd))

    @cached_property
    def qdd(self) -> np.ndarray:
        """Accelerations."""
        if self.acting is None:
            return np.asarray(edge.forward_dynamics(self.robot, self.q, self.qd, np.zeros(self.robot.n)))
        return np.asarray(self.acting.accelerations(self.q, self.qd, self.tau))

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy together."""
        kinetic = edge.kinetic_energy(self.robot, self.q, self.qd)
        return np.asarray(kinetic + edge.potential_energy(self.robot, self.q))

    @property
    def imbalance(self) -> np.ndarray:
        """How far energy, work and heat are from balance; 0 but for the errors of integration."""
        change = self.energy - self.energy[..., :1]
        accounted = 0.0 if self.work is None or self.heat is None else self.work - self.heat
        return np.asarray(change - accounted)

    def joint_wrenches(self, frame: str = "joint") -> np.ndarray:
        """All six components at each joint: (..., len(t), n, 6)."""
        return np.asarray(edge.joint_wrenches(self.robot, self.q, self.qd, self.qdd, frame=frame))
