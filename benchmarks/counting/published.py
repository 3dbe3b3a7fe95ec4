"""Operation counts as the literature prints them, and as another program takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .forms import Polynomial, polynomial


@dataclass(frozen=True)
class Published:
    who: str
    M: Polynomial | None
    A: Polynomial | None
    at_six: str  # where there is no form
    ours: str | None  # the method measured beside it
    why: str
    in_frames: str | None = None  # the method that keeps to the frames of the authors


def linear(
    who: str, m: tuple[int, int], a: tuple[int, int], ours: str | None, why: str, in_frames: str | None = None
) -> Published:
    return Published(who, polynomial(*m), polynomial(*a), "", ours, why, in_frames)


BOOK = "as for angeles (7.43) below; print does not list its rows"
CENTRES = "newton-euler-centres"
OTHER = "another algorithm, not here"
INVERSE = [
    linear("Hollerbach 1980", (412, -277), (320, -201), None, OTHER + " (Lagrange)"),
    linear(
        "Luh et al. 1980 ᵃ",
        (150, -48),
        (131, -48),
        "newton-euler",
        BOOK,
        CENTRES,
    ),
    linear("Walker and Orin 1982", (137, -22), (101, -11), "newton-euler", BOOK, CENTRES),
    Published("Hollerbach and Sahar 1983", None, None, "688, 558", None, OTHER),
    linear(
        "Saha, saha1999jam",
        (120, -44),
        (97, -55),
        "denoc",
        "about joint origins here, mass centres in print; less on the first two links; print does not list its rows",
        "denoc-centres",
    ),
    Published("Kane and Levinson 1983", None, None, "646, 394", None, OTHER + "; published for n = 6 alone"),
    linear(
        "Khalil et al. 1986", (105, -92), (94, -86), "fewest", "both on regrouped parameters; ours forms U = ω̇× + ω×ω×"
    ),
    linear(
        "Angeles et al. 1989",
        (105, -109),
        (90, -105),
        "complement",
        "theirs is a recursion in O(n); ours forms T and Ṫ and multiplies them out, in O(n²)",
    ),
    linear(
        "Balafoutis and Patel 1991 ᵇ",
        (93, -69),
        (81, -65),
        "fewest",
        "the same matrix U, here on regrouped parameters: no mass, h_z or Π_zz on revolute links",
    ),
    linear("Li and Sankar 1992", (88, -69), (76, -66), "fewest", "the lowest published; see the row above"),
    linear(
        "Newton-Euler, angeles (7.43)",
        (137, -22),
        (110, -14),
        "newton-euler",
        "print has 4 M a joint for Q, 8 M, 10 A for c and 8 M, 10 A to carry ċ, which no torque needs, and 6 M, 6 A"
        " for levers of three components: 26 M, 26 A",
        CENTRES,
    ),
    linear(
        "operators, general, kozlowski1995",
        (142, -161),
        (109, -135),
        "operators",
        "gravity: ours is in b, turned into every link by rotations multiplied out (line below)",
    ),
]
FORWARD = [
    Published(
        "Saha, saha1999jam",
        polynomial(201, -335),
        polynomial(193, -361),
        "",
        "denoc",
        "ours moves inertias between joint origins and turns them by two plane rotations of four products each",
    ),
    Published(
        "Featherstone 1983",
        polynomial(199, -198),
        polynomial(174, -173),
        "",
        "articulated",
        "the same recursion; inertias turned as above, and zeros kept along a released axis",
    ),
    Published(
        "Walker and Orin 1982 ᶜ",
        polynomial("1/6", "23/2", "115/3", -47),
        polynomial("1/6", 7, "233/6", -46),
        "",
        "walker-orin-3",
        "composites about joint origins here, turned as above; sines, rotations and levers are shared",
    ),
]


@dataclass(frozen=True)
class Total:
    who: str
    form: Polynomial
    ours: str
    why: str


WALKER = "the bias and the columns share sines, rotations and levers; links at rest cost nothing"
TOTALS = [
    Total(
        "articulated bodies, Featherstone 1987",
        polynomial(579, -526),
        "articulated",
        "sparse rotations, symmetric halves, and zeros along a released axis",
    ),
    Total("Walker and Orin 1", polynomial("1/3", "261/2", "1183/6", -33), "walker-orin-1", WALKER),
    Total("Walker and Orin 2", polynomial("1/3", "133/2", "1567/6", -33), "walker-orin-2", WALKER),
    Total("Walker and Orin 3 ᵈ", polynomial("1/3", "43/2", "2149/6", -113), "walker-orin-3", WALKER),
    Total(
        "Walker and Orin 4 ᵉ",
        polynomial("265/2", 207, -31),
        "walker-orin-4",
        "ours makes 3n steps of conjugate gradients without looking at the residual, print n",
    ),
    Total("Brandl et al. 1986", polynomial(470, -420), "articulated-regrouped", "the same recursion, regrouped here"),
    Total(
        "numerical, Kozłowski 1992",
        polynomial("1/3", "41/2", "2047/6", -395),
        "composite-udu",
        "both form the matrix and solve; ours regroups, and takes the bias by the fewest operations",
    ),
    Total(
        "Kalman, Kozłowski 1993",
        polynomial(477, -503),
        "kalman",
        "gravity is in b, as in operators above (line below)",
    ),
    Total(
        "normalized",
        polynomial(1135, -910),
        "normalized",
        "ours goes on from ν̇ to θ̈; ψ is never formed (stages below)",
    ),
    Total(
        "unnormalized",
        polynomial(926, -605),
        "unnormalized",
        "ours goes on from ξ̇ to θ̈; ψ is never formed (stages below)",
    ),
]

Row = tuple[str, str | None, tuple[tuple[int, int], ...], str]  # row, stage measured, M 1, M 2, A 1, A 2, why
SHARED_ROWS: list[Row] = [
    (
        "P",
        "P",
        ((101, -108), (51, -58), (94, -105), (53, -64)),
        "plane rotations trade M for A; what lies along a released axis is known to be zero",
    ),
    (
        "G",
        "G",
        ((5, -1), (5, -1), (0, 0), (0, 0)),
        "G_z = D · 1/D is multiplied out: 6 for 5; on the last link all are numbers",
    ),
    (
        "V⁺",
        "V⁺",
        ((6, -12), (2, -4), (6, -12), (2, -4)),
        "the lever is (a, 0, b): 4 for 6; in case 2 it has one component in both",
    ),
    ("V", "V", ((16, -29), (8, -16), (9, -17), (5, -9)), "the same"),
    (
        "z",
        "z",
        ((6, -12), (2, -4), (6, -12), (2, -4)),
        "the lever, as in V⁺; whole wrenches at the base here",
    ),
    ("ψ", None, ((44, -1), (12, -1), (19, -1), (5, -1)), "never formed: φ and τ̄ are applied one after the other"),
    (
        "b",
        "b",
        ((59, -43), (55, -53), (40, -27), (38, -35)),
        "gravity is in ours, turned into each link by rotations multiplied out (line below)",
    ),
    ("X", "X", ((18, -12), (18, -12), (0, 0), (0, 0)), "ours is the symmetric sum X + X*, by which λ̇ is then shorter"),
    (
        "λ̇ ᶠ",
        "λ̇",
        ((159, -6), (95, -6), (171, -6), (113, -6)),
        "ψ λ̇ ψ* as a dyad taken off and two plane rotations, symmetric halves",
    ),
]
OWN_ROWS: dict[str, list[Row]] = {
    "normalized": [
        ("θ̇", "θ̇", ((7, -10), (7, -11), (6, -10), (6, -11)), "the same slope; one square root a joint besides"),
        ("ε", "force", ((1, 0), (1, 0), (1, -1), (1, -1)), "the same"),
        ("z⁺", "z⁺", ((23, -4), (14, -3), (15, -8), (10, -7)), "G κ, where print has G D^½ ε"),
        (
            "y",
            "y, C",
            ((158, -223), (134, -211), (162, -249), (140, -217)),
            "C is in this row; ψ is applied as a dyad taken off, X V as a cross product of P V",
        ),
        ("C", None, ((2, -1), (2, -1), (0, 0), (0, 0)), "in the row above"),
        ("ν̇", "rate", ((0, 0), (0, 0), (1, 0), (1, 0)), "the same"),
    ],
    "unnormalized": [
        ("θ̇", "θ̇", ((5, -8), (5, -9), (5, -8), (5, -9)), "G_z times ω_z is taken too: 1 M, 1 A more"),
        ("κ", "force", ((0, 0), (0, 0), (1, -1), (1, -1)), "the same"),
        (
            "z⁺ ᵍ",
            "z⁺",
            ((21, -4), (13, -3), (13, -8), (9, -7)),
            "the part along the axis, G_z κ = κ, is taken too: 1 M, 1 A more",
        ),
        ("y", "y, C", ((59, -83), (47, -71), (61, -89), (50, -78)), "C is in this row; G_z is multiplied out here too"),
        ("C", None, ((0, 0), (0, 0), (0, 0), (0, 0)), "in the row above"),
        ("ξ̇", "rate", ((1, 0), (1, 0), (1, 0), (1, 0)), "the same"),
    ],
}
PRINTED_TOTALS = {  # as printed, all right: M 1, M 2, A 1, A 2
    "normalized": ((605, -462), (406, -381), (530, -448), (376, -359)),
    "unnormalized": ((500, -319), (314, -238), (426, -286), (284, -218)),
}


def column_sums(rows: Sequence[Row]) -> list[tuple[int, int]]:
    return [(sum(row[2][k][0] for row in rows), sum(row[2][k][1] for row in rows)) for k in range(4)]


# What OpenSYMORO (github.com/symoro/symoro, version 0.2, commit ba07d97) takes on these two arms: M and A with the
# links' own parameters, then with the base parameters that it finds. It ran on Python 2.7.18 with SymPy 0.7.4.1 (it
# asks for 0.7.3), on the geometry of the library's robots in Khalil's frames, with a symbol for every number that is
# not zero, and without friction, rotors and a wrench at the tip. Its equations were then counted as `lw.count` counts:
# values in place of the symbols, so that what is constant folds; each expression once; nothing that no result needs.
# Evaluated, they gave our torques, inertia matrices and accelerations, to rounding.
OPENSYMORO: dict[tuple[str, str], dict[str, tuple[int, int, int, int]]] = {
    ("puma560", "its own"): {
        "inverse_dynamics": (267, 208, 208, 158),
        "forward_dynamics": (804, 617, 602, 443),
        "inertia_matrix": (178, 138, 158, 103),
    },
    ("puma560", "general"): {
        "inverse_dynamics": (361, 313, 313, 253),
        "forward_dynamics": (955, 765, 942, 726),
        "inertia_matrix": (256, 205, 246, 180),
    },
    ("stanford", "its own"): {
        "inverse_dynamics": (182, 127, 110, 73),
        "forward_dynamics": (435, 316, 216, 143),
        "inertia_matrix": (77, 51, 66, 35),
    },
    ("stanford", "general"): {
        "inverse_dynamics": (327, 284, 265, 216),
        "forward_dynamics": (761, 619, 735, 571),
        "inertia_matrix": (156, 137, 148, 120),
    },
}

KINEMATICS = [
    ("Q", (4, 0), (4, 0), "never multiplied out: two factors, of which one is constant; of a P joint both are"),
    ("c", (8, 10), (16, 15), "print lost this row: its rows add up to 74n, 56n; the lever (a, 0, b) saves 1 A"),
    ("ω", (8, 5), (8, 4), "the same slope; P: the rotation behind the joint, below"),
    ("ċ", (20, 16), (14, 11), "the lever saves 2 M, 2 A; P: two levers, O to O to C, where print has one, C to C"),
    ("ω̇", (10, 7), (8, 4), "the same slope; P: as ω"),
    ("c̈", (32, 28), (20, 19), "as ċ; P: print has e in the wrong frame, done right it has 2 M, 1 A more"),
]
INWARD = [
    ("f of the tip", ((0, 3), (0, 3)), "there is no external force here: 3 A fewer"),
    ("n of the tip", ((0, 30), (0, 27)), "no external moment: 3 A fewer"),
    ("φ", ((8, -8), (4, -4)), "the same"),
    ("f", ((3, -3), (3, -3)), "the force along the first axis is a number for the first link"),
    ("n", ((44, -44), (37, -37)), "the lever (a, 0, b) saves 2 M, 2 A; the first two links take less"),
]
