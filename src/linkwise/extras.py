"""Optional packages, and the extra of pyproject.toml that installs each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {
    "distributed": "dask",
    "matplotlib": "plot",
    "mpmath": "exact",
    "mujoco": "mjcf",
    "pandas": "pandas",
    "pin": "peers",
    "pyarrow": "parquet",
    "scipy": "stiff",
    "sympy": "symbolic",
    "wasmtime": "wasm",
}


def import_optional(module: str, extra: str = "") -> Any:
    """Import a module of an optional package; the ImportError has the command that installs it.

    `extra`: where several packages are needed, the extra that has all of them.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # a dependency of the package is missing
        raise ImportError(f"{package} is not installed: pip install 'linkwise[{extra or EXTRAS[package]}]'") from None
