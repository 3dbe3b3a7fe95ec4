"""`lw.from_mujoco` of a model is the robot that `lw.load` makes of its file."""

import importlib.util
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from robots import relative

mujoco = pytest.importorskip("mujoco", minversion="4.0")

from mjcf_models import Writer, quietly  # noqa: E402

FLAGS = ("equality", "constraint", "spring", "damper", "frictionloss", "gravity", "limit")
NUMBERS = ("rotor_inertia", "viscous_friction", "quadratic_friction", "coulomb_friction", "stiffness", "rest")
NUMBERS += ("ratio", "offset", "limits")
WORDS = ("name", "parent", "joint", "joint_name", "coupled_to")


def written(text, **options):
    """The robot of a file, the one of the model that MuJoCo makes of it, and the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_text(text)
        return both(path, **options)


def both(path, **options):
    model = mujoco.MjModel.from_xml_path(str(path))
    read = quietly(path, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read, lw.from_mujoco(model), model


def require_same(read, made, model, tolerance=1e-9):
    skipped = {model.site(k).name for k in range(model.nsite)} - {row["name"] for row in read.rows}
    own, others = read.rows, [row for row in made.rows if row["name"] not in skipped]  # sites with fromto
    assert [[row.get(key) for key in WORDS] for row in own] == [[row.get(key) for key in WORDS] for row in others]
    for one, other in zip(own, others, strict=True):
        for key in (*NUMBERS, "effort_limit"):
            x, y = (row.get(key, np.nan if key in ("limits", "effort_limit") else 0.0) for row in (one, other))
            assert np.allclose(x, y, rtol=1e-12, atol=1e-14, equal_nan=True), (one["name"], key)
    assert read.gravity == made.gravity
    assert (read.nq, read.q_names, read.v_names) == (made.nq, made.q_names, made.v_names)
    rng = np.random.default_rng(0)
    q, v, a = lw.random_configuration(read, rng), *rng.normal(size=(2, read.n))
    with lw.use_kernels("never"):
        assert relative(lw.inverse_dynamics(made, q, v, a), lw.inverse_dynamics(read, q, v, a)) < tolerance
        names = [row["name"] for row in own]
        assert np.allclose(lw.poses(made, q, frames=names), lw.poses(read, q, frames=names), rtol=0.0, atol=1e-9)


class Driven(Writer):
    """With actuators, equalities and flags."""

    def model(self, bodies=5):
        text = super().model(bodies)
        names = [part.rpartition('name="')[2].split('"')[0] for part in text.split('type="hinge"')[:-1]]
        names = [name for name in dict.fromkeys(names) if name.startswith("joint")]
        off = {flag: "disable" for flag in FLAGS if self.likely(0.15)}
        more = "<option><flag" + "".join(f' {key}="{value}"' for key, value in off.items()) + "/></option>"
        if names:
            motor = f'<motor joint="{names[0]}" gear="{self.rng.uniform(1, 9):.3f}" armature=".02" damping=".3"/>'
            more += f"<actuator>{motor * int(self.rng.integers(1, 3))}</actuator>"
        if len(names) > 1:
            active = "true" if self.likely(0.8) else "false"
            line = " ".join(f"{x:.3f}" for x in self.rng.normal(size=2))
            tie = f'joint1="{names[-1]}" active="{active}" polycoef="{line} 0 0 0"'
            leader = f' joint2="{names[0]}"' if self.likely(0.7) else ""
            more += f"<equality><joint {tie}{leader}/></equality>"
        return text.replace("</worldbody>", f"</worldbody>{more}")


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(100, 300), marks=pytest.mark.slow)], ids=["", "more"])
def test_random_models_are_the_robots_of_their_files(seeds):
    for seed in seeds:
        require_same(*written(Driven(seed).model()))


@pytest.mark.slow
@pytest.mark.parametrize("package", ["gymnasium", "gymnasium_robotics", "dm_control"])
def test_files_of_packages_are_the_robots_of_their_models(package):
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    count = 0
    for path in sorted(Path(spec.origin).parent.rglob("*.xml")):
        try:
            mujoco.MjModel.from_xml_path(str(path)), quietly(path)
        except (ValueError, lw.errors.RobotError):  # MuJoCo or the reader refuses it
            continue
        require_same(*both(path), tolerance=1e-8)
        count += 1
    assert count >= 10


TWO = """<mujoco><worldbody>
<body name="a"><joint name="j1" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
  <body name="b" pos="0 0 .3"><joint name="j2" axis="1 0 0" {}/><geom size=".1" pos="0 .1 0"/>
    <body name="c" pos="0 0 .3"><joint name="j3" axis="1 1 0" ref="20"/><geom size=".1" pos="0 .1 0"/></body>
