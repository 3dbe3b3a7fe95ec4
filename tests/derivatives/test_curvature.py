"""Riemann symbols of the inertia metric: symmetries, independent formulas, and robots that are flat."""

import mpmath
import numpy as np
import pytest

import linkwise as lw
from digits import many_digits
from effort import rest_slow
from joint_kinds import ARM, BALL, CHAIN, SCREWS, TREE, coupled, states
from linkwise.dynamics import composite
from robots import DRIVEN, SMALL, ids, relative, scalars

PLANAR = lw.load("planar3")
COUPLED = coupled(lw.chain(5, seed=3, joints="RRPRH"))
FORMULAS = [PLANAR, DRIVEN[1], COUPLED]
WITH_BALLS = [BALL, CHAIN, ARM, TREE]


def riemann(inertia, first, second, inverse):
    """The definition, from I, ∂I_ij/∂q_k and ∂²I_ij/∂q_k∂q_l."""
    moved = np.moveaxis(first, -1, 0)  # [k, i, j]: ∂I_ij/∂q_k
    gamma = (moved + moved.transpose(1, 0, 2) - first) / 2  # [i, j, p]: Γ_ij,p
    n = len(inertia)
    R = np.empty((n,) * 4, dtype=inertia.dtype)
    for i, j, k, l in np.ndindex(*R.shape):
        bent = second[i, l, j, k] + second[j, k, i, l] - second[i, k, j, l] - second[j, l, i, k]
        R[i, j, k, l] = bent / 2 + gamma[i, l] @ inverse @ gamma[j, k] - gamma[i, k] @ inverse @ gamma[j, l]
    return R


@pytest.mark.parametrize("robot", rest_slow([*SMALL, *WITH_BALLS], [*FORMULAS[:2], BALL]), ids=lambda r: r.name)
def test_symmetries(robot):
    q, *_ = states(robot, 2)
    R = lw.curvature(robot, q)
    assert R.shape == (2, *(robot.n,) * 4)
    assert (-R.swapaxes(1, 2) == R).all()
    assert (-R.swapaxes(3, 4) == R).all()
    assert (R.transpose(0, 3, 4, 1, 2) == R).all()
    size = max(np.abs(R).max(), 1e-9)
    assert np.abs(R + R.transpose(0, 1, 3, 4, 2) + R.transpose(0, 1, 4, 2, 3)).max() < 1e-9 * size  # Bianchi's first
    assert relative(R[0], lw.curvature(robot, q[0])) < 1e-12


@pytest.mark.parametrize("robot", FORMULAS, ids=ids(FORMULAS))
def test_it_is_what_the_derivatives_of_the_inertia_matrix_give(robot):
    q, *_ = states(robot)
    slope = lw.derivative(lw.inertia_matrix, robot, "q")
    inertia, first, second = lw.inertia_matrix(robot, q), slope(q), lw.derivative(slope, robot, "q")(q)
    R = lw.curvature(robot, q)
    assert np.abs(R).max() > 1e-3
    assert relative(R, riemann(inertia, first, second, np.linalg.inv(inertia))) < 1e-11


def test_it_is_what_differences_of_many_digits_give():
    arm = lw.chain(3, seed=21)
    with mpmath.workdps(60):
        q, h = many_digits(np.array([0.3, -0.8, 1.1])), mpmath.mpf("1e-15")
        steps = h * many_digits(np.eye(3))

        def inertia(x):
            return np.array(composite.inertia_matrix(arm, scalars(x)), dtype=object)

        first = np.stack([(inertia(q + s) - inertia(q - s)) / (2 * h) for s in steps], axis=-1)
        second = np.empty((3,) * 4, dtype=object)
        for k, l in np.ndindex(3, 3):
            s, t = steps[k], steps[l]
            corners = inertia(q + s + t) - inertia(q + s - t) - inertia(q - s + t) + inertia(q - s - t)
            second[..., k, l] = corners / (4 * h * h)
        inverse = np.array((mpmath.matrix(inertia(q).tolist()) ** -1).tolist(), dtype=object).reshape(3, 3)
        expected = riemann(inertia(q), first, second, inverse)
    assert relative(lw.curvature(arm, [0.3, -0.8, 1.1]), expected) < 1e-12


