"""An MJCF model as text for MuJoCo: includes are expanded, and elements that do not affect the dynamics removed.

The text has one element per line, so that a line in MuJoCo's messages identifies an element of the files.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.sax.saxutils import quoteattr

from ...errors import FileError, near_miss
from ...printing import warn
from .. import xml
from ..xml import DEPTH, ELEMENTS, Element, shorten

COPIES = 5_000  # of elements, by <replicate>
IGNORABLE = ("actuator", "equality", "flex", "fluid", "gravcomp", "spring", "springdamper", "tendon")
BODIES = ("worldbody", "body", "frame", "replicate")
SKIPPED = {  # elements that cannot change the smooth dynamics, by parent, and their names in the warning
    "mujoco": {
        "size": "size", "statistic": "statistic", "visual": "visual", "extension": "extension", "contact": "contact",
        "sensor": "sensors", "custom": "custom", "keyframe": "keyframes",
    },
    "asset": {
        "hfield": "height fields", "skin": "skins", "texture": "textures", "material": "materials", "model": "models",
    },
    "deformable": {"skin": "skins"},
} | {tag: {"camera": "cameras", "light": "lights"} for tag in BODIES}  # fmt: skip
REFUSED = {
    "attach": "attached models are",
    "composite": "composite objects are",
    "flexcomp": "flexible objects are",
    "plugin": "a plugin is",
}
NAMES = ("name", "class", "childclass", "file", "model")
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\(\w*\))?|inf(?:inity)?)", re.IGNORECASE)


class Skipped:
    """Elements that are left out: those that cannot change the smooth dynamics, and others on request."""

    def __init__(self, path: Path, ignore: tuple[str, ...]) -> None:
        self.path, self.ignore = path, ignore
        self.kinds: dict[str, None] = {}  # in the order of the file
        self.ignored: dict[str, None] = {}
        for name in ignore:
            if name not in IGNORABLE:
                known = ", ".join(map(repr, IGNORABLE))
                raise FileError(f"{path}: ignore has {name!r}{near_miss(name, IGNORABLE)} (expected some of {known})")

    def add(self, kind: str) -> None:
        self.kinds[kind] = None

    def warn(self) -> None:
        """Issue one warning for all."""
        texts = []
        if self.ignored:
            texts.append(f"ignored as asked, though it acts on the robot: {', '.join(self.ignored)}")
        if self.kinds:
            texts.append(f"skipped, the inertia matrix and bias forces do not depend on it: {', '.join(self.kinds)}")
        if texts:
            warn(f"{self.path}: {'; '.join(texts)}")


class Document:
    """The text, and the element of each line."""

    def __init__(self, root: Element, path: Path, ignore: tuple[str, ...]) -> None:
        if root.tag != "mujoco":
            root.fail("is not the root of an MJCF model (expected <mujoco>)")
        self.root, self.skipped = Includes(path).expand(root), Skipped(path, ignore)
        self.elements: list[Element] = []
        self.lines: list[str] = []
        self.copies = 0
        self.write(root, 1)
        self.text = "\n".join(self.lines)

    def element(self, text: str) -> Element | None:
        """The element of the line number at the end of a text by MuJoCo."""
        line = re.search(r"line (\d+)\D*$", text)
        return self.elements[int(line[1]) - 1] if line and 0 < int(line[1]) <= len(self.elements) else None

    def write(self, element: Element, copies: int) -> None:
        """Write the lines of an element that is copied so many times."""
        if element.tag == "replicate":
            copies *= self.repetitions(element)
        self.copies += copies if copies > 1 else 0
        if self.copies > COPIES:
            element.fail(f"is copied by <replicate>, which makes more than {COPIES} elements (expected fewer)")
        plugin = element.tag == "plugin"  # of an actuator: its armature and damping are read
        tag, children = ("general", []) if plugin else (element.tag, element.children)
        start = f"<{tag}{''.join(f' {key}={quoteattr(value)}' for key, value in self.attributes(element).items())}"
        children = [child for child in children if self.keeps(child, element)]
        self.add(f"{start}>" if children else f"{start}/>", element)
        for child in children:
            self.write(child, copies)
        if children:
            self.add(f"</{tag}>", element)

    def add(self, line: str, element: Element) -> None:
        self.lines.append(line)
        self.elements.append(element)

    @staticmethod
    def repetitions(element: Element) -> int:
        count = element.number("count")
        if not 1 <= count <= COPIES or count != int(count):
            element.fail(f"count is {count:g} (expected a whole number from 1 to {COPIES})")
        return int(count)

    def keeps(self, element: Element, parent: Element) -> bool:
        """Whether MuJoCo reads an element; an error for unsupported elements."""
        tag, skipped = element.tag, self.skipped
        if tag in SKIPPED.get(parent.tag, {}):
            skipped.add(SKIPPED[parent.tag][tag])
        elif parent.tag == "deformable" or (parent.tag == "equality" and tag.startswith("flex")):
            name = "equality" if parent.tag == "equality" and "equality" in skipped.ignore else "flex"
            self.require_ignored(element, name, "is a flexible body, whose elastic forces act on the bodies,")
        elif tag == "site" and parent.tag in BODIES and not element.get("name", ""):
            skipped.add("sites without a name")
        elif tag in REFUSED and parent.tag != "actuator":
            element.fail(f"{REFUSED[tag]} not read here (expected bodies, joints and geoms)")
        else:
            if parent.tag in ("actuator", "tendon"):
                skipped.add(f"{parent.tag}s")
            if element.attributes.get("mocap") == "true":
                skipped.add("mocap (bodies are fixed where the file has them)")
            return True
        return False

    def require_ignored(self, element: Element, name: str, problem: str) -> None:
        if name not in self.skipped.ignore:
            element.fail(f'{problem} and is not modelled here (ignore=["{name}"] leaves it out)')
        self.skipped.ignored[name] = None

    def attributes(self, element: Element) -> dict[str, str]:
        """The attributes of an element, without those for display and editors."""
        for key, value in element.attributes.items():
            if key not in NAMES and any(map(NOT_FINITE.fullmatch, value.split())):
                element.fail(f'{key} is "{shorten(value)}" (expected finite numbers)')
        attributes = {key: value for key, value in element.attributes.items() if not key.startswith(("xmlns", "xsi:"))}
        for key in ("material", *(("plugin", "instance") if element.tag == "plugin" else ())):
            attributes.pop(key, None)
        if element.tag == "mesh" and "file" in attributes:
            attributes.setdefault("name", PurePosixPath(attributes["file"].replace("\\", "/")).stem)
        return attributes


class Includes:
    """The files of one model, each read once; all are in the model's folder or below it."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self.files = {path.resolve(): path}
        self.count = 0

    def expand(self, element: Element, depth: int = 0) -> Element:
        """Expand all includes below the element."""
        self.count += 1
        if self.count > ELEMENTS:
            element.fail(f"is one of more than {ELEMENTS} elements (expected a robot's description)")
        if depth > DEPTH:
            element.fail(f"stands more than {DEPTH} elements deep")
        children: list[Element] = []
        for child in element.children:
            children += self.parts(child, depth + 1) if child.tag == "include" else [child]
        element.children = [self.expand(child, depth + 1) for child in children]
        for child in element.children:
            child.parent = element
        return element

    def parts(self, include: Element, depth: int) -> list[Element]:
        """The elements that replace an <include>, recursively."""
        if depth > DEPTH:
            include.fail(f"stands more than {DEPTH} elements deep")
        for key in include.attributes:
            if key != "file":
                include.fail(f"{key} is not an attribute of <include>{near_miss(key, ['file'])} (expected file)")
        if include.children:
            include.fail("has elements of its own (expected none)")
        name = include.get("file", expected="the name of an MJCF file")
        file = resolve_file(name, (self.folder, include.path.parent), self.folder, include, "file")
        if file in self.files:
            include.fail(f'file is "{name}", which is a part of the model already (expected each file once)')
        included = self.folder / name if (self.folder / name).is_file() else include.path.parent / name
        self.files[file] = included
        root = xml.read(included)
        if not root.children:
            include.fail(f'file is "{name}", which has no elements (expected at least one)')
        elements = []
        for child in root.children:
            elements += self.parts(child, depth + 1) if child.tag == "include" else [child]
        return elements


def resolve_file(path: str, folders: tuple[Path, ...], top: Path, element: Element, what: str) -> Path:
    """Find the file in the first folder that has it; it must be below the top folder."""
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive or path.startswith("\\"):
        element.fail(f'{what} is "{path}", an absolute path (expected one that starts in the model\'s folder)')
    try:
        files = [file for file in ((folder / path).resolve() for folder in folders) if file.is_file()]
        allowed = [file for file in files if file.is_relative_to(top.resolve())]
    except (OSError, RuntimeError, ValueError) as problem:
        element.fail(f'{what} is "{shorten(path)}", which cannot be read ({problem})')
    if not files:
        element.fail(f'{what} is "{shorten(path)}", and there is no such file in {folders[0].resolve()}')
    if files[0] not in allowed:
        element.fail(
            f'{what} is "{path}", which lies outside the model\'s folder, {top} (nothing is read outside; copy'
            " it into the folder)"
        )
    return files[0]
