"""Integration of ordinary differential equations: methods, step control, events. Knows no robots."""

from .methods import integrators

__all__ = ["integrators"]
