"""The tree of a URDF: names resolved, loops found, links in an order in which each parent comes before its children."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from ...errors import near_miss
from ..xml import Element, shortened

HINTS = 1000  # names that a wrong one is compared with


class Branch(NamedTuple):
    """A link and the joint that moves it; a root has none."""

    link: Element
    joint: Element | None
    parent: str  # the name of the parent link; of a root ""

    @property
    def name(self) -> str:
        return self.link.attributes["name"]


def branches(robot: Element) -> list[Branch]:
    """All links: depth first, and otherwise in the order in which the joints stand in the file."""
    links, joints = named(robot, "link"), named(robot, "joint")
    if not links:
        robot.fail('has no links (expected <link name="..."> elements)')
    joint_of: dict[str, Element] = {}  # by the name of the child
    children: dict[str, list[str]] = {name: [] for name in links}
    for joint in joints.values():
        parent, child = end_of(joint, "parent", links), end_of(joint, "child", links)
        if parent == child:
            joint.fail(f'joins link "{shortened(parent)}" to itself (expected two links)')
        if child in joint_of:
            refuse_second_parent(child, joint_of[child], joint, joint_of)
        joint_of[child] = joint
        children[parent].append(child)
    order: list[Branch] = []
    waiting = [name for name in reversed(links) if name not in joint_of]
    while waiting:
        name = waiting.pop()
        above = joint_of.get(name)
        order.append(Branch(links[name], above, parent_of(above) if above is not None else ""))
        waiting.extend(reversed(children[name]))
    if len(order) < len(links):
        refuse_cycle(next(iter(links.keys() - {branch.name for branch in order})), joint_of)
    return order


def named(robot: Element, tag: str) -> dict[str, Element]:
    """The elements of that tag by their names."""
    known: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.get("name", expected=f"the name of the {tag}")
        if name in known:
            element.fail(f"line {known[name].line} has a {tag} of that name already (expected another name)")
        known[name] = element
    return known


def end_of(joint: Element, tag: str, links: dict[str, Element]) -> str:
    """The name of a joint's parent or child."""
    end = joint.only(tag)
    if end is None:
        joint.fail(f'has no <{tag}> (expected <{tag} link="..."/>)')
    name: str = end.get("link", expected="the name of a link")
    if name not in links:
        hint = near_miss(name, list(links)[:HINTS])
        end.fail(f'link is "{shortened(name)}", which no link has as its name{hint}')
    return name


def parent_of(joint: Element) -> str:
    end = joint.find("parent")
    assert end is not None  # `end_of` has read it
    return end.attributes["link"]


def path_up(name: str, joint_of: dict[str, Element]) -> list[str]:
    """A link and those below which it hangs, up to its root, or until one comes again."""
    path, seen = [name], {name}
    while path[-1] in joint_of:
        above = parent_of(joint_of[path[-1]])
        path.append(above)
        if above in seen:
            break
        seen.add(above)
    return path


def refuse_second_parent(child: str, first: Element, second: Element, joint_of: dict[str, Element]) -> NoReturn:
    """A link that two joints move: where their parents meet, that is a loop."""
    one, other = path_up(parent_of(first), joint_of), path_up(parent_of(second), joint_of)
    meeting = next((name for name in one if name in set(other)), None)
    loop = ""
    if meeting is not None:
        down = [*reversed(one[: one.index(meeting) + 1]), child, *other[: other.index(meeting) + 1]]
        loop = f", which closes the loop {listed(down)}"
    second.fail(
        f'moves link "{shortened(child)}", which {first.label} of line {first.line} moves already{loop} (expected a tree:'
        " one joint for each link)"
    )


def refuse_cycle(name: str, joint_of: dict[str, Element]) -> NoReturn:
    """Links that hang below each other, and below no root."""
    path = path_up(name, joint_of)
    cycle = path[path.index(path[-1]) :]
    joints = ", ".join(f'"{shortened(joint_of[link].attributes["name"])}"' for link in reversed(cycle[:-1]))
    joint_of[cycle[0]].fail(
        f"closes the loop {listed(cycle[::-1])}, by the joints {joints} (expected a tree that grows from a root link)"
    )


def listed(names: list[str]) -> str:
    return " -> ".join(shortened(name) for name in names)
