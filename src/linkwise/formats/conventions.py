"""States and torques in the coordinates of other libraries: Pinocchio, MuJoCo and Drake.

Each library, or model object of one, has a `StateLayout`: the form and the place of each joint's numbers there. Model
objects are recognised by their class and never imported; the joints of a robot are found in them by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.states import EXPECTED, Array, States
from ..errors import RobotError, one_of
from ..robot import Robot, require_robot
from ..robot.coordinates import MovingJoint
from ..robot.layout import join_names
from .joint_forms import (
    CONVENTIONS,
    TITLES,
    Follower,
    Forms,
    JointPlace,
    ModelJoint,
    PerDegree,
    SameNumbers,
    StateLayout,
    normalize_quaternion,
)
from .mujoco_model import from_mujoco, mujoco_joints
from .pinocchio_model import from_pinocchio, pinocchio_joints

Library = Any  # the name of a library, or a model object of Pinocchio or MuJoCo


class ModelClass(NamedTuple):
    """The class of a library's model objects, and how they are read."""

    name: str
    robot: Callable[[Any], Robot]
    joints: Callable[[Any], Iterator[ModelJoint]]


MODELS = {
    "pinocchio": ModelClass("Model", from_pinocchio, pinocchio_joints),
    "mujoco": ModelClass("MjModel", from_mujoco, mujoco_joints),
}


def convert_state(
    robot: Robot,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    *,
    source: Library | None = None,
    target: Library | None = None,
    check: bool = False,
) -> Any:
    """Convert a state between the coordinates of Linkwise and those of another library.

    docs/coordinates.md says what a state means in each library. The joint frames are the same.

    Parameters
    ----------
    robot : Robot
    q, v, a : array_like, shapes (..., nq), (..., n), (..., n)
        Configuration, and optionally velocities and accelerations, in the numbers of `source`.
    source, target : pinocchio.Model, mujoco.MjModel or {"linkwise", "pinocchio", "mujoco", "drake"}
        One may be left out: "linkwise". In a model object joints are found by their names, in any
        order, and an unbounded joint of Pinocchio has a cosine and a sine for its angle. With the name
        of a library joints keep the order of the robot, each joint of one degree of freedom as an
        angle or a displacement.
    check : bool
        Refuse numbers that are not finite.

    Returns
    -------
    ndarray or tuple of ndarray
        q, (q, v) or (q, v, a), as given; quaternions have unit length.

    Examples
    --------
    >>> import linkwise as lw
    >>> arm = lw.load("planar3").with_free_base()
    >>> q, v = [1, 2, 3, 0, 0, 0, 1, 0.1, 0.2, 0.3], [1, 0, 0, 0, 0, 0, 0.1, 0.2, 0.3]
    >>> q_pin, v_pin = lw.convert_state(arm, q, v, target="pinocchio")    # turned by π about z
    >>> q_pin
    array([1. , 2. , 3. , 0. , 0. , 1. , 0. , 0.1, 0.2, 0.3])
    >>> v_pin
    array([-1. ,  0. ,  0. ,  0. ,  0. ,  0. ,  0.1,  0.2,  0.3])
    """
    if a is not None and v is None:
        raise ValueError("a is given without v (expected both: accelerations depend on the velocities)")
    rates = {name: x for name, x in (("v", v), ("a", a)) if x is not None}
    return convert_arrays(robot, q, rates, *source_and_target(source, target), check)


def convert_force(
    robot: Robot,
    q: Array,
    tau: Array,
    *,
    source: Library | None = None,
    target: Library | None = None,
    check: bool = False,
) -> Array:
    """Convert joint torques and forces between Linkwise and another library.

    The power stays the same: τ'ᵀ v' = τᵀ v.

    Parameters
    ----------
    robot : Robot
    q, tau : array_like, shapes (..., nq), (..., n)
        Configuration and torques or forces, in the numbers of `source`.
    source, target, check
        As in `lw.convert_state`.

    Returns
    -------
    ndarray, shape (..., n)
        Torques and forces in the numbers of `target`.

    Examples
    --------
    >>> import linkwise as lw
    >>> ball = lw.chain(1, joints="S")
    >>> lw.convert_force(ball, [1, 0, 0, 1], [1, 2, 3], target="drake")    # into the parent's axes
    array([-2.,  1.,  3.])
    """
    return convert_arrays(robot, q, {"tau": tau}, *source_and_target(source, target), check)[1]


def source_and_target(source: Library, target: Library) -> tuple[Library, Library]:
    """Source and target library; the default of each is Linkwise."""
    if source is None and target is None:
        raise TypeError("neither source nor target is given (expected one of them: source='pinocchio')")
    return "linkwise" if source is None else source, "linkwise" if target is None else target


