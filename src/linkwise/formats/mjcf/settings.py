"""The settings of <compiler> and <option>. Where a section is repeated, the last value counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..xml import Element
from .grammar import check_attributes, refuse_tag

BOOLEAN = {"true": True, "false": False}
SWITCHES = ("alignfree", "autolimits", "balanceinertia", "discardvisual", "fitaabb", "fusestatic", "strippath")
TEXTS = ("assetdir", "meshdir", "eulerseq")
NUMBERS = ("boundmass", "boundinertia", "settotalmass")
FLUID = ("density", "viscosity")


@dataclass
class Settings:
    """With the values that MuJoCo takes where a file says nothing."""

    degrees: bool = True
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    inertiagrouprange: tuple[float, ...] = (0, 5)
    boundmass: float = 0.0
    boundinertia: float = 0.0
    settotalmass: float = -1.0
    balanceinertia: bool = False
    alignfree: bool = False
    fusestatic: bool = False
    discardvisual: bool = False
    fitaabb: bool = False
    strippath: bool = False
    assetdir: str = ""
    meshdir: str = ""
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    fluid: dict[str, Element] = field(default_factory=dict)  # where its density and viscosity are given, if not zero
    disabled: set[str] = field(default_factory=set)  # flags

    def compiler(self, section: Element) -> None:
        check_attributes(section)
        for child in section.children:
            if child.tag != "lengthrange":  # of actuators
                refuse_tag(child, section, ("lengthrange",))
        if section.word("coordinate", ("local", "global"), "local") == "global":
            section.fail(
                "coordinate is global, which MuJoCo has given up (expected local: save the model in MuJoCo 2.3)"
            )
        self.degrees = section.word("angle", ("degree", "radian"), "degree" if self.degrees else "radian") == "degree"
        self.inertiafromgeom = section.word("inertiafromgeom", ("auto", "true", "false"), self.inertiafromgeom)
        self.inertiagrouprange = section.numbers("inertiagrouprange", 2, self.inertiagrouprange)
        for key in SWITCHES:
            if key in section.attributes:
                setattr(self, key, switch(section, key))
        for key in TEXTS:
            setattr(self, key, section.get(key, getattr(self, key)))
        for key in NUMBERS:
            setattr(self, key, section.number(key, getattr(self, key)))
        for key in ("boundmass", "boundinertia"):
            if getattr(self, key) < 0.0:
                section.fail(f"{key} is {getattr(self, key)} (expected a number that is not negative)")
        if len(self.eulerseq) != 3 or not set(self.eulerseq) <= set("xyzXYZ"):
            section.fail(f'eulerseq is "{self.eulerseq}" (expected three letters of x, y, z, X, Y, Z)')
        if self.settotalmass > 0.0 and self.fusestatic:
            section.fail("has settotalmass and fusestatic: which masses count then is not defined here (expected one)")

    def option(self, section: Element) -> None:
        check_attributes(section)
        self.gravity = section.numbers("gravity", 3, self.gravity)
        for key in FLUID:
            if key in section.attributes:
                self.fluid.pop(key, None)
                if section.number(key) != 0.0:
                    self.fluid[key] = section
        for child in section.children:
            if child.tag != "flag":
                refuse_tag(child, section, ("flag",))
            check_attributes(child)
            for key in child.attributes:
                enabled = child.word(key, ("enable", "disable")) == "enable"
                (self.disabled.discard if enabled else self.disabled.add)(key)

    def angle(self, value: float) -> float:
        """In radians."""
        return value / 180.0 * PI if self.degrees else value


PI = 3.141592653589793


def switch(element: Element, key: str, default: Any = False) -> bool:
    return BOOLEAN[element.word(key, tuple(BOOLEAN), "true" if default else "false")]
