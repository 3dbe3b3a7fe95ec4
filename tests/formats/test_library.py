"""The library: robots of others are those of their originals; our own are bodies that can be, and mirror images."""

import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from robots import FREE, ids, relative

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from library import licences, originals, page, tables

UPDATE = "made from its original it reads differently; numbers are not edited by hand: python tools/library writes them"
MASSES = {"satellite": 526.0, "quadruped": 30.0, "humanoid": 75.0, "ball_chain": 2.4}
DEGREES = {"satellite": 12, "quadruped": 18, "humanoid": 35, "ball_chain": 24}
SYMMETRIC = [robot for robot in FREE if robot.name in ("quadruped", "humanoid")]
SIGNS = {  # of a joint's coordinates and velocities in a mirror at y = 0; those of torques are the velocities'
    "free": ([1, -1, 1, 1, -1, 1, -1], [1, -1, 1, -1, 1, -1]),
    "ball": ([1, -1, 1, -1], [-1, 1, -1]),
    "universal": ([-1, 1], [-1, 1]),
}


def mirror_name(name: str) -> str:
    return "right".join(part.replace("right", "left") for part in name.split("left"))


def mirrored(robot: lw.Robot, x: np.ndarray) -> np.ndarray:
    """q, or anything like qd, of the robot's mirror image: left and right exchanged."""
    out, axes = np.empty_like(x), {row["name"]: row.get("axis") for row in robot.rows}
    coordinates = x.shape[-1] == robot.nq
    for joint in robot.moving:
        if joint.kind.name == "revolute":
            signs = [1.0 if axes[joint.name] == (0.0, 1.0, 0.0) else -1.0]  # x and z turn the other way
        else:
            signs = SIGNS[joint.kind.name][0 if coordinates else 1]
        other = robot.q_slice if coordinates else robot.v_slice
        out[..., other(mirror_name(joint.name))] = np.array(signs) * x[..., joint.q if coordinates else joint.v]
    return out


def states(robot: lw.Robot) -> list[np.ndarray]:
    rng = np.random.default_rng(robot.n)
    return [rng.normal(size=(5, robot.size_of(name))) for name in ("q", "qd", "qdd")]


@pytest.mark.parametrize("robot", FREE, ids=ids(FREE))
def test_masses_and_degrees_of_freedom_are_those_of_its_description(robot: lw.Robot) -> None:
    assert sum(link.mass for link in robot.links) == pytest.approx(MASSES[robot.name], rel=1e-12)
    assert robot.n == DEGREES[robot.name]
    assert robot.nq == robot.n + len(robot.balls)


@pytest.mark.parametrize("robot", FREE, ids=ids(FREE))
def test_every_body_has_mass_and_a_tensor_that_a_body_can_have(robot: lw.Robot) -> None:
    for row in robot.rows:
        small, middle, large = np.linalg.eigvalsh(row["inertia"])
        assert row["mass"] > 0.0
        assert small > 0.0
        assert small + middle > 1.001 * large


@pytest.mark.parametrize("robot", SYMMETRIC, ids=ids(SYMMETRIC))
def test_the_mirror_image_of_a_motion_needs_the_mirror_image_of_its_torques(robot: lw.Robot) -> None:
    given = states(robot)
    torques = lw.inverse_dynamics(robot, *given)
    found = lw.inverse_dynamics(robot, *(mirrored(robot, x) for x in given))
    assert relative(found, torques) > 0.1  # it is another motion
    assert relative(found, mirrored(robot, torques)) < 1e-14


def test_standing_upright_the_humanoid_is_as_tall_as_it_says() -> None:
    arm = next(robot for robot in FREE if robot.name == "humanoid")
    q = np.zeros(arm.nq)
    q[list(arm.quaternions)] = 1.0
    height = dict(zip(arm.names, lw.poses(arm, q)[:, 2, 3], strict=True))
    sole, crown = height["left_foot"] - 0.07, height["head"] + 0.26
    assert crown - sole == pytest.approx(1.75, abs=0.005)
    assert height["left_hand"] - 0.19 > height["left_shank"]  # fingertips above the knees


def test_a_chain_that_hangs_straight_down_needs_no_torques() -> None:
    """However its links are turned about the vertical."""
    arm = next(robot for robot in FREE if robot.name == "ball_chain")
    angle = np.random.default_rng(0).uniform(-3.0, 3.0, (7, 8))
    q = np.zeros((7, 8, 4))
    q[..., 0], q[..., 3] = np.cos(angle / 2), np.sin(angle / 2)
    assert np.abs(lw.gravity_torque(arm, q.reshape(7, 32))).max() < 1e-14


