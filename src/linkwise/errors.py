"""The errors of the package. A message names the place, the value and what was expected."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:  # which exceptions hold
    from .identification.exciting_motions import Excitation
    from .recording import Recording
    from .sweeps.sweeping import Sweep

__all__ = [
    "CacheWarning",
    "CompileError",
    "CudaError",
    "CudaMemoryError",
    "EquilibriumError",
    "ExcitationInterrupted",
    "FileError",
    "RobotError",
    "RowError",
    "SimulationError",
    "SimulationInterrupted",
    "SingularError",
    "SweepInterrupted",
    "SweepWarning",
    "UntraceableFunctionError",
]


class ErrorWithFields(BaseException):
    """An exception with other arguments than its message, which is unpickled without calling `__init__`.

    An error that cannot be unpickled would end a pool of processes or leave it waiting.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_error, (type(self), self.args, self.__dict__)


def restore_error(kind: type[BaseException], args: tuple[Any, ...], fields: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def is_integer(value: object) -> TypeGuard[int]:
    """Whether it is an integer of Python or NumPy, not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[float]:
    """Whether it is a real number of Python or NumPy, not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def printable(text: str) -> str:
    """Escape the characters that control a terminal: control characters and marks of direction.

    Line breaks stay. Text of files is printed through this function.

    >>> print(printable("arm \\x1b]52;c;Y\\x07"))
    arm \\x1b]52;c;Y\\x07
    """
    if text.replace("\n", "").isprintable():
        return text
    from unicodedata import category  # late: only such texts need it

    kept = (c == "\n" or c.isprintable() or category(c) == "Zs" for c in text)  # Zs: spaces of all lengths
    return "".join(c if keep else c.encode("unicode_escape").decode() for c, keep in zip(text, kept, strict=True))


class RobotError(ValueError):
    """A robot's description is wrong. The message names the robot, the link and the entry."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


class RowError(RobotError):
    """A row of a table is wrong. From `row` (from 0) and `key` a file reader finds the line."""

    def __init__(self, message: str, row: int = 0, key: str | None = None) -> None:
        super().__init__(message)
        self.row, self.key = row, key


class FileError(RobotError):
    """A file of a robot, trajectory or recording is wrong. The message begins with the file and the line, if known."""


class SingularError(ValueError):
    """The inertia matrix is singular, and the message names the joint that nothing resists; or that of a frame is.

    `state` is the index of the state in a batch.
    """

    def __init__(self, message: str, reason: str = "", state: tuple[int, ...] = ()) -> None:
        super().__init__(f"{message}{f' in state {list(state)}' if state else ''}{reason}")
        self.message, self.reason, self.state = message, reason, state

    def in_state(self, state: tuple[int, ...]) -> SingularError:
        """The error of one state as that of a batch with this index."""
        return SingularError(self.message, self.reason, (*state, *self.state))


class EquilibriumError(ValueError):
    """No equilibrium was found. The message names the joint that is not in balance."""


class UntraceableFunctionError(TypeError):
    """A user's function cannot be traced into a program. The message says which, where and why."""


class SimulationError(ErrorWithFields, RuntimeError):
    """A trajectory could not be integrated to its end. `recording` holds the part until then."""

    def __init__(self, message: str, recording: Recording) -> None:
        super().__init__(message)
        self.recording = recording


class SimulationInterrupted(ErrorWithFields, KeyboardInterrupt):
    """Ctrl-C during a simulation. `recording` holds the part until then."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(f"interrupted: {recording!r} is kept as .recording of this exception")
        self.recording = recording


class ExcitationInterrupted(ErrorWithFields, KeyboardInterrupt):
    """Ctrl-C during a search. `excitation` is the best motion until then, within all limits."""

    def __init__(self, best: Excitation) -> None:
        super().__init__(f"interrupted: {best!r} is kept as .excitation of this exception")
        self.excitation = best


class SweepInterrupted(ErrorWithFields, KeyboardInterrupt):
    """Ctrl-C during a sweep. The finished chunks are in `sweep` and its folder."""

    def __init__(self, sweep: Sweep) -> None:
        again = f"without functions, lw.sweeps.open_sweep({sweep.folder!r}).resume()"
        super().__init__(f"interrupted: {sweep!r} is kept; the same call of lw.sweep resumes it, or, {again}")
        self.sweep = sweep


class SweepWarning(UserWarning):
    """A sweep has a problem. The message says which, and what was done about it."""


class CacheWarning(UserWarning):
    """A file or folder of the cache was not used. The message says which and why."""


class CompileError(RuntimeError):
    """LLVM refused generated assembly, which is a bug in Linkwise."""


class CudaError(RuntimeError):
    """The GPU or its driver failed or is missing. The message says why."""


class CudaMemoryError(CudaError, MemoryError):
    """The GPU has no memory left."""


MIN_PREFIX = 3  # letters of a word that may be the beginning of a name
SYNONYMS = {  # names in other packages and textbooks, in small letters, and the names here
    word: names.split()
    for word, names in {
        "gpu": "cuda",
        "rnea": "newton-euler inverse_dynamics torque",
        "aba": "articulated forward_dynamics",
        "crba": "composite inertia_matrix",
        "mass_matrix": "inertia_matrix",
        "forward_kinematics": "poses",
        "fkine": "poses",
        "fk": "poses",
        "id": "inverse_dynamics",
        "fd": "forward_dynamics",
        "com": "centre_of_mass",
        "mass": "total_mass",
        "excite": "excitation",
        "robots": "LIBRARY",
        "plot": "draw",
        "animate": "draw",
        "dopri5": "dormand54",
        "dopri": "dormand54",
        "weld": "fixed",
        "ode45": "dormand54",
        "rk45": "dormand54",
        "craig": "modified",
        "mdh": "modified",
        "khalil": "modified",
        "paul": "standard",
        "dh": "standard",
        "hinge": "revolute",
        "continuous": "revolute",
        "rotary": "revolute",
        "slide": "prismatic",
        "linear": "prismatic",
        "helical": "screw",
        "spherical": "ball",
        "floating": "free",
        "freeflyer": "free",
        "cardan": "universal",
        "world": "base",
        "joint": "frame",
        "local": "frame",
        "body": "frame",
        "--step": "--dt",
        "--timestep": "--dt",
        "--period": "--dt",
        "--frame": "--axes",
    }.items()
}


def near_miss(value: object, known: Iterable[str]) -> str:
    """', did you mean ...?' if one of the known values is close, otherwise ''."""
    import difflib  # late: only errors need it

    known, word = list(known), str(value)
    small = {name.lower(): name for name in known}
    close = [small[name] for name in (word.lower(), *SYNONYMS.get(word.lower(), ())) if name in small][:1]
    extended = [name for name in known if len(word) >= MIN_PREFIX and name.startswith(word)]
    close = close or (extended if len(extended) == 1 else []) or difflib.get_close_matches(word, known, n=1)
    close = close or [small[part] for part in word.lower().split("_") if len(part) >= MIN_PREFIX and part in small]
    return f", did you mean {close[0]!r}?" if close else ""


def one_of(value: object, known: Iterable[str], what: str, error: type[ValueError] = ValueError) -> None:
    """Raise an error that lists the known values and suggests the nearest, if the value is not one of them."""
    known = list(known)
    if value not in known:
        choices = ", ".join(map(repr, known))
        raise error(f"{what} is {value!r}{near_miss(value, known)} (expected one of {choices})")
