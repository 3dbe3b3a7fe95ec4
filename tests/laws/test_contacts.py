"""Robots that stand: torques and ground forces for a motion, and the bounds of friction."""

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.dynamics.support import UNBOUNDED
from robots import relative

DOG = lw.load("go1")
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
ROUNDING = 1e-12


def states(robot: lw.Robot, count: int = 3) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(robot.n)
    return (lw.random_configuration(robot, rng, (count,)), *rng.normal(size=(2, count, robot.n)))


def crouched() -> np.ndarray:
    q = lw.neutral(DOG)
    for leg in ("FL", "FR", "RL", "RR"):
        q[DOG.q_slice(f"{leg}_thigh_joint")], q[DOG.q_slice(f"{leg}_calf_joint")] = 0.8, -1.6
    return q


def columns(robot: lw.Robot, q: np.ndarray, feet: dict[str, str]) -> np.ndarray:
    """Jᵀ of all contacts: (..., n, rows)."""
    rows = {"point": slice(3, 6), "pose": slice(0, 6)}
    stacked = [lw.jacobian(robot, q, frame=foot)[..., rows[hold], :] for foot, hold in feet.items()]
    return np.concatenate(stacked, -2).swapaxes(-1, -2)


@pytest.mark.parametrize("feet", [dict.fromkeys(FEET, "point"), {"FL_foot": "pose", "RR_foot": "point"}], ids=len)
def test_drives_and_the_least_forces_give_the_motion(feet: dict[str, str]) -> None:
    q, qd, qdd = states(DOG)
    wrench = {"trunk": np.random.default_rng(0).normal(size=(3, 6))}
    support = lw.inverse_dynamics(DOG, q, qd, qdd, wrench, contacts=feet, friction=True)
    needed, pulls = lw.inverse_dynamics(DOG, q, qd, qdd, wrench, friction=True), columns(DOG, q, feet)
    found = np.concatenate([support.wrenches[f][..., 3 * (hold == "point") :] for f, hold in feet.items()], -1)
    assert not support.tau[..., :6].any()
    assert relative(support.tau + (pulls @ found[..., None])[..., 0], needed) < ROUNDING
    assert np.abs(support.missing).max() < 1e-9
    least = np.linalg.pinv(pulls[:, :6]) @ needed[:, :6, None]
    assert relative(found, least[..., 0]) < 1e-9
    one, wanted = {"trunk": wrench["trunk"][0]}, accelerations(feet, q[0], qd[0], qdd[0])
    options = {"fixed": feet, "friction": True, "acceleration": wanted}
    qdd_again = lw.constrained_dynamics(DOG, q[0], qd[0], support.tau[0], one, **options).qdd
    assert relative(qdd_again, qdd[0]) < 1e-9


def accelerations(feet: dict[str, str], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    rates = [lw.jacobian_rate(DOG, q, qd, frame=foot) @ qd + lw.jacobian(DOG, q, frame=foot) @ qdd for foot in feet]
    return np.concatenate([rate[3 * (hold == "point") :] for rate, hold in zip(rates, feet.values(), strict=True)])


def test_what_two_feet_cannot_give_is_missing() -> None:
    q, still = crouched(), np.zeros(DOG.n)
    support = lw.inverse_dynamics(DOG, q, still, still, contacts=["FL_foot", "RR_foot"])
    pulls = columns(DOG, q, dict.fromkeys(support.wrenches, "point"))[:6]
    found = np.concatenate([w[3:] for w in support.wrenches.values()])
    assert relative(pulls @ found + support.missing, lw.gravity_torque(DOG, q)[:6]) < ROUNDING
    assert np.abs(pulls.T @ support.missing).max() < 1e-10  # no forces of these feet make it less
    assert np.linalg.norm(support.missing) > 0.1
    assert sum(w[5] for w in support.wrenches.values()) == pytest.approx(9.81 * lw.total_mass(DOG), rel=1e-3)


def test_bounds_hold_what_slides_and_what_breaks() -> None:
    limited = [{**row, **({"effort_limit": 20.0} if row["joint"] == "revolute" else {})} for row in DOG.rows]
    robot = lw.Robot.from_frames(limited, gravity=DOG.gravity, name="limited")
    q, still = crouched(), np.zeros(robot.n)
    bounds = lw.control.contact_bounds(robot, q, still, still, contacts=FEET, coefficient=0.5, least=5.0)
    assert bounds.A.shape == (6 + 5 * 4 + 12, 12)
    pulls, needed = columns(robot, q, dict.fromkeys(FEET, "point")), lw.gravity_torque(robot, q)
    forces = np.random.default_rng(0).normal(size=(200, 4, 3)) * [8, 8, 8] + [0, 0, 20]
    flat = forces.reshape(200, 12)
    inside = (bounds.lower - 1e-9 <= (bounds.A @ flat.T).T) & (bounds.upper + 1e-9 >= (bounds.A @ flat.T).T)
    sides = inside[:, 6:26].reshape(200, 4, 5).all(-1)
    slopes = 0.5 / np.sqrt(2) * forces[..., 2]
    expected = (forces[..., 2] >= 5.0) & (np.abs(forces[..., :2]) <= slopes[..., None]).all(-1)
    assert np.array_equal(sides, expected)
    assert 0 < sides.sum() < sides.size
    torques = needed - flat @ pulls.T
    assert np.array_equal(inside[:, 26:].all(-1), (np.abs(torques[:, 6:]) <= 20.0).all(-1))
    assert relative((flat @ bounds.A[:6].T), flat @ pulls[:6].T) < ROUNDING
    assert relative(bounds.lower[:6], needed[:6]) < ROUNDING
    assert (bounds.lower[7:11] == -UNBOUNDED).all()
    tilted = lw.control.contact_bounds(robot, q, still, still, contacts=FEET[:1], normal=(3, 0, 4)).A[6]
    assert tilted.tolist() == pytest.approx([0.6, 0.0, 0.8])


def test_who_does_not_stand_is_refused() -> None:
    arm, still = lw.load("planar3"), [0.0] * 3
    with raises(lw.errors.RobotError, "planar3", "free"):
        lw.inverse_dynamics(arm, still, still, still, contacts=[arm.names[-1]])
    q, still = crouched(), np.zeros(DOG.n)
    with raises(lw.errors.RobotError, "FL_fot"):
        lw.inverse_dynamics(DOG, q, still, still, contacts=["FL_fot"])
    with raises(TypeError, "contacts", "base"):
        lw.inverse_dynamics(DOG, q, still, still, contacts=FEET, base=lw.BaseMotion())
    with raises(TypeError, "contacts", "FL_foot"):
        lw.inverse_dynamics(DOG, q, still, still, contacts="FL_foot")
    with raises(ValueError, "pose", "FL_foot"):
        lw.control.contact_bounds(DOG, q, still, still, contacts={"FL_foot": "pose"})
    with raises(ValueError, "coefficient", "-1"):
        lw.control.contact_bounds(DOG, q, still, still, contacts=FEET, coefficient=-1)
    with raises(ValueError, "normal"):
        lw.control.contact_bounds(DOG, q, still, still, contacts=FEET, normal=(0, 0, 0))
    for wrong in (set(FEET), [5]):
        with raises(TypeError, "contacts", repr(wrong), "'point'"):
            lw.inverse_dynamics(DOG, q, still, still, contacts=wrong)
    for function in (lw.inverse_dynamics, lw.control.contact_bounds):
        with raises(ValueError, "contacts", "FL_foot", "twice"):
            function(DOG, q, still, still, contacts=["FL_foot", "RR_foot", "FL_foot"])
