"""Compare two models of a robot: match joints, align coordinates, explain the differences."""

from .alignment import Match
from .comparing import compare
from .findings import Comparison, Difference, Finding

__all__ = ["Comparison", "Difference", "Finding", "Match", "compare"]
