"""Moving pictures: a Stanford arm that falls, and a person who jumps and turns over; each as GIF and as a page.

The arm's drives are off, except the slide's, which a spring holds; friction of the bearings slows the fall. The person
leaves the ground turning, and springs pull knees, hips and elbows in.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
START = np.array([0.3, 1.3, 0.15, 0.4, 0.9, 0.0])
SLIDE = 2  # the joint of the arm that slides
HOLD, DAMP = 400.0, np.array([0.4, 1.2, 40.0, 0.05, 0.03, 0.01])
STIFF, LOSS = 25.0, 2.0  # of the person's joints


def falling_arm(seconds: float = 3.0) -> lw.Recording:
    def torque(arm: lw.Robot, t: float, q: np.ndarray, qd: np.ndarray) -> list[float]:
        friction = [-c * rate for c, rate in zip(DAMP, qd, strict=True)]
        friction[SLIDE] = friction[SLIDE] - HOLD * (q[SLIDE] - START[SLIDE])
        return friction

    return lw.simulate(lw.load("stanford"), START, duration=seconds, torque=torque, samples=151)


def jumping_person(seconds: float = 0.9) -> lw.Recording:
    arm = lw.load("humanoid")
    speed, stiffness, rest = np.zeros(arm.nv), np.full(arm.nv, STIFF), lw.neutral(arm)
    speed[arm.v_slice("pelvis")] = [0.5, 0.0, 4.2, 0.0, 4.5, 0.6]
    stiffness[arm.v_slice("pelvis")] = 0.0  # nothing holds the person
    for side in ("left", "right"):
        rest[arm.q_slice(f"{side}_shank")] = 1.7  # what the springs pull to: knees, hips and elbows bent
        rest[arm.q_slice(f"{side}_thigh")] = [np.cos(0.65), 0.0, -np.sin(0.65), 0.0]
        rest[arm.q_slice(f"{side}_forearm")] = -1.2
        speed[arm.v_slice(f"{side}_upper_arm")] = [0.0, -6.0, 0.0]
    law = lw.control.springs(stiffness, rest, np.where(stiffness > 0.0, LOSS, 0.0))
    return lw.simulate(arm, lw.neutral(arm), speed, seconds, torque=law, samples=91)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the pictures")
    parser.add_argument("--quick", action="store_true", help="short and small")
    options = parser.parse_args(arguments)
    folder = options.out
    folder.mkdir(parents=True, exist_ok=True)
    look = {"width": 240, "fps": 10} if options.quick else {"width": 420, "fps": 20}
    for name, recording, speed in (("stanford_fall", falling_arm(), 1.0), ("humanoid_fall", jumping_person(), 0.3)):
        for ending in ("gif", "html"):
            film = recording.animate(folder / f"{name}.{ending}", speed=speed, **look)
            size = (folder / f"{name}.{ending}").stat().st_size
            print(f"{folder / f'{name}.{ending}'}: {len(film.times)} frames, {size / 1e3:.0f} kB")
        lw.draw(recording.robot, recording.q[:: len(recording.t) // 5], folder / f"{name}.png", frames=False)


if __name__ == "__main__":
    main()
