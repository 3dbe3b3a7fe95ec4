"""From a program to a function that is called from Python: spec, cache, compiler, LLVM, dispatch."""

from . import sources as sources  # lists the source files at import
