"""Robots as frozen data: a tree of links, the tables they are made from, and the recursions over them."""

from ..printing import Description
from .describe import describe
from .friction import Friction
from .joint import ALL_JOINTS, Joint, Prismatic, Revolute
from .link import Frame, Link
from .mobility import LinkMobility
from .model import Robot, from_table
from .random_robots import chain, random_tree
from .recursion import inward, outward, toward_base

__all__ = [
    "ALL_JOINTS",
    "Description",
    "Frame",
    "Friction",
    "Joint",
    "Link",
    "LinkMobility",
    "Prismatic",
    "Revolute",
    "Robot",
    "chain",
    "describe",
    "from_table",
    "inward",
    "outward",
    "random_tree",
    "toward_base",
]
