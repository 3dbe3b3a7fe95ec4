"""Random MJCF models, as text, and their comparison with MuJoCo."""

import warnings
from pathlib import Path

import mujoco
import numpy as np

import linkwise as lw

mujoco.set_mju_user_warning(lambda _: None)  # otherwise it writes its warnings to a file where the tests run

SEQUENCES = ("xyz", "XYZ", "zyx", "xYz", "zxZ")
CHAINS = (["hinge"], ["slide"], ["hinge", "hinge"], ["slide", "slide", "hinge"], ["ball"], ["slide", "ball"], [])
CHAINS += (["hinge", "ball"], ["hinge", "slide", "hinge"])
SHAPES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
CUBE = "0 1 3 0 3 2 4 6 7 4 7 5 0 4 5 0 5 1 2 3 7 2 7 6 0 2 6 0 6 4 1 5 7 1 7 3"
PYRAMID = "-1 -1 0 1 -1 0 1 1 0 -1 1 0 0.2 0.1 2", "0 2 1 0 3 2 0 1 4 1 2 4 2 3 4 3 0 4"


def text(*values: float) -> str:
    return " ".join(repr(float(v)) for v in np.ravel(values))


def element(tag: str, inside: str = "", **attributes: str) -> str:
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{tag}{given}>\n{inside}</{tag}>\n" if inside else f"<{tag}{given}/>\n"


