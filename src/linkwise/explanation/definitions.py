"""The quantities that `explain` knows: symbol, meaning, source and equation, and what each one needs; values by links,
and the move from a link's frame to the frames of Saha and Angeles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple
from unicodedata import normalize

from ..dynamics.denoc_rates import centres
from ..dynamics.kinematics import poses
from ..dynamics.operator_matrices import of_twists
from ..errors import near_miss
from ..robot import Robot
from ..spatial import Placement, Scalars, Twist, Vector, Wrench
from ..spatial.dense import Dense

SAHA, INVERSE, KOZLOWSKI, ANGELES = "saha1999jam", "saha1999ijrr", "kozlowski1995", "angeles"
CENTRES = "base frame, at the mass centres"
ORIGINS = "joint-aligned frames, at the joints"

Needs = Literal["", "qd", "qdd", "tau"]


class Blocks(NamedTuple):
    """How a stacked matrix is divided, and what its blocks are called."""

    rows: int
    columns: int
    symbol: str
    latex: str


class Definition(NamedTuple):
    symbol: str
    latex: str
    meaning: str
    source: str
    equation: str
    needs: Needs = ""
    blocks: Blocks | None = None  # of a stacked matrix
    rotors: bool = True  # whether it is defined for robots with rotor inertias


def bold(letter: str) -> str:
    return rf"\mathbf{{{letter}}}"


def dotted(latex: str) -> str:
    return rf"\dot{{{latex}}}"


def stacked(symbol: str, latex: str, rows: int = 6, columns: int = 6) -> Blocks:
    return Blocks(rows, columns, symbol, latex)


B, M, N_L, N_D, W, K, T = bold("B"), bold("M"), r"\mathbf{N}_l", r"\mathbf{N}_d", bold("W"), bold("K"), bold("T")
OMEGA, PSI, MU, ETA = (rf"\boldsymbol{{\{x}}}" for x in ("Omega", "Psi", "mu", "eta"))
M_TILDE, M_HAT, H_TILDE = rf"\tilde{{{M}}}", rf"\hat{{{M}}}", r"\tilde{\mathbf{H}}"
PSI_SMALL, PSI_HAT = r"\boldsymbol{\psi}", r"\hat{\boldsymbol{\psi}}"
M_DOT_TILDE = rf"\tilde{{{dotted(M)}}}"

SAHA_QUANTITIES = {
    "B": Definition("B_ij", B, f"carries the twist of link j to link i; {CENTRES}", SAHA, "(13), (14)"),
    "p": Definition("p_i", bold("p"), f"axis of joint i; {CENTRES}", SAHA, "(13), (15)"),
    "d": Definition("d_i", bold("d"), "from the joint's origin, fixed in the parent, to the mass centre; base frame",
                    SAHA, "(11b)"),
    "rho": Definition("ρ_ij", r"\boldsymbol{\rho}", "from the origin of joint i to mass centre j; base frame",
                      INVERSE, "section 6"),
    "M": Definition("M_i", M, f"inertia of link i; {CENTRES}", SAHA, "(2)"),
    "M_stacked": Definition("M", M, f"diag(M_1, ..., M_n); {CENTRES}", SAHA, "(4)", "", stacked("M", M)),
    "M_tilde": Definition("M̃_i", M_TILDE, f"composite inertia, joints beyond i frozen; {CENTRES}", SAHA, "(23b)"),
    "M_tilde_stacked": Definition("M̃", M_TILDE, f"N_lᵀ M N_l, with the blocks M̃_i B_ij; {CENTRES}", SAHA, "(22)", "",
                                  stacked("M̃", M_TILDE)),
    "M_hat": Definition("M̂_i", M_HAT, f"articulated inertia, joints beyond i free; {CENTRES}", SAHA, "(50)"),
    "M_hat_ik": Definition("M̂_ik", M_HAT, f"M̂_i with the joints before k frozen, M̃_i - Ψ_ik; {CENTRES}",
                           SAHA, "(49), (50)"),
    "Psi_ik": Definition("Ψ_ik", PSI, f"Σ ψ̂_il ψ_ilᵀ over l from k on, what free joints take from M̃_i; {CENTRES}",
                         SAHA, "(49)"),
    "psi_hat": Definition("ψ̂_i", PSI_HAT, f"M̂_i p_i; {CENTRES}", SAHA, "(47)"),
    "psi_hat_ik": Definition("ψ̂_ik", PSI_HAT, f"B_kiᵀ ψ̂_k; {CENTRES}", SAHA, "(47)"),
    "m_hat": Definition("m̂_i", r"\hat{m}", "articulated inertia along joint i, p_i · ψ̂_i, the rotor's with it",
                        SAHA, "(47)"),
    "psi": Definition("ψ_i", PSI_SMALL, f"ψ̂_i / m̂_i; {CENTRES}", SAHA, "(48)"),
    "psi_ik": Definition("ψ_ik", PSI_SMALL, f"ψ̂_ik / m̂_k: α_ik = p_i · ψ_ik; {CENTRES}", SAHA, "(48)"),
    "N_l": Definition("N_l", N_L, f"lower factor of the complement N = N_l N_d; {CENTRES}", SAHA, "(16), (17)", "",
                      stacked("B", B)),
    "N_d": Definition("N_d", N_D, f"diagonal factor of the complement; {CENTRES}", SAHA, "(16), (17)", "",
                      stacked("p", bold("p"), 6, 1)),
    "I": Definition("I", bold("I"), "inertia matrix", SAHA, "(24)"),
    "E": Definition("E_k", bold("E"), "elementary matrix of the reverse Gaussian elimination, column k", SAHA, "(44)"),
    "L": Definition("L_k", bold("L"), "inertia matrix after the columns from k on are eliminated, E_k L_{k+1}",
                    SAHA, "(40), (45)"),
    "I_k": Definition("I^(k)", r"\mathbf{I}^{(k)}", "the same by its elements i_ij^(k) = p_i · M̂_ik B_ij p_j",
                      INVERSE, "(49), (50)"),
    "U": Definition("U", bold("U"), "unit upper triangular factor of I = U D Uᵀ", SAHA, "(46), (53)"),
    "D": Definition("D", bold("D"), "diagonal of D in I = U D Uᵀ", SAHA, "(54)"),
    "Psi": Definition("Ψ_i", PSI, f"articulation transform 1 - ψ_i p_iᵀ; {CENTRES}", INVERSE, "after (35)"),
    "B_hat": Definition("B̂_ji", r"\hat{\mathbf{B}}", f"carries twists, joints between free; {CENTRES}",
                        INVERSE, "(41)"),
    "alpha_prime": Definition("α'", r"\boldsymbol{\alpha}'", "p_i · B̂_jiᵀ ψ_j above the diagonal", INVERSE, "(41)"),
    "U_inverse": Definition("U⁻¹", r"\mathbf{U}^{-1}", "1 - α'", INVERSE, "(38)"),
    "I_inverse": Definition("I⁻¹", r"\mathbf{I}^{-1}", "inverse of the inertia matrix", INVERSE, "(36)"),
    "t": Definition("t_i", bold("t"), f"twist, angular and then linear velocity; {CENTRES}", SAHA, "(1)", "qd"),
    "Omega": Definition("Ω_i", OMEGA, "diag(ω_i×, ω_i×), for each axis of a ball joint that of its body: the rate of"
                        " p_i is Ω_i p_i; base frame", SAHA, "(2)", "qd"),
    "Omega_stacked": Definition("Ω", OMEGA, "diag(Ω_1, ..., Ω_n); base frame", SAHA, "(4)", "qd", stacked("Ω", OMEGA)),
    "Omega_ijrr": Definition("Ω_i", OMEGA, "diag(ω_i×, 0), the W_i of Angeles; base frame", INVERSE, "(2)", "qd"),
    "M_dot": Definition("Ṁ_i", dotted(M), f"diag(ω_i× I_i, 0): w_i = M_i ṫ_i + Ṁ_i t_i; {CENTRES}", SAHA, "(8)", "qd"),
    "M_dot_stacked": Definition("Ṁ", dotted(M), f"diag(Ṁ_1, ..., Ṁ_n); {CENTRES}", SAHA, "(10)", "qd",
                                stacked("Ṁ", dotted(M))),
    "B_dot": Definition("Ḃ_ij", dotted(B), f"rate of B_ij; {CENTRES}", SAHA, "of (13)", "qd"),
    "N_l_dot": Definition("Ṅ_l", r"\dot{\mathbf{N}}_l", f"rate of N_l; {CENTRES}",
                          SAHA, "of (17)", "qd", stacked("Ḃ", dotted(B))),
    "N_d_dot": Definition("Ṅ_d", r"\dot{\mathbf{N}}_d", f"rate of N_d, Ω N_d; {CENTRES}", SAHA, "(26)", "qd",
                          stacked("ṗ", dotted(bold("p")), 6, 1)),
    "H_tilde": Definition("H̃_ij", H_TILDE, f"M̃_i Ḃ_ij + Σ B_kiᵀ H̃_ki over the children k of i; {CENTRES}",
                          SAHA, "(28)", "qd"),
    "M_dot_tilde": Definition("tilde of Ṁ_i", M_DOT_TILDE, f"Ṁ_i and those of all links beyond; {CENTRES}",
                              SAHA, "(28)", "qd"),
    "H_tilde_stacked": Definition("N_lᵀ M Ṅ_l", rf"{N_L}^T {M} \dot{{\mathbf{{N}}}}_l",
                                  f"its blocks are H̃_ij below the diagonal; {CENTRES}", SAHA, "(27)", "qd",
                                  stacked("H̃", H_TILDE)),
    "M_dot_tilde_stacked": Definition("N_lᵀ Ṁ N_l", rf"{N_L}^T {dotted(M)} {N_L}",
                                      f"its blocks are the tilde of Ṁ of the farther link; {CENTRES}", SAHA, "(27)",
                                      "qd", stacked("Ṁ̃", M_DOT_TILDE)),
    "M_tilde_prime": Definition("M̃'", rf"{M_TILDE}'", f"N_lᵀ M Ṅ_l + M̃ Ω + N_lᵀ Ṁ N_l: C = N_dᵀ M̃' N_d; {CENTRES}",
                                SAHA, "(25)", "qd", stacked("M̃'", rf"{M_TILDE}'")),
    "C": Definition("C", bold("C"), "Coriolis matrix, İ - 2C skew", SAHA, "(29)", "qd"),
    "t_dot": Definition("ṫ_i", dotted(bold("t")), f"rate of the twist; {CENTRES}", SAHA, "(8)", "qdd"),
    "w": Definition("w_i", bold("w"), f"resultant wrench on link i, its weight included; {CENTRES}", SAHA, "(1), (7)",
                    "qdd"),
    "ridim_nu": Definition("ν_i", r"\boldsymbol{\nu}", f"RIDIM: twist; {CENTRES}", SAHA, "section 5.1", "qdd"),
    "ridim_xi": Definition("ξ_i", r"\boldsymbol{\xi}", f"RIDIM: rate of the twist, that of the base -g; {CENTRES}",
                           SAHA, "section 5.1, (32)", "qdd"),
    "ridim_gamma": Definition("γ_i", r"\boldsymbol{\gamma}",
                              f"RIDIM: wrench on link i and all beyond, τ_i = p_i · γ_i; {CENTRES}",
                              SAHA, "section 5.1", "qdd"),
    "tau": Definition("τ", r"\boldsymbol{\tau}", "joint torques and forces", SAHA, "(30)", "qdd"),
    "phi": Definition("φ", r"\boldsymbol{\phi}", "RFDSIM: τ less the torques at zero acceleration, with gravity",
                      SAHA, "section 5.2", "tau"),
    "tau_hat": Definition("τ̂", r"\hat{\boldsymbol{\tau}}", "RFDSIM: U⁻¹ φ", SAHA, "(34)", "tau"),
    "eta": Definition("η_i", ETA, f"RFDSIM: ψ_i τ̂_i and the η of the links beyond; {CENTRES}", SAHA, "(35)", "tau"),
    "tau_tilde": Definition("τ̃", r"\tilde{\boldsymbol{\tau}}", "RFDSIM: D⁻¹ τ̂", SAHA, "after (35)", "tau"),
    "mu": Definition("μ_i", MU, f"RFDSIM: p_i θ̈_i + B μ of the parent; {CENTRES}", SAHA, "(37)", "tau"),
    "qdd": Definition("θ̈", r"\ddot{\boldsymbol{\theta}}", "RFDSIM: accelerations U⁻ᵀ τ̃", SAHA, "(36)", "tau"),
}  # fmt: skip

ANGELES_QUANTITIES = {
    "c": Definition("c_i", bold("c"), "mass centre; base frame", ANGELES, "(7.32)"),
    "K": Definition("K", K, f"constraint matrix, K t = 0; {CENTRES}", ANGELES, "(7.50)", "", stacked("K", K)),
    "T": Definition("T", T, f"natural orthogonal complement, t = T θ̇, K T = 0; {CENTRES}", ANGELES, "(7.54)", "",
                    stacked("T", T, 6, 1)),
    "w_G": Definition("w^G", r"\mathbf{w}^G", f"weight of each link; {CENTRES}", ANGELES, "(7.49)"),
    "omega": Definition("ω_i", r"\boldsymbol{\omega}", "angular velocity; base frame",
                        ANGELES, "(7.25), (7.26a)", "qd"),
    "c_dot": Definition("ċ_i", dotted(bold("c")), "velocity of the mass centre; base frame", ANGELES, "(7.33)", "qd"),
    "W": Definition("W", W, "diag(W_1, ..., W_n) with W_i = diag(ω_i×, 0); base frame", ANGELES, "(7.48)", "qd",
                    stacked("W", W)),
    "T_dot": Definition("Ṫ", dotted(T), f"rate of T: ṫ = T θ̈ + Ṫ θ̇; {CENTRES}", ANGELES, "(7.56)", "qd",
                        stacked("Ṫ", dotted(T), 6, 1)),
    "w_D": Definition("w^D", r"\mathbf{w}^D", f"friction of the joints, as lw.Friction(load=0) has it; {CENTRES}",
                      ANGELES, "(7.48)", "qd"),
    "omega_dot": Definition("ω̇_i", r"\dot{\boldsymbol{\omega}}", "angular acceleration; base frame",
                            ANGELES, "(7.26b), (7.31)", "qdd"),
    "c_ddot": Definition("c̈_i", r"\ddot{\mathbf{c}}", "acceleration of the mass centre, without gravity; base frame",
                         ANGELES, "(7.33), (7.34)", "qdd"),
    "f_P": Definition("f_i^P", r"\mathbf{f}^P", "force that joint i transmits; base frame", ANGELES, "(7.38)", "qdd"),
    "n_P": Definition("n_i^P", r"\mathbf{n}^P", "moment that joint i transmits, about the joint; base frame",
                      ANGELES, "(7.38)", "qdd"),
    "w_A": Definition("w^A", r"\mathbf{w}^A", f"wrenches of the drives, which overcome friction too; {CENTRES}",
                      ANGELES, "(7.48)", "qdd"),
    "w_C": Definition("w^C", r"\mathbf{w}^C", f"constraint wrenches Kᵀ λ: M ṫ + W M t less the others; {CENTRES}",
                      ANGELES, "(7.48), (7.53)", "qdd"),
    "lambda": Definition("λ", r"\boldsymbol{\lambda}", "multipliers of w^C = Kᵀ λ, the smallest that do; base frame",
                         ANGELES, "(7.53)", "qdd"),
}  # fmt: skip

E_PHI, PHI, E_PSI, PSI_K = r"\mathcal{E}_\Phi", r"\Phi", r"\mathcal{E}_\Psi", r"\Psi"
TAU_BAR, OMEGA_DELTA, LAMBDA_DOT = r"\bar{\tau}", r"{\Omega_\delta}", r"\dot{\lambda}"
TABLE_1 = {  # operator: symbol, LaTeX, symbol and LaTeX of its blocks, their size, local and inertial derivative
    "E_Phi": ("E_Φ", E_PHI, "φ", r"\phi", 6, 6, "E_Φ Ω_δ", "+ [Ω, E_Φ]"),
    "Phi": ("Φ", PHI, "φ", r"\phi", 6, 6, "Φ E_Φ Ω_δ Φ", "+ Φ [Ω, E_Φ] Φ"),
    "H": ("H", "H", "H", "H", 1, 6, "0", "- H Ω"),
    "M_k": ("M", "M", "M", "M", 6, 6, "0", "[Ω, M]"),
    "D_stacked": ("D", "D", "D", "D", 1, 1, "H Ṗ H*", ""),
    "G_stacked": ("G", "G", "G", "G", 6, 1, "τ̄ Ṗ H* D⁻¹", "+ Ω G"),
    "tau_bar": ("τ̄", TAU_BAR, "τ̄", TAU_BAR, 6, 6, "- Ġ H", "+ [Ω, τ̄]"),
    "E_Psi": ("E_Ψ", E_PSI, "ψ", r"\psi", 6, 6, "E_Φ Ω_δ τ̄ - E_Ψ Ṗ H* D⁻¹ H", "+ [Ω, E_Ψ]"),
}
OPERATORS = {
    "E_Phi": "carries forces to the parent",
    "Phi": "(1 - E_Φ)⁻¹: gathers forces from the tips",
    "H": "joint axes",
    "M_k": "inertias",
    "D_stacked": "P along the joints",
    "G_stacked": "gains P H* D⁻¹",
    "tau_bar": "1 - G H",
    "E_Psi": "E_Φ τ̄: carries forces to the parent through a free joint",
    "Psi_k": "(1 - E_Ψ)⁻¹: gathers forces through free joints",
    "K_k": "E_Φ G: U = 1 + H Φ K",
}


def operator_definitions() -> dict[str, Definition]:
    """The operators and both columns of Table 1."""
    kept = {
        **{name: row[:6] for name, row in TABLE_1.items()},
        "Psi_k": ("Ψ", PSI_K, "ψ", r"\psi", 6, 6),
        "K_k": ("K", "K", "K", "K", 6, 1),
    }
    definitions = {}
    for name, (symbol, latex, block, block_latex, rows, columns) in kept.items():
        where = "(12), nomenclature" if name != "K_k" else "(23)"
        blocks = Blocks(rows, columns, block, block_latex)
        meaning = f"{OPERATORS[name]}; {ORIGINS}"
        definitions[name] = Definition(symbol, latex, meaning, KOZLOWSKI, where, "", blocks)
    for row, (name, (symbol, latex, block, block_latex, rows, columns, local, more)) in enumerate(TABLE_1.items(), 1):
        equation, over = f"Table 1, row {row}", r"\frac{D}{Dt} "
        definitions[f"{name}_dot"] = Definition(
            f"d{symbol}/dt", dotted(latex), f"local derivative {local}; {ORIGINS}", KOZLOWSKI, equation, "qd",
            Blocks(rows, columns, f"d{block}", dotted(block_latex)),
        )  # fmt: skip
        inertial = f"local {more}" if more.startswith("+") else more or "the same"
        definitions[f"{name}_inertial"] = Definition(
            f"D{symbol}/Dt", over + latex, f"inertial derivative {inertial}; {ORIGINS}", KOZLOWSKI, equation, "qd",
            Blocks(rows, columns, f"D{block}", over + block_latex),
        )  # fmt: skip
    return definitions


KOZLOWSKI_QUANTITIES = {
    "P": Definition("P(k)", "P", f"articulated inertia: M̂ about another point; {ORIGINS}", KOZLOWSKI, "(12)"),
    "D_k": Definition("D(k)", "D", "P along joint k: m̂", KOZLOWSKI, "(12)"),
    "G": Definition("G(k)", "G", f"gain P H* / D: ψ about another point; {ORIGINS}", KOZLOWSKI, "(12)"),
    "r": Definition("r(k)", "r", f"composite inertia: M̃ about another point; {ORIGINS}", KOZLOWSKI, "(39)"),
    "m": Definition("m", "m", "factor U D^½ of the inertia matrix m m*", KOZLOWSKI, "(26)"),
    **operator_definitions(),
    "V": Definition("V(k)", "V", f"twist; {ORIGINS}", KOZLOWSKI, "nomenclature", "qd"),
    "Omega_k": Definition("Ω(k)", r"\Omega", f"diag(ω(k)×, ω(k)×), for each link of a ball joint that of its body;"
                          f" {ORIGINS}", KOZLOWSKI, "(2)", "qd"),
    "Omega_delta": Definition("Ω_δ(k)", OMEGA_DELTA, "(H*(k) θ̇(k))×, also where the joint slides, and of a ball joint"
                              f" all three with its first link; {ORIGINS}",
                              KOZLOWSKI, "(3), (4)", "qd"),
    "X": Definition("X(k)", "X", f"Ω_δ P; {ORIGINS}", KOZLOWSKI, "after (42)", "qd"),
    "P_dot": Definition("Ṗ(k)", dotted("P"), f"rate of P seen from the link; {ORIGINS}", KOZLOWSKI, "(13)-(17)", "qd"),
    "lambda_dot": Definition("λ̇(k)", LAMBDA_DOT, f"rate of P seen from the parent; {ORIGINS}", KOZLOWSKI,
                             "(18)-(21)", "qd"),
    "a": Definition("a(k)", "a", f"bias acceleration Ω_δ* E_Φ* V: V × H* θ̇ where the joint has one axis; {ORIGINS}",
                    KOZLOWSKI, "nomenclature", "qd"),
    "b": Definition("b(k)", "b", f"bias force V × M V, without gravity; {ORIGINS}", KOZLOWSKI, "nomenclature", "qd"),
    "m_dot": Definition("ṁ", dotted("m"), "rate of m", KOZLOWSKI, "(29)", "qd", None, False),
    "m_dot_nu": Definition("ṁ ν", r"\dot{m}\nu", "H Φ (Ω_δ Φ K H P + ½ (X + X*) + ½ (E_Ψ λ̇ - λ̇ E_Ψ*)) V",
                           KOZLOWSKI, "(31)", "qd", None, False),
    "kinetic_gradient": Definition("θ̇* 𝓜_θ θ̇", r"\dot\theta^* \mathcal{M}_\theta \dot\theta",
                                   "its element k is θ̇* (∂𝓜/∂θ_k) θ̇", KOZLOWSKI, "(32)", "qd", None, False),
    "U_dot": Definition("d(I + H Φ K)/dt", r"\tfrac{d}{dt}(I + H \Phi K)", "rate of U",
                        KOZLOWSKI, "(35)", "qd"),
    "nu": Definition("ν", r"\nu", "normalized quasi-velocities D^½ Uᵀ θ̇", KOZLOWSKI, "(28)", "qd"),
    "xi": Definition("ξ", r"\xi", "unnormalized quasi-velocities Uᵀ θ̇", KOZLOWSKI, "(34)", "qd"),
    "C_nu": Definition("C(θ,ν)", r"C(\theta,\nu)", "Coriolis forces for ν, without gravity: ν · C = 0",
                       KOZLOWSKI, "(42)", "qd"),
    "C_xi": Definition("C(θ,ξ)", r"C(\theta,\xi)", "Coriolis forces for ξ, without gravity", KOZLOWSKI, "(45)", "qd"),
    "c_nu": Definition("c", "c", "elements c_ki of C(θ,ν), c_ki = -c_ik: C(θ,ν) = c ν and the bias forces",
                       KOZLOWSKI, "(48)", "qd"),
    "c_xi": Definition("c", "c", "elements D^½ c_ki D^½ of C(θ,ξ), which print has as (48): C(θ,ξ) = c ξ and the bias"
                       " forces", KOZLOWSKI, "after (48)", "qd"),
    "alpha": Definition("α(k)", r"\alpha", f"acceleration seen from the link, Φ* (H* θ̈ + a); {ORIGINS}",
                        KOZLOWSKI, "nomenclature", "qdd"),
    "f": Definition("f(k)", "f", f"force across joint k, Φ (M α + b), gravity in b; {ORIGINS}",
                    KOZLOWSKI, "nomenclature", "qdd"),
    "xi_dot_P": Definition("D⁻¹ H Ṗ τ̄* E_Φ* V", r"D^{-1} H \dot{P} \bar{\tau}^* \mathcal{E}_\Phi^* V",
                           "first term of ξ̇; print has τ̄* V, the same without rotors", KOZLOWSKI, "(36)", "qdd"),
    "xi_dot_a": Definition("G* Φ* a", r"G^* \Phi^* a", "second term of ξ̇; print has D⁻¹ H P Φ* Ω_δ* V",
                           KOZLOWSKI, "(36)", "qdd"),
    "xi_dot_qdd": Definition("Uᵀ θ̈", r"U^T \ddot{\theta}", "third term of ξ̇; print has G* Φ* H* θ̈, the same without"
                             " rotors", KOZLOWSKI, "(36)", "qdd"),
    "xi_dot": Definition("ξ̇", r"\dot{\xi}", "rate of ξ, the sum of the three terms", KOZLOWSKI, "(35), (36)", "qdd"),
    "tau_qdd": Definition("τ_kj", r"\tau^{\ddot\theta}", "share of the acceleration of joint j, rotors with it",
                          KOZLOWSKI, "(39)", "qdd"),
    "tau_a": Definition("τ_kj", r"\tau^{a}", "share of the bias acceleration of link j, of a ball joint by axes",
                        KOZLOWSKI, "(39)", "qdd"),
    "tau_b": Definition("τ_kj", r"\tau^{b}", "share of the bias force of link j", KOZLOWSKI, "(39)", "qdd"),
    "tau_g": Definition("τ_kj", r"\tau^{g}", "share of the weight of link j", KOZLOWSKI, "(39)", "qdd"),
    "epsilon": Definition("ε", r"\varepsilon", "normalized forces D^-½ (1 - H Ψ K) τ", KOZLOWSKI, "(41)", "tau"),
    "kappa": Definition("κ", r"\kappa", "unnormalized forces (1 - H Ψ K) τ", KOZLOWSKI, "(44)", "tau"),
    "filter_z": Definition("z(k)", "z", f"filter: Σ φ z⁺ + b + P a, gravity in b; {ORIGINS}", KOZLOWSKI,
                           "section 1, Rodriguez 1987", "tau"),
    "filter_epsilon": Definition("ε(k)", r"\epsilon", "filter: innovation τ - H z", KOZLOWSKI,
                                 "section 1, Rodriguez 1987", "tau"),
    "filter_nu": Definition("ν(k)", r"\nu", "filter: innovation over D", KOZLOWSKI, "section 1, Rodriguez 1987", "tau"),
    "filter_z_plus": Definition("z⁺(k)", "z^+", f"filter: z + G ε; {ORIGINS}", KOZLOWSKI, "section 1, Rodriguez 1987",
                                "tau"),
    "smoother_alpha_plus": Definition("α⁺(k)", r"\alpha^+", f"smoother: φ* α of the parent; {ORIGINS}", KOZLOWSKI,
                                      "section 1, Rodriguez 1987", "tau"),
    "smoother_qdd": Definition("θ̈(k)", r"\ddot{\theta}", "smoother: ν - G* α⁺", KOZLOWSKI, "section 1, Rodriguez 1987",
                               "tau"),
    "smoother_alpha": Definition("α(k)", r"\alpha", f"smoother: α⁺ + H* θ̈ + a; {ORIGINS}", KOZLOWSKI,
                                 "section 1, Rodriguez 1987", "tau"),
}  # fmt: skip

DEFINITIONS = {**SAHA_QUANTITIES, **ANGELES_QUANTITIES, **KOZLOWSKI_QUANTITIES}
CALLED = {  # otherwise than by name or symbol
    "mass_factor": "m", "mass_factor_rate": "m_dot", "inertia_matrix": "I", "mass_matrix": "I",
    "inverse_inertia_matrix": "I_inverse", "coriolis_matrix": "C", "udu": "U", "forward_dynamics": "qdd",
    "inverse_dynamics": "tau", "torque": "tau", "normalized": "nu", "unnormalized": "xi", "acceleration": "qdd",
    "alpha_ik": "U", "alpha_ij": "U", "α_ik": "U", "α_ij": "U",
}  # fmt: skip


def hint(word: str) -> str:
    """', did you mean ...?' for what people type: other names, symbols with and without their indices, "φ" or "ψ_i"."""
    plain = without_indices(word)
    called = CALLED.get(word.lower())
    names = [called] if called else [name for name, x in DEFINITIONS.items() if without_indices(x.symbol) == plain]
    if not names:
        return near_miss(word, DEFINITIONS)
    shown = " or ".join(f"{name!r} ({DEFINITIONS[name].symbol}, {DEFINITIONS[name].source})" for name in names)
    more = f", whose elements are {word}" if called == "U" and word != "udu" else ""
    return f", did you mean {shown}{more}?"


def without_indices(symbol: str) -> str:
    """The letter: ψ of ψ_i, D of D(k)."""
    return re.sub(r"_[a-zA-Z\d]{1,2}$|\(k\)$", "", normalize("NFC", symbol))


NEEDED = {"": "q", "qd": "qd=", "qdd": "qd= and qdd=", "tau": "tau= (and qd=)"}


Values = dict[tuple[int, ...], Any]  # by indices of links, from 0, or () for the whole robot


def per_link(values: Iterable[Any]) -> Values:
    return {(i,): value for i, value in enumerate(values)}


def vectors(values: Iterable[Iterable[Any]]) -> Values:
    return per_link([list(value) for value in values])


def matrices(maps: Iterable[Any]) -> Values:
    """Inertias as matrices."""
    return per_link([of_twists(x.__matmul__) for x in maps])


class Seats:
    """The links' joint-aligned frames, seen from the mass centres with the axes of the base."""

    def __init__(self, robot: Robot, q: Scalars) -> None:
        points = zip(poses(robot, q), centres(robot, q), strict=True)
        self.seats = [Placement(pose.axes, pose.translation - centre) for pose, centre in points]

    def wrench(self, i: int, w: Wrench) -> list[Any]:
        return list(w.to_parent(self.seats[i]))

    def wrenches(self, of_links: Sequence[Wrench]) -> Values:
        return per_link([self.wrench(i, w) for i, w in enumerate(of_links)])

    def twists(self, of_links: Sequence[Twist]) -> Values:
        """Twists whose linear parts are velocities of the origins, or accelerations of them where nothing moves."""
        moved = (t.to_child(seat.inverse()) for t, seat in zip(of_links, self.seats, strict=True))
        return vectors(moved)

    def inertia(self, i: int, inertia: Any) -> Dense:
        return of_twists(inertia.to_parent(self.seats[i]).__matmul__)

    def inertias(self, of_links: Sequence[Any]) -> Values:
        return per_link([self.inertia(i, x) for i, x in enumerate(of_links)])


def six(angular: Vector, linear: Vector) -> list[Any]:
    return [*angular, *linear]
