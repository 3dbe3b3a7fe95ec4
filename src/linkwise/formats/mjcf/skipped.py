"""What is left out: kinds that cannot change the smooth dynamics, named in one warning, and others only on request."""

from __future__ import annotations

from ...errors import FileError, near_miss
from ...notices import warn
from ..xml import Element

IGNORABLE = ("actuator", "equality", "flex", "fluid", "gravcomp", "spring", "springdamper", "tendon")


class Skipped:
    """Collected while a file is read."""

    def __init__(self, path: str, ignore: tuple[str, ...]) -> None:
        self.path, self.ignore = path, ignore
        self.kinds: dict[str, None] = {}  # in the order of the file
        self.ignored: dict[str, None] = {}
        for name in ignore:
            if name not in IGNORABLE:
                known = ", ".join(map(repr, IGNORABLE))
                raise FileError(f"{path}: ignore has {name!r}{near_miss(name, IGNORABLE)} (expected some of {known})")

    def add(self, kind: str) -> None:
        self.kinds[kind] = None

    def refuse(self, name: str, element: Element, problem: str) -> None:
        """Refuse what would change the dynamics, unless it is to be ignored."""
        if name not in self.ignore:
            element.fail(f'{problem} and is not modelled here (ignore=["{name}"] leaves it out)')
        self.ignored[name] = None

    def warn(self) -> None:
        """One warning for all."""
        texts = []
        if self.ignored:
            texts.append(f"ignored as asked, though it acts on the robot: {', '.join(self.ignored)}")
        if self.kinds:
            texts.append(f"skipped, the inertia matrix and bias forces do not depend on it: {', '.join(self.kinds)}")
        if texts:
            warn(f"{self.path}: {'; '.join(texts)}")
