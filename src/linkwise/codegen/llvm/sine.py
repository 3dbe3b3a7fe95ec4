"""Sine and cosine together, in LLVM assembly: within 2 ulp, for every finite number.

    x = k π/2 + r,  |r| ≤ π/4:      sin r = r + r³ S(r²)      cos r = 1 - r²/2 + r⁴ C(r²)

and the last two bits of k say which of the two is wanted, with which sign. Up to 10⁵, r is x - k (P₁ + P₂ + P₃) with
parts of π/2 so short that k P₁ and k P₂ are exact (Cody and Waite 1980). Lanes beyond that, seldom met, are reduced one
by one with as many digits of 2/π as they need (Payne and Hanek 1983). The polynomials are those of Moshier's Cephes
library. Floats are reduced as doubles.
"""

from __future__ import annotations

import math

from .block import Block, Layout

LARGE = 1e5
PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)  # of π/2; the first two have 33 bits
ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 · 2⁵²: added to a number, it leaves the whole part in the last bits
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


def sine_cosine(layout: Layout) -> str:
    """`{vector, vector} @sine_cosine_W(vector)` for W lanes; it needs `large_angle`."""
    wide = Layout("double", layout.lanes, layout.fused)  # the reduction is in doubles
    w, wi = wide.vector, wide.integers
    block = Block(wide)
    x = "%x" if layout.real == "double" else block.emit(f"fpext {layout.vector} %x to {w}")
    shifted = block.fused(x, wide.constant(0.6366197723675814), wide.constant(ROUND_TO_INTEGER))  # 2/π
    quadrant = block.emit(f"bitcast {w} {shifted} to {wi}")
    k = block.do("fsub", shifted, wide.constant(ROUND_TO_INTEGER))
    first, second, third = (wide.constant(-part) for part in PARTS)
    exact = block.fused(k, first, x)
    r = block.fused(k, second, exact)
    behind = block.fused(k, third, block.fused(k, second, block.do("fsub", exact, r)))
    size = block.call("fabs", x)
    far = block.emit(f"fcmp ogt {w} {size}, {wide.constant(LARGE)}")
    bits = far if layout.lanes == 1 else block.emit(f"bitcast <{layout.lanes} x i1> {far} to i{layout.lanes}")
    some = block.emit(f"icmp ne i{layout.lanes} {bits}, 0")
    near = "\n".join(block.lines)
    start = block.values
    block.lines = []
    block.values = start
    sine, cosine = polynomials(block, layout, *finish_inputs(block, layout))
    v = layout.vector
    pair = block.emit(f"insertvalue {{{v}, {v}}} poison, {v} {sine}, 0")
    pair = block.emit(f"insertvalue {{{v}, {v}}} {pair}, {v} {cosine}, 1")
    end = "\n".join(block.lines)
    declared = "\n".join(sorted(block.declared))
    lanes = layout.lanes
    return f"""{declared}
define internal {{{v}, {v}}} @sine_cosine_{lanes}({v} %x) #1 {{
near:
{near}
  br i1 {some}, label %far, label %finish
far:
  %xs = alloca {w}
  %rs = alloca {w}
  %bs = alloca {w}
  %ks = alloca {wi}
  store {w} {x}, ptr %xs
  store {w} {r}, ptr %rs
  store {w} {behind}, ptr %bs
  store {wi} {quadrant}, ptr %ks
  br label %lane
lane:
  %i = phi i64 [0, %far], [%next, %skip]
  %xp = getelementptr double, ptr %xs, i64 %i
  %xi = load double, ptr %xp
  %si = call double @llvm.fabs.f64(double %xi)
  %fi = fcmp ogt double %si, {Layout("double", 1, False).constant(LARGE)}
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
  br label %finish
finish:
  %r = phi {w} [{r}, %near], [%rl, %reduced]
  %b = phi {w} [{behind}, %near], [%bl, %reduced]
  %k = phi {wi} [{quadrant}, %near], [%kl, %reduced]
{end}
  ret {{{v}, {v}}} {pair}
}}
"""


def finish_inputs(block: Block, layout: Layout) -> tuple[str, str, str]:
    """The reduced angle %r, what is behind its last digit %b, and the quadrant %k, as the layout's own numbers."""
    if layout.real == "double":
        return "%r", "%b", "%k"
    wide = block.layout
    angle = block.emit(f"fptrunc {wide.vector} %r to {layout.vector}")
    behind = block.emit(f"fptrunc {wide.vector} %b to {layout.vector}")
    turns = block.emit(f"trunc {wide.integers} %k to {layout.integers}")
    block.layout = layout
    return angle, behind, turns


def polynomials(block: Block, layout: Layout, r: str, behind: str, k: str) -> tuple[str, str]:
    v, integers, top = layout.vector, layout.integers, layout.bits - 1
    z = block.do("fmul", r, r)
    sums = []
    for coefficients in POLYNOMIALS[layout.real]:
        p = layout.constant(coefficients[0])
        for c in coefficients[1:]:
            p = block.fused(p, z, layout.constant(c))
        sums.append(p)
    sine = block.do("fadd", r, block.fused(sums[0], block.do("fmul", z, r), behind))
    falling = block.fused(z, layout.constant(-0.5), layout.constant(1.0))
    slope = block.fused(block.do("fneg", r), behind, falling)
    cosine = block.fused(sums[1], block.do("fmul", z, z), slope)

    def integer(value: int) -> str:
        return layout.splat(f"i{layout.bits}", str(value))

    def signed(x: str, turns: str) -> str:
        """-x where bit 1 of the turns is set."""
        moved = block.emit(f"shl {integers} {turns}, {integer(top - 1)}")
        sign = block.emit(f"and {integers} {moved}, {integer(-(1 << top))}")
        bits = block.emit(f"xor {integers} {sign}, {block.emit(f'bitcast {v} {x} to {integers}')}")
        return block.emit(f"bitcast {integers} {bits} to {v}")

    odd = block.emit(f"trunc {integers} {k} to {layout.mask}")
    swapped_sine = block.emit(f"select {layout.mask} {odd}, {v} {cosine}, {v} {sine}")
    swapped_cosine = block.emit(f"select {layout.mask} {odd}, {v} {sine}, {v} {cosine}")
    return signed(swapped_sine, k), signed(swapped_cosine, block.emit(f"add {integers} {k}, {integer(1)}"))


def large_angle() -> str:
    """`{double r, double behind, i64 k} @large_angle(double x)`, for |x| > 10⁵; `behind` is what r has no digits for.

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
