"""The arguments of `sweep`, checked before anything is written; and the jobs that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import SingularError, near_miss, one_of
from ..robot import Robot
from ..simulate.parameters import among, parameters_of
from ..simulate.simulation import checked, sample_times, simulate
from ..trace import refuse_symbols
from ..version import __version__
from .files import KINDS, Folder, has_parquet
from .formats import digest
from .plan import Inputs, differing, usual_options
from .robots import Vary
from .samples import KNOWN, Samples, checked_samples, parameters, varied
from .work import Job, kept_times

ACTING = {"torque", "wrench"}
KEEP = ("samples", "ends")


def checked_inputs(
    arm: Robot, samples: Mapping[str, Any], duration: Any, chunk: Any, keep: str, vary: Vary | None, options: Any
) -> Inputs:
    if not isinstance(arm, Robot):
        raise TypeError(f"the first argument is {arm!r} (expected a Robot)")
    refuse_symbols(arm)
    if arm.non_floats:
        raise TypeError(f"robot {arm.name!r} has numbers such as {arm.non_floats[0]!r} (expected floats)")
    if isinstance(chunk, bool) or not isinstance(chunk, (int, np.integer)) or chunk < 1:
        raise ValueError(f"chunk is {chunk!r} (expected a whole number of trajectories, at least 1)")
    one_of(keep, KEEP, "keep")
    if vary is not None and not callable(vary):
        raise TypeError(f"vary is {vary!r} (expected a function of a robot and a row, which gives a robot)")
    usual = usual_options()
    for name in options:
        if name not in usual:
            raise TypeError(f"{name} is no option of a sweep or of simulate{near_miss(name, usual)}")
    own = own_parameters(options.get("torque"), samples)
    arrays = checked_samples(arm, samples, vary is not None, own)
    if any(name != "gravity" for name in parameters(arrays, arm)) and varied(arm, {}) != arm:
        raise ValueError(f"robot {arm.name!r} was changed after it was made from its table (expected vary=... then)")
    every = {**usual, **options}
    for name, axes in (("torque", 1), ("wrench", 2)):
        given = every[name]
        if given is None:
            continue
        if name in arrays:
            raise ValueError(f"{name} is given twice: among the samples, and for all of them")
        if not callable(given) and np.ndim(given) > axes:
            raise ValueError(f"{name} has shape {np.shape(given)} (expected one for all; others belong in the samples)")
        if name == "wrench" and np.ndim(given) == 2:
            every[name] = np.asarray(given)[None]  # on every link, not a batch of them
    if ("duration" in arrays) == (duration is not None):
        said = "twice: among the samples, and for all of them" if duration is not None else "nowhere"
        raise ValueError(f"duration is given {said} (expected duration=..., or a sample of that name)")
    end = None if duration is None else checked(duration=duration)["duration"]
    return Inputs(arm, arrays, end, int(chunk), keep, every, vary)


def own_parameters(torque: Any, samples: Any) -> dict[str, bool]:
    """The parameters of the torque function, each of which a sample may have the name of."""
    found = parameters_of(torque)
    for name, needed in found.items():
        if name in KNOWN and (needed or name in samples):
            raise ValueError(
                f"the torque function has a parameter {name!r}, which is the name of a sample of its own"
                " (expected another name)"
            )
        if needed and name not in samples:
            raise ValueError(
                f"the torque function has a parameter {name!r} (expected a sample of that name, or a default)"
            )
    return found


def checked_files(files: str | None, before: Mapping[str, Any] | None) -> str:
    """The kind of the chunks' files: as asked for, as before, as possible."""
    if files is None:
        return str(before["files"]) if before else KINDS[not has_parquet()]
    one_of(files, KINDS, "files")
    return files


def try_out(inputs: Inputs) -> None:
    """Simulate a moment at rest: what `simulate` has to say about its options, it says now."""
    longest = float(inputs.samples["duration"].max()) if inputs.duration is None else inputs.duration
    longest = longest if longest > 0 else 1.0  # none is: each row says so
    if np.ndim(inputs.options["samples"]):
        sample_times(inputs.options["samples"], longest)
    kept_times("samples", inputs.options, longest)
    own = among(inputs.options["torque"], inputs.samples)
    finite = {name: np.where(np.isfinite(array[:1]), array[:1], 0.0) for name, array in own.items()}
    still: dict[str, Any] = {
        name: np.zeros((1, *inputs.samples[name].shape[1:])) for name in ACTING & {*inputs.samples}
    }
    options = {**inputs.options, **still, "samples": 2, "progress": False, "parameters": finite}
    rest = np.zeros((1, inputs.arm.n))
    try:
        simulate(inputs.arm, rest, rest, 1e-6 * longest, **options)
    except SingularError:  # the robots of the samples may be others
        return


def samples_in(place: Folder, plan: Mapping[str, Any]) -> Samples:
    """The samples of a folder; ValueError, with the reason, where they are not those of the plan."""
    try:
        samples = place.samples()
    except FileNotFoundError:
        raise ValueError("is missing") from None
    except OSError:
        raise
    except Exception as problem:  # readers have many ways to say that a file is not theirs
        raise ValueError(f"cannot be read ({problem})") from None
    hashes = {name: entry["sha256"] for name, entry in plan["samples"].items()}
    if {name: digest({name: array}) for name, array in samples.items()} != hashes:
        raise ValueError("is damaged")
    return samples


def jobs(inputs: Inputs, waiting: Iterable[int]) -> Iterator[Job]:
    differ = differing(inputs)
    for k in waiting:
        first = k * inputs.chunk
        rows = {name: np.ascontiguousarray(a[first : first + inputs.chunk]) for name, a in inputs.samples.items()}
        settings = inputs.duration, inputs.keep, inputs.options, inputs.vary
        yield Job(k, first, inputs.arm, rows, *settings, differ, __version__)
