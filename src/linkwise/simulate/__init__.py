"""Motion in time: integrators, friction, recordings; sweeps over many samples."""

from .friction import Friction
from .recording import Recording
from .simulation import SimulationError, SimulationInterrupted, simulate
from .sweep import Sweep, SweepInterrupted, open_sweep, sweep
from .sweep_files import SweepWarning
from .sweep_samples import grid, monte_carlo
from .tableaux import integrators

__all__ = [
    "Friction",
    "Recording",
    "SimulationError",
    "SimulationInterrupted",
    "Sweep",
    "SweepInterrupted",
    "SweepWarning",
    "grid",
    "integrators",
    "monte_carlo",
    "open_sweep",
    "simulate",
    "sweep",
]
