"""Sweeps on a Dask cluster that loses workers."""

import os
import signal
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import warns
from short_sweeps import PLANAR, STARTS, files_of, quick, same, unix


@unix
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    flag, caller = str(tmp_path / "killed"), os.getpid()

    def waiting(arm, row):
        while row["number"] >= 12 and os.getpid() != caller and not os.path.exists(flag):
            time.sleep(0.01)  # later chunks wait on their workers until one of these was killed
        return arm

    drawn = lw.sweeps.monte_carlo(24, 2, q0=([-1.0] * 3, [1.0] * 3), **{"link3.mass": (0.3, 0.6)})
    samples = {**drawn, "number": lw.per_trajectory(np.arange(24))}
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
@pytest.mark.parametrize("kills", rest_slow([False, True], [False]))
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_chunk_that_fails_or_kills_its_worker_stops_no_other_on_a_cluster(kills, tmp_path):
    distributed, dead = pytest.importorskip("distributed"), [0] * kills

    def fragile(arm, row):
        if row["number"] == 3 and dead:
            os.kill(os.getpid(), signal.SIGKILL)
        if row["number"] == 13:
            raise ZeroDivisionError("the thirteenth")
        return arm

    samples = {**STARTS, "number": lw.per_trajectory(np.arange(23))}
    options = {"duration": 0.2, "chunk": 5, "vary": fragile, "samples": 4}
    done = [k for k in (0, 1, 3, 4) if k not in dead]
    with ExitStack() as stack:
        if dead:  # a worker takes seconds
            stack.enter_context(pytest.importorskip("dask").config.set({"distributed.scheduler.allowed-failures": 1}))
            engine = "dask://local?workers=2"
        else:
            engine = stack.enter_context(
                distributed.Client(processes=False, dashboard_address=None, set_as_default=False)
            )
        stack.enter_context(warns(lw.errors.SweepWarning, f"{len(done)} done", f"{5 - len(done)} failed"))
        made = lw.sweep(PLANAR, samples, tmp_path, engine=engine, **options)
    assert made.done == done
    assert all("KilledWorker" in made.failed[k] for k in dead)
    assert "ZeroDivisionError: the thirteenth" in made.failed[2]
    same(made.read(), quick(folder=tmp_path / "here").read(*done))
