"""<equality>: joints that move as others do. Other constraints close loops, which a tree does not have."""

from __future__ import annotations

from typing import Any

from ...errors import near_miss
from ..xml import Element
from .defaults import MAIN, Defaults
from .grammar import check_attributes, refuse_tag
from .rows import Row, Table, lock
from .settings import Settings
from .skipped import Skipped

KINDS = ("connect", "weld", "joint", "tendon", "flex", "flexstrain")


def couple(
    sections: list[Element], table: Table, settings: Settings, defaults: Defaults, skipped: Skipped, mimic: str
) -> dict[str, Element]:
    """Couple or lock joints of the table. Returns the elements that say so, by the names of the rows."""
    sources: dict[str, Element] = {}
    rows = {row.joint.name: row for row in table.rows if row.joint is not None and row.joint.name}
    for section in sections:
        for element in section.children:
            if element.tag not in KINDS:
                refuse_tag(element, section, KINDS)
            check_attributes(element, f"equality/{element.tag}")
            merged = defaults.applied(element, MAIN, "equality")
            if merged.word("active", ("true", "false"), "true") == "false" or settings.disabled & {
                "equality",
                "constraint",
            }:
                skipped.add("equality constraints that are not active")
            elif element.tag != "joint":
                skipped.refuse("equality", element, "ties bodies together, which closes a loop,")
            elif mimic != "coupled":
                skipped.add("equality constraints of joints (mimic is independent)")
            elif "equality" in skipped.ignore:
                skipped.ignored["equality"] = None
            else:
                follower = joint_named(merged, "joint1", rows)
                if follower.name in sources:
                    merged.fail(f"ties joint {merged.get('joint1')!r} a second time (expected once)")
                couple_joint(merged, follower, rows, table)
                sources[follower.name] = element
    return sources


def joint_named(element: Element, key: str, rows: dict[str, Row]) -> Row:
    name = element.get(key, expected="the name of a joint")
    if name not in rows:
        element.fail(f'{key} is "{name}", which no joint has as its name{near_miss(name, rows)}')
    row = rows[name]
    assert row.joint is not None
    if row.joint.kind not in ("hinge", "slide"):
        element.fail(f'{key} is "{name}", a {row.joint.kind} joint (expected hinge or slide)')
    return row


def couple_joint(element: Element, follower: Row, rows: dict[str, Row], table: Table) -> None:
    """y - y0 = a0 + a1 (x - x0), with y0 and x0 the references of the two joints."""
    given: tuple[float, ...] = element.numbers("polycoef", None, ())
    if len(given) > 5:
        element.fail(f"polycoef has {len(given)} numbers (expected at most 5)")
    constant, ratio, *higher = (*given, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(given) :])
    leader = joint_named(element, "joint2", rows) if "joint2" in element.attributes else None
    if leader is not None and any(higher):
        element.fail(
            f'polycoef is {list(given)}, which is not linear (expected only the first two; ignore=["equality"] leaves'
            " the joints independent)"
        )
    if leader is None or ratio == 0.0:
        lock(follower, constant)
        return
    entries: dict[str, Any] = {"coupled_to": leader.name, "ratio": ratio}
    assert follower.joint is not None
    assert leader.joint is not None
    offset = table.reference(follower.joint) + constant - ratio * table.reference(leader.joint)
    follower.entries |= entries | {"offset": offset}
