"""The robot that a command line names, with what its options change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import RobotError, near_miss
from ..formats import LIBRARY, load
from ..robot import Robot
from .options import Base, Gravity, Ignore, Mimic, Payload, RobotArgument, Unphysical
from .states import numbers


@dataclass(frozen=True)
class Source:
    """A robot by its name or file, and the options of `load`."""

    robot: RobotArgument
    base: Base = None
    mimic: Mimic = "coupled"
    unphysical: Unphysical = "refuse"
    ignore: Ignore = None
    gravity: Gravity = None
    payload: Payload = None

    @classmethod
    def loaded(cls, **options: object) -> Robot:
        return cls(**options).load()  # type: ignore[arg-type]

    def load(self) -> Robot:
        return self.with_payload(self.without_payload())

    def without_payload(self) -> Robot:
        """A name that is not in the library is a typing error; a file that is wrong is a bad file."""
        name = self.robot
        if name not in LIBRARY and not (name and (Path(name).suffix or Path(name).exists())):
            known = f"a file, or one of {', '.join(LIBRARY)}"
            raise ValueError(f"there is no robot {name!r}{near_miss(name, LIBRARY)} (expected {known})")
        arm = load(name, base=self.base, mimic=self.mimic, unphysical=self.unphysical, ignore=self.ignore or ())
        if self.gravity is None:
            return arm
        components = numbers(self.gravity, "--gravity")
        if len(components) != 3:
            raise ValueError(f"--gravity has {len(components)} numbers (expected three: x, y, z in the base frame)")
        return arm.with_gravity(components)

    def with_payload(self, arm: Robot) -> Robot:
        payload = self.payload
        if payload is None:
            return arm
        text, _, link = payload.partition("@")
        if "," in link and "," not in text:
            name, _, place = link.partition(",")
            raise ValueError(f"--payload {payload}: the link comes last (expected --payload {text},{place}@{name})")
        values = numbers(text, "--payload")
        if len(values) not in (1, 4):
            raise ValueError(f"--payload has {len(values)} numbers (expected a mass, or a mass and x, y, z)")
        try:
            return arm.with_payload(values[0], values[1:] or (0.0, 0.0, 0.0), [[0.0] * 3] * 3, link=link or None)
        except RobotError as error:
            which = f"expected one of them, as in --payload {text}@{arm.links[arm.leaves[0]].name}"
            said = str(error).replace("expected link=... to choose one", which)
            raise ValueError(f"--payload {payload}: {said}") from None
