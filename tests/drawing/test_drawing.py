"""Pictures of robots: what is drawn is where the robot is, all of it is inside, and nothing else is touched."""

import subprocess
import sys
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from joint_kinds import COUPLED, EVERY, EVERY_KIND, TREE
from linkwise.drawing.camera import VIEWS, Mesh, camera_of
from linkwise.drawing.pictures import poses_at, robot_svg
from linkwise.drawing.scene import SceneOptions, scene_of, to_base
from linkwise.drawing.skeleton import Point, skeleton_of
from linkwise.robot import KINDS
from robots import CHAINS, FREE, TEXTBOOK, TREES, ids

ROBOTS = [*TEXTBOOK, *FREE, *EVERY, CHAINS[9], TREES[4]]
QUICK = [TEXTBOOK[3], TREE]
ODD = '</script><b>"x" & $\\frac$ {0} %s</b>'
EACH = pytest.mark.parametrize("robot", ROBOTS, ids=ids(ROBOTS))
SOME = pytest.mark.parametrize("robot", rest_slow(ROBOTS, QUICK), ids=ids(ROBOTS))


def configuration(robot: lw.Robot, seed: int = 0) -> np.ndarray:
    return lw.random_configuration(robot, seed)


def odd_robot() -> lw.Robot:
    rows = lw.load("planar3").rows
    rows[0]["name"] = rows[1]["parent"] = ODD
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name=ODD)


@EACH
def test_joints_are_drawn_where_they_are(robot: lw.Robot) -> None:
    """A joint's place in its parent is that in its link, except along what slides; both follow from `lw.poses`."""
    q = configuration(robot)
    poses = poses_at(robot, q[None])
    assert np.array_equal(poses[0, 1:], lw.poses(robot, q))
    skeleton = skeleton_of(robot)
    assert [joint.kind for joint in skeleton.joints] == [joint.kind.name for joint in robot.moving]
    for joint, row in zip(skeleton.joints, (r for r in robot.rows if r["joint"] != "fixed"), strict=True):
        before = poses[0, joint.parent] @ joint.before
        after = poses[0, joint.frame] @ joint.after
        if not joint.slides:
            assert before[:3, 3] == pytest.approx(after[:3, 3], abs=1e-12)
        if KINDS[joint.kind].axis:  # it is the same
            assert before[:3, 2] == pytest.approx(after[:3, 2], abs=1e-12)
        if joint.slides and KINDS[joint.kind].on_z:  # the link is on the axis
            assert np.abs(np.cross(after[:3, 3] - before[:3, 3], before[:3, 2])).max() < 1e-12
        if robot.convention != "standard" and "anchor" not in row:
            assert after[:3, 3] == pytest.approx(poses[0, joint.frame, :3, 3], abs=1e-12)


@EACH
def test_symbols_of_joints_are_around_their_places(robot: lw.Robot) -> None:
    poses = poses_at(robot, configuration(robot)[None])
    skeleton = skeleton_of(robot)
    scene = scene_of(skeleton, poses, SceneOptions(False, False, False, False))
    colours = {name: kind.colour for name, kind in KINDS.items()}
    coloured = [part for part in scene.parts if part.colour in colours.values()]
    for joint in skeleton.joints:
        places = [(poses[0, joint.parent] @ joint.before)[:3, 3], (poses[0, joint.frame] @ joint.after)[:3, 3]]
        if joint.kind == "free":
            continue
        own = [part for part in coloured if part.colour == colours[joint.kind]]
        middles = [to_base(tuple(Point(p.frame, x) for x in p.solid.points), poses)[0].mean(axis=0) for p in own]
        for place in places if joint.symbol in ("screw", "cylindrical", "planar") else places[-1:]:
            if joint.symbol == "prismatic":
                place = places[0]
            assert min(np.linalg.norm(place - middle) for middle in middles) < 1e-9


@SOME
def test_every_link_hangs_together_with_what_carries_it(robot: lw.Robot) -> None:
    poses = poses_at(robot, configuration(robot, 1)[None])
    skeleton = skeleton_of(robot)
    scene = scene_of(skeleton, poses)
    ends = to_base(tuple(point for tube in scene.tubes for point in tube[:2]), poses)[0].reshape(-1, 2, 3)
    for joint in skeleton.joints:
        if joint.kind == "free":
            continue
        hub = np.zeros(3) if joint.parent == 0 else skeleton.joints[joint.parent - 1].after[:3, 3]
        start = to_base((Point(joint.parent, hub),), poses)[0, 0]
        goal = (poses[0, joint.frame] @ joint.after)[:3, 3]
        reached, waiting = [start], [start]
        while waiting:
            here = waiting.pop()
            for a, b in ends:
                for near, far in ((a, b), (b, a)):
                    fresh = min(np.linalg.norm(far - other) for other in reached) > 1e-9
                    if fresh and np.linalg.norm(near - here) < 1e-9:
                        reached.append(far)
                        waiting.append(far)
        assert min(np.linalg.norm(goal - place) for place in reached) < 1e-9


