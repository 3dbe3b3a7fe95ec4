"""The robot of an MJCF file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import FileError, RobotError, RowError, near_miss
from ...robot import Robot, from_table
from .. import xml
from ..options import Options
from ..urdf import reader as urdf
from ..xml import Element, shortened
from .bodies import Body, Joint, Tree
from .constraints import couple
from .defaults import MAIN, Defaults
from .document import complete
from .drives import add_actuators, check_tendons
from .grammar import ASSETS, SECTIONS, check_attributes, refuse_tag
from .inertia import Inertia, inertia_of
from .meshes import Meshes
from .orientation import identity
from .rows import Table
from .settings import Settings
from .skipped import Skipped


def read(path: Path, options: Options) -> Robot:
    """The robot of a file that is MJCF, or URDF by its root element."""
    root = xml.read(path)
    if root.tag == "robot":
        return urdf.robot_of(root, options)
    with np.errstate(all="ignore"):  # numbers that are too large are found in the table
        return robot_of(complete(root, path), path, options)


def robot_of(root: Element, path: Path, options: Options) -> Robot:
    check_attributes(root)
    skipped = Skipped(str(path), options.ignore)
    sections = sorted_sections(root, skipped)
    settings, defaults = settings_of(sections, skipped), Defaults()
    for section in sections["default"]:
        defaults.add(section)
    meshes = meshes_of(sections["asset"], path.parent, settings, defaults, skipped)
    refuse_flexes(sections["deformable"], skipped)
    tree = Tree(settings, defaults, skipped)
    for section in sections["worldbody"]:
        tree.add_world(section)
    choose_bases(tree.bodies, options, root)
    inertias = [inertia_of(body, settings, meshes) for body in tree.bodies]
    scale_to_total(inertias, settings)
    align_free_bodies(tree.bodies, inertias, settings)
    table = Table(tree.bodies, settings, skipped)
    for body, inertia in zip(tree.bodies, inertias, strict=True):
        table.add(body, inertia)
    table.add_sites(tree.sites, None, "")
    for body, link in zip(tree.bodies, table.last, strict=True):
        table.add_sites(body.sites, body, link)
    check_tendons(sections["tendon"], defaults, skipped)
    add_actuators(sections["actuator"], table.rows, settings, defaults, skipped)
    sources = couple(sections["equality"], table, settings, defaults, skipped, options.mimic)
    robot = finished(table, sources, root, settings, options)
    skipped.warn()
    return robot


def sorted_sections(root: Element, skipped: Skipped) -> dict[str, list[Element]]:
    """The sections that are read, by their tags."""
    sections: dict[str, list[Element]] = {tag: [] for tag, kind in SECTIONS.items() if not kind}
    for section in root.children:
        if section.tag not in SECTIONS:
            refuse_tag(section, root, tuple(SECTIONS))
        if section.tag in sections:
            sections[section.tag].append(section)
        else:
            skipped.add(SECTIONS[section.tag])
    return sections


def settings_of(sections: dict[str, list[Element]], skipped: Skipped) -> Settings:
    settings = Settings()
    for section in sections["compiler"]:
        settings.compiler(section)
    for section in sections["option"]:
        settings.option(section)
    for key, section in settings.fluid.items():
        skipped.refuse("fluid", section, f"has a fluid around the bodies ({key}), which exerts forces on them,")
    if "gravity" in settings.disabled:
        settings.gravity = (0.0, 0.0, 0.0)
    return settings


def meshes_of(
    sections: list[Element], folder: Path, settings: Settings, defaults: Defaults, skipped: Skipped
) -> Meshes:
    meshes = Meshes(folder, settings)
    for section in sections:
        for element in section.children:
            if element.tag not in ASSETS:
                refuse_tag(element, section, tuple(ASSETS))
            if element.tag == "mesh":
                check_attributes(element)
                meshes.add(defaults.applied(element, MAIN))
            else:
                skipped.add(ASSETS[element.tag])
    return meshes


def refuse_flexes(sections: list[Element], skipped: Skipped) -> None:
    for section in sections:
        for element in section.children:
            if element.tag == "skin":
                skipped.add("skins")
            elif element.tag == "flex":
                skipped.refuse("flex", element, "is a flexible body, whose elastic forces act on the bodies,")
            else:
                refuse_tag(element, section, ("flex", "skin"))


def choose_bases(bodies: list[Body], options: Options, root: Element) -> None:
    """Give children of the world a free joint, or take it away, where that is asked."""
    roots = {body.name: body for body in bodies if body.parent < 0}
    if isinstance(options.base, Mapping):
        asked = dict(options.base)
        for name in asked:
            if name not in roots:
                known = ", ".join(sorted(filter(None, roots))[:10])
                root.fail(f"base names {name!r}, which is no child of the world{near_miss(name, roots)} ({known})")
    else:
        asked = dict.fromkeys(roots, options.base) if options.base else {}
        if options.base == "free":
            asked = whole_robot_free(bodies, root)
    for body in bodies:
        if body.parent < 0 and asked.get(body.name) == "fixed":
            body.joints = [joint for joint in body.joints if joint.kind != "free"]
        elif body.parent < 0 and asked.get(body.name) == "free":
            make_free(body)


def whole_robot_free(bodies: list[Body], root: Element) -> dict[str, str]:
    """One free base, if no body is free yet."""
    roots = [body for body in bodies if body.parent < 0]
    if any(joint.kind == "free" for body in roots for joint in body.joints):
        return {}
    if len(roots) != 1:
        names = ", ".join(shortened(body.name) or "one without a name" for body in roots[:10])
        root.fail(
            f'has {len(roots)} children of the world ({names}); base="free" does not say which is the base (expected'
            ' base={name: "free"})'
        )
    return {roots[0].name: "free"}


def make_free(body: Body) -> None:
    if any(joint.kind == "free" for joint in body.joints):
        return
    if body.joints:
        body.element.fail(
            "is to be a free base, but moves by joints of its own (expected a body without joints;"
            " with_free_base(mass, com, inertia) of the robot puts it on a base)"
        )
    body.joints = [free_joint(body)]


def free_joint(body: Body) -> Joint:
    element = Element("freejoint", {}, body.element.path, body.element.line, body.element)
    return Joint(element, "", "free", np.array([0.0, 0.0, 1.0]), np.zeros(3))


def scale_to_total(inertias: list[Inertia], settings: Settings) -> None:
    """Scale all masses where their sum is given."""
    if settings.settotalmass > 0.0:
        total = sum(inertia.mass for inertia in inertias)
        factor = settings.settotalmass / total if total > 0.0 else 1.0
        for inertia in inertias:
            inertia.mass *= factor
            inertia.moments = inertia.moments * factor


def align_free_bodies(bodies: list[Body], inertias: list[Inertia], settings: Settings) -> None:
    """The frame of a free body without children becomes that of its principal axes, where that is asked."""
    for body, inertia in zip(bodies, inertias, strict=True):
        if len(body.joints) == 1 and body.joints[0].kind == "free" and not body.children:
            element = body.joints[0].element
            word = element.word("align", ("false", "true", "auto"), "auto")
            if word == "true" or (word == "auto" and settings.alignfree):
                if inertia.computed_axes:
                    element.fail(
                        "is to be aligned with the principal axes, which the file does not state (expected"
                        ' align="false", or an <inertial> with diaginertia)'
                    )
                back = inertia.frame.inverse()
                body.sites = [replace(site, pose=back.then(site.pose)) for site in body.sites]
                body.pose, inertia.frame = body.pose.then(inertia.frame), identity()


def finished(table: Table, sources: dict[str, Element], root: Element, settings: Settings, options: Options) -> Robot:
    rows = [row.entries for row in table.rows]
    name = root.get("model", "") or root.path.stem
    if all(row["joint"] == "fixed" for row in rows):
        root.fail('has no joint that moves (expected one; base="free" puts a body on a free base)')
    try:
        return from_table(rows, "frames", settings.gravity, name, unphysical=options.unphysical)
    except RowError as problem:
        row = table.rows[problem.row]
        coupling = problem.key in ("coupled_to", "ratio", "offset") and row.name in sources
        element = sources[row.name] if coupling else row.element(problem.key)
        raise FileError(f"{element.path}:{element.line}: {problem}") from None
    except RobotError as problem:
        raise FileError(f"{root.path}:{root.line}: {problem}") from None
