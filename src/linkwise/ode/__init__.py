"""Integration of ordinary differential equations: methods, step control, events. Knows no robots."""

from .registry import integrators

__all__ = ["integrators"]