@SOME
def test_all_is_inside_the_axes_and_to_one_scale(robot: lw.Robot) -> None:
    q = np.stack([configuration(robot, seed) for seed in range(2)])
    figure = lw.draw(robot, q, views=("3d", "side"))
    figure.draw_without_rendering()
    assert len(figure.axes) == 2
    for axes in figure.axes:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        corners = [path.vertices for each in axes.collections for path in each.get_paths()]
        corners += [line.get_xydata() for line in axes.lines]
        points = np.concatenate(corners)
        assert points[:, 0].min() >= left
        assert points[:, 0].max() <= right
        assert points[:, 1].min() >= bottom
        assert points[:, 1].max() <= top
        scale = np.diag(axes.transData.get_matrix()[:2, :2])
        assert scale[0] == pytest.approx(scale[1], rel=1e-6)
        room = max(np.ptp(points[:, 0]) / (right - left), np.ptp(points[:, 1]) / (top - bottom))
        assert room > 0.5  # and it is not lost in them


@SOME
def test_faces_are_those_of_the_scene_seen_from_the_camera(robot: lw.Robot) -> None:
    """Closed solids show a face on every line of sight: front faces alone have the whole outline."""
    poses = poses_at(robot, configuration(robot)[None])
    skeleton = skeleton_of(robot)
    mesh = Mesh(scene_of(skeleton, poses, SceneOptions(bodies=False)))
    camera = camera_of((20.0, 30.0), skeleton, poses[0], np.zeros((1, 3)))
    faces = mesh.seen_by(camera, poses[0])
    corners = np.concatenate(faces.polygons)
    whole = camera.project(
        np.concatenate([mesh_corners.reshape(-1, 3) for mesh_corners in all_corners(mesh, poses[0])])
    )[0]
    assert corners.min(axis=0) == pytest.approx(whole.min(axis=0), abs=1e-9)
    assert corners.max(axis=0) == pytest.approx(whole.max(axis=0), abs=1e-9)


def all_corners(mesh: Mesh, poses: np.ndarray) -> list[np.ndarray]:
    return [corners for corners, _, _ in (*mesh.solid_faces(poses), *mesh.tube_faces(poses))]


def test_labels_do_not_cover_each_other() -> None:
    for robot in (TEXTBOOK[3], lw.load("satellite")):
        figure = lw.draw(robot, configuration(robot, 3))
        figure.draw_without_rendering()
        (axes,) = figure.axes
        texts = [text for text in axes.texts if text.get_fontsize() == 8 and len(text.get_text()) > 1]
        boxes = [text.get_window_extent() for text in texts]
        together = ", ".join(text.get_text() for text in texts)
        assert all(name in together for name in robot.names)
        assert not [1 for a, b in combinations(boxes, 2) if a.shrunk(0.98, 0.9).overlaps(b.shrunk(0.98, 0.9))]


def test_text_is_inside_the_picture() -> None:
    figure = lw.draw(TREE)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in (*figure.legends[0].get_texts(), figure._suptitle)]
    assert len(boxes) == 1 + len(set(TREE.joints))
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in boxes)


def test_a_long_title_is_broken() -> None:
    figure = lw.draw(lw.load("planar3"), title="a long story " * 12)
    figure.draw_without_rendering()
    box = figure._suptitle.get_window_extent()
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
    assert figure._suptitle.get_text().split() == ("a long story " * 12).split()


def test_the_view_suits_the_robot() -> None:
    def view(robot: lw.Robot, q: np.ndarray | None = None) -> tuple[str, np.ndarray]:
        skeleton = skeleton_of(robot)
        poses = poses_at(robot, (lw.neutral(robot) if q is None else q)[None])
        camera = camera_of(None, skeleton, poses[0], to_base(skeleton.points(), poses)[0])
        return camera.name, camera.project(to_base(skeleton.points(), poses)[0])[0]

    assert view(lw.load("planar3"))[0] == "plane"
    for name in ("stanford", "puma560", "gantry", "humanoid", "satellite"):
        kind, flat = view(lw.load(name))
        assert kind == "3d"
        assert np.linalg.svd(flat - flat.mean(axis=0))[1][-1] > 1e-3
    figure = lw.draw(lw.load("planar3"))
    assert [figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()] == ["x (m)", "y (m)"]
    up = {"front": "z (m)", "side": "z (m)", "top": "y (m)"}
    figure = lw.draw(lw.load("stanford"), views=tuple(up))
    assert [axes.get_ylabel() for axes in figure.axes] == list(up.values())


