"""From a program to a function that is called from Python: spec, cache, compiler, loader, dispatch."""

from . import sources as sources  # now, when Linkwise is imported: see there
