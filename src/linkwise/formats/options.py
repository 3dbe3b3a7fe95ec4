"""What may be asked of a reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import one_of
from ..robot.tables import REFUSE, WARN

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
