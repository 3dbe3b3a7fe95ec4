"""Sweeps: each trajectory as `simulate` has it, whatever the chunks; bad rows and bad input; what is shown."""

import re
import shutil
import sys
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from facts import raises
from linkwise.cli import main
from short_sweeps import KINDS, PLANAR, STARTS, every_kind, files_of, quick, same, short


@every_kind
@pytest.mark.parametrize("keep", ["samples", "ends"])
def test_every_trajectory_is_that_of_simulate(keep, kind, tmp_path):
    more = lw.sweeps.monte_carlo(23, 8, torque=([-0.1] * 3, [0.1] * 3), wrench=([-0.1] * 6, [0.1] * 6))
    times = [0.05, 0.1, 0.15]
    options = {"samples": times, "friction": lw.Friction(viscous=0.1), "rtol": 1e-7}
    found = lw.sweep(PLANAR, {**STARTS, **more}, tmp_path, 0.2, keep=keep, chunk=4, files=kind, **options).read()
    assert found["trajectory"].tolist() == list(range(23))
    assert ("q" in found) == (keep == "samples")
    for k in range(23):
        alone = {name: array[k] for name, array in {**STARTS, **more}.items()}
        want = lw.simulate(PLANAR, **alone, duration=0.2, **{**options, "samples": [0.0, *times, 0.2]})
        assert np.array_equal(found["q_end"][k], want.q[-1])
        assert np.array_equal(found["qd_end"][k], want.qd[-1])
        assert abs(found["imbalance"][k] - want.imbalance[-1]) < 1e-14
        said = [found[name][k] for name in ("status", "reached", "steps", "rejected", "error")]
        assert said == ["done", 0.2, want.steps, want.rejected, ""]
        if keep == "samples":
            assert np.array_equal(found["q"][k], want.q[1:-1])
            assert np.array_equal(found["qd"][k], want.qd[1:-1])


@every_kind
@pytest.mark.parametrize("coordinates", ["joint", "normalized"])
def test_results_do_not_depend_on_chunks(kind, coordinates, tmp_path):
    results = []
    for chunk in (1, 6, 23, 1000):
        made = quick(folder=tmp_path / f"{chunk}", chunk=chunk, files=kind, coordinates=coordinates)
        results.append(made.read())
        assert made.chunks == -(-23 // chunk)
        assert (made.done, made.failed, made.missing) == (list(range(made.chunks)), {}, [])
        assert np.array_equal(made.t, np.linspace(0.0, 0.2, 4))
    for other in results[1:]:
        same(results[0], other)


def test_both_kinds_of_files_hold_the_same(tmp_path):
    pytest.importorskip("pyarrow")
    one, other = (quick(folder=tmp_path / kind, files=kind) for kind in ("npz", "parquet"))
    same(one.read(), other.read())
    same({"q": one.read(2)["q"]}, {"q": one.read()["q"][10:15]})
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "parquet" / "chunk-00001.parquet")
    assert table.column("q_end").to_pylist() == other.read(1)["q_end"].tolist()
    assert b"linkwise.sha256" in table.schema.metadata


def test_robots_of_the_samples_are_those_of_their_tables(tmp_path):
    grid = lw.sweeps.grid(
        **{"link3.mass": [0.3, 0.6], "link2.com": [[-0.1, -0.2], 0.0, 0.0], "gravity": [0.0, [-1.6, -9.81], 0.0]},
        q0=[0.1, 0.2, 0.3],
    )
    found = lw.sweep(PLANAR, grid, tmp_path, 0.1, chunk=3, keep="ends", files="npz").read()
    assert len(found["status"]) == 8
    for k in (0, 3, 5, 6):  # each two of the three entries in all four combinations
        rows = PLANAR.rows
        rows[2]["mass"], rows[1]["com"] = (grid[name].values[k] for name in ("link3.mass", "link2.com"))
        arm = lw.Robot.from_dh(rows, convention="standard", gravity=grid["gravity"][k])
        want = lw.simulate(arm, grid["q0"][k], [0] * 3, 0.1, samples=2)
        assert np.allclose(found["q_end"][k], want.q[-1], rtol=0.0, atol=1e-12)
    assert len(np.unique(found["q_end"], axis=0)) == 8


