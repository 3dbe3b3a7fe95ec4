"""The lock under which code is compiled and modules are loaded late, and the one under which calls are counted.

LLVM compiles for one thread at a time. A process that forks meanwhile would leave its child with a compiler that
stopped halfway and with locks that nobody releases. So a fork waits for both locks: the thread that forks holds them
meanwhile, and releases them on both sides. Who counts waits for nothing else, so that calls go on while code is
compiled.
"""

from __future__ import annotations

import os
import threading

LOCK = threading.RLock()
COUNTING = threading.RLock()  # taken last


def hold() -> None:
    LOCK.acquire()
    COUNTING.acquire()


def release() -> None:
    COUNTING.release()
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=release)
