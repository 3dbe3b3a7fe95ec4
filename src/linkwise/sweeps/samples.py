"""The samples of a sweep, arrays by name with a row for each trajectory: full products, random draws, checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..api.states import as_array
from ..errors import is_integer, near_miss
from ..robot import Robot, from_table
from ..robot.configurations import neutral
from ..robot.kinds import joint_numbers
from ..robot.named_arrays import PerTrajectory, refuse_labels
from ..robot.tables import CONVENTIONS, DRIVE_NUMBERS
from ..simulation.parameters import unmark

STATE = ("q0", "qd0", "torque")  # one number for each joint; of q0, nq numbers
VECTORS = {"com": (3,), "inertia": (3, 3), "translation": (3,), "rotation": (3, 3), "axis": (3,), "anchor": (3,)}
BODY = ("mass", "com", "inertia", *DRIVE_NUMBERS)  # numbers of every row
KNOWN = (*STATE, "wrench", "gravity", "duration")  # names that parameters and `vary` cannot have
Samples = dict[str, np.ndarray]  # with one row for each trajectory


def grid(**values: Any) -> dict[str, Any]:
    """Make samples for `lw.sweep`: every combination of the given values; those of the last name vary fastest.

    Parameters
    ----------
    **values : float or sequence
        A number for one value, a list for several. q0, qd0, torque, wrench and gravity, and vectors and tensors of
        links, have a number or a list for each component.

    Returns
    -------
    dict from str to ndarray or PerTrajectory
        Arrays with a row for each combination.

    Examples
    --------
    >>> import linkwise as lw
    >>> lw.sweeps.grid(**{"link1.mass": [1, 2]}, q0=[0, [0.1, 0.2, 0.3]])["q0"].tolist()
    [[0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [0.0, 0.1], [0.0, 0.2], [0.0, 0.3]]
    """
    parts = {name: components(value, rank(name), name) for name, value in values.items()}
    axes = [axis for shape, lists in parts.values() for axis in lists]
    count = int(np.prod([len(axis) for axis in axes], dtype=int))
    columns, inner = [], count
    for axis in axes:
        inner //= len(axis)
        columns.append(np.tile(np.repeat(axis, inner), count // (inner * len(axis))))
    samples, start = {}, 0
    for name, (shape, lists) in parts.items():
        samples[name] = mark_rows(name, np.stack(columns[start : start + len(lists)], axis=-1).reshape(count, *shape))
        start += len(lists)
    return samples


def components(value: Any, axes: int, name: str) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The shape of one sample, and the values of each component."""
    if axes == 0:
        values = np.atleast_1d(as_array(np, value, name, None)).astype(float)
        if values.ndim != 1 or not len(values):
            raise ValueError(
                f"{name} has values of shape {values.shape} (expected a number or a list of numbers for each component;"
                " matrices, one for each sample, are lw.per_trajectory(array))"
            )
        return (), [values]
    refuse_labels(name, value)
    if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)) or not len(value):
        raise ValueError(f"{name} has {value!r} (expected a number or a list of numbers for each component)")
    inner = [components(part, axes - 1, f"{name}[{k}]") for k, part in enumerate(value)]
    if len({shape for shape, _ in inner}) != 1:
        raise ValueError(f"{name} has rows of different lengths")
    return (len(inner), *inner[0][0]), [axis for _, lists in inner for axis in lists]


def monte_carlo(count: int, seed: int, /, **bounds: Any) -> dict[str, Any]:
    """Draw samples for `lw.sweep`.

    They depend on the seed and the name alone: more samples continue the same sequence, and other names change nothing.

    Parameters
    ----------
    count : int
        Number of samples.
    seed : int
    **bounds : pair (low, high), or callable
        Bounds of uniform draws, numbers or arrays with the shape of one sample; or a function of (rng, count) that
        returns an array with `count` rows.

    Returns
    -------
    dict from str to ndarray or PerTrajectory
        Arrays with `count` rows.

    Examples
    --------
    >>> import linkwise as lw
    >>> few, many = (lw.sweeps.monte_carlo(count, 7, q0=([-1, -1], [1, 1])) for count in (3, 1000))
    >>> many["q0"].shape, bool((few["q0"] == many["q0"][:3]).all())
    ((1000, 2), True)
    """
    if not is_integer(count) or count < 1:
        raise ValueError(f"count is {count!r} (expected a whole number of samples, at least 1)")
    samples = {}
    for name, bound in bounds.items():
        rng = np.random.default_rng([seed, *name.encode()])
        if callable(bound):
            samples[name] = mark_rows(name, as_array(np, bound(rng, count), name, None))
            continue
        if isinstance(bound, str) or not isinstance(bound, (Sequence, np.ndarray)) or len(bound) != 2:
            raise ValueError(f"{name} is {bound!r} (expected (low, high), or a function of (rng, count))")
        low, high = np.broadcast_arrays(*(as_array(np, limit, name, None) for limit in bound))
        ranks = known_ranks(name)
        if ranks and low.ndim not in ranks:
            expected = "numbers" if ranks == (0,) else "one number for each component"
            raise ValueError(f"{name} has bounds of shape {low.shape} (expected {expected})")
        samples[name] = mark_rows(name, low + (high - low) * rng.random((count, *low.shape)))
    return samples


