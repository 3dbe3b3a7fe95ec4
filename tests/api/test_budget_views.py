"""What budgets show: both parts of friction, the share of a payload, colours of kinds, names of joints, the prompt."""

import re
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises
from linkwise.api.budgets.plot import KINDS, term_styles

ARM = lw.load("ur5e")
Q, QD, QDD = [0, -0.4, 0.4, 0, 0.5, 0], [3, -1, 1, 0, 0.1, 0], [2, -8, 0, 0, 0, 0]
DRY = lw.Friction(viscous=0.3, coulomb=[1, 2, 3, 4, 5, 6], stribeck=9.0)


def test_friction_is_viscous_and_dry() -> None:
    budget = lw.budget(ARM, Q, QD, QDD, friction=DRY)
    assert np.allclose(budget.viscous, 0.3 * np.array(QD), rtol=1e-14)
    assert np.allclose(budget.friction, DRY.torque(ARM, QD), rtol=1e-14)
    joint = budget["shoulder_pan_joint"]
    assert joint["viscous friction"] == pytest.approx(0.9)
    assert joint["Coulomb friction"] == pytest.approx(float(budget.coulomb[0]))
    assert budget.joint(0, by="kinds")["friction"] == pytest.approx(float(budget.friction[0]))


def test_the_difference_of_two_budgets_is_that_of_the_payload() -> None:
    loaded = ARM.with_payload(5.0, com=(0, 0, 0.1))
    share = lw.budget(loaded, Q, QD, QDD) - lw.budget(ARM, Q, QD, QDD)
    assert np.allclose(share.tau, lw.inverse_dynamics(loaded, Q, QD, QDD) - lw.inverse_dynamics(ARM, Q, QD, QDD))
    assert np.abs(share.gravity[:, :-1]).max() < 1e-12  # of the last link alone
    assert share["shoulder_lift_joint"].limit == 150.0
    with raises(ValueError, "'ur5e'", "'planar3'"):
        share - lw.budget(lw.load("planar3"), [0] * 3, [0] * 3, [0] * 3)
    with raises(ValueError, "()", "(1,)"):
        share - lw.budget(ARM, [Q], [QD], [QDD])


def test_tables_list_a_dozen_terms_unless_more_are_wanted() -> None:
    budget = lw.budget(ARM, *np.random.default_rng(0).normal(size=(3, 6)))
    assert len(str(budget["shoulder_pan_joint"]).splitlines()) == 2 + 12 + 3  # others, total and limit
    assert len(budget["shoulder_pan_joint"].terms) > 40
    assert "others" not in str(budget.joint(0, most=None))
    assert max(len(part.splitlines()) for part in str(budget.table()).split("\n\n")) <= 17