def test_a_robot_may_be_made_for_each_row(tmp_path):
    def lifted(arm, row):
        return arm.with_gravity((0.0, -9.81 * (1 + row["planet"] % 2), 0.0))

    samples = {**STARTS, "planet": lw.per_trajectory(np.arange(23))}
    found = lw.sweep(PLANAR, samples, tmp_path, 0.1, chunk=12, vary=lifted, keep="ends", files="npz").read()
    for k in range(23):
        want = lw.simulate(lifted(PLANAR, {"planet": k}), STARTS["q0"][k], STARTS["qd0"][k], 0.1, samples=2)
        assert np.allclose(found["q_end"][k], want.q[-1], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["K", "tool.K", "tool.com"])
def test_what_vary_reads_is_for_all_unless_it_is_marked_whatever_its_name(name, tmp_path):
    def shapes(count, given):
        seen = set()

        def vary(arm, row):
            seen.add(np.shape(row[name]))
            return arm

        short({"q0": np.zeros((count, 3)), name: given}, tmp_path / f"{len(list(tmp_path.iterdir()))}", vary=vary)
        return seen

    row, matrix = np.array([1.0, 2.0, 3.0]), np.eye(3)
    assert [shapes(3, row), shapes(4, row), shapes(3, matrix)] == [{(3,)}, {(3,)}, {(3, 3)}]
    assert [shapes(3, lw.per_trajectory(x)) for x in (row, matrix)] == [{()}, {(3,)}]
    drawn = lw.sweeps.monte_carlo(3, 1, **{name: lambda rng, count: rng.random((count, 2))})[name]
    made = lw.sweeps.grid(**{name: [1, 2, 3]})[name]
    assert [shapes(len(x.values), x) for x in (drawn, made)] == [{(2,)}, {made.values.shape[1:]}]


@pytest.mark.parametrize("name", ["K", "tool.K"])
def test_bounds_of_parameters_may_have_any_shape(name):
    low, high = np.zeros((2, 3)), np.arange(1.0, 7.0).reshape(2, 3)
    drawn = lw.sweeps.monte_carlo(200, 1, **{name: (low, high)})[name].values
    assert drawn.shape == (200, 2, 3)
    assert ((drawn >= low) & (drawn < high)).all()
    assert (drawn.max(axis=0) > 0.9 * high).all()


@pytest.mark.parametrize("name", ["link1.mass", "q0", "q0.link1", "gravity", "duration", "link1.com", "wrench"])
def test_bounds_of_known_samples_have_their_shape(name):
    with raises(ValueError, name, "(2, 2, 2)"):
        lw.sweeps.monte_carlo(3, 1, **{name: (np.zeros((2, 2, 2)), 1.0)})


def test_constant_options_act_on_every_trajectory(tmp_path):
    every = np.zeros((3, 6))
    every[2] = tip = [0, 0, 0.2, 0.1, -0.3, 0]
    frames = {"wrench": {"link2": tip, "link3": tip}, "axes": "frame"}
    for k, options in enumerate([{"wrench": every}, {"wrench": tip, "torque": [0.1, 0.0, 0.2]}, frames]):
        made = quick(folder=tmp_path / f"{k}", files="npz", **options)
        want = lw.simulate(PLANAR, STARTS["q0"][9], STARTS["qd0"][9], 0.2, samples=4, **options)
        assert np.array_equal(made.read()["q"][9], want.q)
        before = files_of(made.folder)
        shutil.copytree(made.folder, tmp_path / "copy", dirs_exist_ok=True)
        (tmp_path / "copy" / "chunk-00001.npz").unlink()
        lw.sweeps.open_sweep(tmp_path / "copy").resume()
        assert {n: c for n, (c, _) in files_of(tmp_path / "copy").items()} == {n: c for n, (c, _) in before.items()}


