"""Identification of a robot's parameters: motions that excite them, least squares on what was measured."""
