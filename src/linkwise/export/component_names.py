"""Names of the numbers of a robot's functions in printed equations.

Where joints have several degrees of freedom, the k-th number of qd is not the rate of the k-th number of q. So
components are named by their meaning, with the number of their joint:

    free, ball    x_i, y_i, z_i     position             v_{x,i}, ...         linear velocity
                  q_{w,i}, ...      quaternion           \\omega_{x,i}, ...    angular velocity
    others        x_i, \\theta_{x,i} and q_i             with a dot           their rates
    torques       \\tau_i, \\tau_{x,i}, ...               f_{x,i}, ...         forces
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

from ..graph import Port
from ..robot import Robot
from ..robot.layout import Layout

POSITIONS, RATES, ACCELERATIONS, TORQUES = range(4)
ARRAYS = {"q": POSITIONS, "q0": POSITIONS, "q1": POSITIONS, "qd": RATES, "v": RATES, "qdd": ACCELERATIONS}
ARRAYS["tau"] = TORQUES
LETTERS = {"": "q", "r": "theta", "q": "q", "v": "v", "w": "omega"}  # by what a label begins with, before its axis
MEANINGS = {
    "ball": (r"q_{w,i}, q_{x,i}, q_{y,i}, q_{z,i} quaternion; \omega_{x,i}, ... angular velocity in the body's axes",),
    "free": (
        r"x_i, y_i, z_i position; q_{w,i}, q_{x,i}, q_{y,i}, q_{z,i} quaternion;",
        r"v_{x,i}, ... linear velocity in the parent's axes; \omega_{x,i}, ... angular velocity in the body's axes",
    ),
    "universal": (r"\theta_{x,i}, \theta_{y,i} angles",),
    "planar": (r"x_i, y_i displacements; \theta_{z,i} angle",),
    "cylindrical": (r"z_i displacement; \theta_{z,i} angle",),
}
Component = tuple[str, str, int]  # letter, axis, and how many dots


def component(label: str, role: int) -> Component:
    """The component of a label of `JointKind.q_labels` or `v_labels`."""
    kind, axis = label[:-1], label[-1:]
    if role == TORQUES:
        return ("tau" if kind in ("r", "w") or not label else "f", axis, 0)
    letter, dots = LETTERS[kind], role - (kind in ("v", "w"))
    return (axis, "", dots) if label and not kind else (letter, axis, dots)


def latex_name(part: Component, array: str, joint: int) -> str:
    letter, axis, dots = part
    text = rf"\{letter}" if len(letter) > 1 else letter
    text = rf"\{'d' * dots}ot{{{text}}}" if dots else text
    index = [*([array[1:]] if array[1:].isdigit() else []), *([axis] if axis else []), str(joint)]
    return f"{text}_{{{','.join(index)}}}"


def plain_name(part: Component, array: str, joint: int) -> str:
    letter, axis, dots = part
    number = array[1:] if array[1:].isdigit() else ""
    return f"{letter}{'d' * dots}{number}{'_' if axis or number else ''}{axis}{joint}"


def names_of(robot: Robot, inputs: tuple[Port, ...], *, latex: bool) -> dict[str, list[str]] | None:
    """The names of the numbers of each input array of coordinates; None for robots of simple joints."""
    if not Layout.of(robot).labelled:
        return None
    names = {}
    for port in inputs:
        role = ARRAYS.get(port.name)
        if role is not None and port.shape == (robot.size_of(port.name),):
            joints = [joint for joint in robot.moving if joint.coupling is None]
            names[port.name] = [
                (latex_name if latex else plain_name)(component(label, role), port.name, number)
                for number, joint in enumerate(joints, 1)
                for label in (joint.kind.q_labels if role == POSITIONS else joint.kind.v_labels)
            ]
    return names


def meaning_lines(robot: Robot, names: Mapping[str, list[str]] | None) -> list[str]:
    """Comment lines: the number of each joint, and the components of each kind."""
    if not names:
        return []
    joints = [joint for joint in robot.moving if joint.coupling is None]
    numbered = ", ".join(f"{k} {joint.joint} ({joint.kind.name})" for k, joint in enumerate(joints, 1))
    kinds = dict.fromkeys(joint.kind.name for joint in joints if joint.kind.degrees > 1)
    return [*wrap(f"joints: {numbered}", width=110), *(line for kind in kinds for line in kind_lines(kind))]


def kind_lines(kind: str) -> list[str]:
    first, *rest = MEANINGS[kind]
    return [f"{kind} joint i: {first}", *(f"  {line}" for line in rest)]
