"""SHA-256 from where it comes soonest: `hashlib` loads OpenSSL first, which takes as long as half a warm start."""

from __future__ import annotations

import importlib
from typing import Any


def built_in() -> Any:
    """Python's own, under the name of this version (`_sha2` since 3.12); otherwise that of hashlib."""
    for module in ("_sha2", "_sha256", "hashlib"):
        try:
            return importlib.import_module(module).sha256
        except ImportError:
            continue
    raise ImportError("this Python has no SHA-256")


sha256 = built_in()
