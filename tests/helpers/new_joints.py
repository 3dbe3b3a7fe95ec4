"""Kinds of joints that the package does not have: all of each is its class, and one entry in `KINDS`.

The one slides its link, the other turns it.
"""

from dataclasses import dataclass, field

from linkwise.lazy import cached_property
from linkwise.robot.joint import Joint, Prismatic, Revolute, in_unit
from linkwise.robot.kinds import JointKind
from linkwise.spatial import Placement, Rotation, Scalar, Twist, Vector, Wrench, mul, reciprocal, turn_z


@dataclass(frozen=True)
class Rack(Prismatic):
    """A link that a pinion of this radius slides along the axis: its coordinate is the angle of the pinion."""

    __module__ = Joint.__module__  # as if it stood there: robots of other classes have no fingerprint
    kind = "rack"
    letter = "K"
    meaning = "angle of the pinion"
    colour = "#aa3377"
    angular = True
    radius: Scalar = field(default=0.0, metadata=in_unit("m/rad", "metres per radian", lengths=1))

    @cached_property
    def axis(self) -> Twist:
        return Twist(Vector.zero(), Vector(0.0, 0.0, self.radius))

    def motion(self, q: Scalar) -> Placement:
        return Placement(Rotation.identity(), Vector(0.0, 0.0, mul(self.radius, q)))

    def drive(self, torque: Scalar) -> Wrench:
        return Wrench(Vector.zero(), Vector(0.0, 0.0, mul(torque, reciprocal(self.radius))))

    def with_unit(self, share: Wrench) -> Wrench:
        return share  # the radius times its force along the axis is 1


@dataclass(frozen=True)
class Drum(Revolute):
    """A link that a cable turns: its coordinate is the length of cable that has left the drum."""

    __module__ = Joint.__module__
    kind = "drum"
    letter = "D"
    meaning = "length of the cable"
    colour = "#5f6f1f"
    angular = False
    winding: Scalar = field(default=0.0, metadata=in_unit("rad/m", "radians per metre", lengths=-1))

    @cached_property
    def axis(self) -> Twist:
        return Twist(Vector(0.0, 0.0, self.winding), Vector.zero())

    def motion(self, q: Scalar) -> Placement:
        return Placement(turn_z(mul(self.winding, q)), Vector.zero())

    def drive(self, torque: Scalar) -> Wrench:
        return Wrench(Vector(0.0, 0.0, mul(torque, reciprocal(self.winding))), Vector.zero())

    def with_unit(self, share: Wrench) -> Wrench:
        return share  # the winding times its moment about the axis is 1


NEW_KINDS = {joint.kind: JointKind.of(joint) for joint in (Rack, Drum)}
