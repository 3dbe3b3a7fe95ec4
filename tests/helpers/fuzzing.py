"""Robot files that went wrong: sample files mutated, and what reading them may do."""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import random
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import mujoco
import numpy as np

import linkwise as lw

mujoco.set_mju_user_warning(lambda _: None)  # otherwise it writes its warnings to a file where the tests run
SAMPLES = {path.name: path.read_text() for path in sorted((Path(__file__).parents[1] / "data/robots").glob("sample.*"))}
SECONDS = 5.0  # that one file may take
STARTING = 120.0  # seconds until a process is ready, on a machine that is busy
MEMORY = 4 * 2**30
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])")
QUOTED = re.compile(r"\"[^\"\n]*\"")
WORD = re.compile(r"[A-Za-z_]\w*")
NUMBERS = (
    *("0", "-1", "-0.0", "1e-20", "-1e-20", "1e-320", "1e308", "1e999", "nan", "inf", "-inf", "abc", "1,5", "0x10"),
    *("1_000", "1e", "--1", "1.2.3", "٣", "1 2", "1 2 3 4 5 6 7", "9" * 400, "0." + "0" * 400 + "1"),
)
TEXTS = (
    *(
        "", " ", "true", "null", "None", "$(x)", "${y}", "\x00", "\ufeff", "é", "../x.xml", "/etc/passwd",
        "world", "base",
    ),
    *("&lt;", "&e;", "%", "[", "]", "{", "}"),
)  # fmt: skip
VALUES = NUMBERS + TEXTS


class HangError(Exception):
    """A file took too long."""


class CrashError(Exception):
    """A file has ended the process that read it."""


def mutated(text: str, rng: random.Random) -> bytes:
    """The text with a few changes, of which most leave it well formed."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 5))):
        text = rng.choice(CHANGES)(text, rng)
    content = text.encode("utf-8", "surrogatepass")
    return rng.choice(DAMAGES)(content, rng) if rng.random() < 0.1 else content


def other_number(text: str, rng: random.Random) -> str:
    return with_match_replaced(text, NUMBER, rng.choice(VALUES), rng)


def other_value(text: str, rng: random.Random) -> str:
    value = rng.choice([*VALUES, *(match[1:-1] for match in QUOTED.findall(text))])
    return with_match_replaced(text, QUOTED, f'"{value}"', rng)


def other_word(text: str, rng: random.Random) -> str:
    """Tags, attributes and keys that stand where they do not belong."""
    return with_match_replaced(text, WORD, rng.choice(WORD.findall(text) or ["x"]), rng)


def with_match_replaced(text: str, pattern: re.Pattern[str], value: str, rng: random.Random) -> str:
    matches = list(pattern.finditer(text))
    if not matches:
        return text + value
    match = rng.choice(matches)
    return text[: match.start()] + value + text[match.end() :]


def other_lines(text: str, rng: random.Random) -> str:
    """Lines left out, repeated, moved, or wrapped in each other."""
    lines = text.split("\n")
    start = rng.randrange(len(lines))
    end = min(len(lines), start + rng.choice((1, 1, 2, 5, 12)))
    block = lines[start:end]
    match rng.randrange(4):
        case 0:
            del lines[start:end]
        case 1:
            lines[start:start] = block * rng.choice((1, 1, 1, 60))
        case 2:
            del lines[start:end]
            at = rng.randrange(len(lines) + 1)
            lines[at:at] = block
        case 3:
            tag = rng.choice(("robot", "link", "body", "default", "x", "include", "frame"))
            lines[start:start] = [f"<{tag}>"] * rng.choice((1, 300))
    return "\n".join(lines)


CHANGES = (other_number, other_number, other_value, other_value, other_word, other_lines)


def cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def flipped(content: bytes, rng: random.Random) -> bytes:
    array = bytearray(content or b"x")
    array[rng.randrange(len(array))] ^= 1 << rng.randrange(8)
    return bytes(array)


def recoded(content: bytes, rng: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(
        rng.choice(("utf-16", "utf-16-be", "utf-32", "latin-1")), "replace"
    )


DAMAGES = (cut, flipped, recoded)


def options(rng: random.Random) -> dict[str, object]:
    return {
        "base": rng.choice((None, "fixed", "free")),
        "mimic": rng.choice(("coupled", "independent")),
        "unphysical": rng.choice(("refuse", "warn")),
    }


def read(content: bytes, name: str, chosen: dict[str, object]) -> bool:
    """Whether the file is read. It is, or `RobotError` says with its name what is wrong; anything else is a failure."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            arm = lw.load(path, **chosen)
        except lw.errors.RobotError as problem:
            if not str(problem).startswith(str(path)):
                raise AssertionError(f"the message does not begin with the file: {problem}") from problem
            return False
        check(arm)
    return True


def check(arm: lw.Robot) -> None:
    """The robot of a strange file is one all the same: its table is itself, its numbers are numbers."""
    again = lw.robot.from_table(arm.rows, arm.convention, arm.gravity, arm.name)
    assert again == arm
    assert all(type(x) is float for link in arm.links for x in (link.mass, *link.com, *link.inertia.upper))
    with np.errstate(all="ignore"):
        assert lw.poses(arm, lw.neutral(arm)).shape == (len(arm.names), 4, 4)


class Worker:
    """Calls a function in a process of its own, so that its crash or hang is a finding and not the end."""

    def __init__(self, function: Callable[..., object] | None = None) -> None:
        self.function = function or read
        self.process: multiprocessing.process.BaseProcess | None = None

    def __call__(self, *arguments: object) -> object:
        """What the function returns; an error there is raised here, with its traceback as the message."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(theirs, self.function), daemon=True)
            self.process.start()
            theirs.close()
            self.answer(STARTING)
        self.pipe.send(arguments)
        result, problem = self.answer(SECONDS)
        if problem:
            raise AssertionError(problem)
        return result

    def answer(self, seconds: float) -> tuple[object, str]:
        try:
            if self.pipe.poll(seconds):
                answer: tuple[object, str] = self.pipe.recv()
                return answer
            self.stop()
            raise HangError(f"a file took over {seconds:g} s")
        except (EOFError, OSError):
            code = self.stop()
            raise CrashError(f"the process ended with the exit status {code}") from None

    def stop(self) -> int | None:
        """End the process; the next file starts another one."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.join(1.0)
        process.kill()
        process.join()
        self.pipe.close()
        return process.exitcode


def serve(pipe: Connection, function: Callable[..., object]) -> None:
    """What the process of a `Worker` does."""
    limit_memory()
    pipe.send((None, ""))
    while True:
        try:
            arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((function(*arguments), ""))
        except BaseException:
            pipe.send((None, "".join(traceback.format_exc(limit=-6))))


def limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