class Writer:
    """A random model. Everything that the reader knows turns up in some of them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.degrees = bool(self.rng.random() < 0.5)
        self.eulerseq = str(self.rng.choice(SEQUENCES))
        self.bodies = self.joints = 0

    def likely(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def angle(self, largest: float = 3.0) -> float:
        value = self.rng.uniform(-largest, largest)
        return float(np.degrees(value)) if self.degrees else float(value)

    def point(self, size: float = 0.3) -> str:
        return text(self.rng.uniform(-size, size, 3))

    def orientation(self) -> dict[str, str]:
        """In any notation, or none."""
        key = self.rng.choice(["quat", "axisangle", "euler", "xyaxes", "zaxis", ""])
        values = {
            "quat": lambda: text(self.rng.normal(size=4)),
            "axisangle": lambda: text([*self.rng.normal(size=3), self.angle()]),
            "euler": lambda: text([self.angle(), self.angle(), self.angle()]),
            "xyaxes": lambda: text(self.rng.normal(size=6)),
            "zaxis": lambda: text(self.rng.normal(size=3)),
        }
        return {str(key): values[key]()} if key else {}

    def model(self, bodies: int = 5) -> str:
        compiler = {"angle": "degree" if self.degrees else "radian", "eulerseq": self.eulerseq}
        for key, value in (("boundmass", "0.7"), ("boundinertia", "0.004"), ("settotalmass", "12.5")):
            if self.likely(0.25):
                compiler[key] = value
        if self.likely(0.3):
            compiler["inertiagrouprange"] = "1 3"
        compiler["inertiafromgeom"] = str(self.rng.choice(["auto", "auto", "true"]))
        compiler["balanceinertia"] = "true"
        roots = "".join(self.body(0, bodies // 2) for _ in range(2))
        world = element("geom", type="plane", size="1 1 1") + element("site", name="here") + roots
        return element(
            "mujoco",
            element("compiler", **compiler)
            + element("option", gravity=self.point(9.0))
            + self.defaults()
            + self.assets()
            + element("worldbody", world),
            model="random",
        )

    def defaults(self) -> str:
        inner = element(
            "default",
            element("geom", size="0.05 0.06 0.07", type="capsule")
            + element("joint", damping="0.3", ref=text(self.angle(1.0))),
            **{"class": "inner"},
        )
        outer = (
            element("joint", armature="0.03", pos="0.01 0.02 0.03") + element("geom", density="700", group="1") + inner
        )
        return element(
            "default",
            element("geom", density="900", size="0.1 0.2 0.15") + element("default", outer, **{"class": "outer"}),
        )

    def assets(self) -> str:
        corners = self.rng.uniform(0.05, 0.2, 3) * np.array(
            [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
        )
        corners = corners + self.rng.uniform(-0.02, 0.02, (8, 3))
        kinds = ("exact", "legacy", "shell")
        ways = [{"scale": "0.5 0.4 -0.3"}, {"refpos": self.point(), "refquat": text(self.rng.normal(size=4))}, {}]
        meshes = [
            element("mesh", name=f"cube_{kind}", inertia=kind, vertex=text(corners), face=CUBE, **way)
            for kind, way in zip(kinds, ways, strict=True)
        ]
        kinds = [element("mesh", name="hull", vertex=text(self.rng.normal(size=(20, 3))), scale="0.1 0.1 0.1")]
        kinds += [element("mesh", name="cube_convex", inertia="convex", vertex=text(corners), face=CUBE)]
        pyramid = element("mesh", name="pyramid", vertex=PYRAMID[0], face=PYRAMID[1], scale="0.1 0.1 0.1")
        return element("asset", "".join(meshes + kinds) + pyramid)

    def body(self, depth: int, below: int) -> str:
        self.bodies += 1
        attributes = {"name": f"body {self.bodies}", "pos": self.point()} | self.orientation()
        if self.likely(0.4):
            attributes["childclass"] = str(self.rng.choice(["outer", "inner"]))
        free = depth == 0 and self.likely(0.3)
        kinds = ["free"] if free else CHAINS[self.rng.integers(len(CHAINS))]
        parts = "".join(self.joint(kind, depth) for kind in kinds) + self.inertia()
        if below > 1:
            split = self.rng.integers(1, below) if below > 2 and self.likely(0.4) else 0
            children = "".join(self.body(depth + 1, part) for part in (below - 1 - split, split) if part > 0)
            frame = {"pos": self.point()} | self.orientation() | ({"childclass": "outer"} if self.likely(0.3) else {})
            parts += element("frame", children, **frame) if self.likely(0.4) else children
        return element("body", parts, **attributes)

    def joint(self, kind: str, depth: int) -> str:
        self.joints += 1
        name = {"name": f"joint {self.joints}"} if self.likely(0.8) else {}
        if kind == "free" and self.likely():
            return element("freejoint", **name)
        joint = name | {"type": kind, "armature": text(self.rng.uniform(0.0, 0.1))}
        if kind in ("hinge", "slide"):
            joint |= {"axis": text(self.rng.normal(size=3))}
            if self.likely(0.3):
                joint |= {"ref": text(self.angle(1.0)), "stiffness": "1.5", "springref": text(self.angle(1.0))}
            if self.likely(0.3):
                joint |= {"range": text([-abs(self.angle()), abs(self.angle())])}
        if kind == "ball" and self.likely(0.3):
            joint["stiffness"] = "2.5"
        if kind != "free" and self.likely():
            joint["pos"] = self.point()
        if self.likely(0.3):
            joint |= {"damping": "0.7", "frictionloss": "0.2"}
        if self.likely(0.3):
            joint["class"] = str(self.rng.choice(["main", "outer", "inner"]))
        moved = element("joint", **joint)
        return element("frame", moved, pos=self.point(), **self.orientation()) if self.likely(0.2) else moved

    def inertia(self) -> str:
        """Stated, or by geoms; both turn up together too."""
        parts = ""
        if self.likely():
            moments = self.rng.uniform(0.01, 0.03, 3)
            inertial = {"mass": text(self.rng.uniform(0.5, 3.0)), "pos": self.point()}
            if self.likely():
                parts += element("inertial", diaginertia=text(moments), **inertial, **self.orientation())
            else:
                axes = np.linalg.qr(self.rng.normal(size=(3, 3)))[0]
                full = axes @ np.diag(moments) @ axes.T
                parts += element("inertial", fullinertia=text(full[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]), **inertial)
        geoms = "".join(self.geom() for _ in range(self.rng.integers(1, 4)))
        return parts + geoms + element("geom", size="0.1", group="2")

    def geom(self) -> str:
        shape = str(self.rng.choice([*SHAPES, "mesh"]))
        geom = {"type": shape}
        if self.likely():
            geom["mass"] = text(self.rng.uniform(0.1, 2.0))
        if self.likely(0.3):
            geom["group"] = str(self.rng.integers(0, 5))
        if shape == "mesh":
            geom["mesh"] = str(
                self.rng.choice(["cube_exact", "cube_legacy", "cube_shell", "cube_convex", "hull", "pyramid"])
            )
            return element("geom", **geom, pos=self.point(), **self.orientation())
        if self.likely(0.3):
            geom["shellinertia"] = "true"
        if self.likely(0.8):
            geom["size"] = text(self.rng.uniform(0.03, 0.2, SHAPES[shape] if self.likely(0.7) else 1))
        if self.likely(0.2):
            geom |= {"mesh": "pyramid"}
            return element("geom", **geom, pos=self.point(), **self.orientation())
        if shape != "sphere" and self.likely(0.4):
            return element("geom", **geom, fromto=text(self.rng.uniform(-0.3, 0.3, 6)))
        return element("geom", **geom, pos=self.point(), **self.orientation())


def quietly(path: Path, **options: object) -> lw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return lw.load(path, **options)


def differences(arm: lw.Robot, model: mujoco.MjModel, seed: int = 0, poses: bool = True) -> dict[str, float]:
    """How far inertia matrix, bias forces and poses are from MuJoCo's, relative to their size."""
    assert (arm.nq, arm.nv) == (model.nq, model.nv)
    rng, data = np.random.default_rng(seed), mujoco.MjData(model)
    q, v = lw.random_configuration(arm, rng), rng.normal(size=arm.nv)
    data.qpos, data.qvel = q, v
    mujoco.mj_forward(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    bias = lw.inverse_dynamics(arm, q, v, np.zeros(arm.nv))
    found = {
        "inertia": np.abs(lw.inertia_matrix(arm, q) - inertia).max() / np.abs(inertia).max(),
        "bias": np.abs(bias - data.qfrc_bias).max() / max(1e-3, np.abs(data.qfrc_bias).max()),
    }
    if poses:
        names = [model.body(i).name for i in range(1, model.nbody)]
        ours = lw.poses(arm, q, frames=names)
        found["position"] = np.abs(ours[:, :3, 3] - data.xpos[1:]).max()
        found["rotation"] = np.abs(ours[:, :3, :3] - data.xmat[1:].reshape(-1, 3, 3)).max()
    return found
