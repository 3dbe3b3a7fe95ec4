"""Robots as frozen data: trees of links, the tables they are made from, and recursions over the links."""

from ..printing import Description
from .coordinates import Axis, LinkCoordinates
from .description import describe
from .fingerprint import PerRobot
from .friction import Friction
from .joint import Joint, LinkMobility, Prismatic, Revolute, Screw
from .kinds import KINDS
from .link import Frame, Link, WrenchFrames
from .model import Robot, from_table, require_robot
from .random_robots import chain, random_tree
from .symbols import Regrouping, StandIn, before_regrouping
from .walk import Contraction, Walk, contracted, inward, of_tree, outward, toward_base

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
    "WrenchFrames",
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
