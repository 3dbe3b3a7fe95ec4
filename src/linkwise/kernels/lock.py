"""The one lock under which code is made.

LLVM makes code for one thread at a time. A process that forks while it does so would hand its child a compiler that
stopped halfway, with locks that nobody opens. So a fork waits until nothing is being made: the thread that forks holds
the lock meanwhile, and gives it back on both sides.
"""

from __future__ import annotations

import os
import threading

LOCK = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
