"""XML elements with line numbers, by expat, for the readers of URDF and MJCF.

Nothing is fetched, expanded or executed: a document type (DTD), entities, XInclude and processing instructions are
refused. Size, depth and number of elements are bounded. Every error is a `FileError` that begins with `path:line:`.
Numbers are finite and in decimal notation.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from ..errors import FileError, near_miss

BYTES = 16 * 2**20  # of a file
DEPTH = 250  # of elements in elements; below Python's own limit on recursion
ELEMENTS = 200_000
DIGITS = 400  # characters of a number: more than any double needs
LIKELY = 0.75  # similarity at which an attribute is suggested for a missing one: iyz is not izz
SHOWN = 60  # characters of a value in a message
HINTS = 100  # attributes compared with a missing one
SPACE = " \t\r\n"  # whitespace of XML
BLANKS = re.compile(r"[ \t\r\n]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
DECLARATION = re.compile(rb"""<\?xml[ \t\r\n][^>]{0,200}?encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']{0,40})["']""")
PROLOG = re.compile(r"(?:[ \t\r\n]+|<\?(?s:.*?)\?>|<!--(?s:.*?)-->)*+")
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
WITHOUT_MARK = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
ENCODINGS = {  # accepted declarations, and Python's names for them
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "latin-1",
    "latin-1": "latin-1", "latin1": "latin-1", "windows-1252": "cp1252", "cp1252": "cp1252",
}  # fmt: skip
XINCLUDE = "http://www.w3.org/2001/XInclude"
FOR_EDITORS = ("xml-model", "xml-stylesheet")  # instructions for editors and viewers, which are ignored
NOTHING: Any = object()  # the default of a required attribute


class Element:
    """An element of a file: attributes, children, parent and line."""

    __slots__ = ("attributes", "children", "line", "parent", "path", "tag", "text")

    def __init__(
        self, tag: str, attributes: dict[str, str], path: Path, line: int, parent: Element | None = None
    ) -> None:
        self.tag, self.attributes, self.path, self.line, self.parent = tag, attributes, path, line, parent
        self.children: list[Element] = []
        self.text = ""

    def __repr__(self) -> str:
        return f"<Element {self.label} of {self.path}:{self.line}>"

    @property
    def label(self) -> str:
        """The tag and the name, as in the file: <link name="arm">."""
        name = f' name="{shorten(self.attributes["name"])}"' if "name" in self.attributes else ""
        return f"<{shorten(self.tag)}{name}>"

    @property
    def place(self) -> str:
        """The label, and that of the nearest named ancestor if it has no name: <mass> of <link name="arm">."""
        owner = None if "name" in self.attributes else self.parent
        while owner is not None and "name" not in owner.attributes:
            owner = owner.parent
        return self.label if owner is None or owner.parent is None else f"{self.label} of {owner.label}"

    def find(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def only(self, tag: str) -> Element | None:
        """The child with this tag; an error if there are several."""
        matches = self.all(tag)
        if len(matches) > 1:
            matches[1].fail(f"is given twice in {self.label} (line {matches[0].line} has the first; expected one)")
        return matches[0] if matches else None

    def walk(self) -> Iterator[Element]:
        """Iterate over this element and its descendants, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def fail(self, message: str) -> NoReturn:
        raise FileError(f"{self.path}:{self.line}: {self.place}: {message}")

    def get(self, key: str, default: Any = NOTHING, expected: str = "text") -> Any:
        """An attribute as text; required if there is no default."""
        if key in self.attributes:
            return self.attributes[key]
        if default is NOTHING:
            close = difflib.get_close_matches(key, list(self.attributes)[:HINTS], n=1, cutoff=LIKELY)
            hint = f", {close[0]!r} is given" if close else ""
            self.fail(f"{key} is missing{hint} (expected {expected})")
        return default

    def number(self, key: str, default: Any = NOTHING) -> Any:
        """An attribute that is one number."""
        text = self.get(key, default, "a number")
        return self._float(key, text.strip(SPACE), "a number") if key in self.attributes else text

    def numbers(self, key: str, count: int | None = None, default: Any = NOTHING) -> Any:
        """An attribute that is `count` numbers, or any number of them."""
        expected = f"{count} numbers" if count is not None else "numbers"
        text = self.get(key, default, expected)
        if key not in self.attributes:
            return text
        words = BLANKS.split(text.strip(SPACE)) if text.strip(SPACE) else []
        if count is not None and len(words) != count:
            plural = "s" * (len(words) != 1)
            self.fail(f'{key} is "{shorten(text)}", {len(words)} number{plural} (expected {count})')
        return tuple(self._float(key, word, expected) for word in words)

    def word(self, key: str, allowed: Sequence[str], default: Any = NOTHING) -> Any:
        """An attribute that is one of several words."""
        known = ", ".join(allowed)
        word = self.get(key, default, f"one of {known}")
        if key in self.attributes and word not in allowed:
            self.fail(f'{key} is "{shorten(word)}"{near_miss(word, allowed)} (expected one of {known})')
        return word

    def _float(self, key: str, word: str, expected: str) -> float:
        if len(word) > DIGITS or not NUMBER.fullmatch(word):
            self.fail(f'{key} is "{shorten(self.attributes[key])}" (expected {expected})')
        value = float(word)
        if math.isinf(value):
            self.fail(f'{key} is "{shorten(word)}", which is too large (expected {expected}, below 1.8e308)')
        return value


