"""Robots as frozen data: a tree of links, the tables they are made from, and the recursions over them."""

from ..printing import Description
from .axes import Axis
from .contraction import Contraction, contracted, of_tree
from .coordinates import LinkCoordinates
from .description import describe
from .friction import Friction
from .joint import Joint, Prismatic, Revolute, Screw
from .kinds import KINDS
from .link import Frame, Link
from .mobility import LinkMobility
from .model import Robot, from_table, require_robot
from .random_robots import chain, random_tree
from .recursion import inward, outward, toward_base

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
    "Prismatic",
    "Revolute",
    "Robot",
    "Screw",
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
