"""Computer algebra on expressions: symbols, polynomials, normal forms; formulas as text, LaTeX and SymPy."""

from .symbol_tables import Collector, collected_text, shared_graph, symbols

__all__ = ["Collector", "collected_text", "shared_graph", "symbols"]
