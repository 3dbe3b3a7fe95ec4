"""Recordings: exact round trips through every format, refusal of damaged files, pictures, words."""

import contextlib
import importlib.util
import json
import math
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure

import linkwise as lw
from effort import examples, rest_slow
from facts import raises
from linkwise.ode.registry import integrators
from linkwise.recording import files
from linkwise.recording.plot import IMBALANCE, LABELS, MOST_LINES
from linkwise.robot.layout import Layout
from robots import ALL, QUICK, states

PLANAR, STANFORD = lw.load("planar3"), lw.load("stanford")
ENDINGS = [".npz", ".csv", pytest.param(".parquet", marks=pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed"))]  # fmt: skip
every_ending = pytest.mark.parametrize("ending", ENDINGS)
FLOATS = st.floats(width=64)  # NaN, infinities, subnormal numbers and -0.0 among them


def runaway(arm, t, q, qd):
    return 0.02 * qd * qd * qd


@pytest.fixture(scope="module")
def fall():
    return lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.3, samples=21)


@pytest.fixture(scope="module")
def stuck():
    with pytest.raises(lw.errors.SimulationError) as caught:
        lw.simulate(PLANAR, [0] * 3, [1.0] * 3, 0.05, torque=runaway, samples=21)
    return caught.value.recording


def bits(value):
    """Everything about an array but which NaN is meant."""
    array = np.asarray(value)
    plain = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array
    return array.dtype, array.shape, plain.tobytes()


def assert_same(found, meant):
    assert found == meant
    assert found.robot == meant.robot
    for name in ("name", "about", "rows"):
        assert getattr(found.robot, name) == getattr(meant.robot, name)
    words = ("t", "q", "qd", "qdd", "tau", "energy", "status", "reached", "steps", "rejected", "evaluations")
    for name in (*words, "integrator", "rtol", "atol", "compiled", "imbalance"):
        assert type(getattr(found, name)) is type(getattr(meant, name)), name
        assert bits(getattr(found, name)) == bits(getattr(meant, name)), name
    for name in ("work", "heat", "wrench"):
        if getattr(meant, name) is None:
            assert getattr(found, name) is None
        else:
            assert bits(getattr(found, name)) == bits(getattr(meant, name)), name


@st.composite
def recordings(draw):
    """Any numbers whatever, in every shape."""
    batch = draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]))
    robot = draw(st.sampled_from([PLANAR, STANFORD, lw.load("gantry"), lw.random_tree(1)]))
    length, accounted = draw(st.integers(1, 4)), draw(st.booleans())

    def numbers(*shape, kind=FLOATS, dtype=float):
        found = draw(arrays(dtype, shape, elements=kind))
        return found if shape else found[()].item()

    whole = {"kind": st.integers(0, 2**62), "dtype": np.int64}
    names = draw(arrays("<U14", batch, elements=st.sampled_from(["stopped", "done", "step too small", "diverged"])))
    made = lw.Recording(
        robot,
        np.cumsum(draw(arrays(float, length, elements=st.floats(0.001, 10)))),
        numbers(*batch, length, robot.n),
        numbers(*batch, length, robot.n),
        names if batch else str(names),
        numbers(*batch),
        *(numbers(*batch, **whole) for _ in range(3)),
        integrator=draw(st.sampled_from(integrators())),
        rtol=draw(FLOATS.filter(math.isfinite)),
        atol=draw(FLOATS.filter(math.isfinite)),
        compiled=draw(st.booleans()),
        work=numbers(*batch, length) if accounted else None,
        heat=numbers(*batch, length) if accounted else None,
    )
    vars(made).update(tau=numbers(*batch, length, robot.n), qdd=numbers(*batch, length, robot.n))
    vars(made).update(energy=numbers(*batch, length), wrench=draw(st.sampled_from([None, np.zeros((*batch, 6))])))
    return made


@every_ending
@examples(60)
@given(made=recordings())
def test_any_numbers_come_back_to_the_last_bit(tmp_path_factory, ending, made):
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    with np.errstate(all="ignore"):
        made.save(path)
        assert_same(lw.load_recording(path), made)


