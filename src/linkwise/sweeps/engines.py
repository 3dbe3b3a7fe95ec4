"""Where the chunks of a sweep are computed: in this process, or on a Dask cluster. Results always come back here.

Dask pickles tasks and results between its own processes. What a lost worker was
computing, the scheduler gives to another one, some three times before it gives up on all that was waiting there.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..extras import imported
from ..kernels.target import target_named
from .chunk import compute_chunk
from .inputs import Job, Outcome

EXPECTED = "expected None, 'dask://host:port', 'dask://local?workers=2' or a dask.distributed.Client"
RETRIES = 2  # of a task that Dask itself could not run


def outcomes(engine: Any, jobs: Iterator[Job]) -> Generator[Outcome, None, None]:
    """The results of the jobs, in the order in which they end."""
    if engine is None:
        yield from map(compute_chunk, jobs)
        return
    with cluster(engine) as client:
        yield from on_cluster(client, jobs)


@contextmanager
def cluster(engine: Any) -> Iterator[Any]:
    """A client of the cluster; a client or cluster that is started here is closed at the end."""
    if not isinstance(engine, str) and not hasattr(engine, "submit"):
        raise TypeError(f"engine is {engine!r} ({EXPECTED})")
    distributed = imported("distributed")
    if isinstance(engine, distributed.Client):
        if engine.asynchronous:
            raise TypeError("engine is an asynchronous Client (expected one made with asynchronous=False)")
        yield engine
        return
    parts = urlsplit(engine) if isinstance(engine, str) else None
    if parts is None or parts.scheme != "dask" or not parts.netloc:
        raise ValueError(f"engine is {engine!r} ({EXPECTED})")
    with ExitStack() as stack:
        address: Any = f"tcp://{parts.netloc}"
        if parts.netloc == "local":
            options = parse_qs(parts.query)
            workers = int(options.pop("workers", [str(os.cpu_count())])[0])
            if options or workers < 1:
                raise ValueError(f"engine is {engine!r} ({EXPECTED})")
            local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            address = stack.enter_context(local)
        yield stack.enter_context(distributed.Client(address, set_as_default=False))


def on_cluster(client: Any, jobs: Iterator[Job]) -> Generator[Outcome, None, None]:
    """All jobs; those during which Dask lost workers again, one by one: the cause may have been another."""
    suspects: list[Job] = []
    yield from tasks(client, jobs, suspects)
    for job in suspects:
        yield from tasks(client, iter([job]), None)


def tasks(client: Any, jobs: Iterator[Job], suspects: list[Job] | None) -> Generator[Outcome, None, None]:
    """A task for each job, never many more than there are threads, so that results do not pile up."""
    from distributed import KilledWorker, as_completed

    run, waiting = os.urandom(8).hex(), as_completed(loop=client.loop)
    job_of: dict[Any, Job] = {}

    def submit() -> None:
        while len(job_of) < 2 * sum(client.nthreads().values()) + 2:
            job = next(jobs, None)
            if job is None:
                return
            options = job.inputs.options
            if options["threads"] is None and target_named(options["target"]).has_threads:
                # Dask runs a task on each thread of its workers
                job = replace(job, inputs=replace(job.inputs, options={**options, "threads": 1}))
            future = client.submit(
                compute_chunk, job, key=f"linkwise-sweep-{run}-{job.index}", pure=False, retries=RETRIES
            )
            job_of[future] = job
            waiting.add(future)

    try:
        submit()
        for future in waiting:
            job = job_of[future]
            try:
                outcome = future.result()
            except Exception as error:  # a worker without Linkwise, a task that killed several, a cluster that is gone
                outcome = None
                if suspects is None or not isinstance(error, KilledWorker):
                    outcome = Outcome(job.index, error=traceback.format_exc())
                else:
                    suspects.append(job)
            del job_of[future]
            future.release()
            if outcome is not None:
                yield outcome
            submit()
    finally:
        if job_of:
            client.cancel(list(job_of))
