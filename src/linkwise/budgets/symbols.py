"""The terms of budgets as the paper writes them, in LaTeX: links and joints by number, base first."""

from __future__ import annotations

from ..robot import Robot
from .terms import FRICTION, Term

RATE, ACCELERATION = r"\dot{\theta}", r"\ddot{\theta}"
FORCES = {"bias force": "b", "gravity": "b^g", "wrench": "b^e"}


def numbered(arm: Robot) -> bool:
    """Whether each joint has one degree of freedom of its own, so that joints and links have the same numbers."""
    return all(joint.kind.degrees == 1 and joint.coupling is None for joint in arm.moving)


def torque_symbol(arm: Robot, k: int, term: Term, by: str) -> str:
    """A term of torque k as in [Kozłowski] (39); by joints, with the Christoffel symbols of the inertia matrix."""
    joints = [arm.v_names.index(name) + 1 for name in term.joints]
    m, k = (arm.names.index(term.link) + 1 if term.link else 0), k + 1
    pair = rf"^{{({joints[0]},{joints[-1]})}}" if term.rates and by == "terms" else ""
    if term.what == "acceleration":
        return through_composite(k, joints[0], rf"H_{{{joints[0]}}}^* {ACCELERATION}_{{{joints[0]}}}")
    if term.rates and by == "joints":
        return christoffel(k, joints[0], joints[-1])
    if term.what == "bias acceleration":
        return through_composite(k, m, f"a_{{{m}}}{pair}")
    if term.what in FORCES:
        return rf"{inward('Phi', k, m)} {FORCES[term.what]}_{{{m}}}{pair}"
    own = {"rotor": rf"J_{{{k}}} {ACCELERATION}_{{{k}}}", FRICTION[0]: rf"f_{{v,{k}}} {RATE}_{{{k}}}"}
    return own.get(term.what, rf"f_{{c,{k}}}({RATE}_{{{k}}})")


def inward(operator: str, k: int, m: int) -> str:
    """H_k Φ_km"""
    return rf"H_{{{k}}}" if k == m else rf"H_{{{k}}} \{operator}_{{{k},{m}}}"


def through_composite(k: int, j: int, x: str) -> str:
    """What x at link j is in torque k."""
    if j >= k:
        return rf"{inward('Phi', k, j)} r_{{{j}}} {x}"
    return rf"H_{{{k}}} r_{{{k}}} \Phi^*_{{{j},{k}}} {x}"


def christoffel(k: int, i: int, j: int) -> str:
    symbol = rf"\Gamma_{{{k},{i},{j}}}"
    return rf"{symbol} {RATE}_{{{i}}}^2" if i == j else rf"2 {symbol} {RATE}_{{{i}}} {RATE}_{{{j}}}"


def element_symbol(k: int, i: int, m: int, normalized: bool) -> str:
    """c_ki times the quasi-velocity, or of that the summand of m in (48); m < 0 for all."""
    k, i, m = k + 1, i + 1, m + 1
    velocity = rf"\{'nu' if normalized else 'xi'}_{{{i}}}"
    if m <= 0:
        return rf"c_{{{k},{i}}} {velocity}"
    sign = "-" if k > i else ""  # c_ki = -c_ik
    a, b = min(k, i), max(k, i)
    outer = r"\Omega_\delta^*"
    summand = rf"{inward('Psi', a, m)} P_{{{m}}} {outer}({m}) \Psi^*_{{{b},{m}}} H_{{{b}}}^*"
    scaled = rf"D_{{{a}}}^{{-1/2}} {summand} D_{{{b}}}^{{-1/2}}" if normalized else summand
    return f"{sign}{scaled} {velocity}"


def quasi_force_symbol(what: str, k: int, m: int, normalized: bool) -> str:
    """D_k^-½ H_k Ψ_km b_m"""
    scale = rf"D_{{{k + 1}}}^{{-1/2}} " if normalized else ""
    return rf"{scale}{inward('Psi', k + 1, m + 1)} {FORCES[what]}_{{{m + 1}}}"