def mark_rows(name: str, array: np.ndarray) -> Any:
    """Mark rows of samples by `PerTrajectory`; states, loads, gravity and durations need no mark."""
    return array if name in KNOWN or name.partition(".")[0] in STATE else PerTrajectory(array)


def rank(name: str) -> int:
    """The number of axes of one sample: 0 for a number and for unknown names."""
    if name in (*STATE, "wrench", "gravity"):
        return 1
    if name.partition(".")[0] in STATE:
        return 0
    return len(VECTORS.get(name.rpartition(".")[2], ())) if "." in name else 0


def known_ranks(name: str) -> tuple[int, ...]:
    """The numbers of axes that a sample may have; () for parameters and names of `vary`, which may have any."""
    if name in KNOWN:
        return (rank(name),)
    word, dot, _ = name.partition(".")
    if dot and word in STATE:  # a joint of one number, or of several
        return (0, 1)
    return (rank(name),) if dot and name.rpartition(".")[2] in table_keys() else ()


def check_samples(robot: Robot, samples: Mapping[str, Any], parameters: Collection[str], any_name: bool) -> Samples:
    """All samples as arrays of float64 with a row for each trajectory.

    Names may also be those of parameters of the torque function and, with `any_name`, any others for `vary`. Their
    arrays are for all trajectories, unless they are marked by `lw.per_trajectory`.
    """
    if not isinstance(samples, Mapping):
        raise TypeError(
            f"the samples are {type(samples).__name__} (expected a mapping of names such as 'q0' to arrays)"
        )
    if "robot" in samples:
        raise ValueError("the samples have a name 'robot', which is an argument of lw.sweep (expected another name)")
    arrays: Samples = {}
    for name, value in {"qd0": np.zeros(robot.n), **samples}.items():
        array = as_array(np, unmark(value), name, None)
        if array.dtype.kind != "f":
            raise TypeError(f"{name} holds {array.flat[0]!r} (expected plain numbers)")
        arrays[name] = array.astype(float)
    marked = {name for name, value in samples.items() if isinstance(value, PerTrajectory)}
    for name in marked:
        if not arrays[name].ndim:
            raise ValueError(f"{name} is marked lw.per_trajectory, and is one number (expected an array with rows)")
    arrays = join_parts(robot, arrays, marked)
    if "q0" not in arrays:
        names = ", ".join(samples) or "nothing"
        raise ValueError(f"the samples have no q0 (they have {names}; expected also q0=..., such as lw.neutral(robot))")
    shapes = {
        name: sample_shape(robot, name, array, name in marked, parameters, any_name) for name, array in arrays.items()
    }
    counts = {name: array.shape[0] for name, array in arrays.items() if array.ndim == len(shapes[name]) + 1}
    if not counts:
        raise ValueError(
            f"the samples {', '.join(arrays)} are for all trajectories (expected at least one array with a row for each"
            " trajectory, so that their number is known)"
        )
    if len(set(counts.values())) != 1:
        rows = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ValueError(f"the samples do not fit together: {rows} (expected the same number of rows)")
    count = next(iter(counts.values()))
    if count == 0:
        raise ValueError("there are no samples (expected at least one row)")
    return {name: np.broadcast_to(array, (count, *shapes[name])) for name, array in arrays.items()}


def join_parts(robot: Robot, arrays: Samples, marked: Collection[str]) -> Samples:
    """Put samples of parts of q0, qd0 or torque, such as qd0.base.wx or q0.link2, into these arrays.

    Missing parts come from the full array if there is one, otherwise from rest in the neutral configuration.
    """
    parts = [name for name in arrays if is_part(robot, name)]
    joined = {name: array for name, array in arrays.items() if name not in parts}
    for name in parts:
        word, _, label = name.partition(".")
        place, array = part_of(robot, word, label), arrays[name]
        size = place.stop - place.start
        if size == 1 and array.ndim < 2:
            array = array[..., None]  # a number for each row needs no brackets
        if array.shape[-1:] != (size,) or array.ndim > 2 or (name in marked and array.ndim < 2):
            raise ValueError(f"{name} has shape {array.shape} (expected (count, {size}), or ({size},) for all)")
        full = joined.get(word, neutral(robot) if word == "q0" else np.zeros(robot.n))
        if array.ndim == full.ndim == 2 and len(array) != len(full):
            raise ValueError(f"the samples do not fit together: {name} {len(array)}, others {len(full)} rows")
        rows = np.broadcast_shapes(full.shape[:-1], array.shape[:-1])
        joined[word] = np.array(np.broadcast_to(full, (*rows, full.shape[-1])))
        joined[word][..., place] = array
    if parts:
        joined.setdefault("q0", neutral(robot))
    return joined


