"""Sweeps that were killed, interrupted or damaged go on: nothing is lost, repeated or believed wrongly."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import names, raises, warns
from linkwise.sweeps import folder as sweep_files
from short_sweeps import KINDS, PLANAR, SEVEN, STARTS, every_kind, files_of, quick, same, short, unix

SCRIPT = """
import signal, sys, time, numpy as np, linkwise as lw
from linkwise.sweeps import chunk as working
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a run in the background may have been started without
work = working.compute_chunk
working.compute_chunk = lambda job: (time.sleep(0.1), work(job))[1]  # time for a blow to fall
samples = lw.sweeps.monte_carlo(240, 2, q0=([-1.0] * 3, [1.0] * 3), **{name: (0.3, 0.6) for name in sys.argv[2:]})
lw.sweep(lw.load("planar3"), samples, sys.argv[1], 2.0, chunk=4, samples=7, rtol=1e-10, progress=False)
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
    "varied", [(), pytest.param(("link2.mass", "link3.mass"), marks=pytest.mark.slow)], ids=["one robot", "many robots"]
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
    assert "lw.sweeps.open_sweep(" in errors.read_text()
    found = lw.sweeps.open_sweep(folder)
    assert len(found.done) == len(kept)
    assert len(found.missing) == 60 - len(kept)
    part = found.read()
    found.resume()
    now = files_of(folder)
    assert {name: now[name] for name in kept} == kept
    assert (found.done, found.missing) == (list(range(60)), [])
    samples = lw.sweeps.monte_carlo(240, 2, q0=([-1.0] * 3, [1.0] * 3), **dict.fromkeys(varied, (0.3, 0.6)))
    undisturbed = lw.sweep(PLANAR, samples, tmp_path / "again", 2.0, chunk=60, samples=7, rtol=1e-10).read()
    same(found.read(), undisturbed)
    same(part, {name: array[part["trajectory"]] for name, array in undisturbed.items()})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("no space left on device")], ids=["interrupt", "disk"])
def test_what_stops_a_sweep_keeps_what_is_finished_and_says_how_to_go_on(error, tmp_path, monkeypatch):
    interrupted, store = isinstance(error, KeyboardInterrupt), sweep_files.Folder.store

    def stopping(self, index, plan, columns):
        if index == 2:
            raise error
        return store(self, index, plan, columns)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_files.Folder, "store", stopping)
        with pytest.raises(lw.errors.SweepInterrupted if interrupted else OSError) as caught:
            quick(folder=tmp_path)
    text = str(caught.value) if interrupted else caught.value.__notes__[0]
    assert names(text, "2 done", "0 failed", "3 missing", *(["resume()"] if interrupted else []))
    before = files_of(tmp_path)
    assert len(before) == 2
    made = (caught.value.sweep if interrupted else lw.sweeps.open_sweep(tmp_path)).resume()
    assert made.done == [0, 1, 2, 3, 4]
    assert {name: files_of(tmp_path)[name] for name in before} == before


def test_a_failing_chunk_takes_no_other_with_it_and_is_tried_again(tmp_path):
    broken = tmp_path / "broken"

    def fragile(arm, row):
        if row["number"] == 13 and broken.exists():
            raise ZeroDivisionError("the thirteenth")
        return arm

    broken.touch()
    samples = {**STARTS, "number": lw.per_trajectory(np.arange(23))}
    again = partial(lw.sweep, PLANAR, samples, tmp_path / "sweep", 0.2, chunk=5, vary=fragile, samples=4)
    with warns(lw.errors.SweepWarning, "4 done", "1 failed", "0 missing"):
        made = again()
    assert made.done == [0, 1, 3, 4]
    assert list(made.failed) == [2]
    assert "ZeroDivisionError: the thirteenth" in made.failed[2]
    assert 13 not in made.read()["trajectory"]
    opened = lw.sweeps.open_sweep(tmp_path / "sweep")
    assert "the thirteenth" in opened.failed[2]
    with raises(ValueError, "vary", "fragile", "lw.sweep"):
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


def test_another_version_may_read_and_not_go_on(tmp_path, monkeypatch):
    quick(folder=tmp_path)
    from linkwise.sweeps import plan as sweep_plan

    monkeypatch.setattr(sweep_plan, "__version__", "99")
    with raises(ValueError, "99"):
        quick(folder=tmp_path)
    opened = lw.sweeps.open_sweep(tmp_path)
    assert len(opened.read()["status"]) == 23
    with raises(ValueError, "Linkwise", "99"):
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
    opened = lw.sweeps.open_sweep(made.folder)
    assert (opened.done, opened.missing) == ([0, 1, 3, 4], [2])
    with pytest.raises(ValueError, match=r"it (is|cannot|belongs)"):
        opened.read(2)
    with pytest.warns(lw.errors.SweepWarning, match=r"chunk-00002\..*: computed again: it (is|cannot|belongs)"):
        opened.resume()
    same(opened.read(), want)
    now = files_of(made.folder)
    assert {name for name in before if now[name] != before[name]} == {path.name}


