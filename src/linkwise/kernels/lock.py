"""The one lock under which code is compiled and modules are loaded late.

LLVM compiles for one thread at a time. A process that forks meanwhile would leave its child with a compiler that
stopped halfway and with locks that nobody releases. So a fork waits for the lock: the thread that forks holds it
meanwhile, and releases it on both sides.
"""

from __future__ import annotations

import os
import threading

LOCK = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