def test_on_a_free_base_fewest_also_tries_denoc() -> None:
    arm, methods = lw.load("satellite"), ("composite-udu", "articulated-regrouped", "denoc")
    counts = [lw.count(lw.forward_dynamics, arm, method=method).total for method in methods]
    assert lw.count(lw.forward_dynamics, arm, method="fewest").total == min(counts) == counts[-1]


# robots from files of others


@pytest.mark.parametrize("name", lw.LIBRARY)
def test_every_robot_loads_without_a_warning_and_says_where_it_comes_from(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = lw.load(name)
    assert robot.name == name
    assert page.ABOUT.fullmatch(robot.about)
    assert robot.about in " ".join(lw.describe(robot).split())


@pytest.mark.parametrize("name", tables.SOURCES)
def test_torques_are_those_of_the_original_in_another_library(name: str) -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
    pytest.importorskip("mujoco")
    import library_peers

    robot, path = lw.load(name), tables.original_path(name)
    torques = library_peers.pinocchio_torques if path.suffix == ".urdf" else library_peers.mujoco_torques
    rng = np.random.default_rng(5)
    for q in lw.random_configuration(robot, rng, (3,)):
        v, a = rng.normal(size=(2, robot.n))
        assert relative(lw.inverse_dynamics(robot, q, v, a), torques(robot, path, q, v, a)) < 1e-12


@pytest.mark.parametrize("name", tables.SOURCES)
def test_no_robot_has_a_moving_link_of_zero_or_one_tensor_for_all(name: str) -> None:
    """Files made for pictures have such numbers."""
    tensors = [np.array(row["inertia"]) for row in lw.load(name).rows if row["joint"] != "fixed"]
    assert min(np.linalg.eigvalsh(tensor)[0] for tensor in tensors) > 0.0
    assert len({tensor.tobytes() for tensor in tensors}) > len(tensors) / 5


def test_files_are_those_that_the_script_makes_from_the_originals() -> None:
    for name in tables.SOURCES:
        kept = (tables.FOLDER / f"{name}.toml").read_text(encoding="utf-8")
        made = tables.table(name)
        through_mujoco = tables.original_path(name).suffix == ".xml"  # its tensors pass through principal axes
        assert tables.agree(kept, made) if through_mujoco else kept == made, f"{name}: {UPDATE}"
        assert not tables.agree(kept, made.replace("gravity = [0.0", "gravity = [0.1"))
    for page_of in (page, licences):
        assert page_of.PATH.read_text(encoding="utf-8") == page_of.text(), UPDATE


def test_the_readme_counts_the_robots() -> None:
    readme = (tables.ROOT / "README.md").read_text(encoding="utf-8")
    assert f"[the library](docs/library.md) of {len(lw.LIBRARY)} " in readme


def test_originals_are_those_of_the_installed_wheels() -> None:
    """Of those that are installed here, in the version that sources.toml names; geometry makes no other model."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for Windows")
    compared = 0
    for name, source in tables.ALL.items():
        try:
            text = originals.original(name, source, tables.ROOT / "wheels")
            licences.check(name, source, tables.ROOT / "wheels")
        except FileNotFoundError:
            continue
        compared += 1
        path = tables.original_path(name)
        assert path.read_text(encoding="utf-8") == text, UPDATE
        if path.suffix == ".urdf":
            whole = originals.in_wheel(source["wheel"], source["file"], tables.ROOT / "wheels")
            assert pin.buildModelFromXML(whole) == pin.buildModelFromUrdf(str(path))
    if not compared:
        pytest.skip("no wheel of sources.toml is installed")


def test_the_library_stays_small_and_has_its_licences() -> None:
    assert sum(path.stat().st_size for path in tables.FOLDER.iterdir()) < 250_000
    assert sum(path.stat().st_size for path in tables.ORIGINALS.iterdir()) < 400_000
    texts = (tables.FOLDER / "LICENSES.md").read_text(encoding="utf-8")
    words = " ".join(texts.split())
    for name, source in tables.ALL.items():
        assert source["licence"] in licences.ALLOWED
        assert f"`{name}`" in words
        for holder in source["copyright"].split("; "):
            assert holder in words, holder
    assert {licences.licence_of(text) for text in texts.split("```text")[1:]} == set(licences.ALLOWED)


def test_every_robot_needs_a_licence_file_in_its_distribution_that_permits_copies(tmp_path: Path) -> None:
    texts = (tables.FOLDER / "LICENSES.md").read_text(encoding="utf-8").split("```text")[1:]
    kept = {licences.licence_of(text): text for text in texts}
    for name, source in tables.ALL.items():
        files = {(source["wheel"], source["licence_file"]): kept[source["licence"]]}
        maker, _, path = source.get("maker_licence", "").partition(" ")
        if "==" in maker:
            files[maker, path] = kept[source["licence"]]
        wrong = [(file, text) for file in files for text in ("GNU Affero General Public License", None)]
        if "==" in maker or not maker:
            wrong.append((list(files)[-1], kept["MIT"]))
        else:
            assert maker in source["upstream"], name
        licences.check(name, source, wheels_with(files, tmp_path / name))
        for k, (file, text) in enumerate(wrong):
            with pytest.raises(ValueError, match=name):
                licences.check(name, source, wheels_with({**files, file: text}, tmp_path / f"{name} {k}"))


def wheels_with(files: dict[tuple[str, str], str | None], folder: Path) -> Path:
    """Wheels that hold nothing but these texts."""
    folder.mkdir()
    for (wheel, path), text in files.items():
        stem = wheel.replace("-", "_").replace("==", "-")
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "a") as archive:
            if text is not None:
                archive.writestr(path, text)
    return folder


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    for wrong, right in (("pnda", "panda"), ("ur5", "ur5e"), ("iiwa", "iiwa7"), ("Go1", "go1"), ("unitree_go1", "go1")):
        with pytest.raises(lw.errors.FileError, match=f"did you mean '{right}'"):
            lw.load(wrong)


def test_the_panda_is_the_same_from_urdf_mjcf_and_its_dh_table(tmp_path: Path) -> None:
    """The maker publishes the DH table of Craig's convention, whose frames are those of the URDF; numbers of the bodies
    are those of Gaz et al. in both files. The MJCF file has rotor inertias, the others have none, and turns the hand by
    45 degrees in seven digits: as it stands torques differ by 1e-10 of the largest, with all digits by rounding."""
    short = tables.original_path("panda_menagerie")
    exact = tmp_path / "panda.xml"
    half = np.radians(-22.5)
    quaternion = f"{np.cos(half):.17g} 0 0 {np.sin(half):.17g}"
    text = short.read_text(encoding="utf-8")
    assert text.count(SEVEN_DIGITS) == 1
    exact.write_text(text.replace(SEVEN_DIGITS, quaternion), encoding="utf-8")
    arms = [panda_from_dh(), *(handless(lw.load(path)) for path in ("panda", exact, short))]
    states = np.random.default_rng(2).normal(size=(3, 20, 7))
    table, urdf, mjcf, as_it_stands = (lw.inverse_dynamics(arm, *states) for arm in arms)
    assert relative(urdf, table) < 1e-12
    assert relative(mjcf, table) < 1e-12
    assert relative(as_it_stands, table) < 1e-9


SEVEN_DIGITS = "0.9238795 0 0 -0.3826834"


def panda_from_dh() -> lw.Robot:
    """The arm and its hand; bodies are the URDF's."""
    bodies = {r["name"]: {k: r[k] for k in ("mass", "com", "inertia") if k in r} for r in lw.load("panda").rows}
    a, d = (0, 0, 0, 0.0825, -0.0825, 0, 0.088), (0.333, 0, 0.316, 0, 0.384, 0, 0)
    alpha = (0, "-90 deg", "90 deg", "90 deg", "-90 deg", "90 deg", "90 deg")
    links = [
        {"name": f"panda_link{i + 1}", "joint": "revolute", "a": a[i], "d": d[i], "alpha": alpha[i], "theta": 0.0}
        for i in range(7)
    ]
    hand = {"name": "panda_hand", "joint": "fixed", "a": 0.0, "d": 0.107, "alpha": 0.0, "theta": "-45 deg"}
    rows = [{**row, **bodies[row["name"]]} for row in (*links, hand)]
    return lw.Robot.from_dh(rows, convention="modified", name="panda from its DH table")


def handless(robot: lw.Robot) -> lw.Robot:
    """Without fingers and rotors."""
    rows = [{k: v for k, v in row.items() if k != "rotor_inertia"} for row in robot.rows if "finger" not in row["name"]]
    return lw.Robot.from_frames(rows, gravity=robot.gravity, name=robot.name)
