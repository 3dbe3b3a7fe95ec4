"""Mass centre and momentum of the whole robot: the centroidal momentum of Orin, Goswami and Lee (2013), for trees.

β is the parent of link i, k runs over its children, Q and s place a link in its parent, 0 is the base:

    m̃_i = m_i + Σ m̃_k                          (1)   mass of link i and of all that it carries
    h̃_i = m_i c_i + Σ (Q_k h̃_k + m̃_k s_k)      (2)   their first moment about O_i; at the base, h̃_0 = m C
    μ_i = M_i t_i + Σ B_kiᵀ μ_k                 (3)   their momentum about O_i; at the base, μ_0 = (l_0, p)
    l   = l_0 - C × p                           (4)   angular momentum about the mass centre C
    A   = [..., M̃_j p_j, moved to C, ...]       (5)   momentum matrix, (l, p) = A q̇; M̃_j: composite inertia of joint j
    l̇   = n_0 - C × f,   ṗ = f                  (6)   (n_0, f): what moves all links, about O_0; Ċ × p = 0

(6) is the inward pass of Newton and Euler without gravity; its value at q̈ = 0 is Ȧ q̇. Results are in the base frame,
six-vectors angular first. Rotors of the drives have no momentum here: their inertia acts along the joints alone.

D. E. Orin, A. Goswami, S.-H. Lee: Centroidal dynamics of a humanoid robot. Autonomous Robots 35 (2013), 161-176.
"""

from collections.abc import Sequence

from ..robot import Link, Robot, inward
from ..spatial import Placement, RigidInertia, Scalar, Scalars, Twist, Vector, Wrench, add, reciprocal
from . import kinematics, newton_euler


def total_mass(robot: Robot) -> Scalar:
    mass: Scalar = 0.0
    for link in robot.links:
        mass = add(mass, link.mass)
    return mass


def centre_of_mass(robot: Robot, q: Scalars) -> Vector:
    """C, in the base frame."""

    def carry_mass(link: Link, children: Scalar) -> tuple[Scalar, Scalar]:
        mass = add(link.mass, children)  # (1)
        return mass, mass

    def carry_moment(link: Link, children: Vector, mass: Scalar, q: Scalar) -> tuple[Vector, Vector]:
        pose = link.pose(q)
        moment = pose.rotation @ (link.rigid.moment + children) + pose.translation * mass  # (2)
        return moment, moment

    moments = inward(robot, carry_moment, Vector.zero(), inward(robot, carry_mass, 0.0), q)
    total = Vector.zero()
    for link, moment in zip(robot.links, moments, strict=True):
        total = total + moment if link.parent < 0 else total
    centre: Vector = total * reciprocal(total_mass(robot))
    return centre


def on_base(robot: Robot, q: Scalars, wrenches: Sequence[Wrench]) -> Wrench:
    """The sum of the wrenches (or momenta) of the links that stand on the base, moved there."""
    total = Wrench.zero()
    for link, q_i, wrench in zip(robot.links, q, wrenches, strict=True):
        total = total + wrench.to_parent(link.pose(q_i)) if link.parent < 0 else total
    return total


def at_base(robot: Robot, q: Scalars, qd: Scalars) -> Wrench:
    """The momentum of all links about the origin of the base."""

    def step(link: Link, children: Wrench, twist: Twist, q: Scalar) -> tuple[Wrench, Wrench]:
        own = link.rigid @ twist + children  # (3)
        return own, own.to_parent(link.pose(q))

    return on_base(robot, q, inward(robot, step, Wrench.zero(), kinematics.twists(robot, q, qd), q))


def at_centre(wrench: Wrench, centre: Vector) -> Wrench:
    return wrench.acting_at(-centre)  # (4)


def momentum(robot: Robot, q: Scalars, qd: Scalars, about: Vector | None = None) -> Wrench:
    """(l, p); l about another point than C if one is given, in the base frame."""
    return at_centre(at_base(robot, q, qd), centre_of_mass(robot, q) if about is None else about)


def moving_wrench(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> Wrench:
    """All that acts on the links from outside, gravity too, about the origin of the base, to move them like this."""
    floating, nothing = robot.with_gravity((0.0, 0.0, 0.0)), [Wrench.zero()] * robot.n
    return on_base(robot, q, newton_euler.joint_wrenches(floating, q, qd, qdd, nothing))


def momentum_rate(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> Wrench:
    """(l̇, ṗ)"""
    return at_centre(moving_wrench(robot, q, qd, qdd), centre_of_mass(robot, q))  # (6)


def freeze(link: Link, children: RigidInertia, q: Scalar) -> tuple[RigidInertia, RigidInertia]:
    composite = link.rigid + children
    return composite, composite.to_parent(link.pose(q))


def composites(robot: Robot, q: Scalars) -> list[RigidInertia]:
    """M̃ of every link, about its origin, with the links' own masses also where the robot is regrouped."""
    return inward(robot, freeze, RigidInertia.zero(), q)


def unit_momentum(link: Link, composite: RigidInertia, frame: Placement, centre: Vector) -> Wrench:
    """The momentum about C of all that a joint carries, at the rate 1 of this joint: a column of A."""
    own = composite @ link.joint.axis
    turned = Wrench(frame.rotation @ own.moment, frame.rotation @ own.force)
    return turned.acting_at(frame.translation - centre)  # (5)


def momentum_matrix(robot: Robot, q: Scalars, about: Vector | None = None) -> list[Wrench]:
    """The columns of A, or of the matrix of the momentum about another point."""
    centre, frames = centre_of_mass(robot, q) if about is None else about, kinematics.poses(robot, q)
    links = zip(robot.links, composites(robot, q), frames, strict=True)
    return [unit_momentum(link, composite, frame, centre) for link, composite, frame in links]


def centre_velocity(robot: Robot, q: Scalars, qd: Scalars) -> Vector:
    velocity: Vector = at_base(robot, q, qd).force * reciprocal(total_mass(robot))
    return velocity


def centre_acceleration(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars) -> Vector:
    acceleration: Vector = moving_wrench(robot, q, qd, qdd).force * reciprocal(total_mass(robot))
    return acceleration
