"""The robot: frozen data, a tree of links."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..errors import RobotError, is_real, one_of
from ..lazy import cached_property
from ..notices import warn
from ..printing import notebook_html
from ..spatial import Placement, Scalar, is_zero
from .build import assemble, check_gravity
from .changes import add_free_base, changed_rows, fix_base, lock_joints
from .contraction import Round, rounds
from .coordinates import Coupling, size_in_words
from .entries import is_symbol
from .fingerprint import NoFingerprintError, robot_fingerprint
from .joint_space import JointSpace
from .kinds import of_one_degree
from .link import Frame, Link, NumberMap, numbers_of
from .regroup import regrouped_bodies
from .tables import CONVENTIONS, DH_CONVENTIONS, NO_TENSOR, REFUSE, free_name
from .walk import UNROLLED, Walk

Row = Mapping[str, Any]
EARTH = (0.0, 0.0, -9.81)


Entry = Callable[..., Any]


class WithEntries:
    """Makes `Robot.entries` a slot: every call reads it, and any other attribute takes tens of nanoseconds longer."""

    __slots__ = ("entries",)
    entries: dict[str, Entry]


@dataclass(frozen=True, repr=False, eq=False)
class Robot(JointSpace, WithEntries):
    """A tree of links on the ground. Links stand in an order in which each parent comes before its children.

    A joint of several degrees of freedom is several links, of which all but the last have no body (`robot.kinds`).

    Make one with `Robot.from_dh`, `Robot.from_frames`, `lw.load`, `lw.chain` or `lw.random_tree`. Two robots are equal
    when their links, frames and gravity are.
    """

    name: str = field(compare=False)
    links: tuple[Link, ...]
    frames: tuple[Frame, ...]
    gravity: tuple[Scalar, Scalar, Scalar]
    table: tuple[tuple[tuple[str, Any], ...], ...] = field(compare=False)  # rows as pairs, which nobody can change
    convention: str = field(compare=False)
    about: str = field(default="", compare=False)  # where the numbers come from
    couplings: tuple[Coupling, ...] = ()  # joints that move as others do

    walk: Walk = field(default=UNROLLED, compare=False, repr=False)  # runs the recursions over the links
    entries: dict[str, Entry] = field(default_factory=dict, init=False, compare=False, repr=False)  # compiled functions

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise RobotError(f"robot name is {self.name!r} (expected one printable line)")

    @staticmethod
    def from_dh(
        rows: Iterable[Row],
        *,
        convention: str,
        gravity: Iterable[Scalar] = EARTH,
        name: str = "robot",
        unphysical: str = REFUSE,
    ) -> Robot:
        """A robot from a Denavit-Hartenberg table.

        `convention` must be given:

        - "standard" (Saha, Angeles, Paul, Corke): frame i+1 sits on link i, reached from frame i by
          RotZ(theta) TransZ(b) TransX(a) RotX(alpha);
        - "modified" (Craig, Khalil, Kozlowski): frame i sits on link i, reached from frame i-1 by
          RotX(alpha) TransX(a) RotZ(theta) TransZ(b), with row i holding the a and alpha that come before joint i.

        A row is a mapping with `joint` ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "ball",
        "free" or "fixed"; docs/robots.md says what moves and what its coordinates are), `a`, `b` (or `d`), `alpha`,
        `theta` (for one that varies, the entry is its value at q = 0), `mass`, `com` (centre of mass in the link's own
        DH frame) and `inertia` (3 × 3, about the centre of mass, in that frame); and, if wanted, `name`, `parent` (the
        name of an earlier row, or "base"; otherwise the row before. A link may be called "base": rows after it then
        mean the link, and None or "" is the base), `rotor_inertia` (as seen at the joint), `viscous_friction`,
        `coulomb_friction`, `limits`; `pitch` of a screw, in metres per radian; `coupled_to`, `ratio` and `offset` of a
        joint that moves as another does, q = ratio · q_other + offset, and has no coordinate of its own; `joint_name`
        of a joint that is not called as its link; and what has no effect by itself: `velocity_limit`, `effort_limit`,
        `stiffness` and `rest` of a spring, for `lw.control.springs(robot)`. An inertia that no body has is an error, or
        with unphysical="warn" a warning. Lengths in m, masses in kg, angles in radians or as "90 deg". Gravity is the
        vector of its acceleration in the base frame.

        >>> rod = {"joint": "revolute", "a": 1.0, "b": 0.0, "alpha": 0.0, "mass": 3.0, "com": (-0.5, 0, 0),
        ...        "inertia": [[0, 0, 0], [0, 0.25, 0], [0, 0, 0.25]]}
        >>> pendulum = Robot.from_dh([rod], convention="standard", gravity=(0, -9.81, 0), name="pendulum")
        >>> pendulum.n, pendulum.names
        (1, ('link1',))
        """
        one_of(convention, DH_CONVENTIONS, "convention", RobotError)
        return from_table(rows, convention, gravity, name, unphysical)

    @staticmethod
    def from_frames(
        rows: Iterable[Row],
        *,
        gravity: Iterable[Scalar] = EARTH,
        name: str = "robot",
        unphysical: str = REFUSE,
    ) -> Robot:
        """A robot from frames: each row places its joint frame in the link of its parent and gives the axis there.

        Instead of DH parameters a row has `translation` (3 numbers) and, if wanted, `rotation` (3 × 3, columns are the
        axes of the joint frame in the parent link's frame), `axis` (a unit vector in the joint frame; otherwise z; not
        for universal, ball and free joints, which move about all axes of that frame) and `anchor` (a point of the
        joint frame that the axis passes through; otherwise its origin).
        The link's table frame is the joint frame, moved by the joint; `com` and `inertia` are given in it. The other
        keys are those of `from_dh`. A rotation or an axis that is one within 1e-6 is used as the nearest one, with a
        warning if it is off by more than 1e-12; farther off, it is an error.
        """
        return from_table(rows, "frames", gravity, name, unphysical)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Robot):
            return NotImplemented
        if self.symbolic or other.symbolic:  # expressions of symbols refuse to be compared
            with suppress(NoFingerprintError):  # those of another library do not
                return self.fingerprint == other.fingerprint
        return self._compared == other._compared

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._compared)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.links, self.frames, self.gravity, self.couplings

    @cached_property
    def fingerprint(self) -> str:
        """A hash, 64 hexadecimal digits, of all that results depend on: every number, to its last bit, and the tree.

        Links, joints, frames and gravity are in it; the robot's name and table are not. It is the same in every
        process. Symbols count by the expressions that they form, for every order in which these were made.

        >>> import linkwise as lw
        >>> arm = lw.load("planar3")
        >>> arm.fingerprint == lw.load("planar3").fingerprint
        True
        >>> arm.fingerprint == arm.with_gravity((0, -9.810000000000002, 0)).fingerprint
        False
        """
        return robot_fingerprint(self)

    def __repr__(self) -> str:
        kinds = self.joints if len(self.joints) <= 12 else f"{self.joints[:11]}..."
        return f"<Robot {self.name!r}: {size_in_words(self.n, len(self.names))} {kinds}, {self.convention}>"

    def _repr_html_(self) -> str:
        return notebook_html(self)

    @cached_property
    def uncoupled(self) -> Robot:
        """The robot whose joints all move on their own."""
        return replace(self, couplings=()) if self.couplings else self

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A copy of the table the robot was made from, with the keys of its convention."""
        return [dict(row) for row in self.table]

    @property
    def _row_names(self) -> set[str]:
        return {row["name"] for row in self.rows}

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Which of `links` carry no other: the tips."""
        parents = {link.parent for link in self.links}
        return tuple(i for i in range(len(self.links)) if i not in parents)

    @cached_property
    def contraction(self) -> tuple[Round, ...]:
        """The rounds in which links become one element; see `robot.contraction`."""
        return tuple(rounds([link.parent for link in self.links]))

    def ancestors(self, index: int) -> tuple[int, ...]:
        """The link `links[index]` itself, its parent, and so on to the link on the base, as numbers of `links`."""
        path = []
        while index >= 0:
            path.append(index)
            index = self.links[index].parent
        return tuple(path)

    def subtree(self, index: int) -> tuple[int, ...]:
        """The link `links[index]` itself and all that it carries, in order, as numbers of `links`."""
        indices = {index}
        for link in self.links[index + 1 :]:
            if link.parent in indices:
                indices.add(link.index)
        return tuple(sorted(indices))

    def frame(self, name: str) -> Frame:
        """A frame by name: a link's own frame or that of a merged fixed joint."""
        if name not in self._frames:
            one_of(name, self._frames, f"robot {self.name!r}: frame", RobotError)
        return self._frames[name]

    @cached_property
    def _frames(self) -> dict[str, Frame]:
        named = {name: Frame(name, k, Placement.identity()) for k, name in enumerate(self.names)}
        return {**named, **{frame.name: frame for frame in self.frames}}

    def seat(self, frame: Frame) -> tuple[int, Placement]:
        """Which of `links` carries a frame, -1 for the base, and where it is in the link's joint-aligned frame."""
        if frame.on_base:
            return -1, frame.placement
        link = self.links[self.moving[frame.link].link]
        return link.index, link.frame.then(frame.placement)

    def with_payload(
        self, mass: Scalar, com: Any = (0.0, 0.0, 0.0), inertia: Any = NO_TENSOR, *, link: str | int | None = None
    ) -> Robot:
        """The same robot with a body held by its last moving link: merged into the link as a fixed joint is.

        `com` is the payload's centre of mass in the table frame of the link (that of `lw.poses`; a tool is usually some
        way beyond it), `inertia` its tensor (3 × 3) about its own centre of mass in the same frame, by default that of
        a point mass. `link` is another link, or the frame of a merged fixed joint such as a flange, by name or by
        number; it is needed where a robot has several tips. The payload becomes a row of the table, so saved files and
        `lw.describe` show it.

        >>> import linkwise as lw
        >>> arm = lw.load("planar3")
        >>> cup = arm.with_payload(0.5, com=(0.1, 0, 0))
        >>> (lw.gravity_torque(cup, [0, 0, 0]) - lw.gravity_torque(arm, [0, 0, 0])).round(6)
        array([4.26735, 2.79585, 1.5696 ])
        """
        row: dict[str, Any] = {
            "name": free_name("payload", self._row_names),
            "parent": self._payload_parent(link),
            "joint": "fixed",
        }
        row |= {"mass": mass, "com": com, "inertia": inertia}
        row |= CONVENTIONS[self.convention].at_parent
        return self._from_rows([*self.rows, row], "the payload on the robot")

    def _from_rows(self, rows: Iterable[Row], expected: str) -> Robot:
        """The robot of these rows, otherwise as this one is; refused where the table does not have its numbers."""
        convention = CONVENTIONS[self.convention]
        again, changed = (assemble(table, convention, self.gravity, self.name)[0] for table in (self.rows, rows))
        plain = replace(self, links=tuple(replace(link, grouped=None) for link in self.links))
        if replace(plain, **again) != plain:
            raise RobotError(
                f"robot {self.name!r} has other numbers than its table (expected {expected} as it was made, before its"
                " numbers were replaced)"
            )
        robot = replace(self, **changed)
        return robot if self.links[0].grouped is None else robot.regrouped()

    def _payload_parent(self, link: str | int | None) -> str:
        """The name of the link or frame that a payload is fixed to."""
        if link is None:
            if len(self.leaves) > 1:
                tips = ", ".join(repr(self.links[i].name) for i in self.leaves)
                expected = f"(expected link=... to choose one{self._carrier_hint()})"
                raise RobotError(f"robot {self.name!r} has several tips: {tips} {expected}")
            link = self.links[self.leaves[0]].name
        if isinstance(link, str):
            if self.frame(link).on_base:
                raise RobotError(f"the frame {link!r} of robot {self.name!r} is fixed to the base, which does not move")
            return link
        if isinstance(link, bool) or not hasattr(link, "__index__") or not -len(self.names) <= link < len(self.names):
            raise RobotError(f"link is {link!r} (expected a name, or a whole number below {len(self.names)})")
        return self.names[link]

    def _carrier_hint(self) -> str:
        """For a message: what carries all tips, as a hand its fingers, if that is one link."""
        carriers = {self.links[tip].parent for tip in self.leaves}
        if len(carriers) > 1 or carriers == {-1}:
            return ""
        (link,) = carriers
        fixed = (frame.name for frame in self.frames if self.seat(frame)[0] == link)
        names = [self.links[link].name, *fixed]
        return f", or what carries them: {', '.join(map(repr, names))}"

    def with_free_base(
        self, mass: Scalar = 0.0, com: Any = (0.0, 0.0, 0.0), inertia: Any = None, *, name: str = "base"
    ) -> Robot:
        """The same robot on a base that floats: a free joint between the world and all that stood on the base.

        Mass, centre of mass and inertia (3 × 3, about it) are those of the base, in the frame in which the robot stood;
        without a mass the base is a frame alone. Bodies fixed to the base come along. q begins with the position and
        the quaternion of the base.

        >>> import linkwise as lw
        >>> arm = lw.load("planar3").with_free_base(mass=10.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> arm.joints, arm.nq, arm.nv
        ('FRRR', 10, 9)
        """
        if self.free_joints:
            joint = self.free_joints[0].joint
            raise RobotError(f"robot {self.name!r} has a free joint on its base already: {joint!r} (expected none)")
        if inertia is None and not is_zero(mass):
            raise RobotError(f"robot {self.name!r}: the base has mass {mass!r} and no inertia (expected inertia=...)")
        body = {"mass": mass, "com": com, "inertia": NO_TENSOR if inertia is None else inertia}
        rows = add_free_base(self.rows, free_name(name, self._row_names), body, self.convention)
        return self._from_rows(rows, "the base of the robot")

    def with_fixed_base(self) -> Robot:
        """The same robot with every free joint on the base fixed, where it is at q = (0, 0, 0, 1, 0, 0, 0).

        What `with_free_base` added is taken away again, if it has no mass.
        """
        floating = {joint.name for joint in self.free_joints}
        if not floating:
            raise RobotError(f"robot {self.name!r} has no free joint on its base (expected one, to be fixed)")
        return self._from_rows(fix_base(self.rows, floating), "the base of the robot")

    def with_locked(self, joints: str | Mapping[str, float], value: float = 0.0) -> Robot:
        """The same robot with a joint, or several, locked: the link becomes part of the one before it.

        A joint is named by itself or by its link, and locked at `value` (rad or m); several by a mapping of names and
        values. Joints that are coupled to it are locked where they follow. The link's name stays one of a frame, for
        `frames=` and `lw.poses`.

        >>> import linkwise as lw
        >>> panda = lw.load("panda").with_locked("panda_finger_joint1", 0.02)
        >>> panda.n, "panda_leftfinger" in [frame.name for frame in panda.frames]
        (7, True)
        """
        values = {joints: value} if isinstance(joints, str) else dict(joints)
        by_link: dict[str, float] = {}
        for name, x in values.items():
            joint = self._joint(name)
            if joint.coupling is not None:
                leader = self.links[joint.coupling.to].name
                raise RobotError(f"robot {self.name!r}: joint {name!r} follows {leader!r} (expected that to be locked)")
            if joint.kind.degrees > 1:
                lockable = ", ".join(of_one_degree())
                raise RobotError(
                    f"robot {self.name!r}: joint {name!r} is {joint.kind.name} (expected {lockable}; a free joint of a"
                    " base is fixed by robot.with_fixed_base())"
                )
            if not is_real(x) or not math.isfinite(x):
                raise RobotError(
                    f"robot {self.name!r}: joint {name!r} is locked at {x!r} (expected a number, rad or m)"
                )
            by_link[joint.name] = float(x)
        return self._from_rows(lock_joints(self.rows, by_link, self.convention), "the robot, with joints to be locked,")

    def with_parameters(self, parameters: Any, friction: Any = False, *, unphysical: str = REFUSE) -> Robot:
        """The same robot with other bodies, rotors and friction: the numbers of `lw.parameters`, in their order.

        `friction=True` where the coefficients of friction are among them; otherwise these stay as they are. A body that
        cannot exist is an error, or with unphysical="warn" a warning. The body of a link is the whole of what is fixed
        to it: rows of fixed joints on a link that gets another body become frames alone.

        >>> import linkwise as lw
        >>> arm = lw.load("planar3")
        >>> heavier = arm.with_parameters(1.1 * lw.parameters(arm))
        >>> (lw.gravity_torque(heavier, [0, 0, 0]) / lw.gravity_torque(arm, [0, 0, 0])).round(12)
        array([1.1, 1.1, 1.1])
        """
        from .friction import Friction

        changed = changed_rows(self, parameters, Friction.of(friction), unphysical)
        robot = self._from_rows(changed.rows, "the robot, with parameters to be replaced,")
        for message in changed.warnings:
            warn(message)
        return robot

    def with_gravity(self, gravity: Iterable[Scalar]) -> Robot:
        return replace(self, gravity=check_gravity(gravity, self.name))

    def regrouped(self) -> Robot:
        """The equivalent robot with base inertial parameters: the same torques and inertia matrix from fewer numbers.

        Only `link.body` changes, from which torques and accelerations are computed. Masses, mass centres and tensors
        stay the same, for loads and potential energies.
        """
        return self._regrouped

    @cached_property
    def _regrouped(self) -> Robot:
        bodies = regrouped_bodies(self.links)
        return replace(self, links=tuple(replace(k, grouped=b) for k, b in zip(self.links, bodies, strict=True)))

    @property
    def known_links(self) -> tuple[Link, ...] | None:
        """The links with base parameters that were found before, in other numbers than its own (`StandIn`)."""
        return None

    def refuse_rotors(self, what: str) -> None:
        """Raise an error that names the link if a joint has a rotor inertia: some formulations have none."""
        for link in self.links:
            if link.joint.has_rotor:
                raise RobotError(
                    f"robot {self.name!r}, link {link.name!r}: {what} are defined without rotor inertia; use"
                    " robot.without_rotors()"
                )

    def without_rotors(self) -> Robot:
        """The same robot with drives that have no inertia of their own."""
        links = tuple(replace(k, joint=replace(k.joint, rotor_inertia=0.0)) for k in self.links)
        table = tuple(tuple((key, x) for key, x in row if key != "rotor_inertia") for row in self.table)
        return replace(self, links=links, table=table)

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again of its fields: copies and other processes compute cached results and compiled functions again."""
        return type(self), tuple(getattr(self, entry.name) for entry in fields(self) if entry.init)

    @cached_property
    def non_floats(self) -> tuple[Scalar, ...]:
        """Those of its numbers that are not floats: symbols, numbers of many digits."""
        numbers = (x for link in self.links for x in numbers_of(link))
        coupled = (x for coupling in self.couplings for x in (coupling.ratio, coupling.offset))
        return tuple(x for x in (*self.gravity, *numbers, *coupled) if type(x) is not float)

    @cached_property
    def symbolic(self) -> bool:
        """Whether some of its numbers are symbols."""
        return any(map(is_symbol, self.non_floats))

    def mapped(self, convert: Callable[[Scalar], Scalar], *, orthonormal: bool = False) -> Robot:
        """The robot with every number replaced by what `convert` makes of it."""
        mapping = NumberMap(convert, orthonormal)
        x, y, z = map(convert, self.gravity)
        frames = tuple(replace(f, placement=mapping.placement(f.placement)) for f in self.frames)
        links = tuple(map(mapping.link, self.links))
        table = tuple(tuple((key, mapping.entry(entry)) for key, entry in row) for row in self.table)
        couplings = tuple(c._replace(ratio=convert(c.ratio), offset=convert(c.offset)) for c in self.couplings)
        return replace(self, links=links, frames=frames, gravity=(x, y, z), table=table, couplings=couplings)

    def cast(self, number: Callable[[float], Scalar]) -> Robot:
        """The same robot in other numbers, such as `mpmath.mpf`; its rotations are orthogonal to all their digits."""

        def convert(x: Scalar) -> Scalar:
            return x if type(x) is not float or x in (0.0, 1.0, -1.0) else number(x)

        return self.mapped(convert, orthonormal=True)


def from_table(
    rows: Iterable[Row], convention: str, gravity: Iterable[Scalar], name: str, unphysical: str = REFUSE
) -> Robot:
    """The robot of a table, DH or frames."""
    parts, warnings = assemble(rows, CONVENTIONS[convention], gravity, name, unphysical)
    for message in warnings:
        warn(message)
    return Robot(name, convention=convention, **parts)


def require_robot(robot: object, what: str = "the first argument", role: str = "") -> None:
    """Raise a TypeError where something else is given; a name is taken for one of the library or of a file."""
    if not isinstance(robot, Robot):
        hint = f"; did you mean linkwise.load({robot!r})?" if isinstance(robot, str) else ""
        raise TypeError(f"{what} is {robot!r} (expected a Robot{role}{hint})")
