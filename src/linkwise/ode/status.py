"""How far a trajectory is, or why it ended."""

RUNNING = 0
DONE = 1
STEP_TOO_SMALL = 2
NOT_FINITE = 3
STOPPED = 4  # by an event
LOG_FULL = 5  # of its events: it goes on when these have been taken over
TOO_MANY_STEPS = 6
CHATTERING = 7
CODES = {
    "running": RUNNING,
    "done": DONE,
    "step too small": STEP_TOO_SMALL,
    "not finite": NOT_FINITE,
    "stopped": STOPPED,
    "log full": LOG_FULL,
    "too many steps": TOO_MANY_STEPS,
    "chattering": CHATTERING,
}
