"""Sweeps do what they are told or say why not: numbers without effect, ends, events, durations, tables."""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises, warns
from linkwise.sweeps.plan import values_text
from short_sweeps import PLANAR, REST, SEVEN, every_kind, heavier, low, same, short


def friction_in_python(arm, t, q, qd):
    return [-(link.joint.viscous_friction) * rate for link, rate in zip(arm.links, qd, strict=True)]


@pytest.mark.parametrize("word", rest_slow(["viscous_friction", "coulomb_friction"], ["coulomb_friction"]))
def test_a_friction_that_is_swept_and_not_asked_for_is_refused(word, tmp_path):
    own = {"viscous_friction": "viscous", "coulomb_friction": "coulomb"}[word]
    for given in (np.linspace(0, 1, 7), 0.5):  # different in each row, or the same in all
        samples = {**SEVEN, f"link1.{word}": given}
        with pytest.raises(ValueError, match=rf"'link1\.{word}'.*pass friction=True"):
            short(samples, tmp_path / "none")
        with pytest.raises(ValueError, match=rf"'link1\.{word}'.*friction has {own}=0\.1 for all"):
            short(samples, tmp_path / "other", friction=lw.Friction(**{own: 0.1}))
        exact = lw.Friction(**{own: 0.1}, smooth=0.0)
        with pytest.raises(ValueError, match=rf"'link1\.{word}'.*friction has {own}=0\.1 for all"):
            short(samples, tmp_path / "other", friction=exact)
        with raises(ValueError, "friction=True"):
            short(samples, tmp_path / "function", torque=lambda arm, t, q, qd: -qd)
    assert not list(tmp_path.iterdir())


def test_a_friction_that_is_swept_acts_where_something_reads_it(tmp_path):
    samples = {**SEVEN, "q0": [0.5, 0.5, 0.5], "link1.viscous_friction": np.linspace(0, 1, 7)}
    for name, options in {"asked": {"friction": True}, "read": {"torque": friction_in_python}}.items():
        found = short(samples, tmp_path / name, **options).read()
        assert len(np.unique(found["q_end"][:, 0])) == 7
    free = {**samples, "q0": np.zeros((7, 3)), "link1.viscous_friction": np.zeros(7)}
    assert short(free, tmp_path / "friction", friction=True).done == [0]


def test_the_values_of_a_law_tell_apart_what_returns_one_array_at_every_call():
    out, arm = np.zeros(3), lw.load("planar3")

    def law(arm, t, q, qd, gain):
        out[:] = gain * q if t < 0.7 else q  # at the first state, not at the last
        return out

    assert values_text(partial(law, gain=2.0), arm, {}) != values_text(partial(law, gain=3.0), arm, {})


def test_other_numbers_without_effect_are_named_in_a_warning(tmp_path):
    inertia = np.zeros((4, 3, 3)) + np.diag([0.0, 0.01, 0.01])
    inertia[:, 0, 0] = [0.001, 0.002, 0.003, 0.004]  # along the link: it never turns about that
    samples = {"q0": np.full((4, 3), 0.1), "link1.inertia": inertia}
    with warns(lw.errors.SweepWarning, "'planar3'", "'link1.inertia'"):
        found = short(samples, tmp_path).read()
    assert np.ptp(found["q_end"], axis=0).max() < 1e-12


def test_a_sample_that_vary_never_reads_is_named(tmp_path):
    given = {name: lw.per_trajectory(np.arange(7.0)) for name in ("planet", "plannet")}
    samples = {**SEVEN, **given, "qd0": np.zeros((7, 3))}
    with pytest.warns(lw.errors.SweepWarning, match=r"vary read no 'plannet'$"):
        short(samples, tmp_path, vary=lambda arm, row: arm.with_gravity((0, -row["planet"], 0)))


def fast(arm, t, q, qd):
    return qd[1] * qd[1] - 1.0


EVENTS = (lw.Event(low, "low"), lw.Event(lambda arm, t, q, qd: q[0] + 0.6, "lower", stop=True), lw.Event(fast, "fast"))
ROWS = {
    "one robot": {},
    "family": {"link2.mass": [0.3, 0.4, 0.5, 0.6, 0.7]},
    "many structures": {"kind": lw.per_trajectory([0, 1, 0, 1, 0])},
}


