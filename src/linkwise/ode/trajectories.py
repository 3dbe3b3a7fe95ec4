"""Where every trajectory of a batch is: a record for each, in memory as compiled drivers read and write it."""

from __future__ import annotations

import numpy as np

# How far a trajectory is, or why it ended.

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


LEAST_ERROR_BEFORE = 1e-4  # what the error of the last accepted step counts at least
RECORD: dict[str, type] = {  # the fields of a record; y, the values of the events and the parameters follow
    "t": float,
    "h": float,  # the next step
    "error": float,  # of the last accepted step
    "refused": float,  # 1 if the last step was
    "next": int,  # which of the sample times comes next
    "steps": int,
    "rejected": int,
    "status": int,
    "logged": int,  # how many rows of its log are filled
}


class Field:
    """One number of every trajectory: a view of the records."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.column = list(RECORD).index(name)
        self.view = "records" if RECORD[name] is float else "integers"

    def __get__(self, trajectories: Trajectories, owner: type | None = None) -> np.ndarray:
        column: np.ndarray = getattr(trajectories, self.view)[:, self.column]
        return column

    def __set__(self, trajectories: Trajectories, value: np.ndarray | float) -> None:
        getattr(trajectories, self.view)[:, self.column] = value


class Trajectories:
    """The records of a batch, and the events that were met."""

    t, h, error, refused = Field(), Field(), Field(), Field()
    next, steps, rejected, status, logged = Field(), Field(), Field(), Field(), Field()

    def __init__(self, y: np.ndarray, first_step: float, events: int = 0, room: int = 0) -> None:
        count, size = y.shape
        self.first_value = len(RECORD) + size
        self.known = self.first_value + events
        self.keep(np.zeros((count, self.known)))
        self.records[:, len(RECORD) : self.first_value] = y
        if events:
            self.records[:, self.first_value :] = np.nan
        self.h, self.error = first_step, LEAST_ERROR_BEFORE
        self.log = np.empty((count, room if events else 0, 2 + size))  # rows: time, which events, state
        self.log.fill(np.nan)
        self.met: list[list[np.ndarray]] = [[] for _ in range(count)]  # such rows, out of the log
        self.evaluations: np.ndarray | None = None  # where they were counted
        self.chattering: dict[int, int] = {}  # which number of the state of a trajectory goes to and fro

    @property
    def y(self) -> np.ndarray:
        return self.records[:, len(RECORD) : self.first_value]

    @property
    def values(self) -> np.ndarray:
        """Of the events at the last accepted state, as `events.store_values` has them; NaN at the start."""
        return self.records[:, self.first_value : self.known]

    def with_parameters(self, parameters: np.ndarray) -> np.ndarray:
        """The records, with the parameters at the end of their rows."""
        if parameters.shape[1]:
            self.keep(np.concatenate([self.records[:, : self.known], parameters], axis=1))
        return self.records

    def keep(self, records: np.ndarray) -> None:
        self.records, self.integers = records, records.view(np.int64)

    def only(self, k: int) -> Trajectories:
        """Trajectory k as a batch of one, in the same memory."""
        one = object.__new__(Trajectories)
        one.__dict__.update(self.__dict__, log=self.log[k : k + 1], met=[self.met[k]])
        one.keep(self.records[k : k + 1])
        return one

    def restart(self, which: np.ndarray, first_step: np.ndarray | float) -> None:
        """Forget the last steps of some trajectories, where the right-hand side jumps."""
        self.h[which], self.error[which], self.refused[which] = first_step, LEAST_ERROR_BEFORE, 0.0

    def empty_logs(self) -> None:
        """Take over what was logged; trajectories that waited for room go on."""
        for k in np.flatnonzero(self.logged).tolist():
            self.met[k].extend(self.log[k, : self.logged[k]].copy())
        self.logged = 0
        self.status[self.status == LOG_FULL] = RUNNING
