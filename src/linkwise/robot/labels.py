"""Arrays that name their columns: DataFrames, Series, structured arrays. Names decide, not their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .joint_space import CONFIGURATIONS
from .layout import Layout, places
from .model import Robot

WORDS = {"qd0": "qd", "v": "qd", "torque": "tau", "start": "q", "end": "q", "points": "q"}  # in names of columns
SHOWN = 8


def labels_of(value: Any) -> list[Any] | None:
    """The names of an array's columns, or of its elements if it has one axis; None where they have none.

    0, 1, 2, ... are no names. Of a list, those of the first row that has names.
    """
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        rows = (labels_of(row) for row in value if not isinstance(row, (float, int)))
        return next((labels for labels in rows if labels is not None), None)
    found = getattr(getattr(value, "dtype", None), "names", None)  # of structured arrays
    if found is None and isinstance(value, tuple):
        found = getattr(value, "_fields", None)  # of named tuples
    if found is None:
        found = getattr(value, "column_names", None)  # of pyarrow
    if found is None and hasattr(value, "to_numpy"):  # of pandas, polars, xarray, ...
        found = getattr(value, "columns", None)
        if found is None and getattr(value, "dims", None):
            found = dict(value.coords).get(value.dims[-1])
        elif found is None:
            found = getattr(value, "index", None)
    if found is None or callable(found):
        return None
    labels = [label.item() if isinstance(label, np.generic) else label for label in np.asarray(found, dtype=object)]
    return None if labels == list(range(len(labels))) else labels


def in_order(robot: Robot, name: str, value: Any) -> Any:
    """The value of an argument with its columns in the robot's order; as it is where they have no names."""
    labels = labels_of(value)
    if labels is None:
        refuse_rows_by_joint(robot, name, value)
        return value
    if isinstance(value, (list, tuple)):
        refuse_labels(name, value)
    word = "q" if name in CONFIGURATIONS else WORDS.get(name, name)
    own = robot.labels_of(word if word == "q" else name)
    bare = {label: own.index(theirs) for label, theirs in names_of(robot, word).items() if theirs in own}
    forms = [bare, *({f"{word}{sign}{label}": k for label, k in bare.items()} for sign in "._")]
    numbered = Layout.of(robot).columns(word)
    forms += [{label: k for k, label in enumerate(numbered)}] if len(numbered) == len(own) else []
    for form in forms:
        found = [form[label] for label in labels if isinstance(label, str) and label in form]
        if len(found) == len(labels) == len(own) and set(found) == set(range(len(own))):
            order: list[int] = np.argsort(found).tolist()
            return columns(value, labels)[..., order]
    raise TypeError(
        f"{name} has names: {listed(labels)} (expected those of robot {robot.name!r} in any order, {listed(own)}; or"
        f" {name}.to_numpy(), in that order)"
    )


def refuse_rows_by_joint(robot: Robot, name: str, value: Any) -> None:
    """Raise an error for a table whose rows, not its columns, have the names of joints."""
    if hasattr(value, "to_numpy") and getattr(value, "ndim", 1) == 2 and hasattr(value, "index"):
        rows, names = list(value.index), {*robot.q_names, *robot.v_names, *robot.names}
        forms = {f"{word}{sign}{name}" for word in ("q", "qd", "qdd", "tau") for sign in "._" for name in names}
        numbered = {f"{word}{k + 1}" for word in ("q", "qd", "qdd", "tau") for k in range(robot.nq)}
        if rows and {*map(str, rows)} <= names | forms | numbered:
            raise TypeError(f"{name} has rows named {listed(rows)} (expected these as columns: {name}.T)")


def names_of(robot: Robot, word: str) -> dict[str, str]:
    """The label of each number of q, or of rates and torques, by itself and by the name of its link."""
    labels = robot.q_names if word == "q" else robot.v_names
    return {name: labels[k] for name, k in places(robot, word).items()}


def columns(value: Any, labels: list[Any]) -> np.ndarray:
    """The numbers of a labelled array, one column for each label."""
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    return np.stack([np.asarray(value[label]) for label in labels], axis=-1)


def refuse_labels(name: str, value: Any, hint: str = "") -> None:
    """Raise an error for an array with named columns where no robot tells their order."""
    labels = labels_of(value)
    if labels is not None:
        raise TypeError(
            f"{name} has names: {listed(labels)}, which are not looked at here (expected arrays without names, as"
            f" .to_numpy() gives them, in the order that is documented{hint})"
        )


def listed(labels: Any) -> str:
    labels = list(labels)
    shown = [*labels[: SHOWN - 1], labels[-1]] if len(labels) > SHOWN else labels
    return ", ".join(map(repr, shown)) + (f" ({len(labels)} in all)" if len(labels) > SHOWN else "")
