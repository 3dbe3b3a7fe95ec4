"""What goes wrong, by kind. Each message says where, what was found and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RobotError(ValueError):
    """A robot's description is wrong: the message names the robot, the link and the entry."""


class RowError(RobotError):
    """A row is wrong: `row` counts from 0, `key` is the entry, both for whoever can say on which line that is."""

    def __init__(self, message: str, row: int = 0, key: str | None = None) -> None:
        super().__init__(message)
        self.row, self.key = row, key


class FileError(RobotError):
    """A file is wrong, of a robot, trajectory or recording: the message begins with its name, and the line if any."""


class SingularError(ValueError):
    """The inertia matrix cannot be inverted: the message names the joint that moves without resistance.

    `state` says which of a batch of states it is.
    """

    def __init__(self, message: str, reason: str = "", state: tuple[int, ...] = ()) -> None:
        super().__init__(f"{message}{f' in state {list(state)}' if state else ''}{reason}")
        self.message, self.reason, self.state = message, reason, state

    def in_state(self, state: tuple[int, ...]) -> SingularError:
        """The same error of one state, when it is this one of a batch."""
        return SingularError(self.message, self.reason, (*state, *self.state))


def near_miss(word: object, known: Iterable[str]) -> str:
    """', did you mean ...?' where one of the known words is close, otherwise nothing."""
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def one_of(word: object, known: Iterable[str], what: str, error: type[ValueError] = ValueError) -> None:
    """Complain, with the list and the nearest word, about a word that is not among the known ones."""
    known = list(known)
    if word not in known:
        choices = ", ".join(map(repr, known))
        raise error(f"{what} is {word!r}{near_miss(word, known)} (expected one of {choices})")