def convert_arrays(robot: Robot, q: Array, rates: dict[str, Any], source: Library, target: Library, check: bool) -> Any:
    """Convert q, and velocities, accelerations or torques, from source to target."""
    require_robot(robot)
    old, new = state_layout(robot, source, "source"), state_layout(robot, target, "target")
    states, q, rates = check_arrays(robot, q, rates, old, check)
    good = states.finite()
    our_q, results_q = (np.zeros((*q.shape[:-1], size), q.dtype) for size in (robot.nq, new.nq))
    ours, results = ({key: np.zeros((*q.shape[:-1], size), q.dtype) for key in rates} for size in (robot.n, new.nv))
    with np.errstate(all="ignore"):
        for joint, (form, at_q, at_v) in zip(robot.driving_joints, old.places, strict=True):
            q_j = form.ours(q[..., at_q])
            q_j = q_j if joint.kind.bounded else normalize_quaternion(q_j)
            good = good & np.isfinite(q_j).all(axis=-1)
            our_q[..., joint.q] = q_j
            for key, x in rates.items():
                drift = form.drift(q_j, ours["v"][..., joint.v]) if key == "a" else 0.0
                ours[key][..., joint.v] = form.to_ours(q_j, x[..., at_v] - drift)
        if "tau" in rates:
            old.add_torques(ours["tau"], rates["tau"])
        for joint, (form, at_q, at_v) in zip(robot.driving_joints, new.places, strict=True):
            q_j = our_q[..., joint.q]
            results_q[..., at_q] = form.theirs(q_j)
            for key, x in ours.items():
                drift = form.drift(q_j, ours["v"][..., joint.v]) if key == "a" else 0.0
                results[key][..., at_v] = form.to_theirs(q_j, x[..., joint.v]) + drift
        everything = {"q": results_q, **results}
        new.fill(everything, our_q, ours)
    arrays = [np.where(good[..., None], x, np.nan).astype(q.dtype, copy=False) for x in everything.values()]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def check_arrays(
    robot: Robot, q: Any, rates: dict[str, Any], old: StateLayout, check: bool
) -> tuple[States, np.ndarray, dict[str, np.ndarray]]:
    """Check the arrays, and bring them to one dtype and batch shape."""
    if old.title == "Linkwise":
        states, names = States(robot, {"q": q, **rates}, check=check), {"q": "q"} | {key: key for key in rates}
    else:
        names = {key: f"{key}, in {old.title}'s coordinates," for key in ("q", *rates)}
        sizes = {"q": (q, (old.nq,))} | {key: (x, (old.nv,)) for key, x in rates.items()}
        states = States(robot, {}, check=check, others={names[key]: given for key, given in sizes.items()})
    if not states.numeric:
        kinds = ", ".join(f"{key} {x.dtype}" for key, x in states.arrays.items())
        raise TypeError(f"the arrays are of {states.xp.__name__}: {kinds} ({EXPECTED}, in NumPy arrays)")
    return states, states.rows(names["q"], (old.nq,)), {key: states.rows(names[key], (old.nv,)) for key in rates}


def state_layout(robot: Robot, library: Library, which: str) -> StateLayout:
    """Return where a library, or a model object, has the numbers of each joint."""
    if not isinstance(library, str):
        return model_layout(robot, library, which)
    one_of(library, CONVENTIONS, which)
    refuse_foreign_joints(robot, library)
    places, q = [], 0
    for joint in robot.driving_joints:
        form = form_of(robot, joint, CONVENTIONS[library])
        places.append(JointPlace(form, list(range(q, q + form.size)), list(range(robot.n))[joint.v]))
        q += form.size
    return StateLayout(TITLES[library], q, robot.n, tuple(places))


def form_of(robot: Robot, joint: MovingJoint, forms: Forms) -> SameNumbers:
    return forms.get(joint.kind.name, SameNumbers)(robot, joint)


def refuse_foreign_joints(robot: Robot, library: str) -> None:
    """Raise if the library has no joint of some kind."""
    for joint in robot.moving:
        reason = ""
        if joint.coupling is not None and library in ("mujoco", "drake"):
            reason = "coupled joints have coordinates of their own there, and a constraint"
            reason += " (the MjModel itself as source or target says where)" if library == "mujoco" else ""
        elif library != "linkwise" and library not in joint.kind.libraries:
            reason = f"it has no {joint.kind.name} joints"
        elif joint.kind.name == "free" and library == "mujoco" and robot.links[joint.first].parent >= 0:
            reason = "it has free joints on the world alone"
        if reason:
            raise RobotError(
                f"robot {robot.name!r}, joint {joint.joint!r} ({joint.kind.name}) has no form in {TITLES[library]}:"
                f" {reason}"
            )


def library_of(model: Any) -> str:
    """Return the library of a `pinocchio.Model` or `mujoco.MjModel`; "" for any other object."""
    package = type(model).__module__.partition(".")[0]
    return package if package in MODELS and type(model).__name__ == MODELS[package].name else ""


