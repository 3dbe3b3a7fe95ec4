"""Unit quaternions (w, x, y, z) over generic scalars; those of another length are divided by it."""

from __future__ import annotations

from .matrix import Rotation
from .scalar import (
    Scalar,
    Scalars,
    add,
    atan_quotient,
    cos_and_sinc,
    dot_product,
    mul,
    reciprocal,
    sign,
    sqrt,
    sub,
)


def rotation_of(quaternion: Scalars) -> Rotation:
    """The rotation of a quaternion of any length but zero: R = 1 + 2 (w [u×] + [u×]²) / (w² + u²)."""
    w, x, y, z = quaternion
    scale = mul(2.0, reciprocal(dot_product(quaternion, quaternion)))
    sx, sy, sz = mul(scale, x), mul(scale, y), mul(scale, z)
    wx, wy, wz = mul(w, sx), mul(w, sy), mul(w, sz)
    xx, xy, xz = mul(x, sx), mul(x, sy), mul(x, sz)
    yy, yz, zz = mul(y, sy), mul(y, sz), mul(z, sz)
    return Rotation(
        (
            (sub(1.0, add(yy, zz)), sub(xy, wz), add(xz, wy)),
            (add(xy, wz), sub(1.0, add(xx, zz)), sub(yz, wx)),
            (sub(xz, wy), add(yz, wx), sub(1.0, add(xx, yy))),
        )
    )


def quaternion_product(p: Scalars, q: Scalars) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """The quaternion of the rotation p after which, in the turned axes, q follows: R(p q) = R(p) R(q)."""
    w, x, y, z = p
    return (
        sub(sub(sub(mul(w, q[0]), mul(x, q[1])), mul(y, q[2])), mul(z, q[3])),
        sub(add(add(mul(w, q[1]), mul(x, q[0])), mul(y, q[3])), mul(z, q[2])),
        add(add(sub(mul(w, q[2]), mul(x, q[3])), mul(y, q[0])), mul(z, q[1])),
        add(sub(add(mul(w, q[3]), mul(x, q[2])), mul(y, q[1])), mul(z, q[0])),
    )


def quaternion_rate(quaternion: Scalars, omega: Scalars) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """q̇ = ½ q (0, ω), with ω in the turned axes."""
    half = [mul(0.5, x) for x in omega]
    return quaternion_product(quaternion, (0.0, *half))


def unit_quaternion(quaternion: Scalars) -> tuple[Scalar, ...]:
    """The quaternion of length one with the same orientation."""
    scale = reciprocal(sqrt(dot_product(quaternion, quaternion)))
    return tuple(mul(scale, x) for x in quaternion)


def quaternion_exp(turn: Scalars) -> tuple[Scalar, ...]:
    """The unit quaternion of a rotation vector: (cos φ/2, turn sin(φ/2) / φ), φ its length."""
    half = [mul(0.5, x) for x in turn]
    w, scale = cos_and_sinc(dot_product(half, half))
    return (w, *(mul(scale, x) for x in half))


def turn_between(p: Scalars, q: Scalars) -> tuple[Scalar, ...]:
    """The rotation vector of the shortest turn from p to q, in the axes of p; both of any length but zero.

    With p* q = (w, u), of length 1 and with w ≥ 0, it is 4 atan(|u| / (1 + w)) along u. The sign of q is chosen so that
    w ≥ 0; where w = 0 exactly, at half a turn, it is that of q as given.

    u is that of p* (q - c p) for every real c, since p* p is real. With c = ±1 close quaternions of one length are
    subtracted exactly, and so small turns have all their digits. c = 0 where the squared lengths differ threefold.
    """
    pp, qq, pq = dot_product(p, p), dot_product(q, q), dot_product(p, q)
    side = sign(add(mul(2.0, sign(pq)), 1.0))  # 1 or -1, never 0
    close = sign(mul(sub(mul(3.0, pp), qq), sub(mul(3.0, qq), pp)))
    c = mul(mul(0.5, side), add(close, 1.0))
    rest = [sub(b, mul(c, a)) for a, b in zip(p, q, strict=True)]
    _, *u = quaternion_product((p[0], *(-x for x in p[1:])), rest)
    scale = mul(side, reciprocal(mul(sqrt(pp), sqrt(qq))))
    u = [mul(scale, x) for x in u]
    slope = atan_quotient(reciprocal(add(1.0, mul(scale, pq))), dot_product(u, u))
    return tuple(mul(mul(4.0, slope), x) for x in u)
