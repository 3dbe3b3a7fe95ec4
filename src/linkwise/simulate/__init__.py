"""Motion in time: integrators, friction, recordings."""

from .files import load_recording
from .friction import Friction
from .recording import Recording
from .simulation import SimulationError, SimulationInterrupted, simulate
from .tableaux import integrators

__all__ = [
    "Friction",
    "Recording",
    "SimulationError",
    "SimulationInterrupted",
    "integrators",
    "load_recording",
    "simulate",
]
