"""The robot of an MJCF file: MuJoCo compiles it without geometry, and `ModelReader` reads the model.

Files are passed to MuJoCo in memory. Its errors are raised with the file, line and element they concern.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import numpy as np

from ...errors import FileError, RobotError, RowError, near_miss
from ...extras import import_optional
from ...robot import Robot, from_table
from .. import xml
from ..files import Options
from ..mujoco_model import ModelError, ModelReader, Part
from ..urdf import reader as urdf
from ..xml import Element, shorten
from .document import BODIES, Document, resolve_file

BYTES = 64 * 2**20  # of a mesh file
MESHES = ("stl", "obj", "msh")
OF_THE_BODY = ("mass", "com", "inertia")
OF_THE_EQUALITY = ("coupled_to", "ratio", "offset")
PARTS = {"actuator": "actuators", "body": "bodies", "equality": "equalities", "joint": "joints", "site": "sites"}
PARTS |= {"tendon": "tendons"}


def read(path: Path, options: Options) -> Robot:
    """The robot of a file that is MJCF, or URDF by its root element."""
    root = xml.read(path)
    if root.tag == "robot":
        return urdf.robot_of(root, options)
    with np.errstate(all="ignore"):  # overflow is reported by the table
        return Model(Document(root, path, options.ignore), path, options).robot()


class Model:
    """One file and its MuJoCo spec."""

    def __init__(self, document: Document, path: Path, options: Options) -> None:
        self.document, self.path, self.options = document, path, options
        self.root, self.skipped = document.root, document.skipped
        self.mujoco = import_optional("mujoco")
        self.files: dict[str, str] = {}  # names of mesh files by their names in memory
        self.spec = self.run(lambda: self.mujoco.MjSpec.from_string(document.text))

    def robot(self) -> Robot:
        self.check_settings()
        self.leave_out()
        self.choose_bases()
        self.drop_geometry()
        replaced = self.replace_unphysical()
        model = self.run(self.spec.compile)
        for body, values in replaced:
            stated = max(body.mass, self.spec.compiler.boundmass)
            model.body_inertia[body.id] = values * (model.body_mass[body.id] / stated if stated else 1.0)
        self.note_skipped(model)
        robot = self.robot_of(model)
        self.skipped.warn()
        return robot

    def run(self, step: Any) -> Any:
        """Run a step of MuJoCo's compiler."""
        errors = (ValueError, RuntimeError, self.mujoco.FatalError, self.mujoco.UnexpectedError)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return step()
        except errors as problem:
            self.fail(str(problem))

    def fail(self, text: str) -> NoReturn:
        """Raise an error of MuJoCo, whose text ends with the line of an element."""
        element = self.document.element(text) or self.root
        message = re.sub(r"^(?:(?:XML |Schema )?(?:Error|violation):? )+", "", text.rpartition("\nElement")[0] or text)
        for name, file in self.files.items():
            message = message.replace(f"'{name}'", f"'{file}'")
        text_line = message if message.isprintable() else message.encode("unicode_escape").decode("ascii")
        element.fail(f"{text_line}{self.hint(message, element)} (MuJoCo's compiler)")

    def hint(self, message: str, element: Element) -> str:
        """Suggest a word of MuJoCo's schema, or a name of the file, close to the wrong one."""
        if "unrecognized element" in message and element.parent is not None:
            return near_miss(element.tag, self.schema()[1].get(element.parent.tag, ()))
        wrong = re.search(r"(\w+):? '([^']+)'", message)
        if wrong is None:
            return ""
        if "unrecognized attribute" in message:
            return near_miss(wrong[2], self.schema()[0].get(element.tag, ()))
        key = "class" if "class" in message else "name"
        tags = {"name": ("default",), "target": ("joint", "tendon", "site", "body")}.get(wrong[1], (wrong[1],))
        names = {other.attributes[key] for other in self.root.walk() if other.tag in tags and key in other.attributes}
        return near_miss(wrong[2], sorted(names)) if wrong[2] not in names else ""

    def schema(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """MuJoCo's schema: attributes and children of each element."""
        attributes: dict[str, list[str]] = {}
        children: dict[str, list[str]] = {}
        path: list[str] = []
        for line in self.mujoco.mj_printSchema(False, False).splitlines():
            head, words = line[:30], line[30:].split()
            if head.strip():
                tag = head.split()[0].removeprefix("(world)")
                path = [*path[: (len(head) - len(head.lstrip())) // 3], tag]
                children.setdefault(path[-2] if len(path) > 1 else "", []).append(tag)
            attributes.setdefault(path[-1], []).extend(words)
        inside_body = [*children.get("body", ()), *BODIES[1:]]
        return attributes, children | dict.fromkeys(BODIES, inside_body) | {"mujoco": [*children["mujoco"], BODIES[0]]}

    def element(self, item: Any) -> Element:
        """The element of a part of the spec."""
        return self.document.element(item.info) or self.root

    def check_settings(self) -> None:
        compiler, types = self.spec.compiler, self.mujoco.mjtJoint
        if compiler.settotalmass > 0.0 and compiler.fusestatic:
            self.root.fail(
                "has settotalmass and fusestatic: which masses count then is not defined here (expected one)"
            )
        compiler.fusestatic = compiler.discardvisual = False  # the robot is the same, with all of its frames
        for joint in self.spec.joints:
            actuated = joint.actfrclimited, joint.actfrcrange, "actuatorfrcrange"
            for limited, (low, high), key in ((joint.limited, joint.range, "range"), actuated):
                has_range = (low, high) != (0.0, 0.0) and limited != self.mujoco.mjtLimited.mjLIMITED_FALSE
                if has_range and low >= high and joint.type in (types.mjJNT_HINGE, types.mjJNT_SLIDE):
                    self.element(joint).fail(f"{key} is {low:g} to {high:g} (expected the smaller number first)")

    def leave_out(self) -> None:
        """Remove the parts named in `ignore`."""
        spec = self.spec
        on_joints = (self.mujoco.mjtTrn.mjTRN_JOINT, self.mujoco.mjtTrn.mjTRN_JOINTINPARENT)
        if "equality" in self.options.ignore or self.options.mimic != "coupled":
            for equality in list(spec.equalities):
                of_joints = equality.type == self.mujoco.mjtEq.mjEQ_JOINT
                if of_joints and self.options.mimic != "coupled":
                    self.skipped.add("equality constraints of joints (mimic is independent)")
                    spec.delete(equality)
                elif "equality" in self.options.ignore:
                    self.skipped.ignored["equality"] = None
                    spec.delete(equality)
        free = [joint for body in spec.bodies for joint in self.free_joints(body)]
        yielding = [joint for joint in spec.joints if any(np.ravel(joint.springyield))]
        elsewhere = [actuator for actuator in spec.actuators if actuator.trntype not in on_joints]
        for name, items, keys in (
            ("fluid", [spec.option], ("density", "viscosity")),
            ("gravcomp", spec.bodies, ("gravcomp",)),
            ("springdamper", spec.joints, ("springdamper",)),
            ("spring", [*free, *yielding], ("stiffness",)),
            ("tendon", spec.tendons, ("stiffness", "damping", "armature", "frictionloss")),
            ("actuator", elsewhere, ("armature", "damping")),
        ):
            for item in items if name in self.options.ignore else ():
                for key in keys:
                    value = getattr(item, key)
                    if np.any(value):
                        self.skipped.ignored[name] = None
                        setattr(item, key, np.zeros_like(value) if np.ndim(value) else 0.0)

    def choose_bases(self) -> None:
        """Add free joints to children of the world, or remove them, as `base` requests."""
        base, bodies = self.options.base, list(self.spec.worldbody.bodies)
        roots = {body.name: body for body in bodies}
        requested: Mapping[str, str] = base if isinstance(base, Mapping) else dict.fromkeys(roots, base) if base else {}
        for name in requested:
            if name not in roots:
                known = ", ".join(sorted(filter(None, roots))[:10])
                close = near_miss(name, roots)
                self.root.fail(f"base names {name!r}, which is no child of the world{close} ({known})")
        if base == "free":
            requested = {} if any(map(self.free_joints, bodies)) else {self.only(bodies).name: "free"}
        for body in bodies:
            free = self.free_joints(body)
            if requested.get(body.name) == "fixed":
                for joint in free:
                    self.spec.delete(joint)
            elif requested.get(body.name) == "free" and not free:
                if len(body.joints):
                    self.element(body).fail(
                        "is to be a free base, but moves by joints of its own (expected a body without joints;"
                        " with_free_base(mass, com, inertia) of the robot puts it on a base)"
                    )
                body.add_freejoint()

    def free_joints(self, body: Any) -> list[Any]:
        return [joint for joint in body.joints if joint.type == self.mujoco.mjtJoint.mjJNT_FREE]

    def only(self, bodies: list[Any]) -> Any:
        """The only child of the world; an error if there are several."""
        if len(bodies) != 1:
            names = ", ".join(shorten(body.name) or "one without a name" for body in bodies[:10])
            self.root.fail(
                f'has {len(bodies)} children of the world ({names}); base="free" does not say which is the base'
                ' (expected base={name: "free"})'
            )
        return bodies[0]

    def drop_geometry(self) -> None:
        """Remove geoms and meshes that no inertia depends on, and read the files of the other meshes."""
        spec, types = self.spec, self.mujoco.mjtGeom
        for body in spec.bodies:
            counted = self.counted_geoms(body)
            for geom in list(body.geoms):
                unknown = geom.type in (types.mjGEOM_HFIELD, types.mjGEOM_SDF)
                if unknown and geom in counted:
                    self.element(geom).fail(
                        "is of a type whose inertia is not computed here (give the body an <inertial>, or the geom"
                        ' mass="0")'
                    )
                if unknown or (geom.meshname and geom not in counted):
                    spec.delete(geom)
        for site in list(spec.sites):
            if site.meshname:
                self.skipped.add("sites placed by a mesh")
                spec.delete(site)
        needed = {geom.meshname for geom in spec.geoms}
        assets: dict[str, bytes] = {}
        for mesh in list(spec.meshes):
            if mesh.name not in needed:
                spec.delete(mesh)
            elif mesh.file:
                file, kind, content = self.mesh_file(mesh)
                mesh.file = f"{len(assets)}.{kind}"  # in memory
                assets[mesh.file], self.files[mesh.file] = content, file
        spec.meshdir, spec.strippath, spec.assets = "", False, assets

    def counted_geoms(self, body: Any) -> list[Any]:
        """The geoms that the body's inertia may depend on."""
        compiler, ways = self.spec.compiler, self.mujoco.mjtInertiaFromGeom
        way, (low, high) = compiler.inertiafromgeom, compiler.inertiagrouprange
        stated = way == ways.mjINERTIAFROMGEOM_FALSE or (way == ways.mjINERTIAFROMGEOM_AUTO and body.explicitinertial)
        if stated or body.id == 0:
            return []
        geoms = [geom for geom in body.geoms if low <= geom.group <= high]
        return [geom for geom in geoms if (geom.density if np.isnan(geom.mass) else geom.mass) != 0.0]

    def mesh_file(self, mesh: Any) -> tuple[str, str, bytes]:
        """The name, the ending and the content of a file."""
        element, name = self.element(mesh), mesh.file.replace("\\", "/")
        name = PurePosixPath(name).name if self.spec.strippath else name
        folder = self.spec.meshdir.replace("\\", "/")
        full = str(PurePosixPath(folder) / name) if folder else name
        what = f"file (in {folder})" if folder else "file"
        path = resolve_file(full, (self.path.parent,), self.path.parent, element, what)
        kind = mesh.content_type.rpartition("/")[2].removeprefix("vnd.mujoco.") or path.suffix[1:].lower()
        if kind not in MESHES:
            element.fail(f'file is "{path.name}", which is not read here (expected {", ".join(MESHES)})')
        try:
            with open(path, "rb") as file:
                content = file.read(BYTES + 1)
        except OSError as problem:
            element.fail(f'file is "{path.name}", which cannot be read ({problem.strerror or problem})')
        if len(content) > BYTES:
            element.fail(f'file is "{path.name}", which is larger than {BYTES // 2**20} MiB')
        return path.name, kind, content

    def replace_unphysical(self) -> list[tuple[Any, np.ndarray]]:
        """Replace stated inertias that violate the triangle inequality by spheres: MuJoCo does not compile them.

        They are restored in the compiled model; the table then reports them or uses them as they are.
        """
        compiler, replaced = self.spec.compiler, []
        for body in self.spec.bodies:
            if not body.explicitinertial or self.counted_geoms(body):
                continue
            moments, axes = np.array(body.inertia), None
            stated = self.element(body).find("inertial") or self.element(body)
            for what, value in (("mass", body.mass), ("a principal moment of inertia", moments.min())):
                if value < 0.0:
                    stated.fail(f"{what} is {value:g} (expected a number that is not negative)")
            if not np.isnan(body.fullinertia[0]):
                xx, yy, zz, xy, xz, yz = body.fullinertia
                tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
                moments, axes = np.linalg.eigh(tensor) if np.isfinite(tensor).all() else (np.zeros(3), np.eye(3))
            moments = np.maximum(moments, compiler.boundinertia)
            broken = moments.min() > 0.0 and moments.sum() < 2.0 * moments.max()
            if broken and not compiler.balanceinertia:
                if axes is not None:
                    axes = axes if np.linalg.det(axes) > 0.0 else -axes
                    body.fullinertia[0] = np.nan
                    self.mujoco.mju_mat2Quat(body.iquat, axes.ravel())
                body.inertia = np.full(3, moments.mean())
                replaced.append((body, moments))
        return replaced

    def note_skipped(self, model: Any) -> None:
        if model.jnt_limited[model.jnt_type == int(self.mujoco.mjtJoint.mjJNT_BALL)].any():
            self.skipped.add("ranges of ball joints")
        bits = self.mujoco.mjtDisableBit
        off = model.opt.disableflags & (bits.mjDSBL_EQUALITY | bits.mjDSBL_CONSTRAINT)
        if model.neq and (off or not all(model.eq_active0)):
            self.skipped.add("equality constraints that are not active")

    def robot_of(self, model: Any) -> Robot:
        name = self.root.get("model", "") or self.path.stem
        try:
            reading = ModelReader(model)
        except ModelError as problem:
            self.element_of(problem.part).fail(problem.without_part)
        if all(row["joint"] == "fixed" for row in reading.rows):
            self.root.fail('has no joint that moves (expected one; base="free" puts a body on a free base)')
        try:
            return from_table(reading.rows, "frames", reading.gravity, name, unphysical=self.options.unphysical)
        except RowError as problem:
            element = self.element_of_entry(model, reading, problem)
            raise FileError(f"{element.path}:{element.line}: {problem}") from None
        except RobotError as problem:
            raise FileError(f"{self.root.path}:{self.root.line}: {problem}") from None

    def element_of(self, part: Part) -> Element:
        """The element of a part of the model."""
        kind, index = part
        if kind == "option":
            options = [e for e in self.root.all("option") if {"density", "viscosity"} & e.attributes.keys()]
            return options[-1] if options else self.root
        (item,) = (item for item in getattr(self.spec, PARTS[kind]) if item.id == index)
        return self.element(item if item.info or kind != "joint" else item.parent)  # a joint of `base` has no line

    def element_of_entry(self, model: Any, reading: ModelReader, problem: RowError) -> Element:
        """The element of an entry of a row."""
        (kind, index), key = reading.parts[problem.row], problem.key or "name"
        if kind == "joint" and key in OF_THE_EQUALITY:
            return self.element_of(("equality", reading.ties[index].equality))
        if kind == "joint" and (key.startswith(OF_THE_BODY) or key in ("name", "parent")):
            kind, index = "body", int(model.jnt_bodyid[index])
        element = self.element_of((kind, index))
        return (element.find("inertial") if key.startswith(OF_THE_BODY) else None) or element
