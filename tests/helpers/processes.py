"""Texts of Python that run in processes of their own."""

import os
import subprocess
import sys
import textwrap


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
