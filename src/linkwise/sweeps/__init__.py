"""Many simulations in chunks, kept in a folder and resumable, in this process or on a Dask cluster."""

from .samples import grid, monte_carlo
from .sweeping import open_sweep

__all__ = ["grid", "monte_carlo", "open_sweep"]


def __dir__() -> list[str]:
    return __all__  # without the modules that define them
