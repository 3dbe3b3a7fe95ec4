"""A main for a function in C that compares its results in a few states with known ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...graph import Node, Port
from ...graph.sensitivity import Operand, compared_operands
from .function import CFunction, c_number

Numbers = Sequence[float]  # of one input or output in one state, row by row


def c_self_test(
    function: CFunction,
    states: Sequence[Sequence[Numbers]],
    results: Sequence[Sequence[Numbers]],
    sizes: Sequence[Sequence[Numbers]],
    tolerance: float,
    untested: Sequence[str],
) -> str:
    """`states[k]` has the inputs of state k, `results[k]` its outputs. Only names of the test end in an underscore."""
    inputs, outputs = function.program.inputs, function.program.outputs
    tables = [
        c_table(function.type, f"{function.name}_in_{name}", port, [state[k] for state in states], function.dtype)
        for k, (name, port) in enumerate(zip(function.inputs, inputs, strict=True))
    ]
    tables += [
        c_table("double", f"{function.name}_out_{name}", port, [result[k] for result in results], "float64")
        for k, (name, port) in enumerate(zip(function.outputs, outputs, strict=True))
    ]
    tables += [
        c_table("double", f"{function.name}_size_{name}", port, [round_sizes(size[k]) for size in sizes], "float64")
        for k, (name, port) in enumerate(zip(function.outputs, outputs, strict=True))
    ]
    computed = [f"{name}_found_" for name in function.outputs]
    arguments = [
        f"{function.name}_in_{name}[state_]" + ("" if port.shape else "[0]")
        for name, port in zip(function.inputs, inputs, strict=True)
    ]
    return TEMPLATE.format(
        name=function.name,
        type=function.type,
        tables="\n".join(tables),
        arrays="\n".join(
            f"        {function.type} {f}[{max(1, port.size)}];" for f, port in zip(computed, outputs, strict=True)
        ),
        call=f"{function.name}({', '.join([*arguments, *computed])});",
        comparisons="\n".join(
            f"        off_ = {function.name}_deviation({f}, {function.name}_out_{name}[state_],"
            f' {function.name}_size_{name}[state_], {port.size}, off_, "{name}", &worst_name_, &worst_index_);'
            for f, name, port in zip(computed, function.outputs, outputs, strict=True)
        ),
        states=len(states),
        tolerance=repr(tolerance),
        untested="\n".join(f'    puts("not tested: {line}");' for line in untested),
    )


def round_sizes(numbers: Numbers) -> Numbers:
    return [float(f"{x:.3g}") for x in numbers]


def untested_texts(
    function: CFunction,
    operands: Collection[Operand],
    constants: Collection[Operand],
    branches: Collection[tuple[int, str]],
    ties: Collection[int],
) -> list[str]:
    """Texts of untested operands with the outputs they affect: choices and constants first.

    For `constants`, only small changes are untested. Operands of an untested operation are not listed themselves.
    """
    nodes = function.program.nodes
    used = {x.index for result in function.program.results for x in result}
    used |= {a.index for node in nodes for k, a in enumerate(node.args) if (node.index, k) not in operands}
    texts: list[tuple[int, str, Node]] = []
    for node in nodes:
        sides = sorted(side for index, side in branches if index == node.index)
        lost = [a for k, a in enumerate(node.args) if (node.index, k) in operands and node.index in used]
        small = [a for k, a in enumerate(node.args) if (node.index, k) in constants and node.index in used]
        if sides:
            texts.append((0, branch_text(function, node, sides), node))
        elif node.index in ties:
            texts.append((0, f"small changes of what {condition_text(function, node)} compares", node))
        if small and node.index not in ties:
            texts.append((1, f"small changes of {operand_texts(function, small)} of {function.text(node)}", node))
        if lost:
            rank = 0 if any(a.op == "const" for a in lost) else 2
            texts.append((rank, f"{operand_texts(function, lost)} of {function.text(node)}", node))
    return [f"{text}, in {outputs_of(function, node)}" for _, text, node in sorted(texts, key=lambda x: x[0])]


def operand_texts(function: CFunction, operands: Iterable[Node]) -> str:
    return ", ".join(function.name_of(a) or function.text(a) for a in operands)


COMPARES = {"select": "{0} >= 0", "where_lt": "{0} < {1}", "where_le": "{0} <= {1}", "where_eq": "{0} == {1}"}
HOLDS = {"select": ">", "where_lt": "<", "where_le": "<", "where_eq": "=="}  # the side on which it does


def condition_text(function: CFunction, node: Node) -> str:
    return COMPARES[node.op].format(*(operand_texts(function, [x]) for x in node.args[:2]))


def branch_text(function: CFunction, node: Node, sides: Sequence[str]) -> str:
    """A choice with its untested sides."""
    if node.op in COMPARES:
        return f"{condition_text(function, node)} being {' or '.join(str(x == HOLDS[node.op]).lower() for x in sides)}"
    left, right = (operand_texts(function, [x]) for x in compared_operands(node))
    return f"{function.text(node)} for {' or '.join(f'{left} {side} {right}' for side in sides)}"


def outputs_of(function: CFunction, node: Node) -> str:
    """The outputs that depend on a node."""
    reached = {node.index}
    for later in function.program.nodes:
        if any(a.index in reached for a in later.args):
            reached.add(later.index)
    outputs = zip(function.outputs, function.program.outputs, function.program.results, strict=True)
    names = [
        f"{name}[{k}]" if port.shape else name
        for name, port, result in outputs
        for k, x in enumerate(result)
        if x.index in reached
    ]
    every = sum(port.size for port in function.program.outputs)
    return "all results" if len(names) == every > 1 else ", ".join(names)


def c_table(kind: str, name: str, port: Port, rows: Sequence[Numbers], dtype: str) -> str:
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

/* The larger of `off` and the largest deviation, relative to the size of the result's terms; NaN if there is one.
 * Where it is the latter, `name` and the index of the number are stored. */
static double {name}_deviation(
    const {type} *found, const double *expected, const double *size, int count, double off,
    const char *name, const char **worst_name, int *worst_index)
{{
    int k;

    for (k = 0; k < count; ++k) {{
        const double difference = fabs((double)found[k] - expected[k]);
        const double d = difference > 0 ? difference / size[k] : difference;
        if (d > off || d != d) {{
            off = d;
            *worst_name = name;
            *worst_index = k;
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
        const char *worst_name_ = "";
        int worst_index_ = 0;
{arrays}

        {call}
{comparisons}
        failed_ = failed_ || !(off_ <= {tolerance});
        worst_ = off_ > worst_ || off_ != off_ ? off_ : worst_;
        if (off_ <= {tolerance}) {{
            printf("state %d: ok, largest deviation %.1e\\n", state_ + 1, off_);
        }} else {{
            printf("state %d: FAILED, largest deviation %.1e, in %s[%d]\\n",
                   state_ + 1, off_, worst_name_, worst_index_);
        }}
    }}
{untested}
    printf("{name}: %s, largest deviation %.1e (allowed %.1e)\\n", failed_ ? "FAILED" : "ok", worst_, {tolerance});
    return failed_;
}}

#endif
"""
