"""Moving pictures: real time, the poses of the recording, and pages that are complete and harmless."""

import base64
import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import linkwise as lw
from effort import examples
from facts import raises
from linkwise.drawing import film
from linkwise.drawing.film import durations
from linkwise.drawing.motion import Motion, quaternions
from linkwise.drawing.painter import window_of
from linkwise.drawing.pictures import seen_corners
from linkwise.recording.one_trajectory import motion_of
from linkwise.recording.recording import End

ODD = '</script><b>"x" & $\\frac$ {0} %s</b> \u2028'


def recording(robot: lw.Robot, duration: float = 0.4, samples: int = 21, batch: tuple[int, ...] = ()) -> lw.Recording:
    """A motion made of formulas: no integrator is needed."""
    t = np.linspace(0.0, duration, samples)
    rng = np.random.default_rng(robot.n)
    v = rng.normal(size=(*batch, 1, robot.n))
    q = np.asarray(lw.integrate(robot, lw.neutral(robot), t[:, None] * v))
    qd = np.broadcast_to(v, (*q.shape[:-1], robot.n))
    every = np.full(batch, 1) if batch else 1
    status = np.full(batch, "done") if batch else "done"
    reached = np.full(batch, duration) if batch else duration
    return lw.Recording(robot, t, q, qd, status, reached, every, every, every, "none", 1e-8, 1e-10, False)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.heading = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(value) for name, value in attributes if name in ("src", "href", "srcset", "action")]

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and data.strip():
            self.scripts.append(data)
        elif self.lasttag == "h1":
            self.heading += data


@pytest.mark.parametrize("name", ["stanford", "humanoid"])
def test_a_page_has_the_poses_of_the_recording(name: str, tmp_path: Path) -> None:
    run = recording(lw.load(name))
    film = run.animate(tmp_path / "motion.html", fps=50)
    page = Page((tmp_path / "motion.html").read_text(encoding="utf-8"))
    scene = json.loads(page.scripts[0])
    assert scene["times"] == pytest.approx(run.t)
    assert scene["links"] == list(run.robot.names)
    numbers = np.frombuffer(base64.b64decode(scene["poses"]), "<f4").reshape(len(run.t), len(run.robot.names), 7)
    poses = lw.poses(run.robot, run.q)
    assert np.abs(numbers[..., :3] + scene["centre"] - poses[..., :3, 3]).max() < 1e-6
    assert np.abs(turned(numbers[..., 3:].astype(float)) - poses[..., :3, :3]).max() < 1e-6
    assert film.html.encode() == (tmp_path / "motion.html").read_bytes()
    assert "<iframe" in film._repr_html_()


