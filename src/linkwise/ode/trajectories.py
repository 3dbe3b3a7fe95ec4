"""The state of every trajectory of a batch, as a record in memory that compiled drivers read and write; chattering.

A right-hand side that jumps, such as np.sign of a rate, can chatter: error control keeps the step at one small size,
and a rate changes its sign again and again. If the end of the motion is out of reach with such steps, the trajectory
is given up.
"""

from __future__ import annotations

import numpy as np

# Status of a trajectory
RUNNING = 0
DONE = 1
STEP_TOO_SMALL = 2
NOT_FINITE = 3
STOPPED = 4  # by an event
LOG_FULL = 5  # of events: it goes on when they have been copied
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
WINDOW = 1000  # accepted steps between two checks
SHARE, RARE = 0.25, 0.1  # share of steps in which a rate changes its sign
TOO_FAR = 1_000_000  # steps left; in Python, most of an hour
HOPELESS = 30  # times as many steps, a day: give up at the share RARE, which a fast vibration may have too

LEAST_ERROR_BEFORE = 1e-4  # lower bound of the previous error in step control
RECORD: dict[str, type] = {  # the fields of a record; y, the values of the events and the parameters follow
    "t": float,
    "h": float,  # the next step
    "error": float,  # of the last accepted step
    "refused": float,  # 1 if the last step was
    "next": int,  # index of the next sample time
    "steps": int,
    "rejected": int,
    "status": int,
    "logged": int,  # filled rows of the log
}


class Field:
    """A field of all records, as a view."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.column = list(RECORD).index(name)
        self.view = "records" if RECORD[name] is float else "integers"

    def __get__(self, trajectories: Trajectories, owner: type | None = None) -> np.ndarray:
        column: np.ndarray = getattr(trajectories, self.view)[:, self.column]
        return column

    def __set__(self, trajectories: Trajectories, value: np.ndarray | float) -> None:
        getattr(trajectories, self.view)[:, self.column] = value


class Trajectories:
    """The records of a batch and its events."""

    t, h, error, refused = Field(), Field(), Field(), Field()
    next, steps, rejected, status, logged = Field(), Field(), Field(), Field(), Field()

    def __init__(self, y: np.ndarray, first_step: float, events: int = 0, room: int = 0) -> None:
        count, size = y.shape
        self.first_value = len(RECORD) + size
        self.width = self.first_value + events
        self.set_records(np.zeros((count, self.width)))
        self.records[:, len(RECORD) : self.first_value] = y
        if events:
            self.records[:, self.first_value :] = np.nan
        self.h, self.error = first_step, LEAST_ERROR_BEFORE
        self.log = np.empty((count, room if events else 0, 2 + size))  # rows: time, which events, state
        self.log.fill(np.nan)
        self.met: list[list[np.ndarray]] = [[] for _ in range(count)]  # rows copied from the log
        self.evaluations: np.ndarray | None = None  # if they are counted
        self.chattering: dict[int, int] = {}  # trajectory -> chattering component of its state

    @property
    def y(self) -> np.ndarray:
        return self.records[:, len(RECORD) : self.first_value]

    @property
    def values(self) -> np.ndarray:
        """Values of the events at the last accepted state, from `Events.store_values`; NaN at the start."""
        return self.records[:, self.first_value : self.width]

    def with_parameters(self, parameters: np.ndarray) -> np.ndarray:
        """Append the parameters to the records, and return the records."""
        if parameters.shape[1]:
            self.set_records(np.concatenate([self.records[:, : self.width], parameters], axis=1))
        return self.records

    def set_records(self, records: np.ndarray) -> None:
        self.records, self.integers = records, records.view(np.int64)

    def single(self, k: int) -> Trajectories:
        """Trajectory k as a batch of one, in the same memory."""
        one = object.__new__(Trajectories)
        one.__dict__.update(self.__dict__, log=self.log[k : k + 1], met=[self.met[k]])
        one.set_records(self.records[k : k + 1])
        return one

    def restart(self, which: np.ndarray, first_step: np.ndarray | float) -> None:
        """Reset the step control of some trajectories, after a jump of the right-hand side."""
        self.h[which], self.error[which], self.refused[which] = first_step, LEAST_ERROR_BEFORE, 0.0

    def empty_logs(self) -> None:
        """Copy the logs to `met`; trajectories with a full log go on."""
        for k in np.flatnonzero(self.logged).tolist():
            self.met[k].extend(self.log[k, : self.logged[k]].copy())
        self.logged = 0
        self.status[self.status == LOG_FULL] = RUNNING


class Chattering:
    """Counts sign changes of rates; a chattering trajectory with more than `too_far` steps to go is given up."""

    def __init__(self, too_far: float = TOO_FAR) -> None:
        self.too_far = too_far
        self.steps: np.ndarray | None = None

    def start(self, count: int, size: int) -> np.ndarray:
        self.direction = np.zeros((count, size))
        self.turns = np.zeros((count, size), dtype=int)
        self.since = np.full(count, np.nan)
        return np.zeros(count, dtype=int)

    def watch(self, trajectories: Trajectories, which: np.ndarray, change: np.ndarray, end: float) -> None:
        """Count a step of the trajectories `which`; `change` is the change of all states."""
        if self.steps is None:
            self.steps = self.start(*change.shape)
        direction = np.sign(change[which])
        self.turns[which] += direction * self.direction[which] < 0
        self.direction[which] = direction
        self.steps[which] += 1
        for k in which[self.steps[which] >= WINDOW].tolist():
            advance = (trajectories.t[k] - self.since[k]) / WINDOW  # NaN in the first window
            component = int(np.argmax(self.turns[k]))
            shortest = (end - trajectories.t[k]) / self.too_far
            turns = self.turns[k, component] / WINDOW
            if (advance < shortest and turns > SHARE) or (advance < shortest / HOPELESS and turns > RARE):
                trajectories.status[k] = CHATTERING
                trajectories.chattering[k] = component
            self.turns[k], self.steps[k], self.since[k] = 0, 0, trajectories.t[k]
