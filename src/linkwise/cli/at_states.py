"""Inverse dynamics at states that are typed, or at the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..api.functions import inverse_dynamics
from ..robot import Robot
from ..robot.layout import Layout
from ..trajectories.loads import units_of
from .limits import as_json, show_limits
from .states import state

WORDS = ("q", "qd", "qdd")


class AtStates:
    """The states and the torques there; arrays of one state have no axis of states."""

    def __init__(
        self,
        arm: Robot,
        q: str | None,
        qd: str | None,
        qdd: str | None,
        degrees: bool,
        friction: bool,
        method: str | None = None,
    ) -> None:
        typed = [state(arm, text, word, f"--{word}", degrees) for text, word in zip((q, qd, qdd), WORDS, strict=True)]
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


def asked_for(q: str | None, with_it: Mapping[str, object], without: Mapping[str, object]) -> bool:
    """Whether a command line is about states; options that go with --q alone, and those that do not go with it."""
    if q is None:
        stray = [name for name, value in with_it.items() if value is not None]
        if stray:
            raise ValueError(f"{stray[0]} belongs to a state (expected --q too)")
        return False
    stray = [name for name, value in without.items() if value is not None]
    if stray:
        raise ValueError(f"--q is a state (expected no {stray[0]} beside it)")
    return True
