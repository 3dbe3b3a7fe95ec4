"""Arrays whose columns have the names of joints. Names decide, not their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .joint_space import CONFIGURATIONS
from .layout import Layout, places
from .model import Robot
from .named_arrays import labels_of, listed
from .named_arrays import refuse_labels as refuse_labels

WORDS = {"qd0": "qd", "v": "qd", "torque": "tau", "start": "q", "end": "q", "points": "q"}  # in names of columns


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
            refuse_guess(robot, name, word, labels, found)
            order: list[int] = np.argsort(found).tolist()
            return columns(value, labels)[..., order]
    raise TypeError(
        f"{name} has names: {listed(labels)}{unmatched(forms, labels, own)} (expected those of robot {robot.name!r} in"
        f" any order, {listed(own)}; or {name}.to_numpy(), in that order)"
    )


def unmatched(forms: Sequence[Mapping[str, int]], labels: Sequence[Any], own: Sequence[str]) -> str:
    """Which names are of no joint, and which joints have none, where some fit: by the form that fits best."""
    best = max(forms, key=lambda form: sum(label in form for label in labels))
    found = {best[label] for label in labels if label in best}
    unknown = [label for label in labels if label not in best]
    missing = [label for k, label in enumerate(own) if k not in found]
    if not found or not (unknown or missing):
        return ""
    of_none = [f"{listed(unknown)} {'is' if len(unknown) == 1 else 'are'} none of them"] if unknown else []
    without = [f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
    return f"; {' and '.join([*of_none, *without])}"


def refuse_guess(robot: Robot, name: str, word: str, labels: Sequence[str], joints: Sequence[int]) -> None:
    """Raise an error for columns that could be of other joints by number: of joints called q2, q1, q3, or 2, 1, 3."""
    numbers = [label.removeprefix(word) for label in labels]
    if all(map(str.isdecimal, numbers)) and [int(number) - 1 for number in numbers] != list(joints):
        example = f"{word}.{robot.labels_of(word if word == 'q' else name)[0]}"
        raise TypeError(
            f"{name} has names: {listed(labels)}, which could be of joints by name or by number (expected names such as"
            f" {example!r}; or {name}.to_numpy(), in the order of the robot)"
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
