"""An MJCF file with its <include> elements replaced by what the other files hold.

Each file is read once, and lies in the folder of the model or below it. The elements keep the file and line that they
come from.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from .. import xml
from ..xml import DEPTH, ELEMENTS, Element
from .grammar import check_attributes


def complete(root: Element, path: Path) -> Element:
    """The root element, <mujoco>, of a file with what it includes."""
    if root.tag != "mujoco":
        root.fail("is not the root of an MJCF model (expected <mujoco>)")
    return Includes(path).expanded(root)


def inside(path: str, folders: tuple[Path, ...], top: Path, element: Element, what: str) -> Path:
    """The file of that name in the first of the folders that has it; it must lie below the top folder."""
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive or path.startswith("\\"):
        element.fail(f'{what} is "{path}", an absolute path (expected one that starts in the model\'s folder)')
    try:
        found = [file for file in ((folder / path).resolve() for folder in folders) if file.is_file()]
        within = [file for file in found if file.is_relative_to(top.resolve())]
    except (OSError, RuntimeError, ValueError) as problem:
        element.fail(f'{what} is "{xml.shortened(path)}", which cannot be read ({problem})')
    if not found:
        element.fail(f'{what} is "{xml.shortened(path)}", and there is no such file in {folders[0].resolve()}')
    if found[0] not in within:
        element.fail(
            f'{what} is "{path}", which lies outside the model\'s folder, {top} (nothing is read outside; copy'
            " it into the folder)"
        )
    return found[0]


class Includes:
    """The files of one model."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self.files = {path.resolve(): path}
        self.count = 0

    def expanded(self, element: Element, depth: int = 0) -> Element:
        """The element with all that is included below it."""
        self.count += 1
        if self.count > ELEMENTS:
            element.fail(f"is one of more than {ELEMENTS} elements (expected a robot's description)")
        if depth > DEPTH:
            element.fail(f"stands more than {DEPTH} elements deep")
        if not element.children:
            return element
        children: list[Element] = []
        for child in element.children:
            children += self.parts(child, depth + 1) if child.tag == "include" else [child]
        element.children = [self.expanded(child, depth + 1) for child in children]
        for child in element.children:
            child.parent = element
        return element

    def parts(self, include: Element, depth: int) -> list[Element]:
        """The elements that stand in place of an <include>, with further ones of included files."""
        if depth > DEPTH:
            include.fail(f"stands more than {DEPTH} elements deep")
        check_attributes(include)
        if include.children:
            include.fail("has elements of its own (expected none)")
        name = include.get("file", expected="the name of an MJCF file")
        file = inside(name, (self.folder, include.path.parent), self.folder, include, "file")
        if file in self.files:
            include.fail(f'file is "{name}", which is a part of the model already (expected each file once)')
        shown = self.folder / name if (self.folder / name).is_file() else include.path.parent / name
        self.files[file] = shown
        root = xml.read(shown)
        if not root.children:
            include.fail(f'file is "{name}", which has no elements (expected at least one)')
        found = []
        for child in root.children:
            found += self.parts(child, depth + 1) if child.tag == "include" else [child]
        return found
