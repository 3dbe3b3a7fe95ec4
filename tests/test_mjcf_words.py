"""MJCF: attributes are those of MuJoCo's own schema; named sites are frames; actuators are checked."""

import re

import numpy as np
import pytest

import linkwise as lw
from linkwise.formats.mjcf import grammar

mujoco = pytest.importorskip("mujoco", minversion="4.0")

from mjcf_models import quietly  # noqa: E402


def schema() -> dict[str, set[str]]:
    """The attributes of each element, by its path from the root, as MuJoCo prints them."""
    attributes: dict[str, set[str]] = {}
    path: list[str] = []
    for line in mujoco.mj_printSchema(False, False).split("\n"):
        element = re.match(r"( *)(\w+) \(.\)\s*(.*)", line)
        if element:
            path = [*path[: len(element[1]) // 3], element[2]]
            attributes["/".join(path[1:])] = set(element[3].split())
        elif line.strip():
            attributes["/".join(path[1:])] |= set(line.split())
    return attributes


def test_attributes_are_those_of_mujoco():
    theirs = schema()
    for tag in (
        "compiler",
        "option",
        "option/flag",
        "asset/mesh",
        "equality/joint",
        "equality/weld",
        "equality/connect",
    ):
        name = tag if tag.startswith("equality") else tag.rpartition("/")[2]
        assert set(grammar.ATTRIBUTES[name]) == theirs[tag], tag
    for tag in ("spatial", "fixed"):
        assert set(grammar.ATTRIBUTES[f"tendon/{tag}"]) == theirs[f"tendon/{tag}"]
    actuators = {path.rpartition("/")[2] for path in theirs if re.fullmatch(r"actuator/\w+", path)}
    assert actuators == set(grammar.ACTUATORS)
    words = set().union(*(theirs[f"actuator/{tag}"] for tag in actuators))
    assert set(grammar.ATTRIBUTES["motor"]) == words
    bodies = [path for path in theirs if path.rpartition("/")[2] in ("joint", "geom", "site", "inertial", "freejoint")]
    for tag in ("joint", "geom", "site", "inertial", "freejoint"):
        full = max((theirs[path] for path in bodies if path.endswith(tag) and "default" not in path), key=len)
        assert set(grammar.ATTRIBUTES[tag]) == full, tag


MODEL = """<mujoco>
  <default><site pos="0 0 .1"/><default class="turned"><site euler="10 20 30"/></default></default>
  <worldbody>
    <site name="door" pos="1 2 3"/>
    <body name="cart" pos="0 .2 0" euler="0 0 20">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <inertial pos=".1 0 0" mass="2" diaginertia=".1 .1 .1"/>
      <frame pos=".3 0 0" euler="0 90 0"><site name="eye" class="turned"/></frame>
      <site/>
      <body name="pole"><joint name="pole_tip" axis="0 1 0"/><geom size=".1"/><site name="pole_tip" pos="0 0 1"/></body>
    </body>
    <body name="ball" euler="10 0 0"><freejoint align="true"/>
      <inertial pos=".1 .2 .3" euler="30 20 10" mass="1" diaginertia=".1 .2 .25"/>
      <site name="mark" pos="0 .1 0"/></body>
  </worldbody>
</mujoco>"""


def test_named_sites_are_frames(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(MODEL)
    model, arm = mujoco.MjModel.from_xml_path(str(path)), quietly(path)
    data = mujoco.MjData(model)
    q = lw.random_configuration(arm, np.random.default_rng(0))
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    names = ["door", "eye", "pole_tip", "mark"]
    for name, pose in zip(names, lw.poses(arm, q, frames=names), strict=True):
        assert np.allclose(pose[:3, 3], data.site(name).xpos, rtol=0, atol=1e-12)
        assert np.allclose(pose[:3, :3], data.site(name).xmat.reshape(3, 3), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("actuator", "message"),
    [
        ('<motor joint="rail" armatur="1"/>', "armatur is not an attribute of <motor>, did you mean 'armature'?"),
        (
            '<motor joint="rial" armature="1"/>',
            "joint is \"rial\", which no joint has as its name, did you mean 'rail'?",
        ),
    ],
)
def test_slips_in_actuators_are_refused(actuator, message, tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(MODEL.replace("</worldbody>", f"</worldbody>\n<actuator>{actuator}</actuator>"))
    with pytest.raises(lw.RobotError, match=re.escape(message)) as caught:
        lw.load(path)
    line = MODEL[: MODEL.index("</worldbody>")].count("\n") + 2
    assert str(caught.value).startswith(f"{path}:{line}:")
