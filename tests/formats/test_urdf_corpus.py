"""Every URDF of example-robot-data: the torques of Pinocchio, or a refusal for a reason that is listed here."""

import warnings
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.errors import FileError

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")

from urdf_peers import Written, agree, agree_coupled  # noqa: E402

CLOSE = 1e-9


def corpus() -> dict[str, Path]:
    """The files by their paths below the folder of the robots."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return {}
    found = sorted(file for file in files if file.suffix == ".urdf")
    return {str(file).partition("/robots/")[2]: Path(str(file.locate())) for file in found}


FILES = corpus()
QUICK = [
    name for name in FILES if name.endswith(("/panda.urdf", "/solo12.urdf", "/ur5_robot.urdf", "/talos_reduced.urdf"))
]
pytestmark = pytest.mark.skipif(not FILES, reason="needs the wheel example-robot-data")
over_files = pytest.mark.parametrize("name", rest_slow(list(FILES), QUICK) if FILES else ["none"])

TRIANGLE, NEGATIVE = "inertia breaks the triangle inequality", "inertia is not positive semidefinite"
UNPHYSICAL = {  # of each file the first body that cannot exist, and why
    "alex_description/urdf/alex_psyonic_hands.urdf": ("LeftPsyonicAbilityBaseLink", TRIANGLE),
    "allegro_hand_description/urdf/allegro_left_hand.urdf": ("link_11.0", TRIANGLE),
    "allegro_hand_description/urdf/allegro_right_hand.urdf": ("link_3.0", TRIANGLE),
    "anymal_b_simple_description/robots/anymal-kinova.urdf": ("base", TRIANGLE),
    "anymal_b_simple_description/robots/anymal.urdf": ("base", TRIANGLE),
    "anymal_c_simple_description/urdf/anymal.urdf": ("depth_camera_front_camera", TRIANGLE),
    "b1_description/urdf/b1-z1.urdf": ("base", TRIANGLE),
    "b1_description/urdf/b1.urdf": ("base", TRIANGLE),
    "go1_description/urdf/go1.urdf": ("base", TRIANGLE),
    "hyq_description/robots/hyq_no_sensors.urdf": ("base_link", TRIANGLE),
    "pr2_description/urdf/pr2.urdf": ("sensor_mount_link", TRIANGLE),
    "romeo_description/urdf/romeo_laas_small.urdf": ("body", NEGATIVE),
    "romeo_description/urdf/romeo_small.urdf": ("RShoulderYawLink", TRIANGLE),
    "tiago_description/robots/tiago.urdf": ("base_antenna_left_link", NEGATIVE),
    "tiago_description/robots/tiago_dual.urdf": ("base_antenna_left_link", NEGATIVE),
    "tiago_description/robots/tiago_no_hand.urdf": ("base_antenna_left_link", NEGATIVE),
}
EMPTY = {"ur_description/urdf/ur3.urdf": "has no links"}  # for which Pinocchio raises an error, too
STILL = {  # on a fixed base nothing moves
    "hector_description/robots/quadrotor_base.urdf": "has no joint that moves",
    "iris_description/robots/iris_simple.urdf": "has no joint that moves",
}
WRONG_MIMIC = {  # a joint follows one that the file does not have
    "alex_description/urdf/alex_psyonic_hands.urdf": 'joint is "index_q1", which no joint has as its name'
}


def loaded(name: str, **options: str) -> lw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.load(FILES[name], **{"unphysical": "warn" if name in UNPHYSICAL else "refuse", **options})


@over_files
def test_each_file_has_the_torques_of_pinocchio(name: str) -> None:
    if name in EMPTY:
        with pytest.raises(FileError, match=EMPTY[name]):
            loaded(name)
        with pytest.raises(ValueError, match="model"):
            pin.buildModelFromUrdf(str(FILES[name]))
        return
    free = pin.buildModelFromUrdf(str(FILES[name]), pin.JointModelFreeFlyer())
    agree(loaded(name, base="free", mimic="independent"), free, CLOSE)
    if name in STILL:
        with pytest.raises(FileError, match=STILL[name]):
            loaded(name)
    else:
        agree(loaded(name, mimic="independent"), pin.buildModelFromUrdf(str(FILES[name])), CLOSE)


def written_mimics(text: str) -> Written:
    joints = [joint for joint in ElementTree.fromstring(text).findall("joint") if joint.find("mimic") is not None]
    entries = {joint.get("name"): joint.find("mimic").attrib for joint in joints}
    return Written(
        text, {k: (m["joint"], float(m.get("multiplier", 1)), float(m.get("offset", 0))) for k, m in entries.items()}
    )


@over_files
def test_files_are_refused_for_listed_reasons_only(name: str) -> None:
    """By default, with coupled joints and physically consistent bodies."""
    reason = {**EMPTY, **STILL, **WRONG_MIMIC}.get(name)
    if reason is None and name in UNPHYSICAL:
        link, problem = UNPHYSICAL[name]
        reason = f"link '{link}': {problem}"
    if reason is not None:
        with pytest.raises(FileError, match=rf"\.urdf:\d+: .*{reason}"):
            loaded(name, unphysical="refuse")
    if reason is None or "inertia" in reason:
        text = FILES[name].read_text()
        alone, model = loaded(name, mimic="independent"), pin.buildModelFromXML(text)
        agree_coupled(loaded(name), alone, written_mimics(text), model, CLOSE)