def robot_of_model(model: Any) -> Robot | None:
    """The robot of a model object; None for any other object."""
    library = library_of(model)
    return MODELS[library].robot(model) if library else None


def model_layout(robot: Robot, model: Any, which: str) -> StateLayout:
    """Return where a model has the numbers of each joint; joints are found by their names."""
    library = library_of(model)
    if not library:
        kind = f"{type(model).__module__}.{type(model).__name__}"
        expected = "'linkwise', 'pinocchio', 'mujoco', 'drake', a pinocchio.Model or a mujoco.MjModel"
        raise TypeError(f"{which} is a {kind} (expected {expected})")
    joints = list(MODELS[library].joints(model))
    matches = match_joints(robot, joints)
    title = f"the {TITLES[library]} model"
    used = {part for parts in matches.values() for part in parts}
    refuse_unmatched(robot, [part for part in joints if part not in used and part.value is None], matches, title)
    forms = CONVENTIONS[library]
    places = {
        joint.link: joint_place(robot, joint, matches[joint.link], forms)
        for joint in robot.moving
        if joint.link in matches
    }
    followers = []
    for joint in robot.moving:
        if joint.coupling is not None and joint.link in places:
            slot = robot.slots[joint.link]
            followers.append(Follower(places[joint.link], slot.q, slot.v, float(slot.ratio), float(slot.offset)))
    locked = [(part.q[0], part.value) for part in joints if part not in used and part.value is not None]
    independent = tuple(places[joint.link] for joint in robot.driving_joints)
    return StateLayout(title, int(model.nq), int(model.nv), independent, tuple(followers), tuple(locked))


def match_joints(robot: Robot, joints: Sequence[ModelJoint]) -> dict[int, list[ModelJoint]]:
    """Find the model joints of each robot joint, by its name, then its link's; the last free joint by its kind."""
    matches: dict[int, list[ModelJoint]] = {}
    left = list(joints)
    for label in ("joint", "name"):
        for joint in robot.moving:
            parts = [] if joint.link in matches else joints_with_label(joint, getattr(joint, label), left)
            if parts:
                matches[joint.link] = parts
                left = [part for part in left if part not in parts]
    free = [joint for joint in robot.moving if joint.kind.name == "free" and joint.link not in matches]
    spare = [part for part in left if part.kind == "free"]
    if len(free) == len(spare) == 1:  # the base: "root_joint" in Pinocchio
        matches[free[0].link] = spare
    return matches


def joints_with_label(joint: MovingJoint, label: str, joints: Sequence[ModelJoint]) -> list[ModelJoint]:
    """Find the model joints with this label: one of the same kind, or one for each degree of freedom."""
    kind, degrees = joint.kind.name, joint.kind.v_labels
    separate = [link.kind for link in joint.kind.links] if joint.kind.bounded and joint.kind.degrees > 1 else []
    complete = [part for part in joints if part.whole == label]
    if complete and [part.kind for part in complete] in ([kind], separate):
        return complete
    for key in ("name", "link"):
        one = [part for part in joints if getattr(part, key) == label and part.kind == kind]
        if len(one) == 1:
            return one
    if not separate:
        return []
    several = [part for degree in degrees for part in joints if part.name == f"{label}.{degree}"]
    return several if [part.kind for part in several] == separate else []


def joint_place(robot: Robot, joint: MovingJoint, parts: Sequence[ModelJoint], forms: Forms) -> JointPlace:
    q, v = ([index for part in parts for index in getattr(part, key)] for key in ("q", "v"))
    multi_degree = parts[0].kind in ("ball", "free", "planar")
    return JointPlace(
        form_of(robot, joint, forms) if multi_degree else PerDegree([part.unbounded for part in parts]), q, v
    )


def refuse_unmatched(
    robot: Robot, left: Sequence[ModelJoint], matches: Mapping[int, list[ModelJoint]], title: str
) -> None:
    """Raise if robot or model has joints that the other lacks or has with another kind.

    `left` are the joints of the model without a match.
    """
    missing = [joint for joint in robot.driving_joints if joint.link not in matches]
    kinds = {part.name: part.kind for part in left}
    for joint in missing:
        if joint.joint in kinds:
            raise RobotError(
                f"robot {robot.name!r}, joint {joint.joint!r} is {joint.kind.name}, and {kinds[joint.joint]} in {title}"
                " (expected the same robot)"
            )
    if missing:
        raise RobotError(
            f"robot {robot.name!r} has joints for which {title} has no numbers: {quote_names(x.joint for x in missing)}"
            f" (expected joints of the same names; it has {quote_names(part.name for part in left) or 'no others'})"
        )
    if left:
        raise RobotError(
            f"{title} has joints that robot {robot.name!r} does not have: {quote_names(part.name for part in left)}"
            " (expected the same joints)"
        )


def quote_names(names: Iterable[str]) -> str:
    return join_names(map(repr, names), 8)