def shorten(text: str) -> str:
    """Shorten and escape a value for a message."""
    line = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return line if line.isprintable() else line.encode("unicode_escape").decode("ascii")


def read(path: Path) -> Element:
    """The root element of a file."""
    try:
        with open(path, "rb") as file:
            content = file.read(BYTES + 1)
    except OSError as problem:
        raise FileError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    return parse(content, path)


def parse(content: bytes, path: Path) -> Element:
    """The root element of a file's content; errors name the path."""
    if len(content) > BYTES:
        raise FileError(f"{path}:1: is larger than {BYTES // 2**20} MiB (expected a robot's description)")
    text = decode(content, path)
    refuse_document_type(text, path)
    return Parser(path).parse(text)


def decode(content: bytes, path: Path) -> str:
    """The text of a file: UTF-8, UTF-16, or the encoding that it declares."""
    if not content.strip():
        raise FileError(f"{path}:1: is empty (expected XML)")
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), b"")
    encoding = BYTE_ORDER_MARKS[mark] if mark else WITHOUT_MARK.get(content[:2], "")
    if not encoding:
        declared = DECLARATION.match(content)
        name = declared[1].decode("latin-1") if declared else "utf-8"
        encoding = ENCODINGS.get(name.lower(), "")
        if not encoding:
            raise FileError(f'{path}:1: has the encoding "{shorten(name)}" (expected UTF-8: save it as such)')
    try:
        return content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start + len(mark)) + 1
        raise FileError(f"{path}:{line}: is not {encoding.upper()} text (expected XML, saved as UTF-8)") from None


def refuse_document_type(text: str, path: Path) -> None:
    """Refuse a document type, which alone can declare entities, before the text is parsed."""
    prolog = PROLOG.match(text)
    end = prolog.end() if prolog else 0
    if text.startswith("<!DOCTYPE", end):
        fail_at(path, text.count("\n", 0, end) + 1, "has a document type (DTD)")


def fail_at(path: Path, line: int, what: str) -> NoReturn:
    raise FileError(
        f"{path}:{line}: {what}, which is refused: a robot's file must be complete in itself, without entities and"
        " other files (expected plain XML)"
    )


class Parser:
    """Builds elements from expat's events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: Element | None = None
        self.open: list[Element] = []
        self.texts: list[list[str]] = []  # of each open element
        self.count = 0
        self.expat = expat.ParserCreate(encoding="utf-8")
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.CharacterDataHandler = self.characters
        self.expat.StartDoctypeDeclHandler = lambda *_: self.refuse("has a document type (DTD)")
        self.expat.EntityDeclHandler = lambda *_: self.refuse("declares an entity")
        self.expat.ProcessingInstructionHandler = self.instruction

    def parse(self, text: str) -> Element:
        try:
            self.expat.Parse(text.encode(), True)
        except expat.ExpatError as problem:
            reason = expat.ErrorString(problem.code)
            unclosed = f"; {self.open[-1].label} of line {self.open[-1].line} is open" if self.open else ""
            raise FileError(f"{self.path}:{problem.lineno}: is not XML: {reason}{unclosed}") from None
        except ValueError as problem:  # a declared encoding that expat does not know in a text that was decoded
            if isinstance(problem, FileError):
                raise
            raise FileError(f"{self.path}:1: is not XML: {problem}") from None
        assert self.root is not None  # expat has reported a file without a root
        return self.root

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self.open[-1] if self.open else None
        element = Element(tag, attributes, self.path, self.expat.CurrentLineNumber, parent)
        self.count += 1
        if self.count > ELEMENTS:
            element.fail(f"is one of more than {ELEMENTS} elements (expected a robot's description)")
        if len(self.open) >= DEPTH:
            element.fail(f"stands more than {DEPTH} elements deep")
        if XINCLUDE in attributes.values() or tag == "xi:include":
            self.refuse("uses XInclude")
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)
        self.texts.append([])

    def end(self, _: str) -> None:
        element, text = self.open.pop(), self.texts.pop()
        if text:
            element.text = "".join(text)

    def characters(self, text: str) -> None:
        if not text.isspace():
            self.texts[-1].append(text)

    def instruction(self, target: str, _: str) -> None:
        if target not in FOR_EDITORS:
            self.refuse(f"has the processing instruction <?{shorten(target)}?>")

    def refuse(self, what: str) -> NoReturn:
        fail_at(self.path, self.expat.CurrentLineNumber, what)
