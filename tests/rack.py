"""A kind of joint that the package does not have: all of it is this class, and one entry in `KINDS`."""

from dataclasses import dataclass, field

from linkwise.lazy import cached_property
from linkwise.robot.joint import Joint, Prismatic, in_unit
from linkwise.spatial import Placement, Rotation, Scalar, Twist, Vector, Wrench, mul, reciprocal


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
