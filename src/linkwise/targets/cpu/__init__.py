"""The target "cpu": This machine's processor."""
