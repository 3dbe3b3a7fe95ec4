"""A main for a function in C, that runs it on a few states and compares with known results."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Port
from .function import CFunction, c_number

Numbers = Sequence[float]  # of one input or output in one state, row by row


def c_self_test(
    function: CFunction, states: Sequence[Sequence[Numbers]], results: Sequence[Sequence[Numbers]], tolerance: float
) -> str:
    """`states[k]` has the inputs of state k, `results[k]` its outputs. Names end in underscores, as no others do."""
    inputs, outputs = function.program.inputs, function.program.outputs
    tables = [
        table(function.type, f"{function.name}_in_{name}", port, [state[k] for state in states], function.dtype)
        for k, (name, port) in enumerate(zip(function.inputs, inputs, strict=True))
    ]
    tables += [
        table("double", f"{function.name}_out_{name}", port, [result[k] for result in results], "float64")
        for k, (name, port) in enumerate(zip(function.outputs, outputs, strict=True))
    ]
    computed = [f"{name}_found_" for name in function.outputs]
    arguments = [
        f"{function.name}_in_{name}[state_]" + ("" if port.shape else "[0]")
        for name, port in zip(function.inputs, inputs, strict=True)
    ]
    sizes = [port.size for port in outputs]
    return TEMPLATE.format(
        name=function.name,
        type=function.type,
        tables="\n".join(tables),
        arrays="\n".join(
            f"        {function.type} {f}[{max(1, size)}];" for f, size in zip(computed, sizes, strict=True)
        ),
        call=f"{function.name}({', '.join([*arguments, *computed])});",
        comparisons="\n".join(
            f"        off_ = {function.name}_deviation({f}, {function.name}_out_{name}[state_], {size}, off_);"
            for f, name, size in zip(computed, function.outputs, sizes, strict=True)
        ),
        states=len(states),
        tolerance=repr(tolerance),
    )


def table(kind: str, name: str, port: Port, rows: Sequence[Numbers], dtype: str) -> str:
    """The numbers of a port, a row for each state."""
    texts = (", ".join(c_number(x, dtype) for x in row) for row in rows)
    body = ",\n".join(f"    {{{text or '0'}}}" for text in texts)
    return f"static const {kind} {name}[{len(rows)}][{max(1, port.size)}] = {{\n{body}\n}};"


TEMPLATE = """
/* Self-test: the states, the results that Python computes for them, and a comparison.
 * Compiled with -DLINKWISE_NO_MAIN, the file is without it and links with a program that has a main of its own. */

#ifndef LINKWISE_NO_MAIN

#include <math.h>
#include <stdio.h>

{tables}

/* The larger of `off` and the largest deviation, relative to the largest result; NaN if there is one. */
static double {name}_deviation(const {type} *found, const double *expected, int count, double off)
{{
    double largest = 1e-6;
    int k;

    for (k = 0; k < count; ++k) {{
        largest = fmax(largest, fabs(expected[k]));
    }}
    for (k = 0; k < count; ++k) {{
        const double d = fabs((double)found[k] - expected[k]) / largest;
        if (d > off || d != d) {{
            off = d;
        }}
    }}
    return off;
}}

int main(void)
{{
    double worst_ = 0.0;
    int state_, failed_ = 0;

    for (state_ = 0; state_ < {states}; ++state_) {{
        double off_ = 0.0;
{arrays}

        {call}
{comparisons}
        failed_ = failed_ || !(off_ <= {tolerance});
        worst_ = off_ > worst_ || off_ != off_ ? off_ : worst_;
        printf("state %d: %s, largest deviation %.1e\\n", state_ + 1, off_ <= {tolerance} ? "ok" : "FAILED", off_);
    }}
    printf("{name}: %s, largest deviation %.1e (allowed %.1e)\\n", failed_ ? "FAILED" : "ok", worst_, {tolerance});
    return failed_;
}}

#endif
"""