def test_kinds_have_the_same_colours_in_every_picture() -> None:
    labels, _ = lw.budget(ARM, Q, QD, QDD).view("kinds")
    assert set(labels) == set(KINDS)
    assert len(set(KINDS.values())) == len(KINDS)
    for shown in ([[0, 3]], [[3], [0]]):
        assert {labels[k]: style["facecolor"] for k, style in term_styles(shown, labels).items()} == {
            labels[k]: KINDS[labels[k]] for k in (0, 3)
        }


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("shoulder_lift", "did you mean 'shoulder_lift_joint'"),
        ("2", r"a number without quotes: 0 is the first joint"),
        (6, "a whole number below 6"),
    ],
)
def test_joints_that_are_not_there(joint: str | int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lw.budget(ARM, Q, QD, QDD).joint(joint)


def test_why_says_how_long_a_limit_is_passed() -> None:
    t = np.linspace(0.0, 2.0, 2001)
    slider = lw.load("gantry")
    rows = [{**row, "effort_limit": 6.0} for row in slider.rows]
    slider = lw.Robot.from_frames(rows, gravity=(0, 0, 0), name="slider")
    qdd = np.stack([np.cos(np.pi * t), 0 * t, 0 * t], -1)  # 12 kg: beyond 6 N for two thirds of the time
    budget = lw.budget(slider, 0 * qdd, 0 * qdd, qdd, t=t)
    assert "which it passes for 1.33 s of 2 s" in budget.why(0)
    assert "passes" not in budget.why(1)
    assert np.array_equal(budget.peak(0).tau, budget.state(0).tau)
    assert budget.peak(0).latex(0).startswith(r"\begin{align*}")


LINE = "budget ur5e --q 0,-0.4,0.4,0,0.5,0 --qd 3,-1,1,0,0,0 --qdd 2,-8,0,0,0,0"


def test_one_table_at_the_prompt() -> None:
    wide, narrow = (linkwise(f"{LINE} --joint 2", {"COLUMNS": columns}).out for columns in ("140", "80"))
    assert "through the body from upper_arm_link on" in wide
    assert max(map(len, narrow.splitlines())) <= 80
    assert narrow.count("of torque (%)") == 1
    assert "shoulder_lift_joint, its limit is 150 N m" in narrow
    everything = linkwise(LINE, {"COLUMNS": "80"}).out
    assert everything.count("of torque (%)") == 6
    assert max(map(len, everything.splitlines())) <= 80


def test_words_and_equations_at_the_prompt() -> None:
    budget = lw.budget(ARM, Q, [3, -1, 1, 0, 0, 0], QDD)
    words = linkwise(f"{LINE} --joint shoulder_lift_joint --why", {"COLUMNS": "1000"}).out
    assert str(budget.why("shoulder_lift_joint")) in words
    assert linkwise(f"{LINE} --joint 2 --latex").out.strip() == budget.latex(1, most=12)
    assert "expected one of them" in linkwise(f"{LINE} --why --latex").err
    assert "did you mean 'shoulder_lift_joint'" in linkwise(f"{LINE} --joint shoulder_lift").err
    assert "from 1 to 6" in linkwise(f"{LINE} --joint 0").err


def test_the_payload_at_the_prompt() -> None:
    share = lw.budget(ARM.with_payload(5.0, (0, 0, 0.1), link="tool0"), Q, QD, QDD) - lw.budget(ARM, Q, QD, QDD)
    line = f"{LINE} --joint 2 --payload 5,0,0,0.1@tool0".replace("1,0,0,0 ", "1,0,0.1,0 ")
    shown = re.search(r"(\S+) +\S+ +\S+ +part due to the payload", linkwise(line).out)
    assert shown is not None
    assert float(shown[1]) == pytest.approx(float(share.tau[1]), rel=1e-3)
    assert "expected --payload 5,0,0,0.1@tool0" in linkwise(f"{LINE} --payload 5@tool0,0,0,0.1").err


def test_a_recording_as_the_motion(tmp_path: Path) -> None:
    """Positions with noise: the terms are those of the motion itself, and measured torques stand below the model's."""
    arm, t, noise = lw.load("planar3"), np.linspace(0.0, 4.0, 2001), np.random.default_rng(0).normal(size=(2001, 6))
    slow = np.array([3.0, 2.0, 4.0])
    q, qd, qdd = np.sin(np.outer(t, slow)), slow * np.cos(np.outer(t, slow)), -(slow**2) * np.sin(np.outer(t, slow))
    tau = lw.inverse_dynamics(arm, q, qd, qdd) + 0.1 + 0.01 * noise[:, 3:]
    run = lw.identification.measured_motion(arm, {"t": t, "q": q + 1e-5 * noise[:, :3], "tau": tau})
    rows = np.rint(run.t / 0.002).astype(int)
    found, true = (lw.budget(arm, *motion) for motion in ((run.q, run.qd, run.qdd), (q[rows], qd[rows], qdd[rows])))
    assert np.abs(found.tau - true.tau).max() < 0.02 * np.abs(true.tau).max()
    assert np.abs(run.tau - true.tau - 0.1).max() < 0.02
    table = np.column_stack([t, q + 1e-5 * noise[:, :3], tau])
    head = "t,q1,q2,q3,tau1,tau2,tau3"
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=head, comments="")
    line = f"budget planar3 --measured {tmp_path / 'run.csv'}"
    assert "measured torque" in linkwise(f"{line} --joint 1").out
    assert "expected no --q" in linkwise(f"{line} --q 0,0,0").err
    assert "expected --measured FILE" in linkwise("budget planar3 --cutoff 5").err
