"""A peer: recursions of a serial arm in JAX, `lax.scan` over the links, `vmap` over the states, `jit`.

Inverse dynamics by Newton and Euler, forward dynamics by articulated bodies (Featherstone), the inertia matrix column
by column. Written here, in jax.numpy: XLA does far worse on Linkwise's plain text, which comes to it unrolled. Float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import linkwise as lw

jax.config.update("jax_enable_x64", True)

Z = jnp.array([0.0, 0.0, 1.0])


class Links(NamedTuple):
    """One row per link."""

    axes: Any  # of the joint frame in the parent
    origin: Any
    turns: Any  # 1 where the joint is revolute, else 0
    mass: Any
    com: Any
    inertia: Any
    rotor: Any


def links_of(arm: lw.Robot) -> Links:
    assert [link.parent for link in arm.links] == list(range(-1, arm.n - 1))
    rows = [
        Links(
            np.array(link.placement.axes.rows, dtype=float),
            np.array(list(link.placement.translation), dtype=float),
            float(link.joint.kind == "revolute"),
            link.mass,
            np.array(list(link.com), dtype=float),
            np.array(link.inertia.rows, dtype=float),
            link.joint.rotor_inertia,
        )
        for link in arm.links
    ]
    return Links(*(jnp.asarray(np.array(column, dtype=float)) for column in zip(*rows, strict=True)))


def pose(link: Links, q: Any) -> tuple[Any, Any]:
    angle = q * link.turns
    c, s = jnp.cos(angle), jnp.sin(angle)
    spin = jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return link.axes @ spin, link.origin + link.axes[:, 2] * q * (1.0 - link.turns)


def newton_euler(links: Links, gravity: Any, q: Any, qd: Any, qdd: Any) -> Any:
    def move(parent: Any, given: Any) -> tuple[Any, Any]:
        (w, wd, a), (link, q, qd, qdd) = parent, given
        R, s = pose(link, q)
        turn, slide = Z * link.turns, Z * (1.0 - link.turns)
        omega = R.T @ w + turn * qd
        omega_dot = R.T @ wd + jnp.cross(omega, turn * qd) + turn * qdd
        acceleration = R.T @ (a + jnp.cross(wd, s) + jnp.cross(w, jnp.cross(w, s)))
        acceleration += 2.0 * jnp.cross(omega, slide * qd) + slide * qdd
        found = omega, omega_dot, acceleration
        return found, (*found, R, s)

    def support(carried: Any, given: Any) -> tuple[Any, Any]:
        (n, f), (link, (w, wd, a, R, s), qdd) = carried, given
        c, I = link.com, link.inertia
        force = link.mass * (a + jnp.cross(wd, c) + jnp.cross(w, jnp.cross(w, c)))
        n = n + I @ wd + jnp.cross(w, I @ w) + jnp.cross(c, force)
        f = f + force
        tau = jnp.where(link.turns > 0, n[2], f[2]) + link.rotor * qdd
        return (R @ n + jnp.cross(s, R @ f), R @ f), tau

    still = jnp.zeros(3)
    _, motions = lax.scan(move, (still, still, -gravity), (links, q, qd, qdd))
    return lax.scan(support, (still, still), (links, motions, qdd), reverse=True)[1]


def skew(v: Any) -> Any:
    return jnp.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def articulated(links: Links, gravity: Any, q: Any, qd: Any, tau: Any) -> Any:
    """Six-vectors, angular first; matrices 6 x 6."""
    none = jnp.zeros((3, 3))

    def move(v: Any, given: Any) -> tuple[Any, Any]:
        link, q, qd = given
        R, s = pose(link, q)
        X = jnp.block([[R.T, none], [-R.T @ skew(s), R.T]])
        S = jnp.concatenate([Z * link.turns, Z * (1.0 - link.turns)])
        v = X @ v + S * qd
        W = jnp.block([[skew(v[:3]), none], [skew(v[3:]), skew(v[:3])]])
        C = skew(link.com)
        I = jnp.block([[link.inertia - link.mass * C @ C, link.mass * C], [-link.mass * C, link.mass * jnp.eye(3)]])
        return v, (X, S, W @ S * qd, I, -W.T @ I @ v)

    def free(beyond: Any, given: Any) -> tuple[Any, Any]:
        (I, p), (X, S, c, own, bias), rotor, tau = beyond, *given
        I, p = I + own, p + bias
        U = I @ S
        D, u = S @ U + rotor, tau - S @ p
        released = I - jnp.outer(U, U) / D
        p = p + released @ c + U * (u / D)
        return (X.T @ released @ X, X.T @ p), (U, D, u)

    def accelerate(a: Any, given: Any) -> tuple[Any, Any]:
        (X, S, c, _, _), (U, D, u) = given
        drift = X @ a + c
        qdd = (u - U @ drift) / D
        return drift + S * qdd, qdd

    _, motions = lax.scan(move, jnp.zeros(6), (links, q, qd))
    _, solved = lax.scan(free, (jnp.zeros((6, 6)), jnp.zeros(6)), (motions, links.rotor, tau), reverse=True)
    return lax.scan(accelerate, jnp.concatenate([jnp.zeros(3), -gravity]), (motions, solved))[1]


def functions(arm: lw.Robot) -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function of Linkwise, the same over a batch, compiled at its first call."""
    links, g, none = links_of(arm), jnp.array(arm.gravity), jnp.zeros(arm.n)

    def matrix(q: Any) -> Any:
        column = jax.vmap(lambda unit: newton_euler(links, jnp.zeros(3), q, none, unit))
        return column(jnp.eye(arm.n))

    one_state = {
        lw.inverse_dynamics: lambda q, qd, qdd: newton_euler(links, g, q, qd, qdd),
        lw.forward_dynamics: lambda q, qd, tau: articulated(links, g, q, qd, tau),
        lw.inertia_matrix: matrix,
        lw.inverse_inertia_matrix: lambda q: jnp.linalg.inv(matrix(q)),
        lw.bias_torque: lambda q, qd: newton_euler(links, g, q, qd, none),
        lw.gravity_torque: lambda q: newton_euler(links, g, q, none, none),
    }
    return {function: jax.jit(jax.vmap(f)) for function, f in one_state.items()}
