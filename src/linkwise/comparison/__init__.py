"""Why two models of a robot disagree: joints matched, coordinates aligned, differences named and proven."""

from .comparing import compare
from .findings import Finding
from .matching import Match
from .report import Comparison, Difference

__all__ = ["Comparison", "Difference", "Finding", "Match", "compare"]
