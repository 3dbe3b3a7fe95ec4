"""LOCK guards compilation and late imports; COUNTING guards the counts of calls.

LLVM compiles for one thread at a time. A fork during compilation would leave the child with a half-run compiler and
with locks that nobody releases. So a fork waits for both locks, holds them, and releases them in parent and child.
COUNTING is separate so that calls go on while code is compiled.
"""

from __future__ import annotations

import os
import threading

LOCK = threading.RLock()
COUNTING = threading.RLock()  # always acquired last


def hold() -> None:
    LOCK.acquire()
    COUNTING.acquire()


def release() -> None:
    COUNTING.release()
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=release)
