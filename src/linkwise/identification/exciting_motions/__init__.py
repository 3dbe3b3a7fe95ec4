"""Motions that excite the parameters of a robot, within its limits."""

from ...errors import ExcitationInterrupted
from .optimization import Excitation, excitation

__all__ = ["Excitation", "ExcitationInterrupted", "excitation"]
