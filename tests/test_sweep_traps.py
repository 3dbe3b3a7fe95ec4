"""Sweeps do what they are told or say why not: numbers without effect, ends, events, tables, gains, other programs."""

from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.sweep import folder as sweep_files
from linkwise.sweep.functions import values

PLANAR = lw.load("planar3")
KINDS = ["npz", "parquet"] if sweep_files.has_parquet() else ["npz"]
every_kind = pytest.mark.parametrize("kind", KINDS)
REST = {"keep": "ends", "files": "npz", "progress": False}
STARTS = lw.monte_carlo(7, 3, q0=([-1.0] * 3, [1.0] * 3))
short = partial(lw.sweep, PLANAR, duration=0.1, **REST)


def friction_in_python(arm, t, q, qd):
    return [-(link.joint.viscous_friction) * rate for link, rate in zip(arm.links, qd, strict=True)]


@pytest.mark.parametrize("word", rest_slow(["viscous_friction", "coulomb_friction"], ["coulomb_friction"]))
def test_a_friction_that_is_swept_and_not_asked_for_is_refused(word, tmp_path):
    own = {"viscous_friction": "viscous", "coulomb_friction": "coulomb"}[word]
    for given in (np.linspace(0, 1, 7), 0.5):  # different in each row, or the same in all
        samples = {**STARTS, f"link1.{word}": given}
        with pytest.raises(ValueError, match=rf"'link1\.{word}'.*pass friction=True"):
            short(samples, tmp_path / "none")
        with pytest.raises(ValueError, match=rf"'link1\.{word}'.*friction has {own}=0\.1 for all"):
            short(samples, tmp_path / "other", friction=lw.Friction(**{own: 0.1}))
        exact = lw.Friction(**{own: 0.1}, smooth=0.0)
        with pytest.raises(ValueError, match=rf"'link1\.{word}'.*friction has {own}=0\.1 for all"):
            short(samples, tmp_path / "other", friction=exact)
        with pytest.raises(ValueError, match=r"pass friction=True"):
            short(samples, tmp_path / "function", torque=lambda arm, t, q, qd: -qd)
    assert not list(tmp_path.iterdir())


def test_a_friction_that_is_swept_acts_where_something_reads_it(tmp_path):
    samples = {**STARTS, "q0": [0.5, 0.5, 0.5], "link1.viscous_friction": np.linspace(0, 1, 7)}
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

    assert values(partial(law, gain=2.0), arm, {}) != values(partial(law, gain=3.0), arm, {})


def test_other_numbers_without_effect_are_named_in_a_warning(tmp_path):
    inertia = np.zeros((4, 3, 3)) + np.diag([0.0, 0.01, 0.01])
    inertia[:, 0, 0] = [0.001, 0.002, 0.003, 0.004]  # along the link: it never turns about that
    samples = {"q0": np.full((4, 3), 0.1), "link1.inertia": inertia}
    with pytest.warns(lw.SweepWarning, match=r"'planar3' does not depend on 'link1\.inertia'"):
        found = short(samples, tmp_path).read()
    assert np.ptp(found["q_end"], axis=0).max() < 1e-12


def test_a_sample_that_vary_never_reads_is_named(tmp_path):
    samples = {**STARTS, "planet": np.arange(7.0), "plannet": np.arange(7.0), "qd0": np.zeros((7, 3))}
    with pytest.warns(lw.SweepWarning, match=r"vary read no 'plannet'$"):
        short(samples, tmp_path, vary=lambda arm, row: arm.with_gravity((0, -row["planet"], 0)))


def low(arm, t, q, qd):
    return q[0] + 0.3


def fast(arm, t, q, qd):
    return qd[1] * qd[1] - 1.0


