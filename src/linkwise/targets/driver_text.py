"""The text of the integrators' driver, for all targets: `ode.driver`, run once over `codegen.llvm.lanes`."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.llvm.elementary import functions_text
from ..codegen.llvm.flow import Layout, assemble
from ..codegen.llvm.integrator import advance_text, values_text
from ..codegen.llvm.lanes import LlvmLanes
from ..graph import Program
from ..ode.driver import Driver
from ..ode.events import Crossing
from ..ode.methods import Method
from ..ode.trajectories import DONE, RECORD, RUNNING


def advance_texts(
    program: Program, method: Method, layout: Layout, crossings: Sequence[Crossing]
) -> tuple[list[str], int]:
    """The driver of a program with its functions, and the vectors of memory that it needs."""
    size, parameters = program.inputs[1].size, sum(port.size for port in program.inputs[2:])
    texts = [values_text(program, layout, "rhs", 0)]
    if crossings:
        texts.append(values_text(program, layout, "event_values", 1))
    lanes = LlvmLanes(layout, RECORD, size, len(crossings), parameters)
    driver = Driver(lanes, method, size, crossings)
    texts.append(advance_text(lanes, driver.begin, driver.attempt, RUNNING, DONE))
    return texts, lanes.vectors


def driver_text(
    program: Program, method: Method, layouts: Sequence[Layout], crossings: Sequence[Crossing]
) -> tuple[str, int]:
    """The driver of a program for each layout, and the vectors of memory that it needs."""
    texts, vectors = [], 0
    for layout in layouts:
        functions, vectors = advance_texts(program, method, layout, crossings)
        texts += functions
    return assemble(*functions_text(program.nodes, layouts), *texts), vectors
