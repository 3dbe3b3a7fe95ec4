"""The order of coordinates in q and qd, and the names of their columns in tables.

A column names a joint by its number from 1 (q1, qd1, tau1), or by the name of the joint or its link (link1, q_link1,
q.link1). A table may not mix numbers and names. In arrays with named columns the names decide, not the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import FileError
from .coordinates import CONFIGURATIONS, QUATERNION, label
from .model import Robot
from .named_arrays import labels_of, refuse_labels, refuse_mark, reprs

SPIN = 3  # numbers
MOTION = ("q", "qd", "qdd")
QUANTITY = r"(qdd|qd|q|tau|nu|xi|epsilon|kappa|[mf][xyz]|radial|axial|tilting)"  # of a joint, with forces and loads
COLUMN = re.compile(QUANTITY + r"([1-9]\d*)")
LABELLED = re.compile(QUANTITY + r"\..+")  # by the name of the joint
NUMBERED = re.compile(r"(qdd|qd|q|tau)[1-9]\d*")
NUMBER = re.compile(r"(?:qdd|qd|q|tau)?0*(\d+)")  # a column by number, or a number alone
WORDS = {"qd0": "qd", "v": "qd", "torque": "tau", "start": "q", "end": "q", "points": "q"}  # in names of columns
DIGITS = re.compile(r"0|[1-9]\d*")
OF_NO_JOINT = ("energy", "work", "heat")  # columns of recordings
RESERVED = ("t", "time", "trajectory", *OF_NO_JOINT)  # never names of joints


def zero_quaternion_message(robot: Robot, where: str, start: int) -> str:
    """The error message for a zero quaternion that begins at `start` in q; `where` names the argument and the state."""
    joint = next(joint.joint for joint in robot.moving if joint.q.start <= start < joint.q.stop)
    expected = "(expected for example (1, 0, 0, 0), as in lw.neutral(robot))"
    return f"{where}, joint {joint!r}, begins a quaternion of length zero {expected}"


def angle_mask(robot: Robot, word: str) -> list[bool]:
    """Which numbers of q, or of qd and qdd, are angles; quaternions are not."""
    turning = [False] * (robot.nq if word == "q" else robot.n)
    for link, slot in robot.driving:
        if link.joint.angular and (word != "q" or link.joint.width == 1):
            turning[slot.q if word == "q" else slot.v] = True
    return turning


def coordinate_indices(robot: Robot, word: str) -> dict[str, int]:
    """The index of each number of q, or of qd, qdd and tau, by its label with the joint's or the link's name.

    The name of a joint takes precedence over the same name of another link, as in `robot.q_slice`.
    """
    by_link: dict[str, int] = {}
    for joint in robot.driving_joints:
        start, parts = (joint.q, joint.kind.q_labels) if word == "q" else (joint.v, joint.kind.v_labels)
        by_link |= {label(joint.name, part): k for k, part in enumerate(parts, start.start)}
    names = robot.q_names if word == "q" else robot.v_names
    return {**by_link, **{name: k for k, name in enumerate(names)}}


def has_ambiguous_numbers(robot: Robot) -> bool:
    """Whether a joint or link has the name of another one's column, such as q1 or 1 for the second joint."""
    matches = ((NUMBER.fullmatch(name), k) for name, k in coordinate_indices(robot, "qd").items())
    return any(match is not None and int(match[1]) != k + 1 for match, k in matches)


