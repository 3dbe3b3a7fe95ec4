"""URDF texts read by Linkwise and by Pinocchio: the same torques and inertia matrices."""

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")

from urdf_peers import agree, agree_coupled, numbers, random_inertial, random_rpy, random_urdf  # noqa: E402

CLOSE = 1e-10
SEEDS = list(range(60))
over_seeds = pytest.mark.parametrize("seed", rest_slow(SEEDS, SEEDS[:6]))


@over_seeds
def test_random_trees_agree_with_pinocchio(seed, tmp_path):
    path = tmp_path / "random.urdf"
    written = random_urdf(seed)
    path.write_text(written.text)
    agree(lw.load(path, mimic="independent"), pin.buildModelFromXML(written.text), CLOSE, seed)
    model = pin.buildModelFromXML(written.text, pin.JointModelFreeFlyer())
    agree(lw.load(path, mimic="independent", base="free"), model, CLOSE, seed)


@over_seeds
def test_saved_as_a_table_it_is_the_same_robot(seed, tmp_path):
    path, table = tmp_path / "random.urdf", tmp_path / "random.toml"
    path.write_text(random_urdf(seed).text)
    arm = lw.load(path, base=("fixed", "free")[seed % 2])
    lw.save(arm, table)
    again = lw.load(table)
    assert again == arm
    assert (again.q_names, again.rows) == (arm.q_names, arm.rows)


@over_seeds
def test_coupled_joints_move_as_the_file_says(seed, tmp_path):
    path = tmp_path / "random.urdf"
    written = random_urdf(seed, kinds=("revolute", "continuous", "prismatic"))
    path.write_text(written.text)
    arm, alone = lw.load(path), lw.load(path, mimic="independent")
    assert set(alone.joint_names) - set(arm.joint_names) == set(written.mimics)
    agree_coupled(arm, alone, written, pin.buildModelFromXML(written.text), CLOSE, seed)


def test_mimic_of_pinocchio(tmp_path):
    """Pinocchio couples joints too, if asked, in the same way."""
    rng = np.random.default_rng(5)
    body = random_inertial(rng)
    path = tmp_path / "gripper.urdf"
    path.write_text(
        f"""<robot name="gripper"><link name="palm"/><link name="left">{body}</link><link name="right">{body}</link>
        <joint name="open" type="revolute"><parent link="palm"/><child link="left"/><axis xyz="0 3 4"/>
          <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
        <joint name="other" type="revolute"><parent link="left"/><child link="right"/><origin xyz="0 0.1 0.2"/>
          <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
          <mimic joint="open" multiplier="-1.5" offset="0.3"/></joint></robot>"""
    )
    arm, model = lw.load(path), pin.buildModelFromUrdf(str(path), True)
    q, qd, qdd = rng.normal(0, 1, (3, 1))
    assert model.nv == arm.n == 1
    tau = pin.rnea(model, model.createData(), q, qd, qdd)
    assert np.allclose(lw.inverse_dynamics(arm, q, qd, qdd), tau, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("axis", ["0 0 -2", "1 0 0", "0.3 -0.4 0.5", None])
def test_the_axis_of_a_planar_joint_is_normal_to_its_plane(axis, tmp_path):
    """Pinocchio's planes are always xy: fixed joints turn its z onto the axis, and back."""
    rng = np.random.default_rng(1)
    origin, body = f'xyz="{numbers(rng.normal(0, 1, 3))}" rpy="{numbers(random_rpy(rng))}"', random_inertial(rng)
    given = f'<axis xyz="{axis}"/>' if axis else ""
    path = tmp_path / "planar.urdf"
    joint = f'type="planar"><parent link="a"/><child link="b"/><origin {origin}/>{given}</joint>'
    path.write_text(f'<robot name="p"><link name="a"/><link name="b">{body}</link><joint name="j" {joint}</robot>')
    arm = lw.load(path)
    normal = np.array([float(x) for x in (axis or "1 0 0").split()])
    pose = lw.poses(arm, [0.0, 0.0, 0.7])[0] @ np.linalg.inv(lw.poses(arm, [0.0, 0.0, 0.0])[0])
    start = lw.poses(arm, np.zeros(3))[0]
    along = start[:3, :3] @ normal / np.linalg.norm(normal)
    assert np.allclose(pose[:3, :3], pin.exp3(0.7 * along), atol=1e-12)
    shifts = np.array([lw.poses(arm, unit)[0][:3, 3] - start[:3, 3] for unit in np.eye(3)[:2]])
    assert np.allclose(shifts @ shifts.T, np.eye(2), atol=1e-12)
    assert np.allclose(np.cross(*shifts), along, atol=1e-12)