@every_kind
def test_no_flipped_bit_changes_a_number_that_is_believed(kind, tmp_path):
    made = quick(folder=tmp_path, files=kind, chunk=23)
    path, want = tmp_path / f"chunk-00000.{kind}", made.read()
    content, refused = path.read_bytes(), 0
    for position in np.random.default_rng(1).integers(0, 8 * len(content), 50):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        opened = lw.sweeps.open_sweep(tmp_path)
        if opened.done:
            same(opened.read(), want)  # it was in what describes the numbers to others
        else:
            refused += 1
    assert refused > 25


def test_the_plan_and_the_samples_are_verified_too(tmp_path):
    quick(folder=tmp_path)
    (samples,) = tmp_path.glob("_samples-*.npz")
    spoil(samples)
    with pytest.raises(ValueError, match=r"_samples-\w+\.npz: cannot be read .*lw\.sweep restores it"):
        lw.sweeps.open_sweep(tmp_path)
    np.savez(samples, q0=np.ones((12, 3)))
    with pytest.raises(ValueError, match=r"_samples-\w+\.npz: .*lw\.sweep restores it"):
        lw.sweeps.open_sweep(tmp_path)
    samples.unlink()
    with pytest.raises(ValueError, match=r"_samples-\w+\.npz: is missing; .*lw\.sweep restores it"):
        lw.sweeps.open_sweep(tmp_path)
    quick(folder=tmp_path)
    same(lw.sweeps.open_sweep(tmp_path).samples, quick(folder=tmp_path).samples)
    plan = tmp_path / "_sweep.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "chunk": 4}))
    with raises(ValueError, "_sweep.json", "plan"):
        lw.sweeps.open_sweep(tmp_path)
    with raises(FileNotFoundError, tmp_path / "nowhere"):
        lw.sweeps.open_sweep(tmp_path / "nowhere")


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with raises(ValueError, "thesis.tex"):
        quick(folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


class Killed(BaseException):
    """Stands for kill -9: whatever the process would still do to the disk after it is not done either."""


CALLS = {os: ("fsync", "link", "replace"), Path: ("mkdir", "unlink", "exists", "iterdir", "read_text")}
STEPS = {(owner, name): getattr(owner, name) for owner, names in CALLS.items() for name in names}


@contextmanager
def at_step(number, act):
    """Call `act` before the step of this number on the disk and before those that follow; is it the first one?"""
    done = []

    def counted(step):
        def call(*args, **options):
            done.append(step[1])
            if len(done) >= number:
                act(len(done) == number)
            return STEPS[step](*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for step in STEPS:
            patch.setattr(*step, counted(step))
        yield done


def kill(first):
    raise Killed


few_of = partial(lw.sweep, PLANAR, duration=0.1, chunk=7, samples=3, progress=False)


@pytest.mark.parametrize("kind", rest_slow(KINDS, ["npz"]))
def test_a_sweep_that_is_killed_at_any_step_is_resumed_by_the_same_call(kind, tmp_path):
    whole = few_of(SEVEN, tmp_path / "whole", files=kind)
    want, files = whole.read(), {path.name for path in (tmp_path / "whole").iterdir()}
    for number in range(1, 100):
        folder = tmp_path / str(number)
        try:
            with at_step(number, kill) as done:
                few_of(SEVEN, folder, files=kind)
        except Killed:
            pass
        if len(done) < number:
            break
        if (folder / "_sweep.json").exists():  # then it can be opened and resumed without the call
            shutil.copytree(folder, folder.with_suffix(".copy"))
            same(lw.sweeps.open_sweep(folder.with_suffix(".copy")).resume().read(), want)
        made = few_of(SEVEN, folder, files=kind)
        same(made.read(), want)
        same(lw.sweeps.open_sweep(folder).samples, whole.samples)
        assert {path.name for path in folder.iterdir()} == files, f"killed at {done[-1]}, step {number}"
    assert 9 < number < 99


@pytest.mark.parametrize("other", [SEVEN, {"q0": SEVEN["q0"][::-1]}], ids=["equal", "different"])
def test_of_two_processes_that_begin_one_sweep_the_first_one_decides(other, tmp_path):
    want = [few_of(samples, tmp_path / str(k)).read() for k, samples in enumerate((other, SEVEN))]
    for number in range(1, 100):
        folder, second = tmp_path / f"step {number}", []

        def begin(first, folder=folder, second=second):
            if first:  # the second process does all its work at this moment of the first
                with pytest.MonkeyPatch.context() as patch:
                    for step, original in STEPS.items():
                        patch.setattr(*step, original)
                    second.append(outcome(other, folder))

        with at_step(number, begin) as done:
            first = outcome(SEVEN, folder)
        if len(done) < number:
            break
        results = [first, *second]
        if other is SEVEN:
            assert results == [[0], [0]]
        else:
            assert sorted(map(str, results)) == ["[0]", "samples.q0 differs"]
        same(lw.sweeps.open_sweep(folder).read(), want[first == [0]])
        assert len(list(folder.iterdir())) == 3  # the plan, its samples and a chunk
    assert 9 < number < 99


def outcome(samples, folder):
    """The chunks that are done, or why the sweep was refused."""
    try:
        return few_of(samples, folder).done
    except ValueError as error:
        (differs,) = re.findall(r"samples\.\w+ differs", str(error))
        return differs


def test_a_disk_without_hard_links_holds_sweeps_too(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError("no hard links")

    monkeypatch.setattr(os, "link", refused)
    assert few_of(SEVEN, tmp_path).done == few_of(SEVEN, tmp_path).done == [0]
    assert "differs" in outcome({"q0": SEVEN["q0"][::-1]}, tmp_path)


def test_a_folder_of_the_layout_before_is_read(tmp_path):
    made = few_of(SEVEN, tmp_path, files="npz")
    plan = {**json.loads((tmp_path / "_sweep.json").read_text()), "layout": 2}
    made._folder.store(0, sweep_files.plan_hash(plan), made.read())
    (tmp_path / "_sweep.json").write_text(json.dumps({**plan, "sha256": sweep_files.plan_hash(plan)}))
    next(tmp_path.glob("_samples-*.npz")).rename(tmp_path / "_samples.npz")
    opened = lw.sweeps.open_sweep(tmp_path)
    same(opened.samples, made.samples)
    assert opened.resume().done == [0]


def test_files_that_no_process_writes_any_more_go_away(tmp_path):
    names = [f"_chunk-00000.{kind}" for kind in ("npz", "parquet", "failed.txt")]
    left = [tmp_path / f"{name}.{'0' * 15}{k}.tmp" for k, name in enumerate((*names, "_sweep.json", "_samples-0.npz"))]
    for use in (partial(quick, folder=tmp_path), lambda: lw.sweeps.open_sweep(tmp_path).resume()):
        quick(folder=tmp_path)
        for path in left:
            path.write_text("half")
        use()
        assert [path.exists() for path in left] == [False, False, False, False, True]  # the last is none of ours


def test_a_file_that_is_removed_while_it_is_written_is_written_again(tmp_path, monkeypatch):
    def removed(file):
        if len(done) < 3:
            done.append([path.unlink() for path in (tmp_path / "a").glob("*.tmp")])
        return synced(file)

    done, synced = [], os.fsync
    monkeypatch.setattr(os, "fsync", removed)
    same(few_of(SEVEN, tmp_path / "a").read(), few_of(SEVEN, tmp_path / "b").read())
    assert done == [[None]] * 3


KILLED = """
import os, signal, sys, linkwise as lw
synced, left = os.fsync, int(sys.argv[3])
def fsync(file):
    global left
    left -= 1
    if left == 0:
        os.ftruncate(file, os.fstat(file).st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)
    return synced(file)
os.fsync = fsync
samples = lw.sweeps.monte_carlo(7, 3, q0=([-1.0] * 3, [1.0] * 3))
lw.sweep(lw.load("planar3"), samples, sys.argv[1], 0.1, chunk=7, samples=3, progress=False, files=sys.argv[2])
"""


@unix
@pytest.mark.slow
@every_kind
def test_a_sweep_that_is_killed_in_the_middle_of_a_write_gives_the_same_bits(kind, tmp_path):
    want = few_of(SEVEN, tmp_path / "whole", files=kind)
    for write, name in enumerate(("_samples-", "_sweep.json", "_chunk-00000"), 1):
        folder = tmp_path / name
        done = subprocess.run([sys.executable, "-c", KILLED, str(folder), kind, str(write)], check=False)
        assert done.returncode == -signal.SIGKILL
        (half,) = folder.glob("*.tmp")
        assert half.name.startswith(name)
        made = few_of(SEVEN, folder, files=kind)
        same(made.read(), want.read())
        assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "whole").iterdir()}


def test_a_sweep_whose_folder_holds_another_one_leaves_it_alone(tmp_path):
    folder = tmp_path / "falls"
    first = short(SEVEN, folder)
    shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError, match="falls"):
        first.read()
    second = short({"q0": SEVEN["q0"] + 0.1}, folder)
    before = files_of(folder)
    for use in (first.resume, first.read):
        with raises(ValueError, "falls"):
            use()
    assert files_of(folder) == before
    same(lw.sweeps.open_sweep(folder).read(), second.read())


def test_a_relative_folder_is_that_of_the_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = short(SEVEN, "falls")
    expected = made.read()
    monkeypatch.chdir("/")
    same(made.read(), expected)