def test_grids_are_full_products_and_draws_continue():
    grid = lw.sweeps.grid(
        q0=[[1, 2], 3], **{"link1.inertia": [[1, 0, 0], [0, [1, 2, 4], 0], [0, 0, 1]], "load": [5, 6]}
    )
    grid |= {name: grid[name].values for name in ("link1.inertia", "load")}
    assert {name: array.shape for name, array in grid.items()} == {
        "q0": (12, 2), "link1.inertia": (12, 3, 3), "load": (12,),
    }  # fmt: skip
    rows = [(a, b, c) for a in (1, 2) for b in (1, 2, 4) for c in (5, 6)]
    found = zip(grid["q0"][:, 0], grid["link1.inertia"][:, 1, 1], grid["load"], strict=True)
    assert list(found) == rows
    bounds = {"q0": ([0, 1], [1, 3]), "load": (2, 5), "noise": lambda rng, count: rng.normal(size=(count, 2))}
    few, many = lw.sweeps.monte_carlo(10, 3, **bounds), lw.sweeps.monte_carlo(500, 3, **bounds)
    for drawn in (few, many):
        drawn |= {name: drawn[name].values for name in ("load", "noise")}
    same(few, {name: rows[:10] for name, rows in many.items()})
    same({"q0": few["q0"]}, lw.sweeps.monte_carlo(10, 3, q0=bounds["q0"]))
    assert not np.array_equal(few["load"], lw.sweeps.monte_carlo(10, 4, **bounds)["load"].values)
    assert 0 < many["q0"][:, 0].min() < 0.1
    assert 2.9 < many["q0"][:, 1].max() < 3


@every_kind
def test_a_bad_row_fails_alone(kind, tmp_path):
    bad = {name: array.copy() for name, array in STARTS.items()}
    bad["qd0"][7, 1] = np.nan
    bad["qd0"][9] = 1e3  # runs away

    def runaway(arm, t, q, qd):
        return 1e-3 * qd * qd * qd

    mass = np.full(23, 0.3)
    mass[3] = 0.4
    falls = partial(lw.sweep, PLANAR, duration=0.2, chunk=12, samples=4, torque=runaway, files=kind)
    made = falls({**STARTS, "link3.mass": mass.copy()}, folder=tmp_path / "good")
    clean = made.read()
    assert made.failed == {}
    mass[3] = -1.0
    made = falls({**bad, "link3.mass": mass}, folder=tmp_path / "bad")
    found = made.read()
    assert (made.done, made.failed) == ([0, 1], {})
    assert [str(found["status"][k]) for k in (3, 7)] == ["failed", "failed"]
    assert found["status"][9] in ("diverged", "step too small")
    assert "mass is -1.0" in found["error"][3]
    assert "qd0 is [" in found["error"][7]
    others = [k for k in range(23) if k not in (3, 7, 9)]
    same({n: a[others] for n, a in found.items()}, {n: a[others] for n, a in clean.items()})
    assert np.isnan(found["q"][[3, 7]]).all()