@every_ending
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_a_simulation_comes_back_with_all_that_acted(tmp_path, ending, shape):
    count = int(np.prod(shape, dtype=int))
    q, qd, _, tau = (x.reshape(*shape, 6) for x in states(STANFORD, count))
    wrench = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    drag = lw.Friction(viscous=0.2)
    made = lw.simulate(STANFORD, q, qd, 0.1, torque=tau, wrench=wrench, friction=drag, samples=5)
    made.save(tmp_path / f"made{ending}")
    found = lw.load_recording(tmp_path / f"made{ending}", STANFORD)
    assert_same(found, made)
    assert found.robot is STANFORD
    assert found.acting is None
    assert np.array_equal(found.joint_wrenches(), made.joint_wrenches())
    found.save(tmp_path / f"again{ending}")
    assert_same(lw.load_recording(tmp_path / f"again{ending}"), made)


@every_ending
def test_a_trajectory_that_ended_early_comes_back_with_its_gaps(tmp_path, stuck, ending):
    stuck.save(tmp_path / f"stuck{ending}")
    found = lw.load_recording(tmp_path / f"stuck{ending}")
    assert_same(found, stuck)
    assert np.isnan(found.q[-1]).all()


@pytest.mark.parametrize("robot", rest_slow(ALL, QUICK), ids=lambda robot: robot.name)
def test_every_robot_travels_with_its_recording(tmp_path, robot):
    for arm in (robot, robot.regrouped(), robot.with_gravity((0.1, 0.2, 0.3)), robot.without_rotors()):
        zeros = np.zeros((2, arm.n))
        made = lw.Recording(arm, np.array([0.0, 1.0]), zeros, zeros, "done", 1.0, 1, 0, 8, "rk4", 1e-8, 1e-10, True)
        vars(made).update(qdd=zeros, energy=np.zeros(2))
        for ending in (".npz", ".csv"):
            made.save(tmp_path / f"made{ending}")
            found = lw.load_recording(tmp_path / f"made{ending}", arm)
            assert found == made


def test_joint_loads_know_of_the_wrench_that_acted():
    tip = np.array([0, 0, 0.2, 0.1, -0.3, 0])
    every = np.zeros((2, 3, 6))
    every[:, -1] = tip
    for wrench in (tip, every):
        run = lw.simulate(PLANAR, [[0.1] * 3] * 2, [[0.0] * 3] * 2, 0.1, wrench=wrench, samples=4)
        meant = lw.joint_wrenches(PLANAR, run.q, run.qd, run.qdd, tip, axes="frame")
        assert np.array_equal(run.joint_wrenches(axes="frame"), meant)
        assert np.abs(run.joint_wrenches(axes="frame")[..., 2]).max() < 1e-12  # no torque acts along the axes


def buffered(gain, out):
    """A law that cannot be traced and returns the same array at every call."""

    def law(arm, t, q, qd):
        out[:] = [gain * float(x) for x in q]
        return out

    return law


@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_law_may_return_the_same_array_at_every_call(batch):
    q = np.broadcast_to([0.3, 0.2, 0.1], (*batch, 3))
    run = lw.simulate(PLANAR, q, duration=0.02, torque=buffered(-5.0, np.zeros(3)), samples=3, compiled=False)
    assert np.array_equal(run.tau, -5.0 * run.q)
    assert np.array_equal(run.qdd, lw.forward_dynamics(PLANAR, run.q, run.qd, run.tau))


@pytest.mark.slow
def test_torques_are_asked_for_only_where_a_trajectory_went():
    def strict(arm, t, q, qd):
        assert np.isfinite(np.asarray(q, float)).all()
        return runaway(arm, t, q, qd)

    with pytest.raises(lw.errors.SimulationError) as caught:
        lw.simulate(PLANAR, [0] * 3, [1.0] * 3, 0.05, torque=strict, samples=11, rtol=1e-3, compiled=False)
    kept = caught.value.recording
    there = np.isfinite(kept.q)
    assert 0 < there.sum() < there.size
    assert np.array_equal(np.isfinite(kept.tau), there)
    assert np.array_equal(kept.tau[there], runaway(PLANAR, 0, 0, kept.qd[there]))
    assert np.array_equal(np.isnan(replace(kept, acting=None).tau), ~there)


def test_energy_is_balanced_also_from_a_late_first_sample():
    run = lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.5, torque=[1.0, 0.5, 0.1], samples=[0.2, 0.5], rtol=1e-10)
    assert np.abs(run.imbalance).max() < 1e-8


def test_recordings_are_equal_only_if_everything_is(fall, stuck):
    assert fall == replace(fall)
    assert stuck == replace(stuck)
    assert fall != stuck
    assert fall != "fall"
    for change in ({"steps": fall.steps + 1}, {"q": np.nextafter(fall.q, 9)}, {"q": -0.0 * fall.q}, {"heat": fall.t}):
        assert fall != replace(fall, **change)


