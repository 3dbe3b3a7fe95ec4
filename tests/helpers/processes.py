"""Texts of Python that run in processes of their own, and functions in several threads."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_a_new_process(text: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(text)],
        env={**os.environ, "LINKWISE_CACHE": "off", "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def in_threads(work: Callable[[int], object], count: int = 8) -> None:
    """`work(k)` in so many threads at once; what one of them raises is raised."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))