def turned(q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions: columns are q e q*."""
    w, v = q[..., :1], q[..., 1:]
    columns = [e + 2.0 * np.cross(v, np.cross(v, e) + w * e) for e in np.eye(3)]
    return np.stack(columns, axis=-1)


def test_quaternions_of_rotations() -> None:
    rng = np.random.default_rng(0)
    q = rng.normal(size=(200, 4))
    q[:4] = np.eye(4)
    q[4:8] = [[0, 1, 1, 0], [0, 1, -1, 1e-9], [1e-12, 0, 0, 1], [1, 1, 1, 1]]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    found = quaternions(turned(q))
    assert np.abs(found - q * np.sign(np.sum(found * q, axis=-1, keepdims=True))).max() < 1e-12


def test_a_page_is_complete_and_runs_no_text_of_the_robot(tmp_path: Path) -> None:
    rows = lw.load("planar3").rows
    rows[0]["name"] = rows[1]["parent"] = ODD.strip()
    run = recording(lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name=ODD.strip()))
    run.animate(tmp_path / "odd.html")
    text = (tmp_path / "odd.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.heading == ODD.strip()
    assert page.tags.count("script") == len(page.scripts) == 2
    assert {"b", "img", "link", "iframe"}.isdisjoint(page.tags)
    assert page.addresses == []
    assert "<" not in page.scripts[0]  # nothing in it can end or nest a script
    assert json.loads(page.scripts[0])["robot"] == ODD.strip()
    assert not re.search(
        r"https?:|//[a-z]|\beval\b|\bFunction\(|innerHTML|fetch\(|XMLHttp|import\b", page.scripts[1].replace("// ", "")
    )
    assert "default-src 'none'" in text
    assert len(text) < 60_000


@pytest.mark.parametrize("batch", [(), (2,), (0,)])
def test_notebooks_show_recordings(batch: tuple[int, ...]) -> None:
    rows = lw.load("planar3").rows
    run = recording(lw.Robot.from_dh(rows, convention="standard", name=ODD.strip()), batch=batch)
    text = run._repr_html_()
    assert html.escape(ODD.strip()) in text
    assert "<b>&quot;" not in text
    assert "no picture" not in text
    assert text.count("<svg") == (0 if 0 in batch else 2)


def test_a_gif_plays_in_real_time(tmp_path: Path) -> None:
    run = recording(lw.load("planar3"))
    for fps, speed, pause in ((15.0, 1.0, 0.0), (4.0, 0.5, 0.5)):
        made = run.animate(tmp_path / "motion.gif", fps=fps, speed=speed, pause=pause, width=160)
        with Image.open(tmp_path / "motion.gif") as picture:
            assert picture.n_frames == len(made.times) == np.ceil(run.t[-1] / speed * fps - 1e-9) + 1
            total = 0
            for k in range(picture.n_frames):
                picture.seek(k)
                total += picture.info["duration"]
            assert picture.info["loop"] == 0
            assert picture.width == 160
            assert picture.convert("RGB").getpixel((2, 60)) == (255, 255, 255)
        assert total / 1000.0 == pytest.approx(run.t[-1] / speed + max(pause, 1.0 / fps), abs=0.006)
    assert made._repr_html_().startswith('<img src="data:image/gif;base64,')


@examples(50)
@given(st.integers(1, 200), st.floats(1.0, 50.0), st.floats(0.0, 2.0))
def test_times_of_a_gif_add_up(count: int, fps: float, pause: float) -> None:
    seconds = 3.0 + np.arange(count) / fps
    shown = np.cumsum(durations(seconds, fps, pause)) / 1000.0
    exact = np.append(seconds[1:], seconds[-1] + max(pause, 1.0 / fps)) - 3.0
    assert np.abs(shown - exact).max() < 0.00501
    assert len(shown) == count


@pytest.mark.parametrize("robot", [lw.load("stanford"), lw.load("ball_chain")], ids=["stanford", "ball_chain"])
def test_between_samples_the_motion_goes_on(robot: lw.Robot) -> None:
    """Cubic polynomials: exact at the samples, and a sixteenth of the error with twice as many of them."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, robot.n))

    def motion(count: int) -> tuple[Motion, np.ndarray]:
        t = np.linspace(0.0, 1.0, count)
        if robot.balls:  # each ball about an axis of its own
            q = np.asarray(lw.integrate(robot, lw.neutral(robot), np.sin(2.0 * t)[:, None] * a))
            qd = 2.0 * np.cos(2.0 * t)[:, None] * a
        else:
            q, qd = np.sin(t[:, None] * a + b), a * np.cos(t[:, None] * a + b)
        return Motion(robot, t, q, qd, "x"), q

    fine, _ = motion(161)
    coarse, q = motion(11)
    assert np.abs(coarse.at(coarse.t) - q).max() < 1e-14
    flipped = replace(coarse, q=q * np.where(np.arange(11)[:, None] % 2, -1.0, 1.0)) if robot.balls else coarse
    poses = np.asarray(lw.poses(robot, fine.q))
    errors = [np.abs(np.asarray(lw.poses(robot, m.at(fine.t))) - poses).max() for m in (coarse, motion(21)[0])]
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 10.0
    assert np.abs(np.asarray(lw.poses(robot, flipped.at(fine.t))) - poses).max() < 1.01 * errors[0]


def far_motion(name: str, rate: dict[str, float]) -> lw.Recording:
    robot = lw.load(name)
    t = np.linspace(0.0, 1.0, 11)
    v = np.zeros(robot.n)
    for place, speed in rate.items():
        v[robot.v_names.index(place)] = speed
    q = np.asarray(lw.integrate(robot, lw.neutral(robot), t[:, None] * v))
    qd = np.broadcast_to(v, (len(t), robot.n))
    return lw.Recording(robot, t, q, qd, "done", 1.0, 1, 1, 1, "none", 1e-8, 1e-10, False)


@pytest.mark.parametrize(
    ("run", "follows"),
    [
        (far_motion("stanford", {"link3": 20.0}), False),
        (far_motion("satellite", {"bus.vx": 50.0, "upper_arm": 1.0}), True),
        (far_motion("satellite", {"bus.vx": 1.0}), False),
    ],
    ids=["slide", "flight", "short flight"],
)
def test_the_robot_is_not_tiny_in_its_film(run: lw.Recording, follows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its extent at the start is at least a fifth of the window, and the body that floats stays where it is seen."""
    windows = []
    monkeypatch.setattr(film, "window_of", lambda *given: windows.append(window_of(*given)) or windows[-1])
    made = run.animate(fps=10)
    assert made.framing.follows is follows
    shown = film.Film(made, made.framing.of(made.poses), width=100, trail=True)
    corners = seen_corners(shown.painter.mesh, made.camera, shown.poses[0])
    extent = np.ptp(corners, axis=0).max()
    assert extent > 0.2 * max(windows[0].width, windows[0].height)
    roots = made.camera.project(shown.poses[:, 1, :3, 3])[0]
    if follows:
        assert np.abs(roots - roots[0]).max() < 1e-9
    assert windows[0].left < roots[:, 0].min() <= roots[:, 0].max() < windows[0].right
    image = np.asarray(shown.image(len(made.times) - 1))
    assert (image < 250).any(axis=-1).mean() > 0.01
    page = Page(made.html)
    assert page.heading.endswith(", followed") is follows
    scene = json.loads(page.scripts[0])
    assert np.allclose(
        np.reshape(scene["follow"], (-1, 3)), made.framing.shift if follows else np.empty((0, 3)), atol=1e-4
    )


def fast_turn() -> lw.Recording:
    """A rod of one joint that turns by half a radian from frame to frame."""
    robot = lw.Robot.from_dh(lw.load("planar3").rows[:1], convention="standard", name="rod")
    t = np.linspace(0.0, 1.0, 51)
    q = 10.0 * t[:, None]
    return lw.Recording(robot, t, q, np.full_like(q, 10.0), "done", 1.0, 1, 1, 1, "none", 1e-8, 1e-10, False)


def test_trails_are_smooth_between_frames() -> None:
    """The path of a tip on a circle is a circle, however few frames there are; it ends at the tip."""
    pytest.importorskip("matplotlib")
    made = fast_turn().animate(fps=20)
    shown = film.Film(made, made.framing.of(made.poses), width=100, trail=True)
    frame = 7
    shown.image(frame)
    (path,) = shown.painter.trails.get_segments()
    middles = (path[1:] + path[:-1]) / 2.0
    assert np.abs(np.hypot(*middles.T) / 0.3 - 1.0).max() < 1e-3
    tip = made.camera.project(made.poses[frame, 1, :3, 3])[0]
    assert path[-1] == pytest.approx(tip, abs=1e-12)
    assert path[0] == pytest.approx(made.camera.project(made.poses[0, 1, :3, 3])[0], abs=1e-12)
    assert shown.image(0) is not None
    assert shown.painter.trails.get_segments() == []


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_trails_of_a_page_are_smooth_between_frames() -> None:
    """The player's own text, run on its data without a browser: points on a circle, in steps of time."""
    made = fast_turn().animate(fps=20)
    page = Page(made.html)
    script = page.scripts[1]
    parts = [
        script[script.index(name) :].partition("\n}\n")[0] + "\n}" for name in ("function frameAt", "function posesAt")
    ]
    smooth = script[script.index("// Paths of the tips") : script.index("// Half of what the motion")]
    head = script[script.index("const links") : script.index("// The camera")]
    text = f"""const scene = {page.scripts[0]};
{head}
{parts[0]}
{parts[1]}
const place = {script[script.index("const place = ") + 14 :].partition(";")[0]};
{smooth}
console.log(JSON.stringify([trails, trailTimes]));"""
    done = subprocess.run(["node", "-e", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    trails, times = json.loads(done.stdout)
    scene = json.loads(page.scripts[0])
    path = np.array(trails[0]) + scene["centre"]
    assert len(path) == len(times) > 4 * len(made.times)
    assert times[:: (len(times) - 1) // (len(made.times) - 1)] == pytest.approx(made.times)
    middles = (path[1:] + path[:-1]) / 2.0
    assert np.abs(np.linalg.norm(middles, axis=-1) / 0.3 - 1.0).max() < 5e-3
    angles = np.unwrap(np.arctan2(path[:, 1], path[:, 0]))
    assert np.abs(angles - 10.0 * np.array(times)).max() < 0.02


def test_a_trajectory_of_a_batch_is_chosen() -> None:
    run = recording(lw.load("planar3"), batch=(2, 3))
    assert np.array_equal(motion_of(run).q, run.q[0, 0])
    assert np.array_equal(motion_of(run, 4).q, run.q[1, 1])
    assert np.array_equal(motion_of(run, (1, -1)).q, run.q[1, 2])
    assert motion_of(run, 4).title == "planar3, trajectory (1, 1)"
    for wrong in (6, -7, (0,), (2, 0), "x", 1.5):
        with raises(ValueError, "trajectory", "6", "2"):
            motion_of(run, wrong)
    with raises(ValueError, "trajectory", 1):
        motion_of(recording(lw.load("planar3")), 1)


def test_a_motion_that_failed_says_so(tmp_path: Path) -> None:
    run = recording(lw.load("planar3"))
    q, qd = run.q.copy(), run.qd.copy()
    q[13:] = qd[13:] = np.nan
    diverged = replace(run, q=q, qd=qd, status="diverged", reached=0.25)
    motion = motion_of(diverged)
    assert motion.note == "diverged at 0.25 s"
    assert motion.t[-1] == run.t[12]
    made = diverged.animate(tmp_path / "diverged.html")
    assert json.loads(Page(made.html).scripts[0])["note"] == "diverged at 0.25 s"
    with raises(ValueError, "planar3", "finite", "0 s"):
        motion_of(replace(diverged, q=np.full_like(q, np.nan), reached=0.0))


@pytest.mark.slow
def test_the_last_frame_of_a_failure_is_marked_in_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    image = film.Film.image

    def watched(self: film.Film, k: int) -> Image.Image:
        picture = image(self, k)
        seen.append((k, self.clock.get_text(), self.clock.get_color() == film.FAILED))
        return picture

    monkeypatch.setattr(film.Film, "image", watched)
    diverged = replace(recording(lw.load("planar3")), status="diverged", reached=0.4)
    diverged.animate(tmp_path / "diverged.gif", fps=5, width=160)
    assert seen[-3:] == [(0, "0.00 s", False), (1, "0.20 s", False), (2, "diverged at 0.4 s", True)]


def test_the_end_between_samples_is_shown() -> None:
    run = recording(lw.load("planar3"))
    there = run.t < 0.123
    q, qd = (np.where(there[:, None], values, np.nan) for values in (run.q, run.qd))
    end = End(run.q[0] + 0.123 * run.qd[0], run.qd[0], None, None)
    motion = motion_of(replace(run, q=q, qd=qd, status="stopped", reached=0.123, end=end))
    assert motion.t[-1] == 0.123
    assert motion.note == "stopped at 0.123 s"
    assert motion.at(np.array([0.12, 0.122])) == pytest.approx(run.q[0] + [[0.12], [0.122]] * run.qd[0])


def test_wrong_calls_say_what_is_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recording(lw.load("planar3"))
    for call, kind, message in (
        (lambda: run.animate(tmp_path / "x.avi"), lw.errors.FileError, "cannot write .avi .expected .gif, .mp4, .html"),
        (lambda: run.animate(tmp_path / "no" / "x.gif"), lw.errors.FileError, "does not exist"),
        (lambda: run.animate(fps=0), ValueError, "fps is 0"),
        (lambda: run.animate(speed="fast"), TypeError, "speed is 'fast'"),
        (lambda: run.animate(speed=1e-9), ValueError, "larger speed or a smaller fps"),
        (lambda: run.animate(pause=-1), ValueError, "pause is -1"),
        (lambda: run.animate(tmp_path / "x.gif", fps=80), ValueError, "at most 50 in a GIF"),
        (lambda: run.animate(tmp_path / "x.gif", fps=1e-4), ValueError, "10000 s .*at most 655.35 s in a GIF"),
        (lambda: run.animate(tmp_path / "x.gif", pause=700), ValueError, "700 s .*at most 655.35 s in a GIF"),
    ):
        with pytest.raises(kind, match=message):
            call()
    monkeypatch.setattr(film.shutil, "which", lambda name: None)
    with raises(lw.errors.FileError, "MP4", "ffmpeg", ".gif", ".html"):
        run.animate(tmp_path / "x.mp4")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "motion.gif").write_text("old")
    monkeypatch.setattr(film.Film, "image", lambda self, k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        recording(lw.load("planar3")).animate(tmp_path / "motion.gif")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("motion.gif", "old")]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_a_film_as_mp4(tmp_path: Path) -> None:
    recording(lw.load("planar3")).animate(tmp_path / "motion.mp4", fps=10, width=161)
    assert (tmp_path / "motion.mp4").read_bytes()[4:8] == b"ftyp"


def test_long_work_says_how_far_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwise.progress.PATIENCE", 0.0)
    run = recording(lw.load("planar3"))
    run.animate(tmp_path / "motion.gif", fps=5, width=160, progress=True)
    assert "motion.gif: 1 of 3 frames" in capsys.readouterr().err
    run.animate(tmp_path / "motion.gif", fps=5, width=160)
    assert capsys.readouterr().err == ""


def test_one_sample_is_one_frame(tmp_path: Path) -> None:
    run = recording(lw.load("planar3"))
    still = replace(run, t=run.t[:1], q=run.q[:1], qd=run.qd[:1])
    made = still.animate(tmp_path / "still.gif", width=160)
    assert len(made.times) == 1
    still.animate(tmp_path / "still.html")
