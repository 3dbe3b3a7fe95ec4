"""Every intermediate by name, its source, and the accuracy of each method."""

from .accuracies import Accuracy, MethodAccuracy, accuracy
from .explanation import Explanation, explain

__all__ = ["Accuracy", "Explanation", "MethodAccuracy", "accuracy", "explain"]
