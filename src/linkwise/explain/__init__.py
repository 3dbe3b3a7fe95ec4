"""What a student or a reviewer wants to see: every intermediate by name, and where it was published."""

from .explanation import Explanation, explain
from .references import cite

__all__ = ["Explanation", "cite", "explain"]
