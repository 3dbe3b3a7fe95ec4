"""Why is the shoulder of a UR5e at its limit? Its torques along a fast move with a load, term by term.

The arm swings a load around while it lifts it. The picture shows the three large joints, each with the terms that its
torque is made of, stacked above and below zero, the torque itself and, where it comes near, the limit of the drive.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
START = [0.0, -0.2, 0.3, 0.0, 0.5, 0.0]
END = [1.8, -1.0, 0.6, 1.0, -1.0, 2.0]
SECONDS, LOAD = 0.7, 5.0  # s, kg
JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")


def budget_along() -> lw.results.Budget:
    arm = lw.load("ur5e").with_payload(LOAD)
    along = lw.torque_along(arm, lw.trajectories.quintic(START, END, SECONDS), samples=401, loads=False)
    return lw.budget(arm, along.q, along.qd, along.qdd, t=along.t)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    folder = parser.parse_args(arguments).out
    budget = budget_along()
    for joint in JOINTS:
        print(budget.why(joint))
    folder.mkdir(parents=True, exist_ok=True)
    budget.plot(folder / "torque_budget.png", joints=JOINTS)
    print(f"wrote {folder / 'torque_budget.png'}")


if __name__ == "__main__":
    main()
