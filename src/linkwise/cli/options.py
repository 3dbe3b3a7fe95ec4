"""The arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import linkwise as lw

from ..errors import RobotError, near_miss
from ..formats.files import BASES, READERS
from ..formats.files import ROTORS as ROTOR_CHOICES
from .declare import OUTPUT, ROBOT, STATE, arg, complete_files, flag, opt

PICTURES = (".png", ".svg", ".pdf")
PROFILES = ("cycloid", "cubic", "quintic", "septic", "trapezoid")
PAPER = "paper"


def complete_robots(incomplete: str) -> list[str]:
    """Completions: robots of the library, and files."""
    names = [name for name in lw.LIBRARY if name.startswith(incomplete)]
    return names + complete_files(incomplete, *READERS)


def complete_trajectories(incomplete: str) -> list[str]:
    """Completions: trajectories by name, and tables."""
    return [name for name in (PAPER, *PROFILES) if name.startswith(incomplete)] + complete_files(incomplete, ".csv")


def complete_tables(incomplete: str) -> list[str]:
    return complete_files(incomplete, ".csv")


LIBRARY_OR_FILE = f"A robot of the library by name (see: linkwise robots), or a file: {', '.join(READERS)}"
ROTORS = "How to write rotor inertias to a .urdf: refuse (default), drop, or transmission (few programs read it)."
BASE = "How the robot stands: fixed or free; default: as in the file. A base that moves as prescribed: base= in Python."
MIMIC = "Joints that the file couples: coupled (default), or independent."
UNPHYSICAL = "Inertias that are not physically consistent: refuse (default), or warn and use them."
IGNORE = "Skip this part of the file; an error says which name to give. Can be repeated; default: none."
PAYLOAD = "Point mass at the tip, or at x, y, z in the frame of LINK (5,0,0,0.1@tool0); default: none."
CONFIGURATION = "Configuration: numbers (0.1,pi/2,...), joints or links by name (link2=0.5), or a table (@file.csv)"

RobotArgument = Annotated[str, arg("robot", LIBRARY_OR_FILE, complete_robots)]
UrdfRotors = Annotated[str, opt("HOW", ROTORS, OUTPUT, known=ROTOR_CHOICES)]
Degrees = Annotated[
    bool, flag("--degrees", "Read angles, rates and accelerations in degrees; default: radians.", STATE)
]
Q = Annotated[str | None, opt("STATE", f"{CONFIGURATION}; default: the zero position.", STATE)]
Qd = Annotated[str | None, opt("STATE", "Rates, given as for --q; default: zero.", STATE)]
Qdd = Annotated[str | None, opt("STATE", "Accelerations, given as for --q; default: zero.", STATE)]
Wrench = Annotated[
    str | None,
    opt(
        "MX,...,FZ[@FRAME]",
        "Moment, force in base axes on the tip at its centre of mass, or at the origin of FRAME; default: none.",
    ),
]
Coordinates = Annotated[
    Literal["joint", "normalized", "unnormalized"],
    opt("NAME", "Velocities: joint (default), or Kozlowski's quasi-velocities: normalized, unnormalized."),
]
Method = Annotated[
    str | None,
    opt("NAME", "Formulation, such as denoc; default: that of the function (ridim, rfdsim: denoc)."),
]
Tau = Annotated[str | None, opt("STATE", "Joint torques and forces, given as for --q; default: none.", STATE)]
Friction = Annotated[bool, flag("--friction", "Include the friction of the joints.")]
Json = Annotated[bool, flag("--json", "Print JSON with all digits, and nothing else, on stdout.", OUTPUT)]
Plot = Annotated[str | None, opt("FILE", "Write a picture: .png, .svg or .pdf (needs matplotlib).", OUTPUT)]


def of_paper(given: dict[str, Any]) -> dict[str, Any]:
    """The options with the formulation of the paper, unless another one is given."""
    return given | {"method": given["method"] or "denoc"}


def of_paper_in_joint_coordinates(given: dict[str, Any]) -> dict[str, Any]:
    """As `of_paper`; quasi-coordinates have a forward dynamics of their own."""
    return of_paper(given) if given["coordinates"] == "joint" else given


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Arguments of `lw.load` by their own names."""

    base: Annotated[str | None, opt("BASE", BASE, ROBOT, known=BASES)] = None
    mimic: Annotated[str, opt("HOW", MIMIC, ROBOT, known=("coupled", "independent"))] = "coupled"
    unphysical: Annotated[str, opt("HOW", UNPHYSICAL, ROBOT, known=("refuse", "warn"))] = "refuse"

    def robot(self, name: str, ignore: list[str] | None = None) -> lw.Robot:
        """Load a robot. An unknown name is a usage error, a faulty file a bad file: their exit codes differ."""
        if name not in lw.LIBRARY and not (name and (Path(name).suffix or Path(name).exists())):
            known = f"a file, or one of {', '.join(lw.LIBRARY)}"
            raise ValueError(f"there is no robot {name!r}{near_miss(name, lw.LIBRARY)} (expected {known})")
        options: dict[str, Any] = {"base": self.base, "mimic": self.mimic, "unphysical": self.unphysical}
        return lw.load(name, **options, ignore=ignore or ())


@dataclass(frozen=True, kw_only=True)
class RobotSource(LoadOptions):
    """A robot by name or file, and changes to it."""

    name: Annotated[str, arg("robot", LIBRARY_OR_FILE, complete_robots)]
    ignore: Annotated[list[str] | None, opt("NAME", IGNORE, ROBOT)] = None
    gravity: Annotated[
        str | None, opt("X,Y,Z", "Gravity in the base frame, m/s²; default: the robot's own.", ROBOT)
    ] = None
    payload: Annotated[str | None, opt("KG[,X,Y,Z][@LINK]", PAYLOAD, ROBOT)] = None

    @classmethod
    def loaded(cls, **options: object) -> lw.Robot:
        return cls(**options).load()  # type: ignore[arg-type]

    def load(self) -> lw.Robot:
        return self.with_payload(self.without_payload())

    def without_payload(self) -> lw.Robot:
        from .inputs import parse_numbers

        robot = self.robot(self.name, self.ignore)
        if self.gravity is None:
            return robot
        components = parse_numbers(self.gravity, "--gravity")
        if len(components) != 3:
            raise ValueError(f"--gravity has {len(components)} numbers (expected three: x, y, z in the base frame)")
        return robot.with_gravity(components)

    def with_payload(self, robot: lw.Robot) -> lw.Robot:
        from .inputs import parse_numbers

        payload = self.payload
        if payload is None:
            return robot
        text, _, link = payload.partition("@")
        if "," in link and "," not in text:
            name, _, place = link.partition(",")
            raise ValueError(f"--payload {payload}: the link comes last (expected --payload {text},{place}@{name})")
        values = parse_numbers(text, "--payload")
        if len(values) not in (1, 4):
            raise ValueError(f"--payload has {len(values)} numbers (expected a mass, or a mass and x, y, z)")
        try:
            return robot.with_payload(values[0], values[1:] or (0.0, 0.0, 0.0), [[0.0] * 3] * 3, link=link or None)
        except RobotError as error:
            which = f"expected one of them, as in --payload {text}@{robot.links[robot.leaves[0]].name}"
            message = str(error).replace("expected link=... to choose one", which)
            raise ValueError(f"--payload {payload}: {message}") from None
