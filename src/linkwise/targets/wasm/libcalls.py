"""What WebAssembly has no instructions for, and LLVM calls functions for.

Integers of 128 bits, in pieces of 64; and the larger and the smaller of two numbers, of which one may be NaN.
"""

WIDE_INTEGERS = """
define internal i64 @upper_half_of_product(i64 %a, i64 %b) {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %low = mul i64 %a0, %b0
  %first = mul i64 %a1, %b0
  %second = mul i64 %a0, %b1
  %high = mul i64 %a1, %b1
  %carried = lshr i64 %low, 32
  %sum = add i64 %first, %carried
  %sum0 = and i64 %sum, 4294967295
  %sum1 = lshr i64 %sum, 32
  %middle = add i64 %second, %sum0
  %middle1 = lshr i64 %middle, 32
  %top = add i64 %high, %sum1
  %all = add i64 %top, %middle1
  ret i64 %all
}
define hidden void @__multi3(ptr %product, i64 %a0, i64 %a1, i64 %b0, i64 %b1) {
  %low = mul i64 %a0, %b0
  %carried = call i64 @upper_half_of_product(i64 %a0, i64 %b0)
  %first = mul i64 %a1, %b0
  %second = mul i64 %a0, %b1
  %sum = add i64 %first, %second
  %high = add i64 %sum, %carried
  %place = getelementptr i64, ptr %product, i64 1
  store i64 %low, ptr %product
  store i64 %high, ptr %place
  ret void
}
define hidden void @__ashlti3(ptr %shifted, i64 %a0, i64 %a1, i32 %by) {
  %count = zext i32 %by to i64
  %far = icmp ugt i32 %by, 63
  %rest = and i64 %count, 63
  %low = shl i64 %a0, %rest
  %own = shl i64 %a1, %rest
  %half = lshr i64 %a0, 1
  %less = xor i64 %rest, 63
  %moved = lshr i64 %half, %less
  %near = or i64 %own, %moved
  %low_all = select i1 %far, i64 0, i64 %low
  %high_all = select i1 %far, i64 %low, i64 %near
  %place = getelementptr i64, ptr %shifted, i64 1
  store i64 %low_all, ptr %shifted
  store i64 %high_all, ptr %place
  ret void
}
"""

EXTREMES = "".join(
    f"""
define hidden {real} @{name}({real} %a, {real} %b) {{
  %first = fcmp {compared} {real} %a, %b
  %lost = fcmp uno {real} %b, %b
  %taken = or i1 %first, %lost
  %x = select i1 %taken, {real} %a, {real} %b
  ret {real} %x
}}
"""
    for real, suffix in (("double", ""), ("float", "f"))
    for name, compared in ((f"fmax{suffix}", "ogt"), (f"fmin{suffix}", "olt"))
)
