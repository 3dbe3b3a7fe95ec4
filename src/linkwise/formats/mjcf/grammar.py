"""The words of MJCF: which attributes an element has, and what each element is to a reader of smooth dynamics.

Attributes are those of MuJoCo 4.0. An attribute that is not listed is refused, so that a typing error is not a setting
that is silently lost. What stands inside elements that are skipped is not looked at.
"""

from __future__ import annotations

from ...errors import near_miss
from ..xml import Element

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
TENDON = """group limited range solreflimit solimplimit solreffriction solimpfriction margin frictionloss
    springlength springyield stiffness damping armature actuatorfrclimited actuatorfrcrange user"""
CONSTRAINT = "active solref solimp"
TEXTS = {
    "mujoco": "model",
    "compiler": """alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate
        discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough savecanonical
        savecompiled saveinertial settotalmass strippath texturedir usethread""",
    "option": """actuatorgroupdisable ccd_iterations ccd_tolerance cone density gravity impratio integrator iterations
        jacobian ls_iterations ls_tolerance magnetic noslip_iterations noslip_tolerance o_friction o_margin o_solimp
        o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance viscosity wind""",
    "flag": """actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp filterparent
        frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override refsafe sensor
        sleep speculative spring warmstart""",
    "default": "class",
    "mesh": """builtin class content_type face file inertia material maxhullvert name normal params refpos refquat scale
        smoothnormal texcoord vertex""",
    "body": """axisangle childclass euler fuse gravcomp mocap name pos quat simple sleep user xyaxes zaxis""",
    "frame": "name childclass pos quat axisangle xyaxes zaxis euler scale massscale scaling",
    "replicate": "count sep offset euler childclass",
    "inertial": "axisangle diaginertia euler fullinertia mass pos quat xyaxes zaxis",
    "joint": """actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group
        limited margin name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref
        springyield stiffness type user""",
    "freejoint": "align group name",
    "geom": """adhesion axisangle castshadow class conaffinity condim contype density euler fitscale fluidcoef
        fluidshape friction fromto gap group hfield margin mass material mesh name pos priority quat rgba shellinertia
        size solimp solmix solref surfacevel type user xyaxes zaxis""",
    "site": "axisangle class euler fromto group material mesh name pos quat rgba size type user xyaxes zaxis",
    "include": "file",
    "equality/connect": f"name class {CONSTRAINT} body1 body2 anchor site1 site2",
    "equality/weld": f"name class {CONSTRAINT} body1 body2 anchor relpose torquescale site1 site2",
    "equality/joint": f"name class {CONSTRAINT} joint1 joint2 polycoef",
    "equality/tendon": f"name class {CONSTRAINT} tendon1 tendon2 polycoef",
    "equality/flex": f"name class {CONSTRAINT} flex",
    "equality/flexstrain": f"name class {CONSTRAINT} flex cell",
    "default/equality": CONSTRAINT,
    "tendon/spatial": f"name class {TENDON} width material rgba",
    "tendon/fixed": f"name class {TENDON}",
    "default/tendon": f"{TENDON} width material rgba",
}
ACTUATOR = """actdim actearly actlimited actrange area armature bias biasprm biastype body class cogging controller
    cranklength cranksite ctrllimited ctrlrange damping dampratio delay diameter dynprm dyntype ffrange force
    forcelimited forcerange fpmax fvmax gain gainprm gaintype gear group imax inductance inheritrange input instance
    interp joint jointinparent ki kp kv lengthrange lmax lmin lugre motorconst name nominal nsample plugin posrange
    range refsite resistance saturation scale site slewmax slidersite tausmooth tendon thermal timeconst user velrange
    vmax"""  # of all of them together
TEXTS |= dict.fromkeys(ACTUATORS, ACTUATOR)
ATTRIBUTES = {tag: tuple(text.split()) for tag, text in TEXTS.items()}
SECTIONS = {  # of the root: those that are read, and what is said of those that are skipped
    "compiler": "", "option": "", "default": "", "asset": "", "worldbody": "", "equality": "", "tendon": "",
    "actuator": "", "deformable": "", "size": "size", "statistic": "statistic", "visual": "visual",
    "extension": "extension", "contact": "contact", "sensor": "sensors", "custom": "custom", "keyframe": "keyframes",
}  # fmt: skip
ASSETS = {"mesh": "", "hfield": "height fields", "skin": "skins", "texture": "textures", "material": "materials"}
ASSETS |= {"model": "models"}
BODY = ("body", "frame", "replicate", "inertial", "joint", "freejoint", "geom", "site")
SKIPPED_IN_BODY = {"camera": "cameras", "light": "lights"}
REFUSED_IN_BODY = {
    "composite": "composite objects",
    "flexcomp": "flexible objects",
    "attach": "attached models",
    "plugin": "plugins",
}
DEFAULTS = ("mesh", "texture", "material", "joint", "geom", "site", "camera", "light", "pair", "equality", "tendon")


def check_attributes(element: Element, table: str = "") -> None:
    """Refuse an attribute that such an element does not have."""
    known = ATTRIBUTES[table or element.tag]
    for key in element.attributes:
        if key not in known and not key.startswith(("xmlns", "xsi:")):
            expected = ", ".join(sorted(known)) or "none"
            element.fail(f"{key} is not an attribute of <{element.tag}>{near_miss(key, known)} (expected {expected})")


def refuse_tag(element: Element, parent: Element, known: tuple[str, ...]) -> None:
    """Refuse an element that stands where it cannot."""
    element.fail(
        f"is not an element of <{parent.tag}>{near_miss(element.tag, known)} (expected {', '.join(sorted(known))})"
    )