def test_without_pyarrow_chunks_are_npz(tmp_path, monkeypatch):
    if "parquet" in KINDS:
        quick(folder=tmp_path / "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    made = quick(folder=tmp_path / "plain")
    assert "23 trajectories in 5 npz chunks: 5 done, 0 failed, 0 missing" in repr(made)
    with raises(ImportError, "linkwise[parquet]"):
        quick(folder=tmp_path / "wanted", files="parquet")
    assert not (tmp_path / "wanted").exists()
    if "parquet" in KINDS:
        with raises(ImportError, "linkwise[parquet]"):
            lw.sweeps.open_sweep(tmp_path / "parquet")


BAD_ENGINES = [
    "", "local", "spark://here", "dask://", "dask:///x", "dask://local?workers=two", "dask://local?workers=0",
    "dask://local?worker=2", "dask://here:1?workers=2", "dask://local?workers=1&workers=2",
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chunk": 0}, "chunk is 0"),
        ({"keep": "all"}, "keep is 'all'"),
        ({"files": "csv"}, "files is 'csv'"),
        ({"duration": -1.0}, "duration is -1.0"),
        ({"integrator": "rk45"}, "integrator is 'rk45'"),
        ({"rtoll": 1e-3}, "'rtoll'.*'rtol'"),
        ({"step": 0.1}, "'step'.*dt: .*first_step"),
        ({"given": {**STARTS, "robot": 1.0}}, "'robot'"),
        ({"torque": np.zeros((23, 3))}, r"torque has shape \(23, 3\).*samples"),
        ({"torque": lambda arm, t, q, qd: q[:2]}, r"torque function gave shape \(2,\)"),
        ({"vary": 3}, "vary is 3"),
        ({"arm": "planar3"}, "the first argument is 'planar3'"),
        ({"arm": PLANAR.regrouped(), "given": {**STARTS, "link1.mass": 1.0}}, "changed after it was made"),
        ({"given": STARTS["q0"]}, "expected a mapping"),
        ({"given": {"qd0": STARTS["q0"]}}, "no q0"),
        ({"given": {"q0": STARTS["q0"][:, :2]}}, r"q0 has shape \(23, 2\) \(expected \(count, 3\)"),
        ({"given": {"q0": np.zeros(3)}}, "at least one array with a row for each"),
        ({"given": {"q0": np.zeros((0, 3))}}, "there are no samples"),
        ({"given": {**STARTS, "torque": np.zeros((4, 3))}}, "q0 23, torque 4"),
        ({"given": {**STARTS, "link1.mas": 1.0}}, "'link1.mas', did you mean 'link1.mass'"),
        ({"given": {**STARTS, "q0": [["a"] * 3]}}, "q0 has dtype"),
        ({"engine": 3}, "engine is 3"),
        *(({"engine": engine}, f"engine is '{re.escape(engine)}'") for engine in BAD_ENGINES),
    ],
    ids=lambda x: x[:16] if isinstance(x, str) else "-".join(x),
)
def test_bad_input_is_refused_by_name(change, said, tmp_path):
    given = {"arm": PLANAR, "given": STARTS, "duration": 0.2, "progress": False, **change}
    with pytest.raises((ValueError, TypeError), match=said):
        lw.sweep(given.pop("arm"), given.pop("given"), tmp_path / "new", **given)
    assert not list(tmp_path.iterdir())


def test_a_bad_engine_is_refused_where_a_sweep_is_resumed_too(tmp_path):
    made = quick(folder=tmp_path)
    with raises(ValueError, "engine", "local"):
        made.resume(engine="local")


def test_progress_is_a_line_now_and_then(tmp_path, capsys, monkeypatch):
    quick(folder=tmp_path / "silent")
    quick(folder=tmp_path / "short", progress=None)
    assert capsys.readouterr().err == ""
    quick(folder=tmp_path / "told", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("sweep: 1 of 5 chunks; about")
    assert lines[-1] == "sweep: 5 of 5 chunks"
    monkeypatch.setattr(sys.modules["linkwise.sweeps.sweeping"], "EVERY", 0.0)
    quick(folder=tmp_path / "long", progress=None)
    assert len(capsys.readouterr().err.splitlines()) == 5


def test_the_command_line_shows_the_state(tmp_path, capsys):
    made = quick(folder=tmp_path)
    next(tmp_path.glob("chunk-00001.*")).unlink()
    next(tmp_path.glob("chunk-00004.*")).unlink()
    (tmp_path / "_chunk-00004.failed.txt").write_text("Traceback\nZeroDivisionError: by zero\n")
    assert main(["sweep", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    counts = "trajectories  23\nchunks        5\ndone          3\nfailed        1\nmissing       1\n"
    assert shown.out == f"folder        {tmp_path}\n{counts}chunk 4: ZeroDivisionError: by zero\n"
    assert main(["sweep", str(tmp_path / "no")]) == 1
    missing = capsys.readouterr()
    assert missing.out == ""
    assert "holds no sweep" in missing.err
    assert len(made.missing) == 1
