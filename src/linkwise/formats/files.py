"""`load` and `save`: readers and writers by the ending of a file, and the library of robots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args

from ..errors import FileError, near_miss, one_of
from ..files import atomic_write
from ..robot import Robot, require_robot, toml

Base = Literal["fixed", "free"]
Mimic = Literal["coupled", "independent"]
Unphysical = Literal["refuse", "warn"]
UrdfRotors = Literal["refuse", "transmission", "drop"]  # what may become of rotor inertias in a .urdf
BASES, ROTORS = get_args(Base), get_args(UrdfRotors)
COUPLED: Mimic = "coupled"
FOLDER = Path(__file__).parent / "library"
HINTS = {
    ".m": "; ReDySim's become tables by python tools/redysim inputs.m inputs.toml, in the source of Linkwise",
    ".xacro": "; run xacro on it first, and save its output as .urdf",
}
LIBRARY = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@dataclass(frozen=True)
class Options:
    """Options of a reader; see `load`."""

    base: Base | Mapping[str, Base] | None = None
    mimic: Mimic = COUPLED
    unphysical: Unphysical = "refuse"
    ignore: tuple[str, ...] = ()

    @staticmethod
    def of(
        base: Base | Mapping[str, Base] | None, mimic: Mimic, unphysical: Unphysical, ignore: Iterable[str]
    ) -> Options:
        choices: list[str] = list(base.values()) if isinstance(base, Mapping) else [] if base is None else [base]
        for choice in choices:
            if choice == "floating":
                raise ValueError("base is 'floating', did you mean 'free'? (expected 'fixed' or 'free')")
            one_of(choice, BASES, "base")
        one_of(mimic, get_args(Mimic), "mimic")
        one_of(unphysical, get_args(Unphysical), "unphysical")
        if isinstance(ignore, str):
            raise TypeError(f"ignore is {ignore!r} (expected a list of names, such as [{ignore!r}])")
        return Options(dict(base) if isinstance(base, Mapping) else base, mimic, unphysical, tuple(ignore))

    def refuse(self, path: Path, *names: str) -> None:
        """Raise if one of these options is given: files of this format have nothing like it."""
        for name in names:
            if (value := getattr(self, name)) != getattr(Options(), name):
                raise FileError(f"{path}: {name} is {value!r} (expected none: it has no meaning for such a file)")


def read_toml(path: Path, options: Options) -> Robot:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise FileError(f"{path}:{line}: is not UTF-8 text") from None
    options.refuse(path, "ignore")
    robot = toml.from_text(text, path, unphysical=options.unphysical, coupled=options.mimic == COUPLED)
    return with_base(robot, options, str(path))


def with_base(robot: Robot, options: Options, path: str) -> Robot:
    """Put the robot on the requested base; for formats that say themselves whether the robot floats."""
    if isinstance(options.base, Mapping):
        raise FileError(f"{path}: base is a mapping, {dict(options.base)} (expected 'fixed' or 'free' for such a file)")
    if options.base == "free" and not robot.free_joints:
        return robot.with_free_base()
    return robot.with_fixed_base() if options.base == "fixed" and robot.free_joints else robot


def reader(module: str) -> Callable[[Path, Options], Robot]:
    """Return `read` of a module, which is imported when a file needs it."""

    def read(path: Path, options: Options) -> Robot:
        robot: Robot = import_module(f".{module}", __package__).read(path, options)
        return robot

    return read


def write_toml(robot: Robot, path: Path, rotors: UrdfRotors) -> None:
    if rotors != "refuse":
        raise ValueError(f"urdf_rotors belongs to a .urdf (expected none for {path}, which holds rotor inertias)")
    with atomic_write(path) as file:
        file.write(toml.to_text(robot).encode())


def write_urdf(robot: Robot, path: Path, rotors: UrdfRotors) -> None:
    import_module(".urdf.writer", __package__).write(robot, path, rotors)  # imported when a file needs it


READERS: dict[str, Callable[[Path, Options], Robot]] = {
    ".toml": read_toml,
    ".urdf": reader("urdf"),
    ".xml": reader("mjcf"),
    ".mjcf": reader("mjcf"),
}
WRITERS: dict[str, Callable[[Robot, Path, UrdfRotors], None]] = {".toml": write_toml, ".urdf": write_urdf}


def load(
    name_or_path: str | os.PathLike[str],
    *,
    base: Base | Mapping[str, Base] | None = None,
    mimic: Mimic = "coupled",
    unphysical: Unphysical = "refuse",
    ignore: Iterable[str] = (),
) -> Robot:
    """Load a robot of the library by its name, or from a file by its path.

    Parameters
    ----------
    name_or_path : str or path
        A name of `lw.LIBRARY`, or a .toml, .urdf, .xml or .mjcf file.
    base : {"fixed", "free"} or mapping, optional
        How the robot stands; by default as in the file. For a file with several roots,
        a mapping from their names to "fixed" or "free".
    mimic : {"coupled", "independent"}
        "independent" gives coordinates of their own to joints that the file couples to others.
    unphysical : {"refuse", "warn"}
        "warn" uses inertias that are not physically consistent as they are, with a warning.
    ignore : iterable of str
        Parts of the file to leave out although they change the dynamics. The error about such
        a part gives its name.

    Returns
    -------
    Robot

    Raises
    ------
    linkwise.errors.FileError
        With file, line and link or joint, if the file cannot be represented as a robot.

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.load("stanford").joints
    'RRPRRR'
    >>> "panda" in lw.LIBRARY
    True
    """
    text, options = os.fspath(name_or_path), Options.of(base, mimic, unphysical, ignore)
    if text in LIBRARY:
        return read_toml(FOLDER / f"{text}.toml", options)
    path = Path(text)
    known = ", ".join(LIBRARY)
    if not text:
        raise FileError(f"the name of the robot is empty (expected a name of the library, {known}, or a file)")
    try:
        exists = path.exists()
    except (OSError, ValueError) as problem:
        refuse_text(text)
        raise FileError(f"{text[:200]!r}: is not a path ({problem})") from None
    if not exists:
        refuse_text(text)
    if not path.suffix and not exists:
        close = near_miss(text, LIBRARY)
        raise FileError(f"{text!r} is not a robot of the library{close} ({known}), and no file of that name exists")
    if path.is_dir():
        raise FileError(f"{path}: is a directory (expected a file: {', '.join(READERS)})")
    if path.suffix.lower() not in READERS:
        hint = HINTS.get(path.suffix.lower(), "")
        raise FileError(
            f"{path}: cannot read {path.suffix or 'files without an ending'} (expected {', '.join(READERS)}{hint})"
        )
    if not path.is_file():
        raise FileError(f"{path}: no such file (lw.LIBRARY lists the robots that come by name)")
    return READERS[path.suffix.lower()](path, options)


def refuse_text(text: str) -> None:
    """Raise if the text is the content of a file, not its path."""
    if "\n" in text or "<" in text:
        raise FileError(f"{text[:40]!r}... is not a path: is it the text of a file? (expected its path)")


def save(robot: Robot, path: str | os.PathLike[str], *, urdf_rotors: UrdfRotors = "refuse") -> None:
    """Write a robot to a file.

    A .toml file is read back exactly by `lw.load`. A .urdf file is for other programs: before it is
    written, it is read back and compared with the robot on random states.

    Parameters
    ----------
    robot : Robot
    path : str or path
        Where to write; the ending is .toml or .urdf.
    urdf_rotors : {"refuse", "transmission", "drop"}
        What becomes of rotor inertias in a .urdf. "transmission" writes them where Drake and `lw.load`
        read them, and Pinocchio, MuJoCo and ROS do not; "drop" leaves them out. A comment in the file
        says so in both cases.

    Raises
    ------
    linkwise.errors.FileError
        If the format cannot express the robot; the error names the link (docs/files.md).
    """
    require_robot(robot, role=", then the file to write it to")
    target = Path(path)
    if target.suffix.lower() not in WRITERS:
        raise FileError(
            f"{target}: cannot write {target.suffix or 'files without an ending'} (expected {', '.join(WRITERS)})"
        )
    one_of(urdf_rotors, ROTORS, "urdf_rotors")
    WRITERS[target.suffix.lower()](robot, target, urdf_rotors)
