"""Compare two models of a robot: match joints, align coordinates, explain the differences."""

from .comparing import compare
from .findings import Comparison, Difference, Finding
from .matching import Match

__all__ = ["Comparison", "Difference", "Finding", "Match", "compare"]
