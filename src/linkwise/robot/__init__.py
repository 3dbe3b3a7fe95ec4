"""Robots as frozen data: a tree of links, the tables they are made from, and the recursions over them."""

from ..printing import Description
from .contraction import contracted, of_tree
from .coordinates import Axis, LinkCoordinates
from .description import describe
from .friction import Friction
from .joint import Joint, LinkMobility, Prismatic, Revolute, Screw
from .kinds import KINDS
from .link import Frame, Link
from .model import Robot, from_table, require_robot
from .per_robot import PerRobot
from .random_robots import chain, random_tree
from .stand_in import Regrouping, StandIn, before_regrouping
from .walk import Contraction, Walk, inward, outward, toward_base

__all__ = [
    "KINDS",
    "Axis",
    "Contraction",
    "Description",
    "Frame",
    "Friction",
    "Joint",
    "Link",
    "LinkCoordinates",
    "LinkMobility",
    "PerRobot",
    "Prismatic",
    "Regrouping",
    "Revolute",
    "Robot",
    "Screw",
    "StandIn",
    "Walk",
    "before_regrouping",
    "chain",
    "contracted",
    "describe",
    "from_table",
    "inward",
    "of_tree",
    "outward",
    "random_tree",
    "require_robot",
    "toward_base",
]
