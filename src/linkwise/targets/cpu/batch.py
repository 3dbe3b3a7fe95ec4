"""The batch loop in LLVM assembly: blocks over contiguous rows, with a padded copy for the last block.

i64 @batch(i64 begin, i64 end, ptr work, ptr input, ..., ptr output, ...)   count of non-finite results (see `block_W`)
i64 @work_bytes                                                             size of `work` in bytes

A small copy is on the stack. A large one is in `work`, behind the memory of the blocks, since threads may have small
stacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ON_STACK = 8192  # bytes


class Batch(NamedTuple):
    """Parameters of the text: row sizes of all arrays, of which the first `inputs` are inputs."""

    sizes: Sequence[int]
    inputs: int
    real: str
    lanes: int
    block_vectors: int  # vectors of memory that a block needs

    @property
    def on_stack(self) -> bool:
        """Whether the padded copy fits on the stack."""
        return self.lanes * sum(self.sizes) * self.itemsize <= ON_STACK

    @property
    def itemsize(self) -> int:
        return 8 if self.real == "double" else 4

    @property
    def work_bytes(self) -> int:
        """Size of `work`."""
        rows = 0 if self.on_stack else sum(self.sizes)
        return (self.block_vectors + rows) * self.lanes * self.itemsize

    def text(self) -> str:
        sizes, inputs, real, lanes, _ = self
        every = range(len(sizes))
        block = f"@block_{lanes}"
        arguments = ", ".join(f"ptr %p{k}" for k in every)
        starts = "\n".join(
            f"  %o{k} = mul i64 %b, {size}\n  %r{k} = getelementptr {real}, ptr %p{k}, i64 %o{k}"
            for k, size in enumerate(sizes)
        )
        rows = ", ".join(f"ptr %r{k}" for k in every)
        if self.on_stack:
            spare = "\n".join(f"  %s{k} = alloca [{size * lanes} x {real}]" for k, size in enumerate(sizes))
        else:
            begins = [lanes * (self.block_vectors + sum(sizes[:k])) for k in every]
            spare = "\n".join(
                f"  %s{k} = getelementptr {real}, ptr %work, i64 {begin}" for k, begin in enumerate(begins)
            )
        ends = "\n".join(
            f"  %e{k} = mul i64 %b, {size}\n  %f{k} = getelementptr {real}, ptr %p{k}, i64 %e{k}"
            for k, size in enumerate(sizes)
        )
        filled = "\n".join(
            f"  call void @fill(ptr %s{k}, ptr %f{k}, i64 %left, i64 {size}, i64 {lanes})"
            for k, size in enumerate(sizes[:inputs])
        )
        spares = ", ".join(f"ptr %s{k}" for k in every)
        emptied = "\n".join(
            f"  %c{k} = mul i64 %left, {size}\n  call void @copy(ptr %f{k}, ptr %s{k}, i64 %c{k})"
            for k, size in list(enumerate(sizes))[inputs:]
        )
        return f"""
declare i64 @llvm.ctpop.i64(i64)
define internal void @copy(ptr %to, ptr %from, i64 %count) {{
start:
  br label %test
test:
  %i = phi i64 [0, %start], [%next, %go]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %go, label %done
go:
  %fp = getelementptr {real}, ptr %from, i64 %i
  %tp = getelementptr {real}, ptr %to, i64 %i
  %x = load {real}, ptr %fp
  store {real} %x, ptr %tp
  %next = add i64 %i, 1
  br label %test
done:
  ret void
}}
; `rows` rows from the first `left` of them, the last of which is repeated
define internal void @fill(ptr %to, ptr %from, i64 %left, i64 %size, i64 %rows) {{
start:
  br label %row
row:
  %i = phi i64 [0, %start], [%next, %row]
  %last = sub i64 %left, 1
  %inside = icmp ult i64 %i, %left
  %source = select i1 %inside, i64 %i, i64 %last
  %fo = mul i64 %source, %size
  %to_o = mul i64 %i, %size
  %fp = getelementptr {real}, ptr %from, i64 %fo
  %tp = getelementptr {real}, ptr %to, i64 %to_o
  call void @copy(ptr %tp, ptr %fp, i64 %size)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %rows
  br i1 %more, label %row, label %done
done:
  ret void
}}
@work_bytes = dso_local constant i64 {self.work_bytes}
define i64 @batch(i64 %begin, i64 %end, ptr %work, {arguments}) {{
start:
{spare}
  br label %test
test:
  %b = phi i64 [%begin, %start], [%next, %whole]
  %non_finite = phi i64 [0, %start], [%sum, %whole]
  %next = add i64 %b, {lanes}
  %fits = icmp ule i64 %next, %end
  br i1 %fits, label %whole, label %rest
whole:
{starts}
  %bits = call i64 {block}(ptr %work, {rows})
  %count = call i64 @llvm.ctpop.i64(i64 %bits)
  %sum = add i64 %non_finite, %count
  br label %test
rest:
  %left = sub i64 %end, %b
  %some = icmp ne i64 %left, 0
  br i1 %some, label %part, label %done
part:
{ends}
{filled}
  %bits2 = call i64 {block}(ptr %work, {spares})
{emptied}
  %one = shl i64 1, %left
  %those = sub i64 %one, 1
  %kept = and i64 %bits2, %those
  %count2 = call i64 @llvm.ctpop.i64(i64 %kept)
  %sum2 = add i64 %non_finite, %count2
  ret i64 %sum2
done:
  ret i64 %non_finite
}}
"""
