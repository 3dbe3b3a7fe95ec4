"""Results of simulations: samples, energies, wrenches; as files, tables, text and plots."""

from .files import load_recording
from .recording import EventRecord, Recording

__all__ = ["EventRecord", "Recording", "load_recording"]
