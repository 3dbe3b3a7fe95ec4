"""matplotlib imported in less time, for a process that only draws.

When it is imported it lists every setter of every class, for docstrings and signatures that nobody reads here, and it
imports its 3-D axes, which no picture of Linkwise uses. Where a user's own program calls the command line nothing is
left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..extras import imported
from ..figures import require_matplotlib

allowed = False  # in a process of our own
AXES_3D = "mpl_toolkits.mplot3d"
DOCUMENTATION = "_update_set_signature_and_docstring"  # of each class of things that are drawn


def load() -> None:
    """Import matplotlib, or say how to install it."""
    if not allowed or "matplotlib" in sys.modules:
        require_matplotlib()
        return
    artist = imported("matplotlib.artist")
    with undocumented(artist), without_axes_3d():
        require_matplotlib()


@contextmanager
def undocumented(artist: Any) -> Iterator[None]:
    """No lists of setters are made, as text (`kwdoc`) or as the signature of `set`."""
    text, signature = artist.kwdoc, artist.Artist.__dict__.get(DOCUMENTATION)
    artist.kwdoc = lambda of: ""
    if signature is not None:
        setattr(artist.Artist, DOCUMENTATION, classmethod(lambda of: None))
    try:
        yield
    finally:
        artist.kwdoc = text
        if signature is not None:
            setattr(artist.Artist, DOCUMENTATION, signature)


class NoAxes3D:
    """In place of matplotlib's 3-D axes."""

    name = "3d"


@contextmanager
def without_axes_3d() -> Iterator[None]:
    stub = ModuleType(AXES_3D)
    stub.Axes3D = NoAxes3D  # type: ignore[attr-defined]
    sys.modules[AXES_3D] = stub
    try:
        yield
    finally:
        del sys.modules[AXES_3D]