@dataclass(frozen=True)
class Layout:
    """The indices in q and qd of a robot's plain coordinates and quaternions."""

    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    plain: tuple[tuple[int, int], ...]  # in q and in qd
    quaternions: tuple[tuple[int, int], ...]  # first indices in q, and of the angular velocities in qd
    labelled: bool  # whether columns have names, because numbers would be ambiguous

    @staticmethod
    def of(robot: Robot) -> Layout:
        plain = tuple((slot.q, slot.v) for link, slot in robot.driving if link.joint.width == 1)
        turning = tuple((slot.q, slot.v) for link, slot in robot.driving if link.joint.width == QUATERNION)
        labelled = any(joint.kind.degrees > 1 for joint in robot.moving) or has_ambiguous_numbers(robot)
        return Layout(robot.q_names, robot.v_names, plain, turning, labelled)

    @staticmethod
    def numbered(n: int) -> Layout:
        """The layout of n joints of one degree of freedom without names."""
        names = tuple(str(k + 1) for k in range(n))
        return Layout(names, names, tuple((k, k) for k in range(n)), (), False)

    @property
    def nq(self) -> int:
        return len(self.q_names)

    @property
    def n(self) -> int:
        return len(self.v_names)

    def columns(self, word: str) -> list[str]:
        """The columns of q, qd, qdd or tau in a table: q1, q2, ...; or q.base.x, ... if `labelled`."""
        names = self.q_names if word in (*CONFIGURATIONS, "q_end") else self.v_names
        return [f"{word}.{name}" if self.labelled else f"{word}{k}" for k, name in enumerate(names, 1)]

    def table(self, t: np.ndarray, **motion: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of a table: t, then those of q, qd, qdd or tau, arrays (samples, n); of q (samples, nq)."""
        columns = {"t": t}
        for word, values in motion.items():
            columns |= dict(zip(self.columns(word), values.T, strict=True))
        return columns


def canonical_names(where: str, names: Sequence[str], robot: Robot | None, bare: str = "q") -> list[str]:
    """The header of a table in canonical names: t, and those of `Layout.columns` for the robot's joints.

    `bare`: the quantity in a column that is named after a joint alone.
    """
    known = {"time": "t"}
    joints: dict[str, tuple[str, int]] = {}
    if robot is not None:
        layout = Layout.of(robot)
        for word in (*MOTION, "tau"):
            columns = layout.columns(word)
            for joint, k in coordinate_indices(robot, word).items():
                alone = [joint.strip()] if word == bare and joint.strip() not in RESERVED else []
                forms = [f"{word}_{joint}".strip(), f"{word}.{joint}".strip(), *alone]
                known |= dict.fromkeys(forms, columns[k])
                joints |= dict.fromkeys(forms, (word, k))
        numbered = [name for name in names if NUMBERED.fullmatch(name)]
        named = {name: joints[name][1] for name in names if name in joints and name not in numbered}
        refuse_half(where, robot, named, numbered, error=FileError)
        for word in (*MOTION, "tau"):
            own = [name for name in numbered if COLUMN.fullmatch(name)[1] == word]  # type: ignore[index]
            refuse_half(
                where, robot, {name: k for name, k in named.items() if joints[name][0] == word}, own, None, FileError
            )
    return [name if name == "t" or NUMBERED.fullmatch(name) else known.get(name, name) for name in names]


def is_canonical(name: str) -> bool:
    """Whether a column has a canonical name; those of recordings and loads count."""
    return name in ("t", "trajectory", *OF_NO_JOINT) or quantity_of(name) is not None


def quantity_of(name: str) -> str | None:
    """The quantity in a column of a joint, such as tau; None for other columns."""
    match = COLUMN.fullmatch(name) or LABELLED.fullmatch(name)
    return None if match is None else match[1]


def refuse_half(
    where: str,
    robot: Robot,
    named: Mapping[str, int],
    numbered: Sequence[str],
    first: int | None = 1,
    error: type[ValueError] = ValueError,
) -> None:
    """Raise an error for a table whose columns belong to joints partly by name and partly by number.

    `named`: columns and the indices of their joints. Names that end with these indices, counted from `first`, count as
    numbers too; with `first` None, for the columns of one quantity, they do not.
    """
    both = first is not None and all(DIGITS.findall(name)[-1:] == [str(k + first)] for name, k in named.items())
    if not named or not numbered or both or robot.n == 1:
        return
    raise error(
        f"{where}: columns {join_names(map(repr, named))} refer to joints by name, but"
        f" {join_names(map(repr, numbered))} by number (expected all by name, or all by number in the robot's order"
        f" {join_names(map(repr, robot.v_names))})"
    )


def refuse_degrees(where: object, names: Sequence[str]) -> None:
    """Raise an error for a table with torques: Linkwise wrote it, in radians."""
    torque = next((name for name in names if re.fullmatch(r"tau(\d+|\..+)", name)), None)
    if torque is not None:
        raise FileError(
            f"{where}: column {torque!r} shows that Linkwise wrote the table, so angles are in radians (expected to"
            " read it without degrees; or a table of t, q1, ... without torques)"
        )


def join_names(names: Iterable[str], most: int = 12) -> str:
    names = list(map(str, names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def reorder_columns(robot: Robot, name: str, value: Any) -> Any:
    """The value of an argument with named columns in the robot's order; unchanged if they have no names."""
    labels = labels_of(value)
    if labels is None:
        refuse_mark(name, value)
        refuse_rows_by_joint(robot, name, value)
        return value
    if str(getattr(value, "dtype", "")).startswith("Struct("):  # a Series of polars
        value = value.struct.unnest()
    if isinstance(value, (list, tuple)):
        refuse_labels(name, value)
    word = "q" if name in CONFIGURATIONS else WORDS.get(name, name)
    own = robot.labels_of(word if word == "q" else name)
    bare = {label: own.index(theirs) for label, theirs in labels_by_name(robot, word).items() if theirs in own}
    forms = [bare, *({f"{word}{sign}{label}": k for label, k in bare.items()} for sign in "._")]
    numbered = Layout.of(robot).columns(word)
    forms += [{label: k for k, label in enumerate(numbered)}] if len(numbered) == len(own) else []
    for form in forms:
        indices = [form[label] for label in labels if isinstance(label, str) and label in form]
        if len(indices) == len(labels) == len(own) and set(indices) == set(range(len(own))):
            refuse_guess(robot, name, word, labels, indices)
            order: list[int] = np.argsort(indices).tolist()
            return labelled_columns(value, labels)[..., order]
    raise TypeError(
        f"{name} has names: {reprs(labels)}{name_mismatch(forms, labels, own)} (expected those of robot"
        f" {robot.name!r} in any order, {reprs(own)}; or {name}.to_numpy(), in that order)"
    )


def name_mismatch(forms: Sequence[Mapping[str, int]], labels: Sequence[Any], own: Sequence[str]) -> str:
    """The unknown names and the joints without a name, if some names fit, by the form that fits best."""
    best = max(forms, key=lambda form: sum(label in form for label in labels))
    matched = {best[label] for label in labels if label in best}
    unknown = [label for label in labels if label not in best]
    missing = [label for k, label in enumerate(own) if k not in matched]
    if not matched or not (unknown or missing):
        return ""
    of_none = [f"{reprs(unknown)} {'is' if len(unknown) == 1 else 'are'} none of them"] if unknown else []
    without = [f"{reprs(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
    return f"; {' and '.join([*of_none, *without])}"


def refuse_guess(robot: Robot, name: str, word: str, labels: Sequence[str], joints: Sequence[int]) -> None:
    """Raise an error for columns that name other joints if read as numbers, such as joints called q2, q1, q3."""
    numbers = [label.removeprefix(word) for label in labels]
    if all(map(str.isdecimal, numbers)) and [int(number) - 1 for number in numbers] != list(joints):
        example = f"{word}.{robot.labels_of(word if word == 'q' else name)[0]}"
        raise TypeError(
            f"{name} has names: {reprs(labels)}, which could be names or numbers of joints (expected names such as"
            f" {example!r}; or {name}.to_numpy(), in the order of the robot)"
        )


def refuse_rows_by_joint(robot: Robot, name: str, value: Any) -> None:
    """Raise an error for a table whose rows instead of columns have the names of joints."""
    if hasattr(value, "to_numpy") and getattr(value, "ndim", 1) == 2 and hasattr(value, "index"):
        rows, names = list(value.index), {*robot.q_names, *robot.v_names, *robot.names}
        forms = {f"{word}{sign}{name}" for word in ("q", "qd", "qdd", "tau") for sign in "._" for name in names}
        numbered = {f"{word}{k + 1}" for word in ("q", "qd", "qdd", "tau") for k in range(robot.nq)}
        if rows and {*map(str, rows)} <= names | forms | numbered:
            raise TypeError(f"{name} has rows named {reprs(rows)} (expected these as columns: {name}.T)")


def labels_by_name(robot: Robot, word: str) -> dict[str, str]:
    """The label of each number of q, or of rates and torques, by that label and by the link's name."""
    labels = robot.q_names if word == "q" else robot.v_names
    return {name: labels[k] for name, k in coordinate_indices(robot, word).items()}


def labelled_columns(value: Any, labels: list[Any]) -> np.ndarray:
    """The numbers of a labelled array, one column for each label."""
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    return np.stack([np.asarray(value[label]) for label in labels], axis=-1)
