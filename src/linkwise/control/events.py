"""Events: functions of time and state. Their zero crossings are located and recorded, and may end a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..api.torque_functions import check_arguments
from ..robot import Robot, require_robot
from ..robot.named_arrays import call_with_numbers, refuse_gradients
from ..spatial import add, mul

EventFunction = Callable[..., Any]  # event(robot, t, q, qd), one number
MAX_EVENTS = 50  # of one simulation: each is a bit of a float


@dataclass(frozen=True)
class Event:
    """A zero crossing of a function, for `lw.simulate(..., events=...)`.

    A value that is exactly zero at the start counts as soon as it leaves zero in the given direction.

    Parameters
    ----------
    function : function
        function(robot, t, q, qd), one number.
    name : str
        One line, for recordings and plots.
    stop : bool, optional
        Whether the crossing ends the trajectory.
    direction : {0, 1, -1}, optional
        1: upward crossings only, -1: downward, 0: both.
    """

    function: Callable[..., Any]
    name: str
    stop: bool = False
    direction: Literal[-1, 0, 1] = 0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"event {self.name!r} is {self.function!r} (expected a function of robot, t, q and qd)")
        check_arguments(self.function)
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise ValueError(f"the name of an event is {self.name!r} (expected one line of text)")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"event {self.name!r}: direction is {self.direction!r} (expected 1, -1 or 0)")

    def value(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        returned = call_with_numbers(self.function, self.name, robot, t, q, qd)
        refuse_gradients(f"event {self.name!r}", returned)
        if returned is None:
            raise ValueError(f"event {self.name!r} returned None (expected one number: is its `return` missing?)")
        value = np.asarray(returned)
        if value.shape != ():
            raise ValueError(f"event {self.name!r} gave shape {value.shape} (expected one number)")
        return value[()]


@dataclass(frozen=True)
class PastLimit:
    """Distance of a joint beyond a limit of travel. A coupled joint is at ratio · q + offset."""

    coordinate: int
    limit: float
    sign: float
    ratio: float = 1.0
    offset: float = 0.0

    def __call__(self, robot: Robot, t: Any, q: Any, qd: Any) -> Any:
        position = add(mul(self.ratio, q[self.coordinate]), self.offset)
        return (position - self.limit) * self.sign


def joint_limits(robot: Robot, *, stop: bool = True) -> tuple[Event, ...]:
    """One event for each limit of travel in the robot's table, coupled joints included.

    Parameters
    ----------
    robot : Robot
    stop : bool, optional
        Whether reaching a limit ends the trajectory.

    Returns
    -------
    tuple of Event

    Examples
    --------
    >>> import linkwise as lw
    >>> [event.name for event in lw.control.joint_limits(lw.load("gantry"))][:2]
    ['bridge below 0', 'bridge above 1.5']
    """
    require_robot(robot)
    events = []
    for link, slot in zip(robot.links, robot.slots, strict=True):
        if link.joint.limits is None:
            continue
        joint = (link.joint_name or link.name) if link.index in robot.coupled else robot.q_names[slot.q]
        for limit, sign, relation in zip(link.joint.limits, (-1.0, 1.0), ("below", "above"), strict=True):
            past = PastLimit(slot.q, limit, sign, slot.ratio, slot.offset)
            events.append(Event(past, f"{joint} {relation} {limit:g}", stop, 1))
    return tuple(events)


def events_of(events: Any) -> tuple[Event, ...]:
    """The events of an `events=` argument. Other functions become events that do not stop."""
    if callable(events) or isinstance(events, Event):
        events = [events]
    if isinstance(events, str) or not isinstance(events, Iterable):
        expected = "functions of (robot, t, q, qd), lw.Event, or lw.control.joint_limits(robot)"
        raise TypeError(f"events is {events!r} (expected {expected})")
    result = tuple(x if isinstance(x, Event) else Event(x, getattr(x, "__name__", "event")) for x in events)
    if len(result) > MAX_EVENTS:
        raise ValueError(f"there are {len(result)} events (expected at most {MAX_EVENTS})")
    return result
