"""Many simulations in chunks, kept in a folder, resumable, here or on a Dask cluster."""

from .folder import SweepWarning
from .samples import grid, monte_carlo
from .sweeping import Sweep, SweepInterrupted, open_sweep, sweep

__all__ = ["Sweep", "SweepInterrupted", "SweepWarning", "grid", "monte_carlo", "open_sweep", "sweep"]
