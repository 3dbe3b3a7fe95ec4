"""The robot: a tree of links, as frozen data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import RobotError, one_of
from ..lazy import cached_property
from ..printing import notebook_html, warn
from ..spatial import Placement, Scalar, is_zero
from .build import assemble, check_gravity
from .changes import add_free_base, changed_rows, fix_base, lock_joints, payload_parent, values_by_link
from .coordinates import Coupling, JointSpace, size_in_words
from .entries import is_symbol
from .fingerprint import NoFingerprintError, robot_fingerprint
from .link import Frame, Link, NumberMap, frames_by_name, numbers_of
from .regroup import regrouped_bodies
from .tables import CONVENTIONS, DH_CONVENTIONS, NO_TENSOR, REFUSE, Unphysical, free_name
from .walk import UNROLLED, Round, Walk, rounds

if TYPE_CHECKING:
    from .friction import Friction

Row = Mapping[str, Any]
Numbers = Iterable[Scalar]
Tensor = Iterable[Iterable[Scalar]]
EARTH = (0.0, 0.0, -9.81)
Entry = Callable[..., Any]


class WithEntries:
    """Makes `Robot.entries` a slot, which each call reads faster than a `__dict__` entry."""

    __slots__ = ("entries",)
    entries: dict[Any, Entry]


@dataclass(frozen=True, repr=False, eq=False)
class Robot(JointSpace, WithEntries):
    """A tree of links on a base, as frozen data. Parents come before their children.

    Make robots with `Robot.from_dh`, `Robot.from_frames`, `lw.load`, `lw.chain` or `lw.random_tree`. Robots are equal
    if their links, frames, gravity and couplings are. A joint of several degrees of freedom is several links; only the
    last of them has a body (`robot.kinds`).
    """

    name: str = field(compare=False)
    links: tuple[Link, ...]
    frames: tuple[Frame, ...]
    gravity: tuple[Scalar, Scalar, Scalar]
    table: tuple[tuple[tuple[str, Any], ...], ...] = field(compare=False)  # rows as immutable pairs
    convention: str = field(compare=False)
    about: str = field(default="", compare=False)  # where the numbers come from
    couplings: tuple[Coupling, ...] = ()  # joints that follow others

    walk: Walk = field(default=UNROLLED, compare=False, repr=False)  # runs the recursions over the links
    entries: dict[Any, Entry] = field(default_factory=dict, init=False, compare=False, repr=False)  # compiled functions

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise RobotError(f"robot name is {self.name!r} (expected one printable line)")

    @staticmethod
    def from_dh(
        rows: Iterable[Row],
        *,
        convention: Literal["standard", "modified"],
        gravity: Numbers = EARTH,
        name: str = "robot",
        unphysical: Unphysical = REFUSE,
    ) -> Robot:
        """Make a robot from a Denavit-Hartenberg table.

        Parameters
        ----------
        rows : iterable of mapping
            One row per joint. Required: `joint` ("revolute", "prismatic", "screw", "cylindrical", "universal",
            "planar", "ball", "free" or "fixed"); `a`, `b` (or `d`) in m; `alpha`, `theta` in rad or as "90 deg" (the
            joint's variable: its value at q = 0); `mass` in kg; `com`, the centre of mass in the link's DH frame;
            `inertia` (3 × 3) about it, along the axes of that frame. Optional: `name`; `parent` (an earlier row, "base"
            or None; by default the row before); `joint_name`; `rotor_inertia` (seen at the joint),
            `viscous_friction`, `coulomb_friction`, `coulomb_offset`, `quadratic_friction`, `stribeck_friction`,
            `stribeck_rate`, `load_friction` (`lw.Friction`), `limits`; `pitch` of a screw in m/rad; `coupled_to`,
            `ratio` and `offset` of a joint with q = ratio · q_other + offset. Without effect on the dynamics:
            `velocity_limit`, `effort_limit`, and `stiffness` and `rest` of a spring for `lw.control.springs(robot)`.
        convention : {"standard", "modified"}
            "standard" (Saha, Angeles, Paul, Corke): frame i+1 is on link i, reached from frame i by
            RotZ(theta) TransZ(b) TransX(a) RotX(alpha). "modified" (Craig, Khalil, Kozlowski): frame i is on link i,
            reached from frame i-1 by RotX(alpha) TransX(a) RotZ(theta) TransZ(b); row i has the a and alpha before
            joint i.
        gravity : iterable of float, optional
            Acceleration of gravity in m/s², in the base frame.
        name : str, optional
        unphysical : {"refuse", "warn"}, optional
            Whether an inertia that is not physically consistent is an error or a warning.

        Returns
        -------
        Robot

        Raises
        ------
        RobotError
            An entry is missing, unknown or wrong; the message names robot, link and entry.

        Examples
        --------
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
        gravity: Numbers = EARTH,
        name: str = "robot",
        unphysical: Unphysical = REFUSE,
    ) -> Robot:
        """Make a robot from joint frames: each row places its joint frame in the link of its parent.

        The link's table frame is the joint frame, moved by the joint; `com` and `inertia` are in it.

        Parameters
        ----------
        rows : iterable of mapping
            As for `from_dh`, with these entries instead of DH parameters: `translation` (3,) in m; optional `rotation`
            (3 × 3), whose columns are the axes of the joint frame in the parent's frame; `axis`, a unit vector in the
            joint frame (default z; not for universal, ball and free joints); `anchor`, a point on the axis in the joint
            frame (default its origin). Rotations and axes within 1e-6 are replaced by the nearest exact one, with
            a warning above 1e-12.
        gravity, name, unphysical : optional
            As for `from_dh`.

        Returns
        -------
        Robot
        """
        return from_table(rows, "frames", gravity, name, unphysical)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Robot):
            return NotImplemented
        if self.symbolic or other.symbolic:  # our expressions cannot be compared
            with suppress(NoFingerprintError):  # symbols of another library can
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
        """SHA-256 of everything that results depend on: links, joints, frames, gravity, every bit of every number.

        Name and table do not count. Symbols count by their expressions. It is the same in every process.

        Examples
        --------
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
        """The robot without couplings."""
        return replace(self, couplings=()) if self.couplings else self

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A copy of the table that the robot was made from."""
        return [dict(row) for row in self.table]

    @property
    def _row_names(self) -> set[str]:
        return {row["name"] for row in self.rows}

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The indices of links without children."""
        parents = {link.parent for link in self.links}
        return tuple(i for i in range(len(self.links)) if i not in parents)

    @cached_property
    def contraction(self) -> tuple[Round, ...]:
        """The rounds that contract the tree to one element; see `robot.walk`."""
        return tuple(rounds([link.parent for link in self.links]))

    def ancestors(self, index: int) -> tuple[int, ...]:
        """The indices of a link, its parent, and so on to the link on the base."""
        path = []
        while index >= 0:
            path.append(index)
            index = self.links[index].parent
        return tuple(path)

    def subtree(self, index: int) -> tuple[int, ...]:
        """The indices of a link and all its descendants, in order."""
        indices = {index}
        for link in self.links[index + 1 :]:
            if link.parent in indices:
                indices.add(link.index)
        return tuple(sorted(indices))

    def frame(self, name: str) -> Frame:
        """The frame of this name: the table frame of a link, or a frame of a merged fixed joint or MJCF site.

        The name of a joint that no link or frame has is that of the link that it moves or fixes.
        """
        frames = self._frames
        if not isinstance(name, str) or name not in frames:
            one_of(name, frames, f"robot {self.name!r}: frame", RobotError)
        return frames[name]

    @cached_property
    def _frames(self) -> dict[str, Frame]:
        return frames_by_name(self.names, self.frames, self.table)

    def seat(self, frame: Frame) -> tuple[int, Placement]:
        """The index of the link that carries a frame, -1 for the base, and the pose in its joint-aligned frame."""
        if frame.on_base:
            return -1, frame.placement
        link = self.links[self.moving[frame.link].link]
        return link.index, link.frame.then(frame.placement)

    def with_payload(
        self,
        mass: Scalar,
        com: Numbers = (0.0, 0.0, 0.0),
        inertia: Tensor = NO_TENSOR,
        *,
        link: str | int | None = None,
    ) -> Robot:
        """The robot with a payload fixed to a link; it becomes a row of the table.

        Parameters
        ----------
        mass : float
            In kg.
        com : array_like, optional
            Centre of mass in m, in the table frame of the link (that of `lw.poses`).
        inertia : array_like, optional
            Tensor (3 × 3) in kg m² about `com`, along the same axes; by default that of a point mass.
        link : str or int, optional
            Link, or frame of a merged fixed joint such as a flange. Required if the robot has several tips.

        Returns
        -------
        Robot

        Examples
        --------
        >>> import linkwise as lw
        >>> arm = lw.load("planar3")
        >>> cup = arm.with_payload(0.5, com=(0.1, 0, 0))
        >>> (lw.gravity_torque(cup, [0, 0, 0]) - lw.gravity_torque(arm, [0, 0, 0])).round(6)
        array([4.26735, 2.79585, 1.5696 ])
        """
        row: dict[str, Any] = {
            "name": free_name("payload", self._row_names),
            "parent": payload_parent(self, link),
            "joint": "fixed",
        }
        row |= {"mass": mass, "com": com, "inertia": inertia}
        row |= CONVENTIONS[self.convention].at_parent
        return self._from_rows([*self.rows, row], "the payload on the robot")

    def _from_rows(self, rows: Iterable[Row], expected: str) -> Robot:
        """This robot with other rows. An error if its numbers are not those of its table."""
        convention = CONVENTIONS[self.convention]
        again, changed = (assemble(table, convention, self.gravity, self.name)[0] for table in (self.rows, rows))
        plain = replace(self, links=tuple(replace(link, grouped=None) for link in self.links))
        if replace(plain, **again) != plain:
            raise RobotError(
                f"robot {self.name!r} was changed after it was made from its table (expected {expected} before its"
                " numbers are changed)"
            )
        robot = replace(self, **changed)
        return robot if self.links[0].grouped is None else robot.regrouped()

    def with_free_base(
        self, mass: Scalar = 0.0, com: Numbers = (0.0, 0.0, 0.0), inertia: Tensor | None = None, *, name: str = "base"
    ) -> Robot:
        """The robot on a floating base: a free joint between the world and everything on the base.

        q begins with the position and the quaternion of the base. Bodies fixed to the base move with it.

        Parameters
        ----------
        mass : float, optional
            Of the base in kg. Without it the base is a frame without a body.
        com, inertia : array_like, optional
            Centre of mass, and tensor (3 × 3) about it, in the former base frame. A mass needs an inertia.
        name : str, optional
            Of the base.

        Returns
        -------
        Robot

        Examples
        --------
        >>> import linkwise as lw
        >>> arm = lw.load("planar3").with_free_base(mass=10.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> arm.joints, arm.nq, arm.nv
        ('FRRR', 10, 9)
        """
        if self.free_joints:
            joint = self.free_joints[0].joint
            raise RobotError(f"robot {self.name!r} has a free joint on its base already: {joint!r} (expected none)")
        if inertia is None and not is_zero(mass):
            raise RobotError(f"robot {self.name!r}: the base has mass {mass!r} but no inertia (expected inertia=...)")
        body = {"mass": mass, "com": com, "inertia": NO_TENSOR if inertia is None else inertia}
        rows = add_free_base(self.rows, free_name(name, self._row_names), body, self.convention)
        return self._from_rows(rows, "the base of the robot")

    def with_fixed_base(self) -> Robot:
        """The robot with every free joint on the base fixed at q = (0, 0, 0, 1, 0, 0, 0).

        This undoes `with_free_base`. A base with mass stays, as a fixed body. The row of a former free
        joint is removed if it has no mass, no inertia and no displacement.
        """
        floating = {joint.name for joint in self.free_joints}
        if not floating:
            raise RobotError(
                f"robot {self.name!r} has no free joint on its base, so nothing can be fixed (expected a free joint"
                " there)"
            )
        return self._from_rows(fix_base(self.rows, floating), "the base of the robot")

    def with_locked(self, joints: str | Mapping[str, float], value: float = 0.0) -> Robot:
        """The robot with joints locked: each link becomes part of its parent and remains as a frame.

        Parameters
        ----------
        joints : str or mapping
            A joint, named by itself or by its link; or names and values. Joints coupled to them are locked too.
        value : float, optional
            Position of a single joint in rad or m.

        Returns
        -------
        Robot

        Examples
        --------
        >>> import linkwise as lw
        >>> panda = lw.load("panda").with_locked("panda_finger_joint1", 0.02)
        >>> panda.n, "panda_leftfinger" in [frame.name for frame in panda.frames]
        (7, True)
        """
        values = values_by_link(self, {joints: value} if isinstance(joints, str) else joints)
        return self._from_rows(lock_joints(self.rows, values, self.convention), "the robot, with joints to be locked,")

    def with_parameters(
        self, parameters: Numbers, friction: bool | Friction = False, *, unphysical: Unphysical = REFUSE
    ) -> Robot:
        """The robot with other parameters of bodies, rotors and friction.

        The body of a link includes all rows of fixed joints on it; if it changes, these rows become frames.

        Parameters
        ----------
        parameters : array_like
            The numbers of `lw.parameters`, in their order.
        friction : bool or Friction, optional
            Whether friction coefficients are among them, as in `lw.parameters`.
        unphysical : {"refuse", "warn"}, optional
            Whether a body that is not physically consistent is an error or a warning.

        Returns
        -------
        Robot

        Examples
        --------
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

    def with_gravity(self, gravity: Numbers) -> Robot:
        """The robot with this acceleration of gravity, in m/s² in the base frame."""
        return replace(self, gravity=check_gravity(gravity, self.name))

    def regrouped(self) -> Robot:
        """The robot with base inertial parameters: equal torques and inertia matrix from fewer numbers.

        Only `link.body` changes, which torques and accelerations use. Masses, mass centres and tensors stay, for loads
        and potential energies.
        """
        return self._regrouped

    @cached_property
    def _regrouped(self) -> Robot:
        bodies = regrouped_bodies(self.links)
        return replace(self, links=tuple(replace(k, grouped=b) for k, b in zip(self.links, bodies, strict=True)))

    @property
    def known_links(self) -> tuple[Link, ...] | None:
        """The links with base parameters that a `StandIn` was made with."""
        return None

    def refuse_rotors(self, what: str) -> None:
        """Raise an error that names the link if a joint has a rotor inertia."""
        for link in self.links:
            if link.joint.has_rotor:
                raise RobotError(
                    f"robot {self.name!r}, link {link.name!r}: {what} are defined without rotor inertia; use"
                    " robot.without_rotors()"
                )

    def without_rotors(self) -> Robot:
        """The robot without rotor inertias."""
        links = tuple(replace(k, joint=replace(k.joint, rotor_inertia=0.0)) for k in self.links)
        table = tuple(tuple((key, x) for key, x in row if key != "rotor_inertia") for row in self.table)
        return replace(self, links=links, table=table)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the fields alone, without cached results and compiled functions."""
        return type(self), tuple(getattr(self, entry.name) for entry in fields(self) if entry.init)

    @cached_property
    def non_floats(self) -> tuple[Scalar, ...]:
        """Its numbers that are not floats: symbols, multiprecision numbers."""
        numbers = (x for link in self.links for x in numbers_of(link))
        coupled = (x for coupling in self.couplings for x in (coupling.ratio, coupling.offset))
        return tuple(x for x in (*self.gravity, *numbers, *coupled) if type(x) is not float)

    @cached_property
    def symbolic(self) -> bool:
        """Whether some numbers are symbols."""
        return any(map(is_symbol, self.non_floats))

    def mapped(self, convert: Callable[[Scalar], Scalar], *, orthonormal: bool = False) -> Robot:
        """The robot with `convert` applied to every number."""
        mapping = NumberMap(convert, orthonormal)
        x, y, z = map(convert, self.gravity)
        frames = tuple(replace(f, placement=mapping.placement(f.placement)) for f in self.frames)
        links = tuple(map(mapping.link, self.links))
        table = tuple(tuple((key, mapping.entry(entry)) for key, entry in row) for row in self.table)
        couplings = tuple(c._replace(ratio=convert(c.ratio), offset=convert(c.offset)) for c in self.couplings)
        return replace(self, links=links, frames=frames, gravity=(x, y, z), table=table, couplings=couplings)

    def cast(self, number: Callable[[float], Scalar]) -> Robot:
        """The robot in other numbers, such as `mpmath.mpf`; rotations are orthogonal to all their digits."""
        exact = (0.0, 1.0, -1.0)
        return self.mapped(lambda x: x if type(x) is not float or x in exact else number(x), orthonormal=True)


def from_table(rows: Iterable[Row], convention: str, gravity: Numbers, name: str, unphysical: str = REFUSE) -> Robot:
    """Make a robot from a table, DH or frames, with warnings."""
    parts, warnings = assemble(rows, CONVENTIONS[convention], gravity, name, unphysical)
    for message in warnings:
        warn(message)
    return Robot(name, convention=convention, **parts)


def require_robot(robot: object, what: str = "the first argument", role: str = "") -> None:
    """Raise a TypeError unless it is a Robot; the message suggests `linkwise.load` for a name."""
    if not isinstance(robot, Robot):
        hint = f"; did you mean linkwise.load({robot!r})?" if isinstance(robot, str) else ""
        raise TypeError(f"{what} is {robot!r} (expected a Robot{role}{hint})")
