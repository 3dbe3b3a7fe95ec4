"""Sweeps: each trajectory as `simulate` has it, whatever the chunks; nothing lost or repeated, whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise.cli import main
from linkwise.sweep import chunk as working
from linkwise.sweep import engines
from linkwise.sweep import folder as sweep_files
from linkwise.sweep import progress as sweep_progress

PLANAR = lw.load("planar3")
STARTS = lw.monte_carlo(23, 5, q0=([-1.0] * 3, [1.0] * 3), qd0=([-0.5] * 3, [0.5] * 3))
KINDS = ["npz", "parquet"] if sweep_files.has_parquet() else ["npz"]
every_kind = pytest.mark.parametrize("kind", KINDS)
quick = partial(lw.sweep, PLANAR, STARTS, duration=0.2, chunk=5, samples=4, progress=False)
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def same(one, other):
    assert list(one) == list(other)
    for name, array in one.items():
        assert array.dtype.kind == other[name].dtype.kind
        np.testing.assert_array_equal(array, other[name], err_msg=name)  # NaN equals NaN


def files_of(folder):
    """Content and time of all finished chunks."""
    paths = [path for path in Path(folder).glob("chunk-*") if path.suffix in (".npz", ".parquet")]
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


@every_kind
@pytest.mark.parametrize("keep", ["samples", "ends"])
def test_every_trajectory_is_that_of_simulate(keep, kind, tmp_path):
    more = lw.monte_carlo(23, 8, torque=([-0.1] * 3, [0.1] * 3), wrench=([-0.1] * 6, [0.1] * 6))
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
    grid = lw.grid(
        **{"link3.mass": [0.3, 0.6], "link2.com": [[-0.1, -0.2], 0.0, 0.0], "gravity": [0.0, [-1.6, -9.81], 0.0]},
        q0=[0.1, 0.2, 0.3],
    )
    found = lw.sweep(PLANAR, grid, tmp_path, 0.1, chunk=3, keep="ends", files="npz").read()
    assert len(found["status"]) == 8
    for k in (0, 3, 5, 6):  # each two of the three entries in all four combinations
        rows = PLANAR.rows
        rows[2]["mass"], rows[1]["com"] = grid["link3.mass"][k], grid["link2.com"][k]
        arm = lw.Robot.from_dh(rows, convention="standard", gravity=grid["gravity"][k])
        want = lw.simulate(arm, grid["q0"][k], [0] * 3, 0.1, samples=2)
        assert np.allclose(found["q_end"][k], want.q[-1], rtol=0.0, atol=1e-12)
    assert len(np.unique(found["q_end"], axis=0)) == 8


def test_a_robot_may_be_made_for_each_row(tmp_path):
    def lifted(arm, row):
        return arm.with_gravity((0.0, -9.81 * (1 + row["planet"] % 2), 0.0))

    samples = {**STARTS, "planet": np.arange(23)}
    found = lw.sweep(PLANAR, samples, tmp_path, 0.1, chunk=12, vary=lifted, keep="ends", files="npz").read()
    for k in range(23):
        want = lw.simulate(lifted(PLANAR, {"planet": k}), STARTS["q0"][k], STARTS["qd0"][k], 0.1, samples=2)
        assert np.allclose(found["q_end"][k], want.q[-1], rtol=0.0, atol=1e-9)


def test_constant_options_act_on_every_trajectory(tmp_path):
    every = np.zeros((3, 6))
    every[2] = tip = [0, 0, 0.2, 0.1, -0.3, 0]
    for k, options in enumerate([{"wrench": every}, {"wrench": tip, "torque": [0.1, 0.0, 0.2]}]):
        made = quick(folder=tmp_path / f"{k}", files="npz", **options)
        want = lw.simulate(PLANAR, STARTS["q0"][9], STARTS["qd0"][9], 0.2, samples=4, **options)
        assert np.array_equal(made.read()["q"][9], want.q)
        before = files_of(made.folder)
        shutil.copytree(made.folder, tmp_path / "copy", dirs_exist_ok=True)
        (tmp_path / "copy" / "chunk-00001.npz").unlink()
        lw.open_sweep(tmp_path / "copy").resume()
        assert {n: c for n, (c, _) in files_of(tmp_path / "copy").items()} == {n: c for n, (c, _) in before.items()}


def test_grids_are_full_products_and_draws_continue():
    grid = lw.grid(q0=[[1, 2], 3], **{"link1.inertia": [[1, 0, 0], [0, [1, 2, 4], 0], [0, 0, 1]], "load": [5, 6]})
    assert {name: array.shape for name, array in grid.items()} == {
        "q0": (12, 2), "link1.inertia": (12, 3, 3), "load": (12,),
    }  # fmt: skip
    rows = [(a, b, c) for a in (1, 2) for b in (1, 2, 4) for c in (5, 6)]
    found = zip(grid["q0"][:, 0], grid["link1.inertia"][:, 1, 1], grid["load"], strict=True)
    assert list(found) == rows
    bounds = {"q0": ([0, 1], [1, 3]), "load": (2, 5), "noise": lambda rng, count: rng.normal(size=(count, 2))}
    few, many = lw.monte_carlo(10, 3, **bounds), lw.monte_carlo(500, 3, **bounds)
    same(few, {name: array[:10] for name, array in many.items()})
    same({"q0": few["q0"]}, lw.monte_carlo(10, 3, q0=bounds["q0"]))
    assert not np.array_equal(few["load"], lw.monte_carlo(10, 4, **bounds)["load"])
    assert 0 < many["q0"][:, 0].min() < 0.1
    assert 2.9 < many["q0"][:, 1].max() < 3


SCRIPT = """
import signal, sys, time, numpy as np, linkwise as lw
from linkwise.sweep import engines
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a run in the background may have been started without
work = engines.compute_chunk
engines.compute_chunk = lambda job: (time.sleep(0.1), work(job))[1]  # time for a blow to fall
samples = lw.monte_carlo(240, 2, q0=([-1.0] * 3, [1.0] * 3), **{name: (0.3, 0.6) for name in sys.argv[2:]})
lw.sweep(lw.load("planar3"), samples, sys.argv[1], 12.0, chunk=4, samples=7, rtol=1e-10, progress=False)
"""


def begun(folder, least, *varied):
    """A process in the middle of a sweep: at least so many chunks are there."""
    command, errors = [sys.executable, "-c", SCRIPT, str(folder), *varied], folder.parent / f"{folder.name}.err"
    with errors.open("w") as file:
        process = subprocess.Popen(command, stderr=file)
    while len(files_of(folder)) < least:
        assert process.poll() is None, errors.read_text()
        time.sleep(0.005)
    return process, errors


@unix
@pytest.mark.parametrize(
    "varied",
    [(), pytest.param(("link2.mass", "link3.mass"), marks=pytest.mark.slow)],
    ids=["one robot", "many robots"],
)
def test_killed_and_interrupted_sweeps_lose_and_repeat_nothing(varied, tmp_path):
    folder, kept, errors = tmp_path / "falls", {}, None
    for strike in (signal.SIGKILL, signal.SIGINT):
        process, errors = begun(folder, len(kept) + 4, *varied)
        process.send_signal(strike)
        assert process.wait() != 0
        now = files_of(folder)
        assert len(kept) + 4 <= len(now) < 60
        assert {name: now[name] for name in kept} == kept
        kept = now
    assert "lw.open_sweep(" in errors.read_text()
    found = lw.open_sweep(folder)
    assert len(found.done) == len(kept)
    assert len(found.missing) == 60 - len(kept)
    part = found.read()
    found.resume()
    now = files_of(folder)
    assert {name: now[name] for name in kept} == kept
    assert (found.done, found.missing) == (list(range(60)), [])
    samples = lw.monte_carlo(240, 2, q0=([-1.0] * 3, [1.0] * 3), **dict.fromkeys(varied, (0.3, 0.6)))
    undisturbed = lw.sweep(PLANAR, samples, tmp_path / "again", 12.0, chunk=60, samples=7, rtol=1e-10).read()
    same(found.read(), undisturbed)
    same(part, {name: array[part["trajectory"]] for name, array in undisturbed.items()})


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(tmp_path, monkeypatch):
    def stopping(job):
        if job.index == 2:
            raise KeyboardInterrupt
        return working.compute_chunk(job)

    with monkeypatch.context() as patch:
        patch.setattr(engines, "compute_chunk", stopping)
        with pytest.raises(lw.SweepInterrupted, match=r"2 done, 0 failed, 3 missing.*resume\(\)") as caught:
            quick(folder=tmp_path)
    before = files_of(tmp_path)
    assert len(before) == 2
    made = caught.value.sweep.resume()
    assert made.done == [0, 1, 2, 3, 4]
    assert {name: files_of(tmp_path)[name] for name in before} == before


def test_a_full_disk_stops_a_sweep_that_can_go_on(tmp_path, monkeypatch):
    def full(self, index, plan, columns):
        if index == 3:
            raise OSError("no space left on device")
        return store(self, index, plan, columns)

    store = sweep_files.Folder.store
    with monkeypatch.context() as patch:
        patch.setattr(sweep_files.Folder, "store", full)
        with pytest.raises(OSError, match="no space left") as caught:
            quick(folder=tmp_path)
    assert "3 done, 0 failed, 2 missing" in caught.value.__notes__[0]
    before = files_of(tmp_path)
    assert lw.open_sweep(tmp_path).resume().done == [0, 1, 2, 3, 4]
    assert {name: files_of(tmp_path)[name] for name in before} == before


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
    assert found["status"][9] in ("lost", "step too small")
    assert "mass is -1.0" in found["error"][3]
    assert "qd0 is [" in found["error"][7]
    others = [k for k in range(23) if k not in (3, 7, 9)]
    same({n: a[others] for n, a in found.items()}, {n: a[others] for n, a in clean.items()})
    assert np.isnan(found["q"][[3, 7]]).all()


def test_a_joint_that_nothing_resists_is_a_bad_row(tmp_path):
    samples = {"q0": np.zeros((3, 3)), "link3.mass": [0.3, 0.0, 0.2], "link3.inertia": np.zeros((3, 3))}
    found = lw.sweep(PLANAR, samples, tmp_path, 0.1, files="npz", keep="ends").read()
    assert found["status"].tolist() == ["done", "failed", "done"]
    assert "nothing resists its motion" in found["error"][1]


def test_a_failing_chunk_takes_no_other_with_it_and_is_tried_again(tmp_path):
    broken = tmp_path / "broken"

    def fragile(arm, row):
        if row["number"] == 13 and broken.exists():
            raise ZeroDivisionError("the thirteenth")
        return arm

    broken.touch()
    samples = {**STARTS, "number": np.arange(23)}
    again = partial(lw.sweep, PLANAR, samples, tmp_path / "sweep", 0.2, chunk=5, vary=fragile, samples=4)
    with pytest.warns(lw.SweepWarning, match="4 done, 1 failed, 0 missing"):
        made = again()
    assert made.done == [0, 1, 3, 4]
    assert list(made.failed) == [2]
    assert "ZeroDivisionError: the thirteenth" in made.failed[2]
    assert 13 not in made.read()["trajectory"]
    opened = lw.open_sweep(tmp_path / "sweep")
    assert "the thirteenth" in opened.failed[2]
    with pytest.raises(ValueError, match=r"vary is .*fragile, which is not in the folder; the same call of lw\.sweep"):
        opened.resume()
    before = files_of(tmp_path / "sweep")
    broken.unlink()
    made = again()
    assert (len(made.done), made.failed) == (5, {})
    assert {name: files_of(tmp_path / "sweep")[name] for name in before} == before
    same(made.read(), quick(folder=tmp_path / "other").read())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration": 0.3}, "duration was 0.2, is 0.3"),
        ({"chunk": 4}, "chunk was 5, is 4"),
        ({"keep": "ends"}, "keep was 'samples', is 'ends'"),
        ({"rtol": 1e-6}, "options.rtol was 1e-08, is 1e-06"),
        ({"friction": True}, "options.friction was False, is True"),
        ({"torque": lambda arm, t, q, qd: -qd}, "options.torque was None, is {'function'"),
        ({"arm": PLANAR.with_gravity((0, -1.6, 0))}, r"robot.gravity\[1\] was -9.81, is -1.6; robot differs"),
        ({"arm": PLANAR.regrouped()}, "robot differs"),
        ({"samples": {**STARTS, "q0": STARTS["q0"] + 1e-15}}, r"samples.q0 differs \(expected another folder"),
        ({"samples": {**STARTS, "torque": np.zeros(3)}}, "samples.torque was None"),
        ({"files": "parquet"}, "files was 'npz', is 'parquet'"),
    ],
    ids=lambda x: x[:16] if isinstance(x, str) else next(iter(x)),
)
def test_other_inputs_are_refused_with_what_differs(change, said, tmp_path):
    made = quick(folder=tmp_path, files="npz")
    before = files_of(tmp_path)
    given = {"arm": PLANAR, "samples": STARTS, "duration": 0.2, "chunk": 5, **change}
    start = given.pop("arm"), given.pop("samples")
    with pytest.raises(ValueError, match=f"begun with other inputs: .*{said}"):
        lw.sweep(*start, tmp_path, **{"files": "npz", **given}, samples=4)
    assert files_of(tmp_path) == before
    assert quick(folder=tmp_path, threads=1, rtol=1e-8).done == made.done


def test_another_function_is_another_input(tmp_path):
    def pushed(gain):
        return lambda arm, t, q, qd: -gain * qd

    quick(folder=tmp_path, torque=pushed(0.1))
    quick(folder=tmp_path, torque=pushed(0.1))
    with pytest.raises(ValueError, match=r"options\.torque differs"):
        quick(folder=tmp_path, torque=pushed(0.2))
    opened = lw.open_sweep(tmp_path)
    assert len(opened.done) == 5
    with pytest.raises(ValueError, match=r"torque is .*which is not in the folder"):
        opened.resume()


def test_another_version_may_read_and_not_go_on(tmp_path, monkeypatch):
    quick(folder=tmp_path)
    from linkwise.sweep import plan as sweep_plan

    monkeypatch.setattr(sweep_plan, "__version__", "99")
    with pytest.raises(ValueError, match=r"linkwise was .*, is '99'"):
        quick(folder=tmp_path)
    opened = lw.open_sweep(tmp_path)
    assert len(opened.read()["status"]) == 23
    with pytest.raises(ValueError, match="begun by Linkwise"):
        opened.resume()


def spoil(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 64] = bytes(64)
    path.write_bytes(content)


DAMAGE = {
    "zeros": spoil,
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "empty": lambda path: path.write_bytes(b""),
    "another chunk": lambda path: shutil.copy(path.with_name(path.name.replace("2", "3")), path),
    "another sweep": lambda path: shutil.copy(path.parent.parent / "other" / path.name, path),
    "a pickle": lambda path: path.write_bytes(b"\x80\x04cos\nsystem\n(S'false'\ntR."),
}


@every_kind
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_chunk_is_computed_again(kind, damage, tmp_path):
    made = quick(folder=tmp_path / "sweep", files=kind)
    quick(folder=tmp_path / "other", files=kind, rtol=1e-5)
    want, before = made.read(), files_of(made.folder)
    path = tmp_path / "sweep" / f"chunk-00002.{kind}"
    DAMAGE[damage](path)
    opened = lw.open_sweep(made.folder)
    assert (opened.done, opened.missing) == ([0, 1, 3, 4], [2])
    with pytest.raises(ValueError, match=r"it (is|cannot|belongs)"):
        opened.read(2)
    with pytest.warns(lw.SweepWarning, match=r"chunk-00002\..*: computed again: it (is|cannot|belongs)"):
        opened.resume()
    same(opened.read(), want)
    now = files_of(made.folder)
    assert {name: now[name] for name in before if name != path.name} == {
        name: before[name] for name in before if name != path.name
    }


@every_kind
def test_no_flipped_bit_changes_a_number_that_is_believed(kind, tmp_path):
    made = quick(folder=tmp_path, files=kind, chunk=23)
    path, want = tmp_path / f"chunk-00000.{kind}", made.read()
    content, refused = path.read_bytes(), 0
    for position in np.random.default_rng(1).integers(0, 8 * len(content), 100):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        opened = lw.open_sweep(tmp_path)
        if opened.done:
            same(opened.read(), want)  # it was in what describes the numbers to others
        else:
            refused += 1
    assert refused > 50


def test_the_plan_and_the_samples_are_verified_too(tmp_path):
    quick(folder=tmp_path)
    spoil(tmp_path / "_samples.npz")
    with pytest.raises(ValueError, match=r"samples\.npz: cannot be read .*lw\.sweep restores it"):
        lw.open_sweep(tmp_path)
    np.savez(tmp_path / "_samples.npz", q0=np.ones((12, 3)))
    with pytest.raises(ValueError, match=r"samples\.npz: .*lw\.sweep restores it"):
        lw.open_sweep(tmp_path)
    (tmp_path / "_samples.npz").unlink()
    with pytest.raises(ValueError, match=r"samples\.npz: is missing; .*lw\.sweep restores it"):
        lw.open_sweep(tmp_path)
    quick(folder=tmp_path)
    same(lw.open_sweep(tmp_path).samples, quick(folder=tmp_path).samples)
    plan = tmp_path / "_sweep.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "chunk": 4}))
    with pytest.raises(ValueError, match=r"sweep\.json: is not the plan of a sweep: it was changed"):
        lw.open_sweep(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no sweep"):
        lw.open_sweep(tmp_path / "nowhere")


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"holds 'thesis\.tex' and no sweep"):
        quick(folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_a_killed_process_left_half_written_goes_away(tmp_path):
    quick(folder=tmp_path)
    old, new = (tmp_path / f"_chunk-0000{k}.npz.{'0' * 15}{k}.tmp" for k in range(2))
    old.write_text("half")
    new.write_text("half")
    os.utime(old, (0, 0))
    quick(folder=tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_without_pyarrow_chunks_are_npz(tmp_path, monkeypatch):
    if "parquet" in KINDS:
        quick(folder=tmp_path / "parquet")
    monkeypatch.setattr(sweep_files, "has_parquet", lambda: False)
    made = quick(folder=tmp_path / "plain")
    assert "23 trajectories in 5 npz chunks: 5 done, 0 failed, 0 missing" in repr(made)
    with pytest.raises(ImportError, match=r"linkwise\[parquet\]"):
        quick(folder=tmp_path / "wanted", files="parquet")
    assert not (tmp_path / "wanted").exists()
    if "parquet" in KINDS:
        with pytest.raises(ImportError, match=r"linkwise\[parquet\]"):
            lw.open_sweep(tmp_path / "parquet")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chunk": 0}, "chunk is 0"),
        ({"keep": "all"}, "keep is 'all'"),
        ({"files": "csv"}, "files is 'csv'"),
        ({"duration": -1.0}, "duration is -1.0"),
        ({"integrator": "rk45"}, "integrator is 'rk45'"),
        ({"rtoll": 1e-3}, "rtoll is not an option of a sweep or of simulate, did you mean 'rtol'"),
        ({"torque": np.zeros((23, 3))}, r"torque has shape \(23, 3\).*belong in the samples"),
        ({"torque": lambda arm, t, q, qd: q[:2]}, r"torque function gave shape \(2,\)"),
        ({"vary": 3}, "vary is 3"),
        ({"arm": "planar3"}, "the first argument is 'planar3'"),
        ({"arm": PLANAR.regrouped(), "given": {**STARTS, "link1.mass": 1.0}}, "changed after it was made"),
        ({"given": STARTS["q0"]}, "expected a mapping"),
        ({"given": {"qd0": STARTS["q0"]}}, "no q0"),
        ({"given": {"q0": STARTS["q0"][:, :2]}}, r"q0 has shape \(23, 2\) \(expected \(count, 3\)"),
        ({"given": {"q0": np.zeros(3)}}, "one sample for all"),
        ({"given": {"q0": np.zeros((0, 3))}}, "there are no samples"),
        ({"given": {**STARTS, "torque": np.zeros((4, 3))}}, "q0 23, torque 4"),
        ({"given": {**STARTS, "link1.mas": 1.0}}, "'link1.mas', did you mean 'link1.mass'"),
        ({"given": {**STARTS, "q0": [["a"] * 3]}}, "q0 has dtype"),
        ({"engine": "spark://here"}, "engine is 'spark://here'"),
        ({"engine": 3}, "engine is 3"),
    ],
    ids=lambda x: x[:16] if isinstance(x, str) else "-".join(x),
)
def test_bad_input_is_refused_by_name(change, said, tmp_path):
    if change.get("engine") == "spark://here":
        pytest.importorskip("distributed")
    given = {"arm": PLANAR, "given": STARTS, "duration": 0.2, "progress": False, **change}
    with pytest.raises((ValueError, TypeError), match=said):
        lw.sweep(given.pop("arm"), given.pop("given"), tmp_path / "new", **given)
    assert not list(tmp_path.glob("new/chunk*"))
    assert "engine" in change or not (tmp_path / "new").exists()


def test_progress_is_a_line_now_and_then(tmp_path, capsys, monkeypatch):
    quick(folder=tmp_path / "silent")
    quick(folder=tmp_path / "short", progress=None)
    assert capsys.readouterr().err == ""
    quick(folder=tmp_path / "told", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("sweep: 1 of 5 chunks; about")
    assert lines[-1] == "sweep: 5 of 5 chunks"
    monkeypatch.setattr(sweep_progress, "EVERY", 0.0)
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


@unix
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    flag, caller = str(tmp_path / "killed"), os.getpid()

    def waiting(arm, row):
        while row["number"] >= 12 and os.getpid() != caller and not os.path.exists(flag):
            time.sleep(0.01)  # later chunks wait on their workers until one of these was killed
        return arm

    drawn = lw.monte_carlo(24, 2, q0=([-1.0] * 3, [1.0] * 3), **{"link3.mass": (0.3, 0.6)})
    samples = {**drawn, "number": np.arange(24)}
    again = partial(lw.sweep, PLANAR, samples, duration=0.5, chunk=2, samples=7, vary=waiting, progress=False)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        pids = client.run(os.getpid)
        assert len(set(pids.values()) - {os.getpid()}) == 2
        killed = []

        def kill():
            busy = []
            while len(files_of(tmp_path / "dask")) < 3 or not busy:
                time.sleep(0.02)
                busy = [worker for worker, tasks in client.processing().items() if tasks]
            os.kill(pids[busy[0]], signal.SIGKILL)
            killed.append((len(files_of(tmp_path / "dask")), pids[busy[0]]))
            Path(flag).touch()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        made = again(folder=tmp_path / "dask", engine=cluster.scheduler_address.replace("tcp://", "dask://"))
        killer.join(60)
        ((there, victim),) = killed
        assert there < 12
        assert (made.done, made.failed) == (list(range(12)), {})
        assert victim not in client.run(os.getpid).values()
        same(made.read(), again(folder=tmp_path / "here").read())

        before = files_of(made.folder)
        chosen = sorted(before)[::5]
        for name in chosen:
            (tmp_path / "dask" / name).unlink()
        again(folder=made.folder, engine=client)
        now = files_of(made.folder)
        assert {name: content for name, (content, _) in now.items()} == {name: c for name, (c, _) in before.items()}
        assert all(now[name] == before[name] for name in before if name not in chosen)


@unix
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_chunk_that_fails_or_kills_its_worker_stops_no_other_on_a_cluster(tmp_path):
    pytest.importorskip("distributed")

    def deadly(arm, row):
        if row["number"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if row["number"] == 13:
            raise ZeroDivisionError("the thirteenth")
        return arm

    samples = {**STARTS, "number": np.arange(23)}
    few = pytest.importorskip("dask").config.set(
        {"distributed.scheduler.allowed-failures": 1}
    )  # a worker takes seconds
    with few, pytest.warns(lw.SweepWarning, match="3 done, 2 failed"):
        made = lw.sweep(
            PLANAR, samples, tmp_path, 0.2, chunk=5, vary=deadly, samples=4, engine="dask://local?workers=2"
        )
    assert made.done == [1, 3, 4]
    assert "KilledWorker" in made.failed[0]
    assert "ZeroDivisionError: the thirteenth" in made.failed[2]
    same(made.read(), quick(folder=tmp_path / "here").read(1, 3, 4))