@every_ending
@examples(60)
@given(data=st.data())
def test_a_damaged_file_is_refused_or_was_damaged_where_nothing_stands(tmp_path_factory, fall, ending, data):
    path = tmp_path_factory.getbasetemp() / f"damaged{ending}"
    fall.save(path)
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    path.write_bytes(content[:at])
    with pytest.raises(lw.errors.FileError, match=f"^{path}:"):
        lw.load_recording(path)
    path.write_bytes(content[:at] + bytes([data.draw(st.integers(0, 255))]) + content[at + 1 :])
    with contextlib.suppress(lw.errors.FileError):
        assert lw.load_recording(path) == fall


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("# Linkwise recording: 1", "# Linkwise recording: 2", "version 2"),
        ("# Linkwise recording: 1\n", "", "fall.csv:1"),
        ('# status: "done"', "# status: done", "'# key: value'"),
        ('# status: "done"\n', "", "damaged"),
        ("mass = 0.5", "mass = 0.6", "damaged"),
        ("t,q1,q2,q3", "t,q1,q2,q4", "t, q1, q2, q4"),
        ("t,q1,q2,q3", "time,q1,q2,q3", "columns'"),
        ("\n0.0,0.0,", "\n0.0,zero,", "column 'q1'; 'zero'; nan"),
        ("\n0.0,0.0,", "\n0.0,", "13; 14; t, q1"),
        ("\n0.0,0.0,", "\n0.0,1e-300,", "damaged"),
    ],
)
def test_a_table_says_on_which_line_it_is_wrong(tmp_path, fall, old, new, facts):
    path = tmp_path / "fall.csv"
    fall.save(path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with raises(lw.errors.FileError, path, *facts.split("; ")):
        lw.load_recording(path)


def test_a_table_may_change_its_line_endings(tmp_path, fall):
    path = tmp_path / "fall.csv"
    fall.save(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert lw.load_recording(path) == fall


@pytest.mark.parametrize(
    ("name", "content", "facts"),
    [
        ("none.npz", None, ()),
        ("any.txt", b"", (".txt", ".npz", ".csv", ".parquet")),
        ("empty.npz", b"", ("NumPy",)),
        ("empty.csv", b"", ("empty.csv:1", "''")),
        ("pickle.npz", b"\x80\x04]\x94.", ("NumPy",)),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, name, content, facts):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with raises(lw.errors.FileError, name, *facts):
        lw.load_recording(tmp_path / name)


def test_archives_of_other_things_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", q=np.zeros(3))
    with raises(lw.errors.FileError, "about"):
        lw.load_recording(tmp_path / "other.npz")
    with (tmp_path / "array.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with raises(lw.errors.FileError, "array.npz", ".npz", "Recording.save"):
        lw.load_recording(tmp_path / "array.npz")
    np.savez(tmp_path / "objects.npz", about=np.array([{}], dtype=object))
    with raises(lw.errors.FileError, "allow_pickle"):
        lw.load_recording(tmp_path / "objects.npz")


@every_ending
@pytest.mark.parametrize("word", ["status", "integrator"])
def test_unknown_words_of_a_file_are_refused(tmp_path, fall, word, ending):
    """Their checksum is right, and a terminal would obey them."""
    path = tmp_path / f"fall{ending}"
    for unknown in ("done\x1b]52;c;Y\x07", "", None, 3, ["done", "lots"]):
        replace(fall, **{word: unknown}).save(path)
        with pytest.raises(lw.errors.FileError, match=rf"fall{ending}: {word} is .*expected .*'(done|rk4)'"):
            lw.load_recording(path)
    two = lw.simulate(PLANAR, np.zeros((2, 3)), duration=0.01, samples=2)
    replace(two, status=np.array(["done", "\x1b[2J"])).save(path)
    with raises(lw.errors.FileError, "status", "\\x1b[2J", "done"):
        lw.load_recording(path)


def test_a_file_of_later_fields_is_refused_by_name(tmp_path, fall):
    values = {**files.values_of(fall), "colour": "red"}
    robot = files.robot_entry(fall.robot)
    about = {files.HEAD: files.VERSION, "sha256": files.digest({**values, **robot}), **robot}
    with (tmp_path / "later.npz").open("wb") as file:
        files.write_npz(file, about, values, Layout.of(fall.robot))
    with raises(lw.errors.FileError, "later.npz", "colour"):
        lw.load_recording(tmp_path / "later.npz")


def test_another_robot_is_refused_and_the_difference_named(tmp_path, fall):
    fall.save(tmp_path / "fall.npz")
    rows = PLANAR.rows
    rows[1] |= {"mass": 7.0}
    heavy = lw.Robot.from_dh(rows, convention="standard", gravity=PLANAR.gravity)
    for robot, said in (
        (STANFORD, "3 joints"),
        (heavy, "link 'link2'"),
        (PLANAR.with_gravity((0, 0, 0)), "gravity"),
    ):
        with raises(lw.errors.FileError, "'planar3'", said):
            lw.load_recording(tmp_path / "fall.npz", robot)


def test_nested_numbers_of_fields_to_come_keep_their_kinds():
    value = [1, ("a", {"at": np.array([[1.5, np.nan]]), "names": np.array(["x", "yy"])}), None, True, -0.0]
    found = files.from_json(json.loads(json.dumps(files.to_json(value, "events"))))
    assert repr(found) == repr(value)
    with raises(TypeError, "recording.events"):
        files.to_json((object(),), "events")


def test_saving_is_refused_where_it_cannot_succeed(tmp_path, fall):
    (tmp_path / "folder.csv").mkdir()
    for path, *facts in (
        (tmp_path / "fall.xlsx", ".xlsx", ".npz", ".csv", ".parquet"),
        (tmp_path / "fall", "ending"),
        (tmp_path / "none" / "fall.npz", "folder"),
        (tmp_path / "folder.csv", "folder"),
    ):
        with raises(lw.errors.FileError, *facts):
            fall.save(path)
    strange = replace(PLANAR, links=(replace(PLANAR.links[0], mass=9.0), *PLANAR.links[1:]))
    with raises(lw.errors.FileError, "strange.npz", "robot 'planar3'", "table"):
        replace(fall, robot=strange).save(tmp_path / "strange.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_save_leaves_the_old_file(tmp_path, fall, stuck, monkeypatch, problem):
    path = tmp_path / "fall.csv"
    fall.save(path)

    def half(file, about, values, layout):
        file.write(b"# Linkwise")
        raise problem

    monkeypatch.setitem(files.FORMATS, ".csv", files.FORMATS[".csv"]._replace(write=half))
    with pytest.raises((KeyboardInterrupt, lw.errors.FileError)):
        stuck.save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert lw.load_recording(path) == fall


def test_arrays_by_name(fall):
    found = fall.to_numpy()
    assert {"t", "q", "qd", "qdd", "tau", "energy", "steps", "status", "reached"} <= set(found)
    assert all(isinstance(value, np.ndarray) for value in found.values())
    assert bits(found["qdd"]) == bits(fall.qdd)


def test_frames_of_pandas_hold_the_same_numbers(tmp_path):
    pandas = pytest.importorskip("pandas")
    run = lw.simulate(PLANAR, np.zeros((2, 2, 3)), np.zeros((2, 2, 3)), 0.1, torque=[1, 0, 0], samples=4)
    frame = run.to_pandas()
    assert list(frame)[:4] == ["trajectory", "t", "q1", "q2"]
    assert list(frame)[-3:] == ["energy", "work", "heat"]
    assert frame["trajectory"].tolist() == np.repeat(range(4), 4).tolist()
    assert np.array_equal(frame[["q1", "q2", "q3"]].to_numpy().reshape(run.q.shape), run.q)
    run.save(tmp_path / "run.csv")
    read = pandas.read_csv(tmp_path / "run.csv", comment="#")
    assert list(read) == list(frame)
    assert np.allclose(read.to_numpy(), frame.to_numpy(), rtol=1e-14, atol=0.0)


def labels(figure):
    return [place.get_ylabel() for place in figure.axes]


def test_pictures_have_a_panel_for_each_quantity_with_its_unit(tmp_path, fall):
    figure = fall.plot(tmp_path / "fall.png")
    assert isinstance(figure, Figure)
    assert labels(figure) == [LABELS["q"]["R"], LABELS["qd"]["R"], IMBALANCE]  # nothing drove it
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(PLANAR.names)
    assert (tmp_path / "fall.png").read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [tmp_path / "fall.png"]
    assert np.array_equal(figure.axes[0].lines[2].get_ydata(), fall.q[:, 2])


def test_pictures_keep_metres_apart_from_radians():
    q, qd, _, tau = states(STANFORD, 1)
    run = lw.simulate(STANFORD, q[0], qd[0], 0.1, torque=tau[0], samples=9)
    both = [LABELS[name][kind] for name in ("q", "qd", "tau") for kind in "RP"]
    assert labels(run.plot()) == [*both, IMBALANCE]
    assert "(m)" in both[1]
    assert "(N)" in both[5]
    assert labels(run.plot(joints="link3")) == [*both[1::2], IMBALANCE]
    some = run.plot(joints=[0, "link6", -2])
    assert labels(some) == [*both[::2], IMBALANCE]
    assert [text.get_text() for text in some.legends[0].get_texts()] == ["link1", "link5", "link6"]


@pytest.mark.parametrize(("joints", "said"), [("link9", "link9"), ([7], "7"), ([], "empty"), ([True], "True")])
def test_joints_that_are_not_there_are_refused(fall, joints, said):
    with pytest.raises(ValueError, match=rf"joints.*{said}"):
        fall.plot(joints=joints)


def test_pictures_in_unknown_formats_are_refused(tmp_path, fall):
    with raises(lw.errors.FileError, "fall.bmp", ".bmp", "png"):
        fall.plot(tmp_path / "fall.bmp")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [2, MOST_LINES, MOST_LINES + 1])
def test_many_trajectories_are_lines_then_a_median_with_its_band(count):
    rng = np.random.default_rng(0)
    run = lw.simulate(PLANAR, 0.1 * rng.normal(size=(count, 3)), np.zeros((count, 3)), 0.1, samples=9)
    top = run.plot().axes[0]
    lines = [line for line in top.lines if len(line.get_xdata()) == 9]
    if count <= MOST_LINES:
        assert (len(lines), len(top.collections)) == (3 * count, 0)
    else:
        assert (len(lines), len(top.collections)) == (3, 3)
        assert np.allclose(lines[0].get_ydata(), np.median(run.q[..., 0], axis=0))


def test_pictures_show_where_a_trajectory_ended(stuck):
    figure = stuck.plot()
    assert "step too small at" in figure.get_suptitle()
    for place in figure.axes:
        assert any(np.allclose(line.get_xdata(), stuck.reached) for line in place.lines)
    rates = np.array([[0.0] * 3, [20.0] * 3, [1e-3] * 3])
    batch = lw.simulate(PLANAR, np.zeros((3, 3)), rates, 0.01, torque=runaway, samples=9)
    figure = batch.plot()
    assert "2 done, 1 " in figure.get_suptitle()
    assert len(figure.axes[0].collections) == 1


def test_pictures_leave_no_traces_in_matplotlib(tmp_path, fall):
    before = dict(matplotlib.rcParams)
    fall.plot(tmp_path / "fall.svg")
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_words_for_one_trajectory_and_for_many(fall, stuck):
    assert repr(fall).startswith("<Recording of 'planar3': 0.3 s, 21 samples, done; ")
    assert f"{stuck.status} at {stuck.reached:.6g} s" in repr(stuck)
    batch = lw.simulate(PLANAR, np.zeros((2, 2, 3)), np.zeros((2, 2, 3)), 0.1, samples=3)
    assert "2 x 2 trajectories, 0.1 s, 3 samples, 4 done" in repr(batch)
    words = batch.summary()
    assert words.splitlines()[0] == "planar3: 3 joints (RRR)"
    assert f"{int(batch.steps.sum())} in all" in words
    assert "of trajectory (0, 0)" in words
    assert repr(words) == str(words)
    nothing = lw.simulate(PLANAR, np.zeros((0, 3)), np.zeros((0, 3)), 0.1, samples=3)
    assert "largest imbalance  unknown" in nothing.summary()


def test_events_come_back_as_they_were(tmp_path):
    def low(arm, t, q, qd):
        return q[0] + 1.0

    arm = lw.load("planar3")
    for start in ([0.0] * 3, np.zeros((2, 3))):
        run = lw.simulate(arm, start, [0] * 3, 0.5, events=[low], samples=11)
        for name in ("run.npz", "run.csv"):
            run.save(tmp_path / name)
            again = lw.load_recording(tmp_path / name)
            assert again == run
        first = again.events[0] if run.q.ndim == 2 else again.events[0][0]
        assert isinstance(first, lw.results.EventRecord)
        assert first.names == ("low",)
