"""From assembly text to functions that are called from Python. Nothing here knows of robots or algebra."""

from . import sources as sources  # now, when Linkwise is imported: see there