@every_kind
@pytest.mark.parametrize("rows", rest_slow(list(ROWS), ["family"]))
def test_ends_and_events_of_every_row_are_those_of_simulate(rows, kind, tmp_path):
    def robot(arm, row):
        return arm if row["kind"] == 0 else arm.with_gravity((0, -5.0, 0))

    q0 = np.linspace(0, 0.5, 15).reshape(5, 3)
    q0[3] = [2.5, 0, 0]  # meets nothing
    samples = {"q0": q0, **ROWS[rows]}
    vary = robot if rows == "many structures" else None
    made = lw.sweep(PLANAR, samples, tmp_path / "a", 0.5, chunk=2, vary=vary, files=kind, keep="ends", events=EVENTS)
    other = lw.sweep(PLANAR, samples, tmp_path / "b", 0.5, chunk=5, vary=vary, files=kind, keep="ends", events=EVENTS)
    found = lw.sweeps.open_sweep(tmp_path / "a").read()
    table = made.event_table()
    seen = []
    for k in range(5):
        arm = PLANAR
        if rows == "family":
            arm = heavier(samples["link2.mass"][k])
        if vary is not None:
            arm = robot(PLANAR, {"kind": samples["kind"].values[k]})
        want = lw.simulate(arm, q0[k], [0] * 3, 0.5, events=EVENTS)
        assert (found["status"][k], found["events"][k]) == (want.status, sum(len(event.names) for event in want.events))
        assert found["reached"][k] == pytest.approx(want.reached, abs=1e-7)
        ends = (want.q[-1], want.qd[-1]) if want.status == "done" else (want.events[-1].q, want.events[-1].qd)
        assert np.allclose(found["q_end"][k], ends[0], rtol=0, atol=1e-6)
        assert np.allclose(found["qd_end"][k], ends[1], rtol=0, atol=1e-6)
        assert abs(found["imbalance"][k]) < 1e-5
        own = made.events(k)
        assert [event.names for event in own] == [event.names for event in want.events]
        for one, two in zip(own, want.events, strict=True):
            assert one.t == pytest.approx(two.t, abs=1e-7)
            assert np.allclose([*one.q, *one.qd], [*two.q, *two.qd], rtol=0, atol=1e-6)
            seen += [(k, one.t, name, one.q.tolist(), one.qd.tolist()) for name in one.names]
        for one, two in zip(own, other.events(k), strict=True):
            assert np.allclose([one.t, *one.q], [two.t, *two.q], rtol=0, atol=1e-9)
    columns = (table[name].tolist() for name in ("trajectory", "t", "name", "q", "qd"))
    assert list(zip(*columns, strict=True)) == seen
    assert {"stopped", "done"} == set(found["status"])
    assert {"low", "lower", "fast"} <= {name for _, _, name, _, _ in seen}


def test_the_last_good_state_of_a_row_that_was_lost_is_kept(tmp_path):
    def runaway(arm, t, q, qd):
        return 1e-3 * qd * qd * qd

    samples = {"q0": np.zeros((2, 3)), "qd0": [[0.0] * 3, [1e3] * 3]}
    for name, more in {"alone": {}, "family": {"link2.mass": [0.3, 0.4]}}.items():
        found = short({**samples, **more}, tmp_path / name, torque=runaway).read()
        assert found["status"][0] == "done"
        assert found["status"][1] in ("diverged", "step too small")
        assert np.isfinite(found["q_end"]).all()
        assert np.isfinite(found["qd_end"]).all()
        assert 0 < found["reached"][1] < 0.1
        assert np.abs(found["qd_end"][1]).max() > 1e3


def test_a_folder_of_the_old_layout_is_refused_with_its_reason(tmp_path):
    (tmp_path / "sweep.json").write_text('{"what": "linkwise sweep", "layout": 1}')
    for call in (lambda: lw.sweeps.open_sweep(tmp_path), lambda: short(SEVEN, tmp_path)):
        with raises(ValueError, "sweep.json", "layout 1", "layout 3"):
            call()


