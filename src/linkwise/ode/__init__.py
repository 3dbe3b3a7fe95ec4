"""Integration of ordinary differential equations: methods, step control, events. Knows no robots."""
