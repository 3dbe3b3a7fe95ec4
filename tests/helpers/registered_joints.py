"""A plugin of pytest: the suite as it is where `KINDS` has two kinds more."""

from linkwise.robot.kinds import KINDS
from new_joints import NEW_KINDS

KINDS.update(NEW_KINDS)
