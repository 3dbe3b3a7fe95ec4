"""Identification of a robot's parameters: motions that excite them, and parameters from measurements along these."""
