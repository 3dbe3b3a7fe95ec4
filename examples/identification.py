"""From a motion that excites an arm to its parameters: what an unknown payload and the drives' friction do to a UR5e.

The arm that is measured is made up. It carries 1.5 kg which its model does not have, and its drives have rotors and
friction. It runs a motion that was found for the purpose, its encoders have 14 bits a turn, and its torques have noise
of 2 %. From positions and torques alone its parameters are identified; a second recording shows what they are worth.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
RATE, SECONDS = 500.0, 10.0  # Hz; of one period of the motion
ENCODER = 2.0 * np.pi / 2**14  # rad
NOISE = 0.02  # of the torques
SLOW = 0.05  # rad/s: where joints turn back or rest, friction is not what the law says
LIMITS = {"position": (-2.5, 2.5), "velocity": 2.5, "acceleration": 15.0}


def measured_arm(model: lw.Robot) -> lw.Robot:
    """What stands in the laboratory."""
    arm = model.with_payload(1.5, com=(0.0, 0.0, 0.06), inertia=np.diag([2e-3, 2e-3, 1e-3]))
    values = lw.parameters(arm, friction=True)
    for k, link in enumerate(arm.names):
        values[f"{link}.rotor"] = (2.0, 2.0, 1.5, 0.4, 0.4, 0.4)[k]
        values[f"{link}.viscous"] = (8.0, 8.0, 6.0, 1.5, 1.5, 1.5)[k]
        values[f"{link}.coulomb"] = (6.0, 6.0, 4.0, 1.0, 1.0, 1.0)[k]
    return arm.with_parameters(values, friction=True)


def measurement(arm: lw.Robot, motion: lw.trajectories.Trajectory, seed: int) -> dict[str, np.ndarray]:
    """Positions and torques along a motion that is run twice, as encoders and torque sensors give them."""
    t = np.arange(round(2.0 * SECONDS * RATE)) / RATE
    q, qd, qdd = motion(t % SECONDS)
    tau = np.asarray(lw.inverse_dynamics(arm, q, qd, qdd, friction=True))
    noise = np.random.default_rng(seed).normal(size=tau.shape)
    tau = tau + NOISE * np.sqrt(np.mean(tau**2, axis=0)) * noise
    return {"t": t, "q": np.round(q / ENCODER) * ENCODER, "tau": tau}


def identified(starts: int = 1) -> lw.results.Identification:
    model = lw.load("ur5e")
    arm = measured_arm(model)
    motions = [lw.excitation(model, 4, SECONDS, LIMITS, starts=starts, seed=seed) for seed in (0, 1)]
    first, second = (measurement(arm, motion, seed) for seed, motion in enumerate(motions))
    return lw.identify(model, first, validation=second, minimum_speed=SLOW)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the picture")
    out: Path = parser.parse_args(argv).out
    out.mkdir(parents=True, exist_ok=True)
    fit = identified()
    print(fit.report())
    payload = lw.total_mass(fit.robot) - lw.total_mass(fit.nominal)
    print(f"\nthe arm is {payload:.2f} kg heavier than its model, of which the drives cannot tell all")
    fit.plot(out / "identification.png")
    print(f"picture: {out / 'identification.png'}")


if __name__ == "__main__":
    main()
