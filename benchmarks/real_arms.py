"""Identification of real arms, from public recordings that you have: held-out errors beside OLS, WLS and LMI.

python benchmarks/real_arms.py --franka FrankaEmikaPandaDynModel --ur10e dynamic_calibration --figaroh figaroh-examples

Each path is a folder that holds a public repository: github.com/marcocognetti/FrankaEmikaPandaDynModel,
github.com/shamilmamedov/dynamic_calibration, github.com/thanhndv212/figaroh-examples. Nothing of them is copied.

A recording is parted into five blocks of time. Each is predicted by a fit to the others; errors are of all its rows,
torques and predictions below the same frequency. OLS, WLS (joints weighted by their noise) and LMI (Clarabel:
physically consistent bodies) have the columns and the cut-off of Linkwise's fit.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Section, Table
from scipy.signal import butter, sosfiltfilt
from timing import optional

import linkwise as lw

FOLDS = 5
GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # of the UR10e, as published: N m/A
UR10E = {  # rows of the excitation, as the authors of the recordings give them
    "20_02_10-30sec_12harm": (635, 3510),
    "20_02_12-40sec_12harm": (500, 4460),
    "20_02_12-50sec_12harm": (355, 5090),
    "20_01_17-ptp_10_points": (700, 4200),
}
PAIRS = {"14harm": ((195, 4966), (308, 5071)), "15harm": ((193, 4925), (240, 5110))}  # without and with 2.805 kg
LOAD = 2.805
TX40_RATIOS, TX40_STEP = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0), 2e-4
TIAGO = {  # joints, and what makes torques of recorded efforts: gear ratio times torque constant, as published
    "torso_lift_joint": 1.0,
    **dict.fromkeys(("arm_1_joint", "arm_2_joint"), 13.6),
    **dict.fromkeys(("arm_3_joint", "arm_4_joint"), -8.7),
    **dict.fromkeys(("arm_5_joint", "arm_6_joint", "arm_7_joint"), -20.5968),
}


class Recording(NamedTuple):
    name: str
    robot: lw.Robot
    data: dict[str, np.ndarray]
    band: float  # Hz: torques and predictions are compared below
    options: dict[str, Any]


def franka(folder: Path) -> Iterator[Recording]:
    log = folder / "matlab/data/Exciting_Traj/Trajectory_1/rbt_log"
    names = {"t": "time", "q": "positions", "tau": "torques"}
    data = {key: np.loadtxt(log / f"exciting_traj_{name}.txt") for key, name in names.items()}
    data |= {key: data[key].reshape(-1, 7) for key in ("q", "tau")}
    yield Recording("Franka", lw.load("panda").with_locked("panda_finger_joint1", 0.0), data, 10.0, {})


def ur10e_data(folder: Path, name: str, rows: tuple[int, int]) -> dict[str, np.ndarray]:
    table = np.loadtxt(folder / "dataset_ur10e" / name, delimiter=",")[rows[0] - 1 : rows[1]]
    return {"t": table[:, 0] - table[0, 0], "q": table[:, 1:7], "tau": table[:, 13:19] * GAINS}


def ur10e(folder: Path) -> Iterator[Recording]:
    robot = lw.load(folder / "URe/urdf/ur10e.urdf")
    for name, rows in UR10E.items():
        kind = "validation_data" if "ptp" in name else "identification_data"
        yield Recording(f"UR10e {name[9:]}", robot, ur10e_data(folder, f"{kind}/ur-{name}.csv", rows), 10.0, {})


def tx40_ratios() -> np.ndarray:
    """Motor angles = R q: the motor of joint 6 turns with joint 5 too."""
    R = np.diag(TX40_RATIOS)
    R[5, 4] = TX40_RATIOS[5]
    return R


def tx40(folder: Path) -> Iterator[Recording]:
    place, R = folder / "examples/staubli_TX40", tx40_ratios()
    angles, currents = (
        np.loadtxt(place / f"data/{name}.csv", delimiter=",", skiprows=1) for name in ("pos_read_data", "curr_data")
    )
    q = np.linalg.solve(R, angles.T).T + np.array([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]) * np.pi / 2.0
    data = {"t": TX40_STEP * np.arange(len(q)), "q": q, "tau": currents @ R}
    yield Recording("TX40", lw.load(place / "urdf/tx40_mdh_modified.urdf"), data, 50.0, {"transmission": R})


def tiago(folder: Path) -> Iterator[Recording]:
    place = folder / "examples/tiago"
    tables = [
        np.loadtxt(place / f"data/identification/dynamic/tiago_{name}.csv", delimiter=",", skiprows=1)
        for name in ("position", "effort")
    ]
    robot = lw.load(place / "urdf/tiago_48_schunk.urdf", unphysical="warn")
    for joint in robot.moving:
        if joint.joint not in TIAGO and joint.coupling is None:
            robot = robot.with_locked(joint.joint, 0.0)
    efforts = tables[1][:, 1:] * list(TIAGO.values())
    efforts[:, 0] += 9.81 * lw.total_mass(robot)  # what the torso's drive does not carry
    yield Recording("TIAGo", robot, {"t": tables[0][:, 0], "q": tables[0][:, 1:], "tau": efforts}, 10.0, {})


def low_pass(values: np.ndarray, rate: float, cutoff: float) -> np.ndarray:
    return np.asarray(sosfiltfilt(butter(4, cutoff / (0.5 * rate), output="sos"), values, axis=0))


def fits_of(recording: Recording, training: list[dict[str, np.ndarray]]) -> dict[str, Callable[..., np.ndarray]]:
    """Of each method its prediction of torques from q, qd and qdd; and the cut-off of the motion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = lw.identify(recording.robot, training, **recording.options)
        cutoff = fit.filtering.cutoff
        motions = [lw.identification.measured_motion(recording.robot, part, cutoff=cutoff) for part in training]
    model, n = fit.model, recording.robot.n
    step = max(1, int(1.0 / (motions[0].t[1] - motions[0].t[0]) / (4.0 * cutoff)))
    rows = np.concatenate([model.rows(m.q[::step], m.qd[::step], m.qdd[::step]) for m in motions])
    tau = np.concatenate([m.tau[::step] for m in motions]) - rows[..., -1]
    tau = np.where(np.isnan(tau), 0.0, tau) * np.any(np.nan_to_num(tau) != 0.0, axis=0)
    Y = rows[..., :-1] * np.any(tau != 0.0, axis=0)[:, None]
    ones = np.ones(n)
    x = least_squares(Y, tau, ones, model.base_nominal)
    noise = np.sqrt(np.mean((tau - Y @ x) ** 2, axis=0))
    weights = np.where(noise > 0.0, 1.0 / np.where(noise > 0.0, noise, 1.0), 0.0)
    found = {"OLS": x, "WLS": least_squares(Y, tau, weights, model.base_nominal)}
    lmi = conic(model, Y, tau, weights)
    if lmi is not None:
        found["LMI"] = lmi
    predictions: dict[str, Any] = {"Linkwise": fit.predict}
    for name, values in found.items():
        predictions[name] = lambda q, qd, qdd, x=values: model.rows(q, qd, qdd) @ np.append(x, 1.0)
    return predictions | {"cutoff": cutoff}


