"""A plugin of pytest: the suite as it is where `KINDS` has one kind more."""

from linkwise.robot.kinds import KINDS, JointKind
from rack import Rack

KINDS[Rack.kind] = JointKind.of(Rack)
