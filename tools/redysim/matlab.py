"""Numbers out of MATLAB text: assignments of literals and their arithmetic, read as data. Nothing is executed.

    n = 3;  al = [0.3; 0.25; 0.22];  a = [0; al(1); al(2)];  Icxx = zeros(n, 1);  Icxx(1) = (1/12)*m(1)*0.01^2;

Understood: numbers, pi, names assigned before, their elements, matrices, + - * / ^ and .* ./ .^, ', parentheses,
zeros, ones, sqrt, sin, cos; a line `function [...] = name()`, its `end`, `save` (which is skipped), comments and `...`.
All else is refused with its line.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from linkwise.errors import FileError

MOST_BYTES = 300_000
MOST_ENTRIES = 10_000  # of a matrix
MOST_WORK = 20_000_000  # entries that are handled in all
DEEPEST = 40  # parentheses and brackets inside each other
TOKEN = re.compile(
    r"(?P<space>[ \t]*)(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?(?![A-Za-z_.\d]))|(?P<name>[A-Za-z]\w*)"
    r"|(?P<sign>\.\*|\./|\.\^|\.'|[-+*/^'()\[\],;=\n])|(?P<other>\S))",
    re.ASCII,
)
HEADER = re.compile(
    r"[ \t]*+function\b\s*+(?:(?:\[[\w\s,]*+\]|\w++)\s*+=)?\s*+\w++[ \t]*+(?:\(\s*+\))?[ \t]*+[;,]?", re.ASCII
)
PLAIN_HEADER = re.compile(r"[ \t]*+function\b[ \t]*+\w++[ \t]*+(?:\(\s*+\))?[ \t]*+[;,]?", re.ASCII)
SAVE = re.compile(r"[ \t]*+save[ \t]++[^=(\n]*+")
FUNCTIONS = {"sqrt": np.sqrt, "sin": np.sin, "cos": np.cos}
SIZES = {"zeros": np.zeros, "ones": np.ones}
LOADED = (
    "calls load: the numbers are in another file, which is not read (expected them in this text; ReDySim's"
    " script that writes that file, Create_matfile.m or matfiles.m, has them and can be read instead)"
)


class Token(NamedTuple):
    kind: str  # "number", "name", "sign", "other", or "end"
    text: str
    line: int
    spaced: bool  # whether blanks stand before it


class Variable(NamedTuple):
    value: np.ndarray  # two-dimensional
    line: int  # where it was assigned, or begun
    lines: dict[int, int]  # of elements that were assigned by themselves, counted from 1


def read(path: Path) -> dict[str, Variable]:
    """The variables of a file, with their lines."""
    content = path.read_bytes()
    if len(content) > MOST_BYTES:
        raise FileError(f"{path}:1: has {len(content)} bytes (expected at most {MOST_BYTES})")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # of comments; other letters are refused where they stand
    return Assignments(path, tokens(without_comments(text))).read()


def without_comments(text: str) -> str:
    """The same lines without comments; lines that end in `...` are joined, and the line breaks come after them."""
    lines, kept, block, owed = text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), [], 0, 0
    for line in lines:
        bare = line.strip()
        if bare in ("%{", "%}"):
            block += 1 if bare == "%{" else -1 if block else 0
            line = ""
        line = "" if block else line.partition("%")[0]
        before, dots, _ = line.partition("...")
        owed = owed + 1 if dots else owed
        kept.append(before + (" " if dots else "\n" * (1 + owed)))
        owed = owed if dots else 0
    return "".join(kept)


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    position, line = 0, 1
    while position < len(text):
        if not found or found[-1].text == "\n":
            command = SAVE.match(text, position)
            header = HEADER.match(text, position) or PLAIN_HEADER.match(text, position)
            if command:
                position = command.end()
                continue
            if header:
                found.append(Token("name", "function", line, False))
                line, position = line + header[0].count("\n"), header.end()
                continue
        match = TOKEN.match(text, position)
        if match is None:
            break  # blanks are left
        kind = match.lastgroup or ""
        found.append(Token(kind, match[kind], line, bool(match["space"])))
        line += match[kind] == "\n"
        position = match.end()
    return [*found, Token("end", "", line, False)]


def refuse(path: Path, line: int, message: str) -> NoReturn:
    raise FileError(f"{path}:{line}: {message}")


class Assignments:
    """One file: its tokens, and the variables so far."""

    def __init__(self, path: Path, found: list[Token]) -> None:
        self.path, self.tokens, self.position, self.depth, self.work = path, found, 0, 0, 0
        self.variables: dict[str, Variable] = {}

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def fail(self, message: str) -> NoReturn:
        refuse(self.path, self.token.line, message)

    def take(self, *texts: str) -> bool:
        if self.token.kind == "sign" and self.token.text in texts:
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            self.fail(f"has {self.shown()} (expected {text!r})")

    def shown(self) -> str:
        return "the end of the file" if self.token.kind == "end" else repr(self.token.text)

    def read(self) -> dict[str, Variable]:
        begun = ended = False
        while self.token.kind != "end":
            if self.take("\n", ";", ","):
                continue
            word = self.token.text
            if ended:
                self.fail(f"has {word!r} after the function's end (expected nothing more)")
            if self.token.kind != "name":
                self.fail(f"begins a statement with {word!r} (expected an assignment: a = ...)")
            if word == "function":
                if begun or self.variables:
                    self.fail("begins another function (expected one, that assigns numbers)")
                begun, self.position = True, self.position + 1
            elif word in ("end", "return"):
                ended, self.position = True, self.position + 1
            else:
                self.assignment()
        return self.variables

    def assignment(self) -> None:
        name, line = self.token.text, self.token.line
        if name in ("for", "while", "if", "switch", "try", "parfor"):
            self.fail(f"has {name!r}: only assignments are read, nothing is executed (expected the numbers themselves)")
        self.position += 1
        indices: list[int] | None = None
        if self.take("("):
            indices = self.indices()
        if not self.take("="):
            self.position -= 1
            self.fail(f"has a statement that is not an assignment, at {name!r} (expected {name} = ...)")
        value = self.sum(matrix=False)
        if self.token.kind != "end" and self.token.text not in ("\n", ";", ","):
            self.fail(f"has {self.shown()} after the value of {name} (expected ; or the end of the line)")
        self.work += value.size
        if self.work > MOST_WORK:
            refuse(self.path, line, f"has more than {MOST_WORK} numbers in all")
        if not np.isfinite(value).all():
            refuse(self.path, line, f"{name} is not finite (expected numbers)")
        if indices is None:
            self.variables[name] = Variable(value.copy(), line, {})
        else:
            self.assign_element(name, indices, value, line)

    def assign_element(self, name: str, indices: list[int], value: np.ndarray, line: int) -> None:
        """a(3) = 1, with zeros for what was not there."""
        if value.size != 1:
            refuse(self.path, line, f"an element of {name} is a matrix (expected a number)")
        variable = self.variables.get(name) or Variable(np.zeros((0, 0)), line, {})
        old, lines = variable.value, variable.lines
        rows, columns = old.shape
        if len(indices) == 1:
            upright = columns == 1 and rows > 1
            i, j = (indices[0], 1) if upright else (1, indices[0])
            if rows > 1 and columns > 1:
                i, j = (indices[0] - 1) % rows + 1, (indices[0] - 1) // rows + 1
        else:
            i, j = indices
        if max(i, rows) * max(j, columns) > MOST_ENTRIES:
            refuse(self.path, line, f"{name} would have {max(i, rows) * max(j, columns)} entries")
        new = old
        if i > rows or j > columns:
            new = np.zeros((max(i, rows), max(j, columns)))
            new[:rows, :columns] = old
            self.work += new.size
        new[i - 1, j - 1] = value.item()
        lines[indices[0] if len(indices) == 1 else i if new.shape[1] == 1 else j] = line
        self.variables[name] = Variable(new, variable.line, lines)

    def indices(self) -> list[int]:
        """Whole numbers, up to the closing parenthesis."""
        found = []
        while True:
            value = self.sum(matrix=False)
            if value.size != 1 or not 1 <= value.item() <= MOST_ENTRIES or value.item() != int(value.item()):
                self.fail("has an index that is not a whole number from 1 on")
            found.append(int(value.item()))
            if not self.take(","):
                break
        self.expect(")")
        if len(found) > 2:
            self.fail("has three indices (expected one or two)")
        return found

    def sum(self, matrix: bool) -> np.ndarray:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"has over {DEEPEST} parentheses inside each other")
        value = self.product(matrix)
        while self.token.text in ("+", "-") and self.token.kind == "sign" and not (matrix and self.begins_element()):
            sign = self.step()
            other = self.product(matrix)
            value = self.elementwise(np.add if sign == "+" else np.subtract, value, other)
        self.depth -= 1
        return value

    def step(self) -> str:
        """The token, and on to the next."""
        self.position += 1
        return self.tokens[self.position - 1].text

    def begins_element(self) -> bool:
        """In brackets a sign with a blank before it and none after it begins another element: [1 -2]."""
        return self.token.spaced and not self.tokens[self.position + 1].spaced

    def product(self, matrix: bool) -> np.ndarray:
        value = self.signed(matrix)
        while self.token.kind == "sign" and self.token.text in ("*", "/", ".*", "./"):
            sign = self.step()
            other = self.signed(matrix)
            single = value.size == 1 or other.size == 1
            if sign == "*" and not single:
                if value.shape[1] != other.shape[0]:
                    self.fail(f"multiplies matrices of the sizes {value.shape} and {other.shape}")
                with np.errstate(all="ignore"):
                    value = value @ other
            elif sign == "/" and other.size != 1:
                self.fail("divides by a matrix (expected a number)")
            else:
                value = self.elementwise(np.multiply if "*" in sign else np.divide, value, other)
        return value

    def signed(self, matrix: bool) -> np.ndarray:
        minus = False
        while self.token.kind == "sign" and self.token.text in ("+", "-"):
            minus ^= self.token.text == "-"
            self.step()
        value = self.power(matrix)
        return -value if minus else value

    def power(self, matrix: bool) -> np.ndarray:
        value = self.transposed(matrix)
        while self.token.kind == "sign" and self.token.text in ("^", ".^"):
            sign, minus = self.step(), False
            while self.token.kind == "sign" and self.token.text in ("+", "-"):
                minus ^= self.token.text == "-"
                self.step()
            other = self.transposed(matrix)
            if sign == "^" and (value.size != 1 or other.size != 1):
                self.fail("raises a matrix to a power (expected numbers)")
            value = self.elementwise(np.power, value, -other if minus else other)
        return value

    def elementwise(self, function: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.shape != b.shape and a.size != 1 and b.size != 1:
            self.fail(f"combines matrices of the sizes {a.shape} and {b.shape}")
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b))

    def transposed(self, matrix: bool) -> np.ndarray:
        value = self.operand()
        while self.token.kind == "sign" and self.token.text in ("'", ".'") and not (matrix and self.token.spaced):
            self.step()
            value = value.T
        return value

    def operand(self) -> np.ndarray:
        token = self.token
        if token.kind == "number":
            self.step()
            return np.array([[float(token.text.lower().replace("d", "e"))]])
        if token.kind == "name":
            return self.named()
        if self.take("("):
            value = self.sum(matrix=False)
            self.expect(")")
            return value
        if self.take("["):
            return self.brackets()
        if token.text == "'":
            return self.fail("has a text in quotes (expected a number)")
        return self.fail(f"has {self.shown()} (expected a number, a name or a parenthesis)")

    def named(self) -> np.ndarray:
        name = self.token.text
        self.step()
        if name in self.variables:
            value = self.variables[name].value
            if self.take("("):
                return self.element(name, value)
            self.work += value.size
            if self.work > MOST_WORK:
                self.fail(f"has more than {MOST_WORK} numbers in all")
            return value
        if name == "pi":
            return np.array([[math.pi]])
        if name in (*FUNCTIONS, *SIZES) and self.take("("):
            if name in SIZES:
                shape = self.indices()
                rows, columns = shape * 2 if len(shape) == 1 else shape
                if rows * columns > MOST_ENTRIES:
                    self.fail(f"makes a matrix of {rows * columns} entries (expected at most {MOST_ENTRIES})")
                return SIZES[name]((rows, columns))
            value = self.sum(matrix=False)
            self.expect(")")
            with np.errstate(all="ignore"):
                return np.asarray(FUNCTIONS[name](value))
        self.position -= 1
        if name == "load":
            return self.fail(LOADED)
        known = "zeros, ones, sqrt, sin, cos, pi"
        return self.fail(f"uses {name!r}, which no line before assigns (expected such a name, or one of {known})")

    def element(self, name: str, value: np.ndarray) -> np.ndarray:
        indices = self.indices()
        rows, columns = value.shape
        if len(indices) == 1:
            if indices[0] > value.size:
                self.fail(f"asks for {name}({indices[0]}), and {name} has {value.size} entries")
            j, i = divmod(indices[0] - 1, rows)
            return value[i : i + 1, j : j + 1].copy()
        i, j = indices
        if i > rows or j > columns:
            self.fail(f"asks for {name}({i},{j}), and {name} has {rows} rows and {columns} columns")
        return value[i - 1 : i, j - 1 : j].copy()

    def brackets(self) -> np.ndarray:
        rows: list[list[np.ndarray]] = [[]]
        while not self.take("]"):
            if self.take(";", "\n"):
                rows.append([])
            elif self.take(","):
                continue
            elif self.token.kind == "end":
                self.fail("ends inside of [ ... (expected ])")
            else:
                rows[-1].append(self.sum(matrix=True))
        try:
            lines = [np.hstack(row) for row in rows if row]
            value = np.vstack(lines) if lines else np.zeros((0, 0))
        except ValueError:
            self.fail("has a matrix whose rows or columns are not of equal length")
        if value.size > MOST_ENTRIES:
            self.fail(f"has a matrix of {value.size} entries (expected at most {MOST_ENTRIES})")
        return value
