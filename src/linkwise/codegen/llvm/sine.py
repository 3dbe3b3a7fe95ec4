"""Sine and cosine together, in LLVM assembly: within 2 ulp, for every finite number.

    x = k π/2 + r,  |r| ≤ π/4:      sin r = r + r³ S(r²)      cos r = 1 - r²/2 + r⁴ C(r²)

and the last two bits of k select the function and its sign. Up to 10⁵, r is x - k (P₁ + P₂ + P₃) with parts of π/2 so
short that k P₁ and k P₂ are exact, or exact in a fused operation (Cody and Waite 1980). Larger numbers are rare and are
reduced one by one with as many digits of 2/π as needed (Payne and Hanek 1983). The polynomials are those of Moshier's
Cephes library. Floats are reduced as floats by fused operations, otherwise as doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .flow import Block, Layout


class Reduction(NamedTuple):
    """The range reduction of a type."""

    parts: tuple[float, float, float]  # of π/2
    round_to_integer: float  # a sum with it has the rounded integer in its last bits
    large: float  # larger numbers are reduced by `large_angle`


REDUCTIONS = {
    "double": Reduction((1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21), 1.5 * 2.0**52, 1e5),
    "float": Reduction((1.5707960128784180, 3.1391647326017846e-7, 5.3903025299577648e-15), 1.5 * 2.0**23, 1e5),
}
TWO_OVER_PI_ROUNDED = 0.6366197723675814
POLYNOMIALS = {  # S and C, highest power first
    "double": (
        (
            1.58962301576546568060e-10,
            -2.50507477628578072866e-8,
            2.75573136213857245213e-6,
            -1.98412698295895385996e-4,
            8.33333333332211858878e-3,
            -1.66666666666666307295e-1,
        ),
        (
            -1.13585365213876817300e-11,
            2.08757008419747316778e-9,
            -2.75573141792967388112e-7,
            2.48015872888517045348e-5,
            -1.38888888888730564116e-3,
            4.16666666666665929218e-2,
        ),
    ),
    "float": (
        (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
        (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    ),
}
TWO_OVER_PI = (
    (  # 1216 bits after the binary point
        0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73E
        << 768
    )
    + (
        0xE88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B7
        << 320
    )
    + 0x4F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BAB
)


def reduction_layout(layout: Layout) -> Layout:
    """The layout in which angles of this layout are reduced."""
    return layout if layout.fused else Layout("double", layout.lanes, layout.fused)


def sine_cosine(layout: Layout) -> str:
    """`{vector, vector} @sine_cosine_W(vector)` for W lanes; it needs `large_angle`."""
    near, wide = reduction_layout(layout), Layout("double", layout.lanes, layout.fused)
    v, n, ni, w, wi = layout.vector, near.vector, near.integers, wide.vector, wide.integers
    block = Block(near)
    x = convert(block, "%x", layout.vector, n)
    r, behind, quadrant, far = reduce_angle(block, x)
    bits = far if layout.lanes == 1 else block.emit(f"bitcast <{layout.lanes} x i1> {far} to i{layout.lanes}")
    some = block.emit(f"icmp ne i{layout.lanes} {bits}, 0")
    near_lines, block.lines = block.lines, []
    far_x, far_r = (convert(block, value, n, w) for value in (x, r))
    far_k = quadrant if ni == wi else block.emit(f"zext {ni} {quadrant} to {wi}")
    far_lines, block.lines = block.lines, []
    late_r = convert(block, "%rl", w, n)
    late_k = "%kl" if ni == wi else block.emit(f"trunc {wi} %kl to {ni}")
    late_lines, block.lines = block.lines, []
    angle, rest, turns = convert(block, "%r", n, v), convert(block, "%b", n, v) if behind else "", "%k"
    if ni != layout.integers:
        turns = block.emit(f"trunc {ni} %k to {layout.integers}")
    block.layout = layout
    sine, cosine = polynomials(block, angle, rest, turns)
    pair = block.emit(f"insertvalue {{{v}, {v}}} poison, {v} {sine}, 0")
    pair = block.emit(f"insertvalue {{{v}, {v}}} {pair}, {v} {cosine}, 1")
    declared, lanes = "\n".join(sorted({*block.declared, "declare double @llvm.fabs.f64(double)"})), layout.lanes
    near_text, far_text, late_text, end = map("\n".join, (near_lines, far_lines, late_lines, block.lines))
    rest_phi = f"  %b = phi {n} [{behind}, %near], [%bl, %reduced]" if behind else ""
    return f"""{declared}
define internal {{{v}, {v}}} @sine_cosine_{lanes}({v} %x) #1 {{
near:
{near_text}
  br i1 {some}, label %far, label %finish
far:
{far_text}
  %xs = alloca {w}
  %rs = alloca {w}
  %bs = alloca {w}
  %ks = alloca {wi}
  store {w} {far_x}, ptr %xs
  store {w} {far_r}, ptr %rs
  store {w} {behind or wide.constant(0.0)}, ptr %bs
  store {wi} {far_k}, ptr %ks
  br label %lane
