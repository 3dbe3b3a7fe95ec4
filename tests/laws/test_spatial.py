"""spatial/ against plain 6 × 6 matrices, with hypothesis."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkwise.spatial import (
    ArticulatedInertia,
    Matrix,
    Placement,
    RigidInertia,
    Rotation,
    Symmetric,
    Twist,
    Vector,
    Wrench,
    cross,
    dot,
    power,
    turn_x,
    turn_z,
)

numbers = st.floats(-3.0, 3.0).map(lambda x: 0.0 if abs(x) < 1e-6 else x)
vectors = st.tuples(numbers, numbers, numbers)
sixes = st.tuples(vectors, vectors)
placements = st.builds(
    lambda v, p: Placement(turn_z(v[0]).then(turn_x(v[1])).then(turn_z(v[2])), Vector(*p)), vectors, vectors
)
masses = st.floats(0.0, 5.0)
tensors = st.lists(numbers, min_size=6, max_size=6)


def skew(v: object) -> np.ndarray:
    x, y, z = np.array(list(v), dtype=float)
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def outward(pose: Placement) -> np.ndarray:
    """6 × 6: a twist of the parent, as the child sees it."""
    r, p = np.array(pose.axes.rows), skew(pose.translation)
    return np.block([[r.T, np.zeros((3, 3))], [-r.T @ p, r.T]])


def dense(inertia: RigidInertia | ArticulatedInertia) -> np.ndarray:
    units = np.eye(6)
    return np.stack([list(inertia @ Twist(Vector(*u[:3]), Vector(*u[3:]))) for u in units], axis=-1)


def close(a: object, b: object) -> bool:
    return bool(np.allclose(np.array(a, dtype=float), np.array(b, dtype=float), rtol=1e-12, atol=1e-11))


@given(vectors, vectors)
def test_cross_and_dot(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    assert close(list(cross(Vector(*a), Vector(*b))), np.cross(a, b))
    assert close(dot(Vector(*a), Vector(*b)), np.dot(a, b))


@given(placements, placements)
def test_placements_compose_and_invert(a: Placement, b: Placement) -> None:
    assert close(a.then(b).matrix(), np.array(a.matrix()) @ np.array(b.matrix()))
    assert close(a.moved(b).matrix(), a.then(b).matrix())
    assert close(a.then(a.inverse()).matrix(), np.eye(4))


@given(placements, sixes, sixes)
def test_twists_and_wrenches_move_as_six_by_six_matrices_say(pose: Placement, t: object, w: object) -> None:
    (a, b), (c, d) = t, w
    twist, wrench = Twist(Vector(*a), Vector(*b)), Wrench(Vector(*c), Vector(*d))
    assert close(list(twist.to_child(pose)), outward(pose) @ [*a, *b])
    assert close(list(wrench.to_parent(pose)), outward(pose).T @ [*c, *d])
    assert close(power(twist.to_child(pose), wrench), power(twist, wrench.to_parent(pose)))


@given(placements, masses, vectors, tensors)
def test_rigid_inertia_moves_as_a_congruence(pose: Placement, m: float, c: tuple[float, ...], s: list[float]) -> None:
    body = RigidInertia.of_body(m, Vector(*c), Symmetric(*s))
    lever = skew(c)
    tensor = np.array(Symmetric(*s).rows) - m * lever @ lever
    assert close(dense(body), np.block([[tensor, m * lever], [-m * lever, m * np.eye(3)]]))
    assert close(dense(body.to_parent(pose)), outward(pose).T @ dense(body) @ outward(pose))


@given(placements, tensors, st.lists(vectors, min_size=3, max_size=3), tensors)
def test_articulated_inertia_moves_as_a_congruence(pose: Placement, a: list[float], h: object, m: list[float]) -> None:
    inertia = ArticulatedInertia(Symmetric(*a), Matrix(h), Symmetric(*m))
    assert close(dense(inertia.to_parent(pose)), outward(pose).T @ dense(inertia) @ outward(pose))
    assert close(dense(inertia), dense(inertia).T)


@given(tensors, st.lists(vectors, min_size=3, max_size=3), tensors, sixes, numbers)
def test_articulated_inertia_less_a_dyad(a: list[float], h: object, m: list[float], w: object, s: float) -> None:
    inertia = ArticulatedInertia(Symmetric(*a), Matrix(h), Symmetric(*m))
    (c, d) = w
    wrench = Wrench(Vector(*c), Vector(*d))
    assert close(dense(inertia.less(wrench, wrench * s)), dense(inertia) - s * np.outer([*c, *d], [*c, *d]))


@given(masses, vectors, tensors)
def test_a_rigid_body_is_an_articulated_one_without_joints(m: float, c: tuple[float, ...], s: list[float]) -> None:
    body = RigidInertia.of_body(m, Vector(*c), Symmetric(*s))
    assert close(dense(body), dense(ArticulatedInertia.of_rigid(body)))


def test_quarter_turns_are_exact() -> None:
    for k in range(-8, 9):
        for turn in (turn_x, turn_z):
            assert {abs(x) for row in turn(k * np.pi / 2).rows for x in row} == {0.0, 1.0}


@given(placements)
def test_orthonormal_repairs_a_rounded_rotation(pose: Placement) -> None:
    rounded = Rotation([[round(x, 6) for x in row] for row in pose.axes.rows])
    exact = np.array(rounded.orthonormal().rows)
    assert close(exact @ exact.T, np.eye(3))
    assert np.abs(exact - np.array(pose.axes.rows)).max() < 1e-5
