"""Why two models of a robot disagree: joints matched, coordinates aligned, differences named and proven."""

from .comparing import compare
from .findings import Comparison, Difference, Finding
from .matching import Match

__all__ = ["Comparison", "Difference", "Finding", "Match", "compare"]
