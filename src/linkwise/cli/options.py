"""The arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import linkwise as lw

from ..errors import RobotError, near_miss
from ..formats.files import BASES, READERS, ROTORS
from .declare import OUTPUT, ROBOT, STATE, arg, files, flag, opt

PICTURES = (".png", ".svg", ".pdf")
PROFILES = ("cycloid", "cubic", "quintic", "septic", "trapezoid")
PAPER = "paper"


def robot_names(incomplete: str) -> list[str]:
    """For shells: robots of the library, and files."""
    names = [name for name in lw.LIBRARY if name.startswith(incomplete)]
    return names + files(incomplete, *READERS)


def motions(incomplete: str) -> list[str]:
    """For shells: trajectories by name, and tables."""
    return [name for name in (PAPER, *PROFILES) if name.startswith(incomplete)] + files(incomplete, ".csv")


LIBRARY_OR_FILE = f"A robot of the library by name (see: linkwise robots), or a file: {', '.join(READERS)}"
ROTORS_OF_URDF = "Rotor inertias in a .urdf: refuse (default); transmission, which few programs read; or drop."
STANDS = "How it stands: fixed or free; default: as the file says."
COUPLED = "Joints that the file couples to others: coupled (default) or independent."
NO_BODY = "An inertia that no body has: refuse (default), or warn and use it."
POINT_MASS = "A point mass held by the tip, or by LINK, at x, y, z of its frame: 5,0,0,0.1@tool0."
WHERE = "Configuration: numbers (0.1,pi/2,...), joints or links by name (link2=0.5), or a table (@file.csv)."

RobotArgument = Annotated[str, arg("robot", LIBRARY_OR_FILE, robot_names)]
UrdfRotors = Annotated[str, opt("HOW", ROTORS_OF_URDF, OUTPUT, known=ROTORS)]
Degrees = Annotated[bool, flag("--degrees", "Angles are given in degrees, not radians.", STATE)]
Q = Annotated[str | None, opt("STATE", WHERE, STATE)]
Qd = Annotated[str | None, opt("STATE", "Rates, given likewise; default: at rest.", STATE)]
Qdd = Annotated[str | None, opt("STATE", "Accelerations; default: none.", STATE)]
Friction = Annotated[bool, flag("--friction", "With the friction of the joints.")]
Json = Annotated[bool, flag("--json", "JSON on stdout, all digits, and nothing else there.", OUTPUT)]
Plot = Annotated[str | None, opt("FILE", "Draw a picture: .png, .svg or .pdf (matplotlib).", OUTPUT)]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a robot's file is read: arguments of `lw.load` by their own names."""

    base: Annotated[str | None, opt("BASE", STANDS, ROBOT, known=BASES)] = None
    mimic: Annotated[str, opt("HOW", COUPLED, ROBOT, known=("coupled", "independent"))] = "coupled"
    unphysical: Annotated[str, opt("HOW", NO_BODY, ROBOT, known=("refuse", "warn"))] = "refuse"

    def robot(self, name: str, ignore: list[str] | None = None) -> lw.Robot:
        """A name that is not in the library is a typing error; a file that is wrong is a bad file."""
        if name not in lw.LIBRARY and not (name and (Path(name).suffix or Path(name).exists())):
            known = f"a file, or one of {', '.join(lw.LIBRARY)}"
            raise ValueError(f"there is no robot {name!r}{near_miss(name, lw.LIBRARY)} (expected {known})")
        options: dict[str, Any] = {"base": self.base, "mimic": self.mimic, "unphysical": self.unphysical}
        return lw.load(name, **options, ignore=ignore or ())


@dataclass(frozen=True, kw_only=True)
class Source(Reading):
    """A robot by its name or file, and what is changed of it."""

    name: Annotated[str, arg("robot", LIBRARY_OR_FILE, robot_names)]
    ignore: Annotated[
        list[str] | None, opt("NAME", "A part of the file to leave out, as an error names it.", ROBOT)
    ] = None
    gravity: Annotated[str | None, opt("X,Y,Z", "In the base frame, m/s²; default: the robot's own.", ROBOT)] = None
    payload: Annotated[str | None, opt("KG[,X,Y,Z][@LINK]", POINT_MASS, ROBOT)] = None

    @classmethod
    def loaded(cls, **options: object) -> lw.Robot:
        return cls(**options).load()  # type: ignore[arg-type]

    def load(self) -> lw.Robot:
        return self.with_payload(self.without_payload())

    def without_payload(self) -> lw.Robot:
        from .inputs import numbers

        robot = self.robot(self.name, self.ignore)
        if self.gravity is None:
            return robot
        components = numbers(self.gravity, "--gravity")
        if len(components) != 3:
            raise ValueError(f"--gravity has {len(components)} numbers (expected three: x, y, z in the base frame)")
        return robot.with_gravity(components)

    def with_payload(self, robot: lw.Robot) -> lw.Robot:
        from .inputs import numbers

        payload = self.payload
        if payload is None:
            return robot
        text, _, link = payload.partition("@")
        if "," in link and "," not in text:
            name, _, place = link.partition(",")
            raise ValueError(f"--payload {payload}: the link comes last (expected --payload {text},{place}@{name})")
        values = numbers(text, "--payload")
        if len(values) not in (1, 4):
            raise ValueError(f"--payload has {len(values)} numbers (expected a mass, or a mass and x, y, z)")
        try:
            return robot.with_payload(values[0], values[1:] or (0.0, 0.0, 0.0), [[0.0] * 3] * 3, link=link or None)
        except RobotError as error:
            which = f"expected one of them, as in --payload {text}@{robot.links[robot.leaves[0]].name}"
            said = str(error).replace("expected link=... to choose one", which)
            raise ValueError(f"--payload {payload}: {said}") from None