EVENTS = (lw.Event(low, "low"), lw.Event(lambda arm, t, q, qd: q[0] + 0.6, "lower", stop=True), lw.Event(fast, "fast"))
ROWS = {
    "one robot": {},
    "family": {"link2.mass": [0.3, 0.4, 0.5, 0.6, 0.7]},
    "many structures": {"kind": [0, 1, 0, 1, 0]},
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
    found = lw.open_sweep(tmp_path / "a").read()
    table = made.event_table()
    seen = []
    for k in range(5):
        arm = PLANAR
        if rows == "family":
            arm = heavier(samples["link2.mass"][k])
        if vary is not None:
            arm = robot(PLANAR, {"kind": samples["kind"][k]})
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


def heavier(mass):
    rows = PLANAR.rows
    rows[1]["mass"] = mass
    return lw.Robot.from_dh(rows, convention="standard", gravity=PLANAR.gravity)


def test_the_last_good_state_of_a_row_that_was_lost_is_kept(tmp_path):
    def runaway(arm, t, q, qd):
        return 1e-3 * qd * qd * qd

    samples = {"q0": np.zeros((2, 3)), "qd0": [[0.0] * 3, [1e3] * 3]}
    for name, more in {"alone": {}, "family": {"link2.mass": [0.3, 0.4]}}.items():
        found = short({**samples, **more}, tmp_path / name, torque=runaway).read()
        assert found["status"][0] == "done"
        assert found["status"][1] in ("lost", "step too small")
        assert np.isfinite(found["q_end"]).all()
        assert np.isfinite(found["qd_end"]).all()
        assert 0 < found["reached"][1] < 0.1
        assert np.abs(found["qd_end"][1]).max() > 1e3


def test_a_folder_of_the_old_layout_is_refused_with_its_reason(tmp_path):
    (tmp_path / "sweep.json").write_text('{"what": "linkwise sweep", "layout": 1}')
    for call in (lambda: lw.open_sweep(tmp_path), lambda: short(STARTS, tmp_path)):
        with pytest.raises(ValueError, match=r"sweep\.json: .*layout 1.*expected layout 2.*another folder"):
            call()


@every_kind
def test_a_table_of_pandas_has_the_samples_beside_the_results(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    samples = {**lw.monte_carlo(7, 1, q0=([-1] * 3, [1] * 3)), "link2.mass": np.linspace(0.2, 0.6, 7)}
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
    assert lw.open_sweep(tmp_path).to_pandas()["trajectory"].tolist() == [0, 1, 2, 6]


def test_the_folder_of_a_sweep_is_one_parquet_table_to_others(tmp_path):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    made = lw.sweep(PLANAR, STARTS, tmp_path, 0.3, chunk=3, files="parquet", samples=4, events=EVENTS, progress=False)
    (tmp_path / "_chunk-00007.failed.txt").write_text("left over")
    (tmp_path / f"_chunk-00000.parquet.{'0' * 16}.tmp").write_text("half")
    for table in (pandas.read_parquet(tmp_path), parquet.read_table(tmp_path).to_pandas()):
        assert table["trajectory"].tolist() == list(range(7))
        assert np.array_equal(np.stack(table["q_end"]), made.read()["q_end"])
        assert [list(names) for names in table["event_name"]] == [
            [name for event in made.events(k) for name in event.names] for k in range(7)
        ]
    assert sum(map(len, table["event_t"])) == len(made.event_table()["t"]) > 0


def servo(arm, t, q, qd, kp, target, kd=0.5):
    return lw.gravity_torque(arm, q) + kp * (target - q) - kd * qd


GAINS = lw.monte_carlo(6, 2, q0=([-1] * 3, [1] * 3), kp=(5, 20), target=([-1] * 3, [1] * 3))
OPTIONS = {
    "one robot": {},
    "family": {"link2.mass": np.linspace(0.2, 0.6, 6)},
    "default": {"kd": np.linspace(0.1, 1, 6)},
    "in Python": {"compiled": False},
    "radau": {"integrator": "radau"},
    "sticking": {"friction": lw.Friction(coulomb=0.3, smooth=0.0)},
}


@pytest.mark.parametrize("options", rest_slow(list(OPTIONS), ["family"]))
def test_gains_and_targets_are_numbers_of_each_trajectory(options, tmp_path):
    if options == "radau":
        pytest.importorskip("scipy")
    given = OPTIONS[options]
    more = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in given.items() if name not in more}
    seconds, rough = (0.002, {"rtol": 1e-5}) if options in ("in Python", "radau") else (0.3, {})
    rest |= rough
    made = lw.sweep(PLANAR, {**GAINS, **more}, tmp_path, seconds, torque=servo, chunk=4, **REST, **rest).read()
    for k in (1, 5):  # of each chunk one
        own = {name: array[k] for name, array in {**GAINS, **more}.items() if name in ("kp", "target", "kd")}
        arm = heavier(more["link2.mass"][k]) if "link2.mass" in more else PLANAR
        want = lw.simulate(arm, GAINS["q0"][k], [0] * 3, seconds, torque=partial(servo, **own), samples=2, **rest)
        assert np.allclose(made["q_end"][k], want.q[-1], rtol=0, atol=1e-7)
        assert abs(made["imbalance"][k]) < 1e-5


def test_the_program_is_compiled_once_for_all_gains(tmp_path, monkeypatch):
    from linkwise.ode import runge_kutta

    made, machine = [], runge_kutta.CompiledDriver
    monkeypatch.setattr(runge_kutta, "CompiledDriver", lambda *given: made.append(given[0]) or machine(*given))

    def own(arm, t, q, qd, kp, target):
        return kp * (target - q) - 0.3 * qd

    lw.sweep(PLANAR, GAINS, tmp_path, 0.1, torque=own, chunk=2, **REST)
    assert 1 <= len(made) <= 2  # and perhaps once to try the options out
    assert {port.name for port in made[-1].inputs} >= {"own_kp", "own_target"}


LAWS = [
    lw.pd_gravity([0.3, 0.2, 0.1], kp=5, kd=1),
    lw.computed_torque([0, 0, 0], 5, 2),
    lw.diagonal_control([0] * 3, 5, 2),
]


@pytest.mark.parametrize("law", rest_slow(LAWS, LAWS[:1]), ids=lambda law: law.constructor_name)
def test_the_gains_of_a_controller_are_swept_by_their_names(law, tmp_path):
    from dataclasses import replace

    samples = {"q0": GAINS["q0"], "kp": GAINS["kp"], "kd": np.linspace(1, 2, 6)}
    if law.constructor_name == "pd_gravity":
        samples["target"] = GAINS["target"]
    made = short(samples, tmp_path, torque=law).read()
    for k in (2, 5):
        own = {name: array[k].tolist() for name, array in samples.items() if name != "q0"}
        own = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
        want = lw.simulate(PLANAR, samples["q0"][k], [0] * 3, 0.1, torque=replace(law, **own), samples=2)
        assert np.allclose(made["q_end"][k], want.q[-1], rtol=0, atol=1e-9)


def test_simulate_takes_the_parameters_of_a_torque_function_too():
    kp, target = GAINS["kp"], GAINS["target"]
    given = {"kp": kp, "target": target}
    run = lw.simulate(PLANAR, GAINS["q0"], [0] * 3, 0.2, torque=servo, parameters=given, samples=3)
    for k in (2, 5):
        own = partial(servo, kp=kp[k], target=target[k])
        want = lw.simulate(PLANAR, GAINS["q0"][k], [0] * 3, 0.2, torque=own, samples=3)
        assert np.allclose(run.q[k], want.q, rtol=0, atol=1e-9)
        assert np.allclose(run.tau[k], want.tau, rtol=0, atol=1e-7)
    for given, said in {
        "none": (None, "has a parameter 'kp'"),
        "another": ({"kpp": 1.0, "kp": 1.0, "target": 0.0}, "'kpp' is not a parameter of the torque function.*'kp'"),
        "nan": ({"kp": np.nan, "target": 0.0}, "'kp' is nan"),
    }.values():
        with pytest.raises(ValueError, match=said):
            lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.2, torque=servo, parameters=given)


