"""From a program to a function that is called from Python: spec, cache, compiler, loader, dispatch."""

from . import sources as sources  # so that the files are listed when Linkwise is imported