lane:
  %i = phi i64 [0, %far], [%next, %skip]
  %xp = getelementptr double, ptr %xs, i64 %i
  %xi = load double, ptr %xp
  %si = call double @llvm.fabs.f64(double %xi)
  %fi = fcmp ogt double %si, {Layout("double", 1, False).constant(REDUCTIONS["double"].large)}
  br i1 %fi, label %reduce, label %skip
reduce:
  %all = call {{double, double, i64}} @large_angle(double %xi)
  %ri = extractvalue {{double, double, i64}} %all, 0
  %bi = extractvalue {{double, double, i64}} %all, 1
  %ki = extractvalue {{double, double, i64}} %all, 2
  %rp = getelementptr double, ptr %rs, i64 %i
  %bp = getelementptr double, ptr %bs, i64 %i
  %kp = getelementptr i64, ptr %ks, i64 %i
  store double %ri, ptr %rp
  store double %bi, ptr %bp
  store i64 %ki, ptr %kp
  br label %skip
skip:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {lanes}
  br i1 %more, label %lane, label %reduced
reduced:
  %rl = load {w}, ptr %rs
  %bl = load {w}, ptr %bs
  %kl = load {wi}, ptr %ks
{late_text}
  br label %finish
finish:
  %r = phi {n} [{r}, %near], [{late_r}, %reduced]
{rest_phi}
  %k = phi {ni} [{quadrant}, %near], [{late_k}, %reduced]
{end}
  ret {{{v}, {v}}} {pair}
}}
"""


def convert(block: Block, x: str, kind: str, target: str) -> str:
    """Convert floats to doubles, or doubles to floats."""
    return x if kind == target else block.emit(f"{'fpext' if 'float' in kind else 'fptrunc'} {kind} {x} to {target}")


def reduce_angle(block: Block, x: str) -> tuple[str, str, str, str]:
    """r, its rounding error (doubles only), k, and the mask of numbers too large for this reduction."""
    layout, ((first, second, third), shift, large) = block.layout, REDUCTIONS[block.layout.real]
    shifted = block.multiply_add(x, layout.constant(TWO_OVER_PI_ROUNDED), layout.constant(shift))
    quadrant = block.emit(f"bitcast {layout.vector} {shifted} to {layout.integers}")
    k = block.do("fsub", shifted, layout.constant(shift))
    exact = block.multiply_add(k, layout.constant(-first), x)
    r = block.multiply_add(k, layout.constant(-second), exact)
    if layout.real == "double":
        lost = block.multiply_add(k, layout.constant(-second), block.do("fsub", exact, r))
        behind = block.multiply_add(k, layout.constant(-third), lost)
    else:
        r, behind = block.multiply_add(k, layout.constant(-third), r), ""
    far = block.emit(f"fcmp ugt {layout.vector} {block.call('fabs', x)}, {layout.constant(large)}")
    return r, behind, quadrant, far


def polynomials(block: Block, r: str, behind: str, k: str) -> tuple[str, str]:
    """Sine and cosine from the reduced angle, its rounding error if known, and the quadrant."""
    layout = block.layout
    v, integers, top = layout.vector, layout.integers, layout.bits - 1
    z = block.do("fmul", r, r)
    sums = []
    for coefficients in POLYNOMIALS[layout.real]:
        p = layout.constant(coefficients[0])
        for c in coefficients[1:]:
            p = block.multiply_add(p, z, layout.constant(c))
        sums.append(p)
    cube, slope = block.do("fmul", z, r), block.multiply_add(z, layout.constant(-0.5), layout.constant(1.0))
    if behind:
        sine = block.do("fadd", r, block.multiply_add(sums[0], cube, behind))
        slope = block.multiply_add(block.do("fneg", r), behind, slope)
    else:
        sine = block.multiply_add(sums[0], cube, r)
    cosine = block.multiply_add(sums[1], block.do("fmul", z, z), slope)

    def integer(value: int) -> str:
        return layout.splat(f"i{layout.bits}", str(value))

    def signed(x: str, turns: str) -> str:
        """-x where the first bit of `turns` is set."""
        sign = block.emit(f"and {integers} {turns}, {integer(-(1 << top))}")
        bits = block.emit(f"xor {integers} {sign}, {block.emit(f'bitcast {v} {x} to {integers}')}")
        return block.emit(f"bitcast {integers} {bits} to {v}")

    odd = block.emit(f"trunc {integers} {k} to {layout.mask}")
    swapped_sine = block.emit(f"select {layout.mask} {odd}, {v} {cosine}, {v} {sine}")
    swapped_cosine = block.emit(f"select {layout.mask} {odd}, {v} {sine}, {v} {cosine}")
    turns = block.emit(f"shl {integers} {k}, {integer(top - 1)}")
    next_turns = block.emit(f"add {integers} {turns}, {integer(1 << top - 1)}")
    return signed(swapped_sine, turns), signed(swapped_cosine, next_turns)


def large_angle() -> str:
    """`{double r, double behind, i64 k} @large_angle(double x)`, for |x| > 10⁵; `behind` is the rounding error of r.

    x = ± m 2ᵉ with a whole m of 53 bits. Of 2/π, 192 bits are enough from where m 2ᵉ times a bit is below 4; the
    product with m, modulo 2¹⁹², has the quadrant in its first two bits, and the fraction of a quarter turn behind them.
    Infinite numbers have no remainder: NaN.
    """
    digits = TWO_OVER_PI  # with 64 zeros before the point, so that small exponents need no case of their own
    words = [digits >> (64 * k) & (1 << 64) - 1 for k in reversed(range(20))]
    table = ", ".join(f"i64 {w - (1 << 64) if w >> 63 else w}" for w in words)
    constant = Layout("double", 1, False).constant
    half_pi, rest_of_pi, nan = constant(1.5707963267948966), constant(6.123233995736766e-17), constant(math.nan)
    return f"""
