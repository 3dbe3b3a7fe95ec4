"""Identification of a robot's parameters: motions that excite them."""

from .excitation import Excitation, ExcitationInterrupted, excitation

__all__ = ["Excitation", "ExcitationInterrupted", "excitation"]
