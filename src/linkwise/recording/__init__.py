"""What a simulation gives: samples, energies, loads; as files, tables, text and plots."""

from .files import load_recording
from .recording import Recording

__all__ = ["Recording", "load_recording"]
