"""The jobs of a sweep: all that is needed to compute a chunk, in this process or another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..robot import Robot
from ..version import __version__
from .chunk_formats import Columns
from .family import FamilyMap
from .inputs import Inputs
from .robots import Vary
from .samples import Samples


@dataclass(frozen=True)
class Job:
    """A chunk to compute."""

    index: int
    first: int  # its first trajectory
    arm: Robot
    rows: Samples
    duration: float | None  # or in the rows
    keep: str
    options: dict[str, Any]
    vary: Vary | None
    family_map: FamilyMap | None  # of all robots of the sweep, where it is known
    version: str  # of the Linkwise that asks


@dataclass(frozen=True)
class Outcome:
    """The result of a job: columns, or the text of an error; and a message for the user, if any."""

    index: int
    columns: Columns = field(default_factory=dict)
    error: str = ""
    message: str = ""


def jobs(inputs: Inputs, chunks: Iterable[int]) -> Iterator[Job]:
    for k in chunks:
        first = k * inputs.chunk
        rows = {name: np.ascontiguousarray(a[first : first + inputs.chunk]) for name, a in inputs.samples.items()}
        settings = inputs.duration, inputs.keep, inputs.options, inputs.vary, inputs.family_map
        yield Job(k, first, inputs.arm, rows, *settings, __version__)
