"""The target "cpu": this machine's processor."""
