"""The integrator's driver as a WebAssembly module: one trajectory, continued from call to call.

    i32 @advance(ptr simulation, double end)       integrate to that time; returns a code of `status`

If the trajectory has reached `end`, nothing happens and the code is DONE. The code is NOT_FINITE if one of the two
times is not finite, or if a tolerance is negative or not finite. A step that is not positive is replaced by the first
step. A call makes at most `max_steps` steps, including rejected ones.

A simulation is a block of 64-bit numbers (`Block`): a header with the request, the record of the trajectory, and the
driver's memory. All of it may be changed between two calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...codegen.llvm.flow import Layout
from ...graph import Program
from ...kernels.llvm import load_or_compile
from ...ode.methods import Method
from ...ode.trajectories import DONE, NOT_FINITE, RECORD, RUNNING
from ..driver_text import HEAD, driver_text
from .frame import module
from .target import WasmTarget

HEADER_FIELDS = ("rtol", "max_steps", "queue", "waiting", "sample", "first")  # `sample` is infinite: no samples


class Block(NamedTuple):
    """Positions in the block of a simulation, in 64-bit numbers."""

    size: int  # of y
    parameters: int
    vectors: int  # of the driver's own memory

    @property
    def record(self) -> int:
        return len(HEADER_FIELDS)

    @property
    def y(self) -> int:
        return self.record + len(RECORD)

    @property
    def first_parameter(self) -> int:
        return self.y + self.size

    @property
    def tolerance(self) -> int:
        return self.first_parameter + self.parameters

    @property
    def context(self) -> int:
        return self.tolerance + self.size

    @property
    def numbers(self) -> int:
        return self.context + self.vectors

    def filled(self, record: np.ndarray, rtol: float, atol: np.ndarray, max_steps: int) -> np.ndarray:
        """The block at the start of a trajectory."""
        block = np.zeros(self.numbers)
        block[0] = rtol
        block.view(np.int64)[1] = max_steps
        block[HEADER_FIELDS.index("sample")] = np.inf
        block[HEADER_FIELDS.index("first")] = record[list(RECORD).index("h")]
        block[self.record : self.tolerance] = record
        block[self.tolerance : self.context] = atol
        return block


def driver_module(program: Program, method: Method) -> tuple[bytes, Block]:
    """The module of a program of t, y and parameters, and the layout of its block."""
    text, vectors = driver_text(program, method, [Layout("double", 1, False)], ())
    block = Block(program.inputs[1].size, sum(port.size for port in program.inputs[2:]), vectors)
    code = load_or_compile("integrator", module(text, advance_text(block)), WasmTarget())
    return code.binary, block


def advance_text(block: Block) -> str:
    record, first = block.record, HEADER_FIELDS.index("first")
    names = ("t", "h", "status", "steps", "rejected")
    t, h, status, steps, rejected = (record + list(RECORD).index(name) for name in names)
    given: dict[str, Any] = {
        "records": f"%n{record}",
        "waiting": "%n3",
        "queue": "%n2",
        "context": f"%n{block.context}",
        "atol": f"%n{block.tolerance}",
        "total": 1,
        "times": "%n4",
        "samples": 1,
        "room": 0,
        "budget": (1 << 63) - 1,
        **dict.fromkeys(("out", "log"), "null"),
        **{name: f"%{name}" for name in ("end", "rtol")},
        "max_steps": "%last",
    }
    arguments = HEAD[HEAD.index("(") + 1 : HEAD.rindex(")")].split(", ")
    handed = ", ".join(f"{kind} {given[name.lstrip('%')]}" for kind, name in map(str.split, arguments))
    places = sorted({1, 2, 3, 4, first, record, t, h, status, steps, rejected, block.context, block.tolerance})
    pointers = "\n".join(f"  %n{k} = getelementptr i64, ptr %simulation, i64 {k}" for k in places)
    return f"""
declare i64 @llvm.sadd.sat.i64(i64, i64)

define i32 @advance(ptr %simulation, double %end) #0 {{
{pointers}
  %t = load double, ptr %n{t}
  %left = fsub double %end, %t
  %zero = fmul double %left, 0.0
  %finite = fcmp ord double %zero, 0.0
  %ahead = fcmp ogt double %left, 0.0
  %known = select i1 %finite, i64 {DONE}, i64 {NOT_FINITE}
  %run = and i1 %finite, %ahead
  br i1 %run, label %integrate, label %stay
stay:
  store i64 %known, ptr %n{status}
  br label %done
integrate:
  %h = load double, ptr %n{h}
  %first = load double, ptr %n{first}
  %usable = fcmp ogt double %h, 0.0
  %step = select i1 %usable, double %h, double %first
  store double %step, ptr %n{h}
  %rtol = load double, ptr %simulation
  %max_steps = load i64, ptr %n1
  %steps = load i64, ptr %n{steps}
  %rejected = load i64, ptr %n{rejected}
  %made = add i64 %steps, %rejected
  %last = call i64 @llvm.sadd.sat.i64(i64 %made, i64 %max_steps)
  store i64 0, ptr %n2
  store i64 0, ptr %n3
  store i64 {RUNNING}, ptr %n{status}
  br label %tolerances
tolerances:  ; rtol, and those of y, which the driver's own memory follows
  %k = phi i64 [ 0, %integrate ], [ %following, %tolerances ]
  %bound = phi double [ %rtol, %integrate ], [ %tolerance, %tolerances ]
  %fine = phi i1 [ true, %integrate ], [ %both, %tolerances ]
  %positive = fcmp oge double %bound, 0.0
  %bounded = fcmp olt double %bound, 0x7FF0000000000000
  %usual = and i1 %positive, %bounded
  %both = and i1 %fine, %usual
  %place = getelementptr double, ptr %n{block.tolerance}, i64 %k
  %tolerance = load double, ptr %place
  %following = add i64 %k, 1
  %last_one = icmp ugt i64 %following, {block.size}
  br i1 %last_one, label %tested, label %tolerances
tested:
  br i1 %both, label %advance, label %refuse
refuse:
  store i64 {NOT_FINITE}, ptr %n{status}
  br label %done
advance:
  call void @advance_1({handed})
  br label %done
done:
  %code = load i64, ptr %n{status}
  %short = trunc i64 %code to i32
  ret i32 %short
}}
"""
