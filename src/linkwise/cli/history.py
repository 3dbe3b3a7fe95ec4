"""A file of torques over time: its start, and how well a run reproduces its motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkwise as lw

from ..robot.layout import MOTION, quantity_of, refuse_degrees
from ..trajectories.csv_reader import trajectory_of_table
from ..trajectories.torque_history import TorqueTable, read_torques

LOST = 1e-3  # rad or m: a run with a larger error does not reproduce the motion
SAME, ABOUT = 1e-6, 1e-2  # of the largest torque: accuracy of torques with accelerations in the file, and without


class RoundTrip(NamedTuple):
    """How far a run is from the motion in the file of torques, and these torques from those of that motion."""

    off: float  # rad or m, by joint `joint` at `at` seconds
    joint: str
    at: float
    until: float | None  # seconds, from which on it is off by more than `LOST`
    torques_off: float  # N m or N, at the rows
    other_torques: bool  # whether they are not those of the motion for this robot, with all that acts on it


class History(NamedTuple):
    """A file of torques over time, possibly with the motion that they belong to."""

    file: str
    torques: TorqueTable
    q: Any = None  # the first row
    qd: Any = None
    motion: lw.trajectories.Trajectory | None = None

    @staticmethod
    def read(robot: lw.Robot, file: str | None, start_in_degrees: bool = False) -> History | None:
        """Read it. `start_in_degrees`: its first row is the start, and angles are asked for in degrees."""
        if file is None:
            return None
        torques = read_torques(robot, Path(file))
        if not any(quantity_of(name) in MOTION for name in torques.names):
            return History(file, torques)
        if start_in_degrees:
            refuse_degrees(torques.table.where, torques.names)
        motion = trajectory_of_table(torques.table, torques.names, robot)
        first = motion(0.0)
        return History(file, torques, first.q, first.qd, motion)

    @property
    def duration(self) -> float:
        return float(self.torques.t[-1])

    def starts(self, run: lw.Recording) -> bool:
        """Whether the run starts where the motion does."""
        return bool(np.allclose(run.q[0], self.q) and np.allclose(run.qd[0], self.qd))

    def compare(self, run: lw.Recording, wrench: Any, friction: Any) -> RoundTrip | None:
        """Compare a run with the motion of the file, if that has one from the same start."""
        if self.motion is None or run.batch or not self.starts(run):
            return None
        reached = run.t <= float(run.reached)
        away = np.abs(lw.difference(run.robot, run.q[reached], self.motion(run.t[reached]).q))
        row, k = np.unravel_index(int(away.argmax()), away.shape)
        lost = np.flatnonzero(away.max(axis=1) > LOST)
        t, tau = self.torques.t, self.torques.tau
        here = lw.inverse_dynamics(run.robot, *self.motion(t), wrench, friction=friction)
        torques_off = float(np.abs(np.asarray(here) - tau).max())
        accuracy = SAME if any(quantity_of(name) == "qdd" for name in self.torques.names) else ABOUT
        return RoundTrip(
            float(away[row, k]),
            run.robot.v_names[k],
            float(run.t[row]),
            float(run.t[lost[0]]) if lost.size else None,
            torques_off,
            torques_off > accuracy * float(np.abs(tau).max()),
        )

    def sentence(self, run: lw.Recording, trip: RoundTrip | None, interpolation: str) -> str:
        """Whether the motion is reproduced, and if not, why."""
        if trip is None:
            elsewhere = self.motion is not None and not run.batch
            return f"The motion of {self.file} is not compared: the run starts elsewhere." if elsewhere else ""
        where = f"{trip.joint} at {trip.at:g} s; the file has {len(self.torques.t)} rows of torques"
        if trip.until is None:
            return f"The motion of {self.file} is reproduced within {trip.off:.2g} ({where})."
        lost = (
            f"The motion of {self.file} is not reproduced: it is off by more than {LOST:g} from {trip.until:g} s on,"
            f" by up to {trip.off:.2g} ({where})."
        )
        if trip.other_torques:
            return (
                f"{lost} The torques of the file are not those of its motion here: they differ by up to"
                f" {trip.torques_off:.2g}. The robot, the motion of its base,"
                " gravity, payload, wrench or friction differs."
            )
        if interpolation == "held":
            return f"{lost} Its torques are held from row to row: --interpolation cubic or more rows are more accurate."
        return (
            f"{lost} Without a controller the arm itself amplifies errors of interpolation, integration and rounding:"
            " a motion of shorter --duration is reproduced; more --samples of ridim, a smaller --rtol delay the growth."
        )
