"""Unit quaternions (w, x, y, z) over generic scalars; those of another length are divided by it."""

from __future__ import annotations

from .matrix import Rotation
from .scalar import Scalar, Scalars, add, dot_product, mul, reciprocal, sub


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