def two_links(second_centre):
    rod = {"joint": "revolute", "a": 0.5, "b": 0.0, "alpha": 0.0, "inertia": np.diag([0.0, 0.04, 0.04])}
    rows = [rod | {"mass": mass, "com": (x, 0.0, 0.0)} for mass, x in ((2.0, -0.25), (1.5, second_centre))]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="two")


def test_flat_robots_and_others():
    q, *_ = states(PLANAR, 5)
    assert (lw.curvature(lw.load("gantry"), q) == 0.0).all()
    assert lw.count(lw.curvature, lw.load("gantry")).total == 0
    assert np.abs(lw.curvature(two_links(-0.5), q[:, :2])).max() < 1e-16  # the mass centre lies on the second axis
    assert np.abs(lw.curvature(two_links(-0.4), q[:, :2])).max() > 1e-3
    assert np.abs(lw.curvature(lw.load("stanford"), states(lw.load("stanford"))[0])).max() > 1e-2
    assert (lw.curvature(lw.chain(1), [0.3]) == 0.0).all()


def test_a_body_that_turns_has_the_curvature_of_its_ellipsoid():
    """Of a left-invariant metric of SO(3) with principal moments: Milnor, Advances in Mathematics 21, 1976."""
    moments = np.array([1.0, 1.7, 2.2])
    row = {"joint": "ball", "translation": (0, 0, 0), "mass": 3.0, "com": (0, 0, 0), "inertia": np.diag(moments)}
    body = lw.Robot.from_frames([row], name="body")
    structure = moments / np.sqrt(moments.prod())
    mu = 0.5 * structure.sum() - structure
    R = lw.curvature(body, states(body)[0])
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        expected = mu[j] * mu[k] + mu[i] * mu[k] - mu[i] * mu[j]
        assert R[i, j, i, j] / (moments[i] * moments[j]) == pytest.approx(expected, rel=1e-12)


def test_a_ball_joint_is_three_revolute_ones_at_angle_zero():
    body = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": np.diag([0.2, 0.3, 0.4])}
    arm = {"name": "arm", "joint": "revolute", "axis": (0, 0.6, 0.8), "translation": (0.2, 0.1, 0.4), **body}
    base = {"name": "base_arm", "joint": "revolute", "axis": (1, 0, 0), "translation": (0, 0, 0), **body}
    none = {"mass": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    parent, rows = "base_arm", [base]
    for name, axis in zip("xyz", np.eye(3), strict=True):
        place = (0.3, -0.1, 0.2) if name == "x" else (0, 0, 0)
        moving = body if name == "z" else none
        rows.append({"name": name, "parent": parent, "joint": "revolute", "axis": axis, "translation": place, **moving})
        parent = name
    ball = {"name": "z", "parent": "base_arm", "joint": "ball", "translation": (0.3, -0.1, 0.2), **body}
    three = lw.Robot.from_frames([*rows, {**arm, "parent": "z"}], name="three")
    one = lw.Robot.from_frames([base, ball, {**arm, "parent": "z"}], name="one")
    angles = lw.curvature(three, [0.4, 0, 0, 0, -0.7])
    assert relative(lw.curvature(one, [0.4, 1, 0, 0, 0, -0.7]), angles) < 1e-13


def test_kernels_give_the_same_and_wrong_robots_are_named():
    q, *_ = states(DRIVEN[1], 4)
    kernel = lw.compile(lw.curvature, DRIVEN[1])
    assert relative(kernel(q), lw.curvature(DRIVEN[1], q)) < 1e-13
    with pytest.raises(ValueError, match=rf"robot '{SCREWS.name}' has a ball joint with rotor inertia"):
        lw.curvature(SCREWS, np.zeros(SCREWS.nq))
