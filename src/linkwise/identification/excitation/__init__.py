"""Motions that excite the parameters of a robot, within its limits."""

from .optimization import Excitation, ExcitationInterrupted, excitation

__all__ = ["Excitation", "ExcitationInterrupted", "excitation"]
