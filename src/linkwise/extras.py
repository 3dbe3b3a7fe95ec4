"""Optional packages: which extra of pyproject.toml brings each, and an error that says so where one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {
    "clarabel": "identify",
    "cvxpy": "identify",
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


def import_optional(module: str) -> Any:
    """A module of an optional package; an ImportError with the line that installs it, where it is missing."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there, and lacks another one
        raise ImportError(f"{package} is not installed: pip install 'linkwise[{EXTRAS[package]}]'") from None