def least_squares(Y: np.ndarray, tau: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    A, b = (Y * weights[:, None]).reshape(-1, Y.shape[-1]), (tau * weights).ravel()
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return np.asarray(start + np.linalg.lstsq(A / scale, b - A @ start, rcond=1e-10)[0] / scale)


def conic(model: Any, Y: np.ndarray, tau: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """Bodies with positive definite pseudo-inertias nearest to the torques, by Clarabel; None without it."""
    if optional("clarabel") is None or optional("cvxpy") is None:
        return None
    from conic import solve_with_clarabel

    from linkwise.identification.physical import PhysicalProblem

    A, b = (Y * weights[:, None]).reshape(-1, Y.shape[-1]), (tau * weights).ravel()
    R = np.linalg.qr(np.column_stack([A, b]), mode="r")
    matrix, size = np.concatenate([R[:, : len(model.T)] @ model.T, R[:, len(model.T) : -1]], axis=1), model.body_size
    links, scalars = size // 10, len(model.unknowns) - size
    prior = np.tile(np.diag([0.01, 0.01, 0.01, 1.0]), (links, 1, 1))
    problem = PhysicalProblem(matrix, R[:, -1], prior, np.ones(scalars), 0.0, np.ones(scalars))
    try:
        found = solve_with_clarabel(problem)
    except RuntimeError:
        return None
    return np.concatenate([model.T @ found.values, found.free])


def held_out(recording: Recording) -> tuple[dict[str, np.ndarray], list[float], float]:
    """Root mean squares (n,) of each method over all rows of blocks that were left out; cut-offs; seconds of a fit."""
    robot, data = recording.robot, recording.data
    edges = np.linspace(0, len(data["t"]), FOLDS + 1).astype(int)
    squares: dict[str, np.ndarray] = {}
    counts, cutoffs, seconds = 0, [], 0.0
    for a, b in itertools.pairwise(edges):
        training = [
            {key: values[part] for key, values in data.items()}
            for part in (slice(0, a), slice(b, None))
            if len(data["t"][part])
        ]
        start = time.perf_counter()
        predictions = fits_of(recording, training)
        seconds += (time.perf_counter() - start) / FOLDS
        cutoff: Any = predictions.pop("cutoff")
        cutoffs.append(cutoff)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            motion = lw.identification.measured_motion(robot, data, cutoff=cutoff)
        t = np.asarray(motion.t)
        raw = np.stack([np.interp(t, data["t"], column) for column in data["tau"].T], axis=-1)
        rate, inside = 1.0 / (t[1] - t[0]), (t >= data["t"][a]) & (t <= data["t"][b - 1])
        measured = low_pass(raw, rate, recording.band)[inside]
        used = raw.any(axis=0)
        for name, predict in predictions.items():
            tau = low_pass(np.asarray(predict(motion.q, motion.qd, motion.qdd)), rate, recording.band)[inside]
            squares[name] = squares.get(name, 0.0) + np.sum((tau - measured) ** 2, axis=0) * used
        counts += int(inside.sum())
    return {name: np.sqrt(total / counts)[used] for name, total in squares.items()}, cutoffs, seconds


def measure(recordings: Sequence[Recording]) -> Section:
    section = Section("Real arms", "python benchmarks/real_arms.py", str(__doc__).split("\n\n", 3)[-1].strip())
    rows, joints = [], []
    for recording in recordings:
        errors, cutoffs, seconds = held_out(recording)
        pooled = {name: float(np.sqrt(np.mean(rms**2))) for name, rms in errors.items()}
        cells = [f"{pooled[name]:.3f}" if name in pooled else "-" for name in ("Linkwise", "OLS", "WLS", "LMI")]
        band = f"{min(cutoffs):.3g} to {max(cutoffs):.3g}"
        rows.append([recording.name, *cells, f"{recording.band:g}", band, f"{seconds:.1f}"])
        print(" ".join(rows[-1]), flush=True)
        joints += [[recording.name, name, " ".join(f"{x:.3f}" for x in rms)] for name, rms in errors.items()]
    head = ["recording", "Linkwise", "OLS", "WLS", "LMI", "below Hz", "cut-off Hz", "seconds a fit"]
    section.tables = [
        Table("Held-out root mean squares over all joints, N m (and N):", head, rows),
        Table("Of each joint:", ["recording", "method", "rms"], joints),
    ]
    return section


READERS: dict[str, list[tuple[str, Callable[[Path], Iterator[Recording]]]]] = {
    "franka": [("Franka", franka)],
    "ur10e": [("UR10e", ur10e)],
    "figaroh": [("TX40", tx40), ("TIAGo", tiago)],
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path, help="folder of that repository")
    parser.add_argument("--only", default="", help="recordings whose names have this")
    options = vars(parser.parse_args(argv))
    recordings, missing = [], []
    for name, readers in READERS.items():
        for arm, reader in readers:
            try:
                if options[name] is None:
                    raise FileNotFoundError(f"--{name} is not given")
                recordings += [part for part in reader(options[name]) if options["only"] in part.name]
            except (OSError, ValueError) as error:
                missing.append(f"not found: {arm} ({error})")
    section = measure(recordings)
    section.remarks = missing
    print(section)


if __name__ == "__main__":
    main()
