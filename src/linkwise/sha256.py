"""SHA-256 from Python's own module, which loads in 0.2 ms; `hashlib` loads OpenSSL, 3 to 7 ms of each import."""

from __future__ import annotations

import importlib
from typing import Any


def built_in() -> Any:
    """Python's own, by its name in this version (`_sha2` since 3.12), or that of hashlib where there is none."""
    for module in ("_sha2", "_sha256", "hashlib"):
        try:
            return importlib.import_module(module).sha256
        except ImportError:
            continue
    raise ImportError("this Python has no SHA-256")


sha256 = built_in()
