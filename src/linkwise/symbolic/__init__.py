"""Computer algebra on expressions: symbols, polynomials, normal forms; formulas to read as text, LaTeX and SymPy."""

from .collect import Collector, collected_text
from .symbol_tables import Transplant, shared_graph, symbols

__all__ = ["Collector", "Transplant", "collected_text", "shared_graph", "symbols"]