@every_kind
def test_a_table_of_pandas_has_the_samples_beside_the_results(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    samples = {**lw.sweeps.monte_carlo(7, 1, q0=([-1] * 3, [1] * 3)), "link2.mass": np.linspace(0.2, 0.6, 7)}
    made = lw.sweep(PLANAR, samples, tmp_path, 0.1, chunk=3, files=kind, samples=4, events=low, progress=False)
    table, found = made.to_pandas(), made.read()
    assert table["trajectory"].tolist() == list(range(7))
    assert table["link2.mass"].tolist() == samples["link2.mass"].tolist()
    for name in ("q0", "q_end", "qd_end"):
        want = found[name] if name in found else samples[name]
        assert np.array_equal(table[[f"{name}_{k}" for k in (1, 2, 3)]].to_numpy(), want)
    assert {"status", "reached", "steps", "imbalance", "events", "error"} <= set(table)
    assert len(pandas.DataFrame(made.event_table()["t"])) == found["events"].sum()
    (tmp_path / f"chunk-00001.{kind}").unlink()
    assert lw.sweeps.open_sweep(tmp_path).to_pandas()["trajectory"].tolist() == [0, 1, 2, 6]


def test_the_folder_of_a_sweep_is_one_parquet_table_to_others(tmp_path):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    made = lw.sweep(PLANAR, SEVEN, tmp_path, 0.3, chunk=3, files="parquet", samples=4, events=EVENTS, progress=False)
    (tmp_path / "_chunk-00007.failed.txt").write_text("left over")
    (tmp_path / f"_chunk-00000.parquet.{'0' * 16}.tmp").write_text("half")
    for table in (pandas.read_parquet(tmp_path), parquet.read_table(tmp_path).to_pandas()):
        assert table["trajectory"].tolist() == list(range(7))
        assert np.array_equal(np.stack(table["q_end"]), made.read()["q_end"])
        assert [list(names) for names in table["event_name"]] == [
            [name for event in made.events(k) for name in event.names] for k in range(7)
        ]
    assert sum(map(len, table["event_t"])) == len(made.event_table()["t"]) > 0


@pytest.mark.parametrize("rows", ["one robot", "family"])
def test_durations_are_swept(rows, tmp_path):
    durations = np.array([0.1, 0.3, 0.1, 0.25, -1.0, np.nan, 0.3])
    more = {"link2.mass": np.linspace(0.2, 0.6, 7)} if rows == "family" else {}
    samples = {**SEVEN, "duration": durations, **more}
    made = lw.sweep(PLANAR, samples, tmp_path / "even", chunk=3, samples=4, files="npz", progress=False)
    found = made.read()
    assert made.t.shape == (7, 4)
    for k in (0, 3, 6):
        arm = heavier(more["link2.mass"][k]) if more else PLANAR
        want = lw.simulate(arm, SEVEN["q0"][k], [0] * 3, durations[k], samples=4)
        assert np.array_equal(made.t[k], want.t)
        assert np.allclose(found["q"][k], want.q, rtol=0, atol=1e-7)
        assert np.array_equal(found["q_end"][k], found["q"][k, -1])
        assert (found["status"][k], found["reached"][k]) == ("done", durations[k])
    assert found["status"][[4, 5]].tolist() == ["failed"] * 2
    assert "duration is -1.0" in found["error"][4]
    timed = lw.sweep(PLANAR, samples, tmp_path / "times", samples=[0.0, 0.1, 0.2, 0.3], files="npz", progress=False)
    there = np.isfinite(timed.read()["q"]).all(axis=2)
    assert there[:4].sum(axis=1).tolist() == [2, 4, 2, 3]
    assert (np.sort(there, axis=1)[:, ::-1] == there).all()
    assert lw.sweeps.open_sweep(tmp_path / "even").resume().done == [0, 1, 2]


def test_events_are_in_the_summary_and_in_the_picture():
    pytest.importorskip("matplotlib")
    one = lw.simulate(PLANAR, [0.3, 0.2, 0.1], [0] * 3, 1.0, events=EVENTS, samples=20)
    many = lw.simulate(PLANAR, np.linspace(0, 0.5, 12).reshape(4, 3), [0] * 3, 1.0, events=EVENTS, samples=20)
    lines = str(one.summary()).splitlines()
    table = [f"{event.t:.6g} s" for event in one.events for _ in event.names]
    assert [line.split("  ")[0].strip() for line in lines[-len(table) :]] == table
    assert lines[-1].endswith("lower")
    met = [name for own in many.events for event in own for name in event.names]
    words = {line.split()[0]: line.split() for line in str(many.summary()).splitlines()}
    for name in ("low", "lower", "fast"):
        trajectories = sum(any(name in event.names for event in own) for own in many.events)
        assert words[name][1:3] == [str(met.count(name)), str(trajectories)]
    for run, low_end in ((one, 0.0), (many, 0.94)):
        figure, every = run.plot(), run.event_list
        times = sorted(t for _, t, _ in every)
        assert len(times) > 2
        for axes in figure.axes:
            paths = [path.vertices for marks in axes.collections for path in marks.get_paths()]
            assert sorted(ends[0, 0] for ends in paths if ends[:, 1].tolist() == [low_end, 1]) == times
        labels = [text.get_text().split(" (")[0] for text in figure.legends[0].get_texts()]
        assert set(labels) == {*PLANAR.names, *(name for _, _, name in every)}


def renamed(*names):
    """A plane arm whose links have these names."""
    parents = ("base", *names[:-1])
    rows = [{**row, "name": x, "parent": y} for row, x, y in zip(PLANAR.rows, names, parents, strict=True)]
    return lw.Robot.from_dh(rows, convention="standard", gravity=PLANAR.gravity)


@pytest.mark.parametrize("word", ["q0", "qd0", "torque"])
def test_a_name_of_a_state_and_of_an_entry_at_once_is_refused(word, tmp_path):
    arm, start = renamed("mass", word, "third"), {"q0": np.zeros((2, 3))}
    with pytest.raises(ValueError, match=rf"'{word}\.mass'.* mass of link '{word}' and {word} of joint 'mass'"):
        lw.sweep(arm, {**start, f"{word}.mass": [0.1, 0.2]}, tmp_path, 0.1, **REST)
    made = lw.sweep(arm, {**start, f"{word}.third": [0.1, 0.2], f"{word}.a": [0.3, 0.4]}, tmp_path, 0.1, **REST)
    assert made.samples[word].tolist() == [[0, 0, 0.1], [0, 0, 0.2]]
    assert made.samples[f"{word}.a"].tolist() == [0.3, 0.4]


@pytest.mark.parametrize("name", ["trajectory", "status", "q_end_1", "q0_1"])
def test_a_table_does_not_lose_a_column_to_another_of_its_name(name, tmp_path):
    pytest.importorskip("pandas")
    samples = {**SEVEN, name: lw.per_trajectory(np.arange(7.0))}
    made = short(samples, tmp_path, vary=lambda arm, row: arm.with_gravity((0, -row[name], 0)))
    assert made.samples[name].tolist() == list(range(7))
    with pytest.raises(ValueError, match=rf"two columns '{name}'"):
        made.to_pandas()


ODD = ("a#,;b", "quo\"te's `$HOME`", "ünï→😀 {0}%s\\n")


def odd_sweep(names, folder, kind, **options):
    samples = {"q0": SEVEN["q0"], f"{names[0]}.mass": np.linspace(0.2, 0.5, 7), f"qd0.{names[1]}": np.linspace(0, 1, 7)}
    samples[f"{names[2]}.com"] = np.linspace((-0.2, 0, 0), (-0.1, 0, 0), 7)
    options = {"events": lw.Event(low, names[2]), "chunk": 4, "samples": 3, "progress": False, **options}
    return lw.sweep(renamed(*names), samples, folder, 0.3, files=kind, **options)


@every_kind
def test_odd_names_of_links_joints_and_events_change_no_bit(kind, tmp_path):
    plain = odd_sweep(("one", "two", "three"), tmp_path / "plain", kind)
    made = odd_sweep(ODD, tmp_path / ODD[0], kind)
    (tmp_path / ODD[0] / f"chunk-00001.{kind}").unlink()
    again = odd_sweep(ODD, tmp_path / ODD[0], kind)
    for sweep in (made, again, lw.sweeps.open_sweep(tmp_path / ODD[0])):
        assert sweep.done == [0, 1]
        same(sweep.read(), plain.read())
        table = sweep.event_table()
        assert set(table["name"].tolist()) == {ODD[2]}
        assert table["t"].tolist() == plain.event_table()["t"].tolist()
    assert [name.replace("one", ODD[0]).replace("three", ODD[2]) for name in plain.samples] == list(made.samples)
    if find_spec("pandas"):
        assert {f"{ODD[0]}.mass", f"{ODD[2]}.com_3"} < set(made.to_pandas())
    alone = [odd_sweep(ODD, tmp_path / str(k), kind, events=()) for k in range(2)]
    (tmp_path / "1" / f"chunk-00000.{kind}").unlink()
    lw.sweeps.open_sweep(tmp_path / "1").resume()
    assert len({(tmp_path / str(k) / f"chunk-00000.{kind}").read_bytes() for k in range(2)}) == 1
    assert alone[1].done == [0, 1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_odd_names_go_to_a_cluster(tmp_path):
    pytest.importorskip("distributed")
    made = odd_sweep(ODD, tmp_path / "dask", "npz", engine="dask://local?workers=1")
    same(made.read(), odd_sweep(ODD, tmp_path / "here", "npz").read())


@pytest.mark.parametrize("name", ["", " ", "a\0", "\ud800", "two\nlines", 3, None])
def test_an_event_has_a_name_that_files_can_hold(name):
    with raises(ValueError, repr(name), "event"):
        lw.Event(low, name)


def test_a_sample_in_other_letters_is_named_beside_the_parameter(tmp_path):
    with raises(ValueError, "'kp'", "'Kp'"):
        short({**SEVEN, "Kp": np.ones(7)}, tmp_path, torque=lambda arm, t, q, qd, kp: -kp * q)


def test_warnings_name_the_line_of_the_caller(tmp_path):
    def branching(arm, t, q, qd):
        return -q if q[0] > 0 else -2 * q

    two = {"q0": np.zeros((2, 3))}
    masses = {**two, "link1.mass": [1.0, 2.0]}

    def run_all():
        lw.simulate(PLANAR, np.zeros(3), duration=1e-3, torque=branching)
        short(two, tmp_path / "same", torque=branching, duration=1e-3)
        short(masses, tmp_path / "others", torque=branching, duration=1e-3)

    with pytest.warns() as issued:
        run_all()
    assert {each.category for each in issued} == {RuntimeWarning, lw.errors.SweepWarning}
    assert {each.filename for each in issued} == {__file__}
