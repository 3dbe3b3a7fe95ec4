"""What may be asked of a reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import FileError, one_of
from ..robot import Robot
from ..robot.rows import REFUSE, WARN

BASES = ("fixed", "free")
COUPLED, INDEPENDENT = "coupled", "independent"


@dataclass(frozen=True)
class Options:
    """See `load`."""

    base: str | Mapping[str, str] | None = None
    mimic: str = COUPLED
    unphysical: str = REFUSE
    ignore: tuple[str, ...] = ()

    @staticmethod
    def checked(base: str | Mapping[str, str] | None, mimic: str, unphysical: str, ignore: Iterable[str]) -> Options:
        for choice in base.values() if isinstance(base, Mapping) else [] if base is None else [base]:
            if choice == "floating":
                raise ValueError("base is 'floating', did you mean 'free'? (expected 'fixed' or 'free')")
            one_of(choice, BASES, "base")
        one_of(mimic, (COUPLED, INDEPENDENT), "mimic")
        one_of(unphysical, (REFUSE, WARN), "unphysical")
        if isinstance(ignore, str):
            raise TypeError(f"ignore is {ignore!r} (expected a list of names, such as [{ignore!r}])")
        return Options(dict(base) if isinstance(base, Mapping) else base, mimic, unphysical, tuple(ignore))


def with_base(robot: Robot, options: Options, path: str) -> Robot:
    """The robot on the base that is asked for, where the file says of itself whether it floats."""
    if isinstance(options.base, Mapping):
        raise FileError(f"{path}: base is a mapping, {dict(options.base)} (expected 'fixed' or 'free' for such a file)")
    if options.base == "free" and not robot.free_joints:
        return robot.with_free_base()
    return robot.with_fixed_base() if options.base == "fixed" and robot.free_joints else robot
