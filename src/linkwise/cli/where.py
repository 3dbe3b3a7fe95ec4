"""Where a robot is: along a trajectory, at a state that is typed, or at the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ..api.functions import inverse_dynamics
from ..robot import Robot
from ..robot.layout import Layout
from ..trajectories.loads import units_of
from .declare import arg, opt
from .limits import as_json, show_limits
from .options import MOTION, Degrees, Q, Qd, Qdd, motions
from .states import state, warn_of_unread

if TYPE_CHECKING:
    from ..trajectories import Trajectory

WORDS = ("q", "qd", "qdd")
BY_NAME = "A .csv file, or by name: cycloid, cubic, quintic, septic, trapezoid, paper"


@dataclass(frozen=True)
class Where:
    """Options of commands that follow a trajectory, or look at states."""

    trajectory: Annotated[str | None, arg("trajectory", BY_NAME, motions)] = None
    start: Annotated[str | None, opt("STATE", "Where it starts; default: zero.", MOTION, "--from")] = None
    end: Annotated[str | None, opt("STATE", "Where it ends; default: 60 deg, 0.1 m on.", MOTION, "--to")] = None
    duration: Annotated[float | None, opt("SECONDS", "How long it takes; default: 10.", MOTION)] = None
    ends: Annotated[
        str | None, opt("NAME", "Of a .csv file without rates: clamped (default), natural, ...", MOTION)
    ] = None
    samples: Annotated[int, opt("COUNT", "Evenly spaced times; default: 501.", MOTION, min=2)] = 501
    q: Q = None
    qd: Qd = None
    qdd: Qdd = None
    degrees: Degrees = False

    @property
    def way(self) -> dict[str, object]:
        """What belongs to a trajectory, by its name at the prompt."""
        given = {"trajectory": self.trajectory, "--from": self.start, "--to": self.end, "--duration": self.duration}
        given |= {"--ends": self.ends}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def state(self) -> dict[str, object]:
        """What belongs to a state."""
        given = {"--q": self.q, "--qd": self.qd, "--qdd": self.qdd}
        return {name: value for name, value in given.items() if value is not None}

    def is_state(self, method: str | None = None, plot: str | None = None) -> bool:
        """Whether the command line is about states; `method` goes with --q alone, and `plot` does not go with it."""
        if self.q is None:
            for name in {**self.state, **({} if method is None else {"--method": method})}:
                raise ValueError(f"{name} belongs to a state (expected --q too)")
            return False
        for name in {**self.way, **({} if plot is None else {"--plot": plot})}:
            raise ValueError(f"--q is a state (expected no {name} beside it)")
        return True

    def path(self, arm: Robot) -> tuple[Trajectory, str]:
        """The trajectory, and in words what it is."""
        from .motion import trajectory_of

        return trajectory_of(arm, self.trajectory, self.start, self.end, self.duration, self.degrees, self.ends)


class AtStates:
    """The states and the torques there; arrays of one state have no axis of states."""

    def __init__(self, arm: Robot, where: Where, friction: bool = False, method: str | None = None) -> None:
        texts = (where.q, where.qd, where.qdd)
        typed = [state(arm, x, word, f"--{word}", where.degrees) for x, word in zip(texts, WORDS, strict=True)]
        warn_of_unread(arm, {f"--{word}": (word, x) for word, x in zip(WORDS, texts, strict=True)})
        self.arm = arm
        self.units = units_of(arm)
        self.motion = [np.zeros(arm.n) if part is None else part for part in typed]
        self.tau = np.asarray(inverse_dynamics(arm, *self.motion, method=method, friction=friction))

    @property
    def one(self) -> bool:
        return self.tau.ndim == 1

    def arrays(self) -> dict[str, Any]:
        """For JSON."""
        names = {"robot": self.arm.name, "v_names": self.arm.v_names, "units": self.units}
        return {**names, **dict(zip(WORDS, self.motion, strict=True)), "tau": self.tau}

    def passed(self) -> dict[str, Any]:
        """For JSON: the limits that states pass."""
        return {"passed": as_json(self.arm, *self.batch(), self.rows(), "row")}

    def show_limits(self) -> None:
        show_limits(self.arm, *self.batch(), self.rows(), "in row")

    def batch(self) -> tuple[Any, Any, Any]:
        """q, qd and tau with an axis of states."""
        count = 1 if self.one else len(self.tau)
        q, qd, tau = (np.broadcast_to(x, (count, x.shape[-1])) for x in (*self.motion[:2], self.tau))
        return q, qd, tau

    def rows(self) -> list[int] | None:
        return None if self.one else list(range(1, len(self.tau) + 1))

    def columns(self) -> dict[str, Any]:
        """For tables, a row for each state."""
        layout, columns = Layout.of(self.arm), dict[str, Any]()
        for word, part in zip((*WORDS, "tau"), (*self.motion, self.tau), strict=True):
            full = np.broadcast_to(part, (*self.tau.shape[:-1], part.shape[-1]))
            columns |= dict(zip(layout.columns(word), np.atleast_2d(full).T, strict=True))
        return columns
