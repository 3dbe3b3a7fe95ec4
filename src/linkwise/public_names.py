"""Where a public name stands."""

from __future__ import annotations

from importlib import import_module


def place_of(name: str) -> str | None:
    """A public name with its namespace, such as "simulate" or "sweeps.grid"; None for others."""
    import linkwise as lw  # late: it is the package itself

    if name in lw.__all__:
        return name
    places = (f"{place}.{name}" for place in lw.NAMESPACES if name in import_module(f"linkwise.{place}").__all__)
    return next(places, None)