</body></body>
</worldbody>{}</mujoco>"""
MOTOR = '<actuator><motor joint="j2" {}="2"/></actuator>'
TIES = '<equality><joint joint1="j3" joint2="j1"/><joint joint1="j3" joint2="j2"/></equality>'


@pytest.mark.parametrize("flag", ["equality", "constraint"])
def test_equalities_that_are_switched_off_tie_nothing(flag):
    off = f'<option><flag {flag}="disable"/></option>'
    assert lw.from_mujoco(mujoco.MjModel.from_xml_string(TWO.format("", TIES + off))).n == 3


@pytest.mark.parametrize(
    ("joint", "more"),
    [
        ('stiffness="3" springref="10" damping="2" frictionloss=".4" actuatorfrcrange="-5 5"', ""),
        ('stiffness="3" actuatorfrcrange="-5 6"', '<option><flag spring="disable"/></option>'),
        ('damping="3"', '<option><flag damper="disable"/></option>' + MOTOR.format("damping")),
        ('frictionloss="3"', '<option><flag constraint="disable" gravity="disable"/></option>'),
        ("", '<actuator><motor joint="j2" gear="3" armature=".1" damping=".2"/></actuator>'),
        ("", '<actuator><motor jointinparent="j2" gear="3"/></actuator>'),
        ("", '<equality><joint joint1="j3" polycoef=".3 0 0 0 0"/></equality>'),
        ("", '<equality><joint joint1="j2" joint2="j3" polycoef=".3 0 0 0 0"/></equality>'),
    ],
)
def test_drives_flags_and_equalities_are_as_in_the_file(joint, more):
    require_same(*written(TWO.format(joint, more)))


def test_forces_of_a_drive_are_those_of_mujoco():
    """Torques with friction and springs against MuJoCo's passive forces."""
    more = '<actuator><motor joint="j2" gear="3" armature=".1" damping=".2"/></actuator>'
    _, arm, model = written(TWO.format('damping="0.5 0.7"', more))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    data.qpos, data.qvel = rng.normal(size=(2, 3))
    mujoco.mj_forward(model, data)
    damped = lw.inverse_dynamics(arm, data.qpos, data.qvel, np.zeros(3), friction=True)
    assert np.allclose(damped - lw.inverse_dynamics(arm, data.qpos, data.qvel, np.zeros(3)), -data.qfrc_passive)
    inertia = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, inertia)
    assert np.allclose(lw.inertia_matrix(arm, data.qpos), inertia)


PULLED = '<tendon><fixed name="t"><joint joint="j1" coef="1"/></fixed></tendon>'


@pytest.mark.parametrize(
    ("joint", "more", "facts"),
    [
        ('springyield="2" stiffness="1"', "", ("joint 'j2'", "spring")),
        ('damping="1 2 3"', "", ("joint 'j2'", "damping", "powers")),
        ('stiffness="1 2"', "", ("joint 'j2'", "stiffness", "powers")),
        ("", PULLED + '<actuator><motor name="m" tendon="t" armature="1"/></actuator>', ("actuator 'm'", "armature")),
        ("", TIES, ("equality '1'", "joint 'j3'")),
    ],
)
def test_forces_without_a_place_are_refused_by_name(joint, more, facts):
    with raises(lw.errors.RobotError, *facts):
        lw.from_mujoco(mujoco.MjModel.from_xml_string(TWO.format(joint, more)))


def test_sites_bodies_and_joints_may_have_one_name():
    text = TWO.format("", "").replace('name="j3"', 'name="c"').replace("<geom", '<site name="j1"/><geom', 1)
    text = text.replace("</worldbody>", '<body name="j2"/><site name="a"/></worldbody>')
    read, made, model = written(text)
    require_same(read, made, model)
    assert made.frame("j1").link == 0
    assert made.frame("a").link == 0  # the body, not the site
    assert made.joint_names == ("j1", "j2", "c")


def test_what_has_no_name_is_called_as_in_the_file():
    """Also where others have the names that would be given."""
    hinge = '<joint axis="0 1 0"/>'
    ball = '<geom size=".1" pos=".1 .2 0"/>'
    inner = f'<body name="body1_joint1"><joint name="body3"/>{hinge}{ball}<body>{hinge * 2}{ball}</body></body>'
    outer = f'<body name="body5"><joint name="body6"/><joint type="slide" name="body4"/>{ball}{inner}</body>'
    text = f"<mujoco><worldbody><body>{hinge * 3}{ball}{outer}</body><body>{ball}{hinge}</body></worldbody></mujoco>"
    read, made, model = written(text)
    require_same(read, made, model)
    q = lw.random_configuration(read, 0)
    assert np.allclose(lw.convert_state(made, q, target=model), q)
    assert np.allclose(lw.convert_state(read, q, source=model), q)