def test_a_torso_branches_at_its_mass_centre() -> None:
    """And no rods lead to the frames of its sensors."""
    robot = lw.load("g1")
    skeleton = skeleton_of(robot)
    torso = 1 + robot.names.index("torso_link")
    own = [rod for rod in skeleton.rods if rod.body == torso]
    body = skeleton.bodies[torso - 1]
    carried = [joint for joint in skeleton.joints if joint.parent == torso]
    assert len(own) == 1 + len(carried) == 3
    assert all(any(np.allclose(end.at, body.com) for end in (rod.start, rod.end)) for rod in own)


def test_a_small_robot_has_a_scale_of_its_own() -> None:
    rows = [{**row, "a": 1e-2 * row["a"], "com": (-1e-3, 0, 0)} for row in lw.load("planar3").rows]
    rows = [{**row, "inertia": 1e-4 * np.array(row["inertia"])} for row in rows]
    tiny = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="tiny")
    figure = lw.draw(tiny, [0.4, 0.5, 0.6])
    assert figure.axes[0].get_xlabel() == "x (mm)"
    assert np.ptp(figure.axes[0].get_xlim()) < 0.012


def test_bodies_without_mass_or_extent_are_drawn() -> None:
    nothing = {"mass": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    for rows in (
        [{"joint": "ball", "translation": (0, 0, 0), **nothing}],
        [{"joint": "free", "translation": (0, 0, 0), **nothing}],
        [{"joint": "revolute", "translation": (0, 0, 0), **nothing, "mass": 1.0}],
    ):
        robot = lw.Robot.from_frames(rows, name="dot")
        lw.draw(robot).draw_without_rendering()
        assert "<svg" in robot._repr_html_()


def test_earlier_configurations_are_paler() -> None:
    arm = lw.load("planar3")
    figure = lw.draw(arm, np.linspace([0, 0, 0], [1, 1, 1], 4))
    shades = [each.get_facecolor()[:, :3].mean() for each in figure.axes[0].collections if len(each.get_paths()) > 60]
    assert len(shades) == 4
    full, *ghosts = shades
    assert full < min(ghosts)
    assert ghosts == sorted(ghosts, reverse=True)


def test_what_is_shown_can_be_chosen() -> None:
    robot = lw.load("stanford")
    poses, skeleton = poses_at(robot, lw.neutral(robot)[None]), skeleton_of(robot)
    bare, full = (scene_of(skeleton, poses, SceneOptions(*[yes] * 4)) for yes in (False, True))
    assert (bare.labels, bare.centres) == ((), ())
    assert len(full.centres) == 6
    assert len(full.parts) == len(bare.parts) + 6 * 3 + sum(body.half.max() > full.radius for body in skeleton.bodies)


@pytest.mark.parametrize("ending", rest_slow(["png", "svg", "pdf"], ["svg"]))
def test_pictures_are_written(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"arm.{ending}"
    lw.draw(odd_robot(), [0.1, 0.2, 0.3], path)
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


def test_wrong_calls_say_what_is_expected(tmp_path: Path) -> None:
    arm = lw.load("planar3")
    length = lw.symbols("l")
    rod = {"joint": "revolute", "a": length, "b": 0, "alpha": 0, "mass": 1, "com": (0, 0, 0), "inertia": np.eye(3)}
    symbolic = lw.Robot.from_dh([rod], convention="standard", name="rod")
    ball = lw.load("ball_chain")
    for call, kind, message in (
        (lambda: lw.draw("stanford"), TypeError, r"did you mean linkwise.load\('stanford'\)"),
        (lambda: lw.draw(arm, view="fornt"), ValueError, "did you mean 'front'"),
        (lambda: lw.draw(lw.load("stanford"), view="plane"), ValueError, "does not move in one"),
        (lambda: lw.draw(arm, view="3d", views=("top",)), TypeError, "both given"),
        (lambda: lw.draw(arm, views=()), ValueError, "expected several"),
        (lambda: lw.draw(arm, [0, 0]), ValueError, r"shape \(2,\) \(expected 3 numbers"),
        (lambda: lw.draw(arm, [[0, 0, 0], [0, np.nan, 0]]), ValueError, "configuration 1"),
        (lambda: lw.draw(arm, np.zeros((1000, 3))), ValueError, "at most 200"),
        (lambda: lw.draw(symbolic), ValueError, "lw.bind"),
        (lambda: lw.draw(arm, view=(np.nan, 1)), ValueError, "azimuth and elevation in degrees"),
        (lambda: lw.draw(arm, view=(30, 20, 10)), ValueError, "azimuth and elevation in degrees"),
        (lambda: lw.draw(arm, view=np.array([30, np.inf])), ValueError, "azimuth and elevation in degrees"),
        (lambda: lw.draw(arm, "arm.png"), TypeError, "'arm.png' .*path="),
        (lambda: lw.draw(arm, tmp_path / "arm.png"), TypeError, "path="),
        (lambda: lw.draw(arm, [1j, 0, 0]), TypeError, "not an array of numbers"),
        (lambda: lw.draw(arm, [[0, 0, 0], [0]]), TypeError, "not an array of numbers"),
        (lambda: lw.draw(arm, ["a", "b", "c"]), TypeError, "not an array of numbers"),
        (lambda: lw.draw(arm, np.zeros((2, 2, 3))), ValueError, r"shape \(2, 2, 3\)"),
        (lambda: lw.draw(ball, np.zeros(ball.nq)), ValueError, r"q\[0\], joint 'link1', begins a quaternion of length"),
        (lambda: lw.draw(ball, [lw.neutral(ball), np.zeros(ball.nq)]), ValueError, r"q\[1, 0\]"),
        (lambda: lw.draw(arm, path=tmp_path / "arm.bmpp"), lw.errors.FileError, "cannot draw .bmpp"),
        (lambda: lw.draw(arm, path=tmp_path / "no" / "arm.png"), lw.errors.FileError, "does not exist"),
    ):
        with pytest.raises(kind, match=message):
            call()
    assert len(VIEWS) == 5


def test_nothing_of_matplotlib_is_changed() -> None:
    before = mpl.rcParams.copy()
    figure = lw.draw(lw.load("planar3"), [0.1, 0.2, 0.3])
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict.__eq__(mpl.rcParams.copy(), before)  # raw: to read the backend is to choose one
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.slow
def test_no_display_is_needed_and_no_backend_chosen() -> None:
    code = """
import sys, matplotlib
before = matplotlib.rcParams.copy()
import linkwise as lw
figure = lw.draw(lw.load("planar3"), [0.1, 0.2, 0.3], views=("3d", "top"))
assert figure._repr_png_().startswith(b"\\x89PNG")
assert "matplotlib.pyplot" not in sys.modules and "tkinter" not in sys.modules
assert dict.__eq__(matplotlib.rcParams.copy(), before)  # raw: to read the backend is to choose one
"""
    environment = {"PATH": "", "PYTHONPATH": str(Path(lw.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@SOME
def test_notebooks_show_robots(robot: lw.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # notebooks need none
    shown = Tags(robot._repr_html_())
    assert {"table", "svg", "path"} <= shown.tags
    assert all(name in shown.text for name in robot.names)
    assert "no picture" not in shown.text


def test_names_are_escaped_in_notebooks() -> None:
    arm = odd_robot()
    shown = Tags(arm._repr_html_())
    assert ODD in shown.text
    assert "script" not in shown.tags
    ElementTree.fromstring(robot_svg(arm, np.zeros((2, 3))))


def test_notebooks_show_what_has_no_picture() -> None:
    length = lw.symbols("l")
    rod = {"joint": "revolute", "a": length, "b": 0, "alpha": 0, "mass": 1, "com": (0, 0, 0), "inertia": np.eye(3)}
    shown = Tags(lw.Robot.from_dh([rod], convention="standard", name="rod")._repr_html_())
    assert "no picture: robot 'rod' has symbols: l" in shown.text
    long = Tags(lw.chain(230)._repr_html_())
    assert "and 200 more" in long.text
    assert "svg" not in long.tags


def test_notebooks_show_counts_and_equations() -> None:
    arm = lw.load("planar3")
    assert "<td>2</td>" in lw.results.Count(1, 2, 3, 4, 5)._repr_html_()
    equations = lw.latex(lw.gravity_torque, arm)
    assert equations._repr_latex_().startswith(r"\begin{align*}")
    assert "%" not in equations._repr_latex_()
    assert equations.startswith("%")


def test_tests_see_every_kind_of_joint() -> None:
    assert set("".join(robot.joints for robot in ROBOTS)) == set(EVERY_KIND)
    assert COUPLED.couplings