@pytest.mark.parametrize(
    ("samples", "options", "said"),
    [
        ({"kp": 5.0}, {"torque": servo}, "has a parameter 'target' .*a sample of that name"),
        ({"kp": 5.0, "target": np.zeros((7, 3)), "kdd": 1.0}, {"torque": servo}, "'kdd', did you mean 'kd'"),
        ({"kp": 5.0}, {"torque": lambda arm, t, q, qd: -qd}, "have a name 'kp'"),
        ({"wrench": np.zeros((7, 6))}, {"torque": lambda arm, t, q, qd, wrench: -qd}, "'wrench'.*another name"),
        ({"duration": np.ones(7)}, {}, "duration is given twice"),
        ({}, {"duration": None}, "duration is given nowhere"),
        ({"link1.limits": np.zeros((7, 2))}, {}, r"'link1\.limits' .limits act through events"),
    ],
    ids=["missing", "misspelt", "none taken", "taken name", "twice", "nowhere", "limits"],
)
def test_samples_that_do_not_fit_the_torque_function_are_refused(samples, options, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        lw.sweep(PLANAR, {**STARTS, **samples}, tmp_path / "new", **{"duration": 0.1, **REST, **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", ["one robot", "family"])
def test_durations_are_swept(rows, tmp_path):
    durations = np.array([0.1, 0.3, 0.1, 0.25, -1.0, np.nan, 0.3])
    more = {"link2.mass": np.linspace(0.2, 0.6, 7)} if rows == "family" else {}
    samples = {**STARTS, "duration": durations, **more}
    made = lw.sweep(PLANAR, samples, tmp_path / "even", chunk=3, samples=4, files="npz", progress=False)
    found = made.read()
    assert made.t.shape == (7, 4)
    for k in (0, 3, 6):
        arm = heavier(more["link2.mass"][k]) if more else PLANAR
        want = lw.simulate(arm, STARTS["q0"][k], [0] * 3, durations[k], samples=4)
        assert np.array_equal(made.t[k], want.t)
        assert np.allclose(found["q"][k], want.q, rtol=0, atol=1e-7)
        assert np.array_equal(found["q_end"][k], found["q"][k, -1])
        assert (found["status"][k], found["reached"][k]) == ("done", durations[k])
    assert found["status"][[4, 5]].tolist() == ["failed"] * 2
    assert "duration is -1.0" in found["error"][4]
    timed = lw.sweep(PLANAR, samples, tmp_path / "times", samples=[0.0, 0.1, 0.2, 0.3], files="npz", progress=False)
    there = np.isfinite(timed.read()["q"]).all(axis=2)
    assert there[:4].tolist() == [
        [True, True, False, False],
        [True] * 4,
        [True, True, False, False],
        [True] * 3 + [False],
    ]
    assert lw.open_sweep(tmp_path / "even").resume().done == [0, 1, 2]


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
        assert words[name][1:3] == [
            str(met.count(name)),
            str(sum(any(name in e.names for e in x) for x in many.events)),
        ]
    for run, low_end in ((one, 0.0), (many, 0.94)):
        figure, every = run.plot(), run.event_list
        times = sorted(t for _, t, _ in every)
        assert len(times) > 2
        for axes in figure.axes:
            marks = [
                c
                for c in axes.collections
                if c.get_paths() and c.get_paths()[0].vertices[:, 1].tolist() == [low_end, 1]
            ]
            assert sorted(path.vertices[0, 0] for mark in marks for path in mark.get_paths()) == times
        labels = [text.get_text().split(" (")[0] for text in figure.legends[0].get_texts()]
        assert set(labels) == {*PLANAR.names, *(name for _, _, name in every)}


GLOBAL = {"gain": 1.0, "limit": 0.5, "mass": 0.4}


class Controller:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, arm, t, q, qd):
        return -self.gain * qd


def by_global(arm, t, q, qd):
    return -GLOBAL["gain"] * qd


def in_python(arm, t, q, qd):
    return [-GLOBAL["gain"] * max(rate, 0.0) for rate in qd]


def threshold(arm, t, q, qd):
    return q[0] - GLOBAL["limit"]


def lighter(arm, row):
    rows = arm.rows
    rows[1]["mass"] = GLOBAL["mass"]
    return lw.Robot.from_dh(rows, convention="standard", gravity=arm.gravity)


def closing_over(numbers):
    def torque(arm, t, q, qd):
        return -numbers[0] * qd

    return torque, lambda: numbers.__setitem__(0, 2.0)


CONTROLLER, (CLOSED, CHANGE_LIST) = Controller(1.0), closing_over([1.0])
CHANGES = {
    "a global": ({"torque": by_global}, lambda: GLOBAL.update(gain=2.0), "options.torque differs: it computes"),
    "an attribute": (
        {"torque": CONTROLLER},
        lambda: setattr(CONTROLLER, "gain", 2.0),
        "options.torque differs: it comp",
    ),
    "a closed-over list": ({"torque": CLOSED}, CHANGE_LIST, "options.torque differs: it computes"),
    "a threshold": (
        {"events": lw.Event(threshold, "high")},
        lambda: GLOBAL.update(limit=0.6),
        r"options.events.function differs: it computes",
    ),
    "in Python": (
        {"torque": in_python, "compiled": False, "rtol": 1e-3},
        lambda: GLOBAL.update(gain=2.0),
        "options.torque differs: it gives other values",
    ),
    "vary": ({"vary": lighter}, lambda: GLOBAL.update(mass=0.5), "vary.robots.0 was .*, is"),
    "a gain": ({"torque": lw.pd_gravity(0, 5, 1)}, None, r"options.torque.kp was 5.0, is 50.0"),
}


ROWS_OF = [
    (change, rows) for change in CHANGES for rows in ("one robot", "family") if change != "vary" or rows != "family"
]


@pytest.mark.parametrize(
    ("change", "rows"), rest_slow(ROWS_OF, [each for each in ROWS_OF if (each[1] == "family") == (each[0] == "a gain")])
)
def test_a_sweep_is_not_resumed_with_another_program(change, rows, tmp_path, monkeypatch):
    options, act, said = CHANGES[change]
    for name, value in {"gain": 1.0, "limit": 0.5, "mass": 0.4}.items():
        monkeypatch.setitem(GLOBAL, name, value)
    monkeypatch.setattr(CONTROLLER, "gain", 1.0)
    closing_over_again = CLOSED.__closure__[0].cell_contents
    closing_over_again[0] = 1.0
    samples = {**STARTS, **({"link2.mass": np.linspace(0.3, 0.5, 7)} if rows == "family" else {})}
    seconds = 0.001 if change == "in Python" else 0.1
    again = partial(lw.sweep, PLANAR, samples, tmp_path, seconds, chunk=4, **REST)
    again(**options)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again(**options)
    (tmp_path / "chunk-00001.npz").unlink()
    if act is None:
        options = {"torque": lw.pd_gravity(0, 50, 1)}
    else:
        act()
    with pytest.raises(ValueError, match=rf"begun with other inputs: .*{said}"):
        again(**options)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == {
        name: stamp for name, stamp in before.items() if name != "chunk-00001.npz"
    }


def test_another_text_of_the_same_program_goes_on(tmp_path):
    short(STARTS, tmp_path, torque=lambda arm, t, q, qd: -0.5 * qd)
    half = 0.5

    def damped(arm, t, q, qd):
        """The same, said at length."""
        return -half * qd

    assert short(STARTS, tmp_path, torque=damped).done == [0]


def test_a_vary_that_failed_at_a_row_may_be_mended(tmp_path):
    broken = tmp_path / "broken"
    broken.touch()

    def fragile(arm, row):
        if row["number"] == 0 and broken.exists():
            raise ZeroDivisionError("the first")
        return arm

    again = partial(short, {**STARTS, "number": np.arange(7)}, tmp_path / "new", chunk=4, vary=fragile)
    with pytest.warns(lw.SweepWarning, match="1 failed"):
        again()
    broken.unlink()
    assert again().done == [0, 1]


SCRIPT = """
import sys, numpy as np, linkwise as lw
def torque(arm, t, q, qd, kp):
    return lw.gravity_torque(arm, q) - kp * qd
def robots():
    rows = lw.load("planar3").rows
    length, mass = lw.symbols("length mass")
    rows[0]["a"], rows[1]["mass"] = 0.1 + 2.0 * length, mass * mass
    made = lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    return {"regrouped": lw.load("planar3").regrouped(), "symbols": lw.bind(made, length=0.1, mass=0.6)}
for name, arm in robots().items():
    for more in ({}, {"torque": torque, "events": lw.Event(lambda arm, t, q, qd: q[0] - 0.2, "high")}):
        samples = {"q0": np.full((4, arm.n), 0.1), "kp": np.arange(4.0)} if more else {"q0": np.full((4, arm.n), 0.1)}
        if more and name == "symbols":
            samples["link2.mass"] = np.linspace(0.3, 0.5, 4)
        rest = {"chunk": 2, "files": "npz", "keep": "ends"}
        made = lw.sweep(arm, samples, f"{sys.argv[1]}/{name}{len(more)}", 0.05, **rest, **more)
        print(name, made.done, made.plan["sha256"])
"""


@pytest.mark.slow
def test_sweeps_of_regrouped_and_bound_robots_go_on_in_another_process(tmp_path):
    import os
    import subprocess
    import sys

    said = []
    for seed in ("1", "2"):
        code = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path)]
        done = subprocess.run(code, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
        assert done.stderr == ""
        said.append(done.stdout)
        for name in ("regrouped0", "symbols0"):
            (tmp_path / name / "chunk-00001.npz").unlink()
            assert lw.open_sweep(tmp_path / name).resume().done == [0, 1]
        (tmp_path / "symbols2" / "chunk-00000.npz").unlink()
    assert said[0] == said[1]
    assert said[0].count("[0, 1]") == 4
    for name in ("regrouped2", "symbols2"):
        with pytest.raises(ValueError, match=r"torque is .*torque, which is not in the folder"):
            lw.open_sweep(tmp_path / name).resume()


def test_an_opened_sweep_with_events_says_that_they_are_missing(tmp_path):
    short(STARTS, tmp_path, events=[lw.Event(low, "low")])
    with pytest.raises(ValueError, match=r"events is .*low, which is not in the folder"):
        lw.open_sweep(tmp_path).resume()