@two_over_pi = internal constant [20 x i64] [{table}]
declare i128 @llvm.ctlz.i128(i128, i1)
declare i64 @llvm.fshl.i64(i64, i64, i64)
define internal {{double, double, i64}} @large_angle(double %x) noinline cold {{
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %exponent = and i64 %shifted, 2047
  %infinite = icmp eq i64 %exponent, 2047
  br i1 %infinite, label %non_finite, label %finite
non_finite:
  ret {{double, double, i64}} {{double {nan}, double 0.0, i64 0}}
finite:
  %low = and i64 %bits, 4503599627370495
  %m = or i64 %low, 4503599627370496
  %offset = sub i64 %exponent, 1013
  %word = lshr i64 %offset, 6
  %shift = and i64 %offset, 63
  %p0 = getelementptr [20 x i64], ptr @two_over_pi, i64 0, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %d0 = load i64, ptr %p0
  %d1 = load i64, ptr %p1
  %d2 = load i64, ptr %p2
  %d3 = load i64, ptr %p3
  %w2 = call i64 @llvm.fshl.i64(i64 %d0, i64 %d1, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %d1, i64 %d2, i64 %shift)
  %w0 = call i64 @llvm.fshl.i64(i64 %d2, i64 %d3, i64 %shift)
  %m128 = zext i64 %m to i128
  %w0w = zext i64 %w0 to i128
  %w1w = zext i64 %w1 to i128
  %t0 = mul i128 %m128, %w0w
  %c0 = lshr i128 %t0, 64
  %t1a = mul i128 %m128, %w1w
  %t1 = add i128 %t1a, %c0
  %mid = trunc i128 %t1 to i64
  %c1w = lshr i128 %t1, 64
  %c1 = trunc i128 %c1w to i64
  %t2 = mul i64 %m, %w2
  %top = add i64 %t2, %c1
  %rounded = add i64 %top, 2305843009213693952
  %turns = lshr i64 %rounded, 62
  %whole = shl i64 %turns, 62
  %rest = sub i64 %top, %whole
  %restw = sext i64 %rest to i128
  %resth = shl i128 %restw, 64
  %midw = zext i64 %mid to i128
  %fraction = or i128 %resth, %midw
  %negative = icmp slt i128 %fraction, 0
  %opposite = sub i128 0, %fraction
  %size = select i1 %negative, i128 %opposite, i128 %fraction
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %normal = shl i128 %size, %zeros
  %firstw = lshr i128 %normal, 64
  %first = trunc i128 %firstw to i64
  %high = and i64 %first, -2048
  %lows = and i64 %first, 2047
  %number = uitofp i64 %high to double
  %small = uitofp i64 %lows to double
  %zeros64 = trunc i128 %zeros to i64
  %power = sub i64 961, %zeros64
  %powerbits = shl i64 %power, 52
  %scale = bitcast i64 %powerbits to double
  %backwards = icmp slt i64 %bits, 0
  %flip = xor i1 %negative, %backwards
  %minus = fneg double %scale
  %sized = select i1 %flip, double %minus, double %scale
  %part = fmul double %number, %sized
  %r = fmul double %part, {half_pi}
  %more = fmul double %small, %sized
  %tail = fmul double %more, {half_pi}
  %late = fmul double %part, {rest_of_pi}
  %behind = fadd double %tail, %late
  %less = sub i64 0, %turns
  %k = select i1 %backwards, i64 %less, i64 %turns
  %one = insertvalue {{double, double, i64}} poison, double %r, 0
  %two = insertvalue {{double, double, i64}} %one, double %behind, 1
  %three = insertvalue {{double, double, i64}} %two, i64 %k, 2
  ret {{double, double, i64}} %three
}}
"""
