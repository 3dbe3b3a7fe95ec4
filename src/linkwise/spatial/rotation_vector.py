"""From unit quaternions to rotation vectors, over generic scalars: without arc functions, branches and 0/0.

The half angle a, at most π/2, is halved until a power series has all digits:

    cos b = √((1 + cos 2b) / 2)           sin b = sin 2b / (2 cos b)
    F(b) = b / sin b                      F(2b) = F(b) / cos b
    C(b) = (1 - b cot b) / b²             C(2b) = ¼ (C(b) + tan b / b),   tan b / b = 1 / (F(b) cos b)

F is that of the rotation vector e, C that of its Jacobian: where the rotation exp(e) turns at the rate ω, in the axes
before it, ė = J⁻¹ ω with J⁻¹ = 1 - ½ [e×] + ¼ C [e×]².
"""

from __future__ import annotations

from typing import NamedTuple

from .scalar import Scalar, Scalars, add, dot_product, mul, reciprocal, sign, sqrt
from .vector import Vector, cross

HALVINGS = 4  # to π/32, whose sine squared is below 0.01
ARCSINE = (1.0, 1 / 6, 3 / 40, 5 / 112, 35 / 1152, 63 / 2816, 231 / 13312, 143 / 10240, 6435 / 557056)
COTANGENT = (1 / 3, 1 / 45, 2 / 945, 1 / 4725, 2 / 93555, 1382 / 638512875, 4 / 18243225)


class RotationVector(NamedTuple):
    """Axis times angle, at most π; and C of half the angle."""

    vector: Vector
    curvature: Scalar

    def pulled_back(self, force: Vector) -> Vector:
        """J⁻ᵀ f: the moment that does the work of f along e, as exp(e) turns."""
        once = cross(self.vector, force)
        twice = cross(self.vector, once)
        moment: Vector = force + once * 0.5 + twice * mul(0.25, self.curvature)
        return moment


def rotation_vector(quaternion: Scalars) -> RotationVector:
    """Of a quaternion of any length but zero: of the two rotations that it may mean, the one by at most π."""
    upright = sign(add(sign(quaternion[0]), 0.5))  # 1, also where w is 0; -1 where it is negative
    scale = mul(upright, reciprocal(sqrt(dot_product(quaternion, quaternion))))
    cosine, *sines = (mul(scale, x) for x in quaternion)
    square, cosines = dot_product(sines, sines), []
    for _ in range(HALVINGS):
        cosine = sqrt(0.5 * (1.0 + cosine))
        square = 0.25 * square / (cosine * cosine)
        cosines.append(cosine)
    F = polynomial(ARCSINE, square)
    C = polynomial(COTANGENT, F * F * square)
    for cosine in reversed(cosines):
        C, F = 0.25 * (C + 1.0 / (F * cosine)), F / cosine
    x, y, z = (2.0 * F * sine for sine in sines)
    return RotationVector(Vector(x, y, z), C)


def polynomial(coefficients: tuple[float, ...], x: Scalar) -> Scalar:
    """Horner's scheme, lowest power first."""
    *lower, value = coefficients
    for coefficient in reversed(lower):
        value = value * x + coefficient
    return value
