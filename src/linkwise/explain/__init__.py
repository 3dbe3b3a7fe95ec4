"""What a student or a reviewer wants to see: every intermediate by name, its source, and how exact it is."""

from .accuracy import Accuracy, MethodAccuracy, accuracy
from .explanation import Explanation, explain
from .references import cite

__all__ = ["Accuracy", "Explanation", "MethodAccuracy", "accuracy", "cite", "explain"]