def part_of(robot: Robot, word: str, label: str) -> slice:
    """The slice of a joint, or of one of its degrees of freedom, in q0, qd0 or torque."""
    names = robot.q_names if word == "q0" else robot.v_names
    if label in names:
        return slice(names.index(label), names.index(label) + 1)
    known = [*robot.joint_names, *names]
    if label not in robot.joint_names:
        raise ValueError(
            f"the samples have a name '{word}.{label}'{near_miss(f'{word}.{label}', [f'{word}.{x}' for x in known])}"
            f" (expected {word}. and one of {', '.join(dict.fromkeys(known))})"
        )
    return robot.q_slice(label) if word == "q0" else robot.v_slice(label)


def is_part(robot: Robot, name: str) -> bool:
    """Whether this is a part of q0, qd0 or torque; raise a ValueError if it is also an entry of a link."""
    word, dot, label = name.partition(".")
    if word not in STATE or not dot:
        return False
    if name not in entry_names(robot):
        return True
    if label in (*robot.joint_names, *(robot.q_names if word == "q0" else robot.v_names)):
        link, _, key = name.rpartition(".")
        raise ValueError(
            f"the samples have a name {name!r}, which is {key} of link {link!r} and {word} of joint {label!r}"
            f" (expected another name of the link or the joint; or {word} of all joints, or vary=... for the link)"
        )
    return False


def sample_shape(
    robot: Robot, name: str, array: np.ndarray, marked: bool, parameters: Collection[str], any_name: bool
) -> tuple[int, ...]:
    """The shape of one sample of this name; `marked` arrays have a row for each trajectory."""
    link, dot, key = name.rpartition(".")
    if name == "wrench":
        links = len(robot.names)
        if array.shape[1:] not in ((6,), (links, 6)):
            raise ValueError(f"wrench has shape {array.shape} (expected (count, 6) or (count, {links}, 6))")
        return array.shape[1:]
    shape = known_shapes(robot).get(name)
    if shape is None and (name in parameters or any_name):
        return array.shape[marked:]
    if shape is None and dot and link in table_names(robot) and key == "limits":
        raise ValueError(
            f"the samples have {name!r} (limits act through events=..., which are the same for all trajectories)"
        )
    if shape is None:
        known = [*parameters, *KNOWN, *entry_names(robot)]
        of_joint = [f"{joint.name}.{key}" for joint in robot.moving if joint.joint == link]
        near = f", did you mean {of_joint[0]!r}?" if of_joint and of_joint[0] in known else near_miss(name, known)
        raise ValueError(
            f"the samples have a name {name!r}{near} (expected {', '.join(KNOWN)}, a parameter of the torque function,"
            f" or an entry of a link's row, such as {table_names(robot)[0]}.mass; other names are for vary=...)"
        )
    if (marked or array.shape != shape) and (array.ndim != len(shape) + 1 or array.shape[1:] != shape):
        wanted = ", ".join(map(str, ("count", *shape)))
        raise ValueError(f"{name} has shape {array.shape} (expected ({wanted}), or {shape} for the same in all)")
    return shape


def known_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """The shapes of one sample by name, without the wrench."""
    shapes: dict[str, tuple[int, ...]] = {"gravity": (3,), "duration": (), **{x: (robot.size_of(x),) for x in STATE}}
    return shapes | {name: VECTORS.get(name.rpartition(".")[2], ()) for name in entry_names(robot)}


def table_names(robot: Robot) -> list[str]:
    return [str(row["name"]) for row in robot.rows]


def entry_names(robot: Robot) -> list[str]:
    """The entries of the robot's table that are numbers, as link1.mass."""
    keys = (*CONVENTIONS[robot.convention].keys, *BODY)
    names = []
    for row in robot.rows:
        optional = [key for key, needed in optional_keys().items() if needed in row]
        names += [f"{row['name']}.{key}" for key in (*keys, *optional)]
    return names


def optional_keys() -> dict[str, str]:
    """The numbers that only some rows have, each with the key that tells which rows."""
    return {key: key for key in joint_numbers()} | {"ratio": "coupled_to", "offset": "coupled_to"}


def table_keys() -> set[str]:
    """The keys of all numbers that a row of some convention may have."""
    return {*BODY, *optional_keys(), *(key for convention in CONVENTIONS.values() for key in convention.keys)}


def table_entries(samples: Mapping[str, Any], robot: Robot) -> list[str]:
    """The names of samples that are entries of the robot's table, gravity among them."""
    entries = set(entry_names(robot))
    return [name for name in samples if name == "gravity" or name in entries]


def replace_entries(robot: Robot, changes: Mapping[str, np.ndarray]) -> Robot:
    """Make the robot again from its table with other entries."""
    base = robot.with_gravity(changes["gravity"].tolist()) if "gravity" in changes else robot
    if set(changes) == {"gravity"}:
        return base
    rows, names = robot.rows, table_names(robot)
    for name, value in changes.items():
        link, _, key = name.rpartition(".")
        if name != "gravity":
            rows[names.index(link)][key] = value.tolist()
    return from_table(rows, robot.convention, base.gravity, robot.name)
