"""A program as C99: one function on plain arrays, straight-line code without allocation, its header, names that are
neither reserved nor in the standard libraries, and a main that compares its results in a few states with known ones."""

from __future__ import annotations

import math
import re
import struct
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from ..graph import Node, Port, Program
from ..graph.assignments import assignments
from ..graph.sensitivity import Operand, compared_operands
from ..graph.text import operation_text

KEYWORDS = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch char
char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false far float for
fortran friend goto huge if import inline int interrupt linux long module mutable namespace near new noexcept not
not_eq nullptr operator or or_eq private protected public reflexpr register reinterpret_cast requires restrict return
short signed sizeof static static_assert static_cast struct switch synchronized template this thread_local throw true
try typedef typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor
xor_eq
"""
MATH = """
acos acosh asin asinh atan atan2 atanh cabs cacos cacosh canonicalize carg casin casinh catan catanh cbrt ccos ccosh
ceil cexp cimag clog clog10 conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh dadd ddiv dfma dmul
drem dsqrt dsub erf erfc exp exp10 exp2 expm1 fabs fadd fdim fdiv ffma finite floor fma fmax fmaximum fmaxmag fmin
fminimum fminmag fmod fmul frexp fromfp fsqrt fsub gamma getpayload hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llogb
llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nextdown nexttoward nextup pow pow10
remainder remquo rint round roundeven scalb scalbln scalbn setpayload signbit significand sin sincos sinh sqrt tan tanh
tgamma totalorder trunc ufromfp y0 y1 yn
"""  # each also with endings: PATTERNS
LIBRARY = """
abort abs aligned_alloc alloca assert atexit atof atoi atol atoll bcmp bcopy bsearch bzero calloc clearerr clock
ctermid dcgettext dgettext div double_t dprintf errno execl execle execlp execv execve execvp exit fclose fdopen feof
ferror fflush ffs ffsimax ffsl ffsll fgetc fgetpos fgets fileno float_t fopen fork fpclassify fpos64_t fpos_t fprintf
fputc fputs fread free freopen fscanf fseek fsetpos ftell fwrite getc getchar getdelim getenv getline gets gettext getw
imaxabs index isalnum isalpha isascii isblank iscanonical iscntrl isdigit iseqsig isfinite isgraph isgreater
isgreaterequal isless islessequal islessgreater islower isnormal isprint ispunct issignaling isspace issubnormal
isunordered isupper iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper
iswxdigit isxdigit iszero labs ldiv lgamma_r lgammaf_r lgammal_r llabs lldiv localeconv localtime longjmp main malloc
math_errhandling mblen mbstowcs mbtowc memchr memcmp memcpy memmove mempcpy memset mktime off_t pclose perror popen
posix_memalign printf putc putchar puts putw qsort raise rand realloc remove rename rewind rindex scanf setbuf setjmp
setlocale setvbuf signal signgam size_t snprintf sprintf srand sscanf ssize_t std stderr stdin stdout stpcpy stpncpy
strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strfmon strftime strlen strncasecmp strncat
strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul
strtoull strxfrm system tempnam time tmpfile tmpnam toascii tolower toupper towlower towupper ungetc va_arg va_copy
va_end va_list va_start vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb
"""
PATTERNS = (
    rf"({'|'.join(MATH.split())})([fl]|[fd]\d+x?)?(_r)?",  # sin, sinf, sinf32x, lgamma_r
    r"(M|FP|HUGE|MATH|SEEK)_\w+|HUGE|\w+_MAX|NAN|NULL|EOF|FILE|INFINITY|BUFSIZ|DOMAIN|SING|OVERFLOW|UNDERFLOW|[PT]LOSS",
    r"fe[a-z]+except(flag)?|fe(get|set|hold|update)(env|round)|\w+_unlocked",
)
RESERVED = re.compile("|".join([*KEYWORDS.split(), *LIBRARY.split(), *PATTERNS]))


def c_name(text: str, prefix: str = "x") -> str:
    """The text as a name in C: ASCII letters, digits and single underscores; an underscore after a reserved word."""
    plain = (
        re.sub("[\u0370-\u03ff]", greek_letter_name, unicodedata.normalize("NFKD", text))
        .encode("ascii", "ignore")
        .decode()
    )
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if not name or name[0].isdigit():
        name = f"{prefix}{name}"
    return f"{name}_" if RESERVED.fullmatch(name) else name


def greek_letter_name(greek: re.Match[str]) -> str:
    return unicodedata.name(greek[0], "").split(" ")[-1].lower()


def c_names(texts: Iterable[str], reserved: Iterable[str]) -> list[str]:
    """Names in C for all texts, different from each other and from the reserved ones."""
    used = set(reserved)
    names = []
    for text in texts:
        first = name = c_name(text)
        number = 1
        while name in used:
            number += 1
            name = f"{first}_{number}"
        used.add(name)
        names.append(name)
    return names


TYPES = {"float64": "double", "float32": "float"}
WIDTH = 100  # of comments and signatures


class CFunction:
    """A program as a function in C, with names of its inputs and outputs. Arrays are flat, row by row."""

    def __init__(self, program: Program, name: str, outputs: Sequence[str], dtype: str) -> None:
        self.program, self.name, self.dtype, self.type = program, name, dtype, TYPES[dtype]
        used = {"sign", *(node.op for node in program.nodes)}
        self.helpers = {op: f"{name}_{op}" for op in HELPERS if op in used}
        inputs = [port.name for port in program.inputs]
        names = c_names([*inputs, *outputs], reserved=(name, *self.helpers.values()))
        self.inputs, self.outputs = names[: len(inputs)], names[len(inputs) :]
        ending = "f" if dtype == "float32" else ""
        self.words = {**{op: word + ending for op, word in FUNCTIONS.items()}, **self.helpers, **CHOICES}
        result_indices = {node.index for result in program.results for node in result if node.op != "const"}
        used_names = (name, *self.helpers.values(), *self.inputs, *self.outputs)
        self.lines, self.name_of = assignments(
            program, self.leaf, used_names, always_named=result_indices, words=self.words
        )

    def leaf(self, node: Node) -> str:
        if node.op == "const":
            return c_number(node.payload, self.dtype)
        name, position = node.payload
        k = next(k for k, port in enumerate(self.program.inputs) if port.name == name)
        return f"{self.inputs[k]}[{position}]" if self.program.inputs[k].shape else self.inputs[k]

    def array(self, name: str, port: Port) -> str:
        """A parameter. C has no empty arrays: these are pointers."""
        return f"{self.type} {name}{array_brackets(port)}" if port.size else f"{self.type} *{name}"

    @property
    def signature(self) -> str:
        inputs = [
            f"const {self.array(name, port)}" if port.shape else f"{self.type} {name}"
            for name, port in zip(self.inputs, self.program.inputs, strict=True)
        ]
        outputs = [self.array(name, port) for name, port in zip(self.outputs, self.program.outputs, strict=True)]
        line = f"void {self.name}({', '.join([*inputs, *outputs])})"
        if len(line) <= WIDTH:
            return line
        return f"void {self.name}(\n    " + ",\n    ".join([*inputs, *outputs]) + ")"

    @property
    def prototype(self) -> str:
        """The declaration, for C and for C++."""
        return PROTOTYPE.format(signature=self.signature)

    def header(self, comment: str) -> str:
        guard = f"LINKWISE_{self.name}_H"
        return f"{comment}\n#ifndef {guard}\n#define {guard}\n\n{self.prototype}\n#endif\n"

    def source(self, comment: str) -> str:
        used = {node.op for node in self.program.nodes}
        parts = [comment, self.prototype]
        if used & set(FUNCTIONS):
            parts.insert(1, "#include <math.h>\n")
        parts += [text.format(name=self.helpers[op], type=self.type) for op, text in HELPERS.items() if op in used]
        return "\n".join([*parts, f"{self.signature}\n{{\n{self.body()}}}\n"])

    def body(self) -> str:
        """The statements. All are computed before any is stored, so that an output may alias an input."""
        read = {node.payload[0] for node in self.program.nodes if node.op == "input"}
        unread = (name for name, port in zip(self.inputs, self.program.inputs, strict=True) if port.name not in read)
        empty = (name for name, result in zip(self.outputs, self.program.results, strict=True) if not result)
        idle = [f"    (void){name};" for name in (*unread, *empty)]
        computed = [f"    const {self.type} {left} = {right};" for left, right in self.lines]
        stored = [
            f"    {name}[{position}] = {self.name_of(node)};"
            for name, result in zip(self.outputs, self.program.results, strict=True)
            for position, node in enumerate(result)
        ]
        return "\n".join([*idle, *computed, "", *stored, ""])

    def text(self, node: Node) -> str:
        """The text of a node in the function."""
        return operation_text(node, self.name_of, self.words) if node.args else str(self.name_of(node))


PROTOTYPE = """#ifdef __cplusplus
extern "C" {{
#endif

{signature};

#ifdef __cplusplus
}}
#endif
"""
FUNCTIONS = {op: op for op in ("sin", "cos", "sqrt", "exp", "log", "tanh", "asin", "acos", "atan2")} | {"abs": "fabs"}
CHOICES = {
    "select": "({0} >= 0 ? {1} : {2})",
    "where_lt": "({0} < {1} ? {2} : {3})",
    "where_le": "({0} <= {1} ? {2} : {3})",
    "where_eq": "({0} == {1} ? {2} : {3})",
}
HELPERS = {
    "sign": """static {type} {name}({type} x)
{{
    return x > 0 ? 1 : x < 0 ? -1 : x - x; /* 0 for 0, NaN for NaN */
}}
""",
    "min": """static {type} {name}({type} a, {type} b)
{{
    return a <= b || a != a ? a : b; /* NaN if either is */
}}
""",
    "max": """static {type} {name}({type} a, {type} b)
{{
    return a >= b || a != a ? a : b; /* NaN if either is */
}}
""",
}


def array_brackets(port: Port) -> str:
    return f"[{port.size}]"


def c_number(x: float, dtype: str) -> str:
    """The shortest text of a constant that reads back as the same number."""
    if dtype == "float64":
        return repr(x)
    single = as_single(x)
    if math.isinf(single):
        raise ValueError(f"the constant {x} is too large for dtype='float32' (expected dtype='float64')")
    text = next(t for t in (f"{single:.{digits}g}" for digits in range(1, 10)) if as_single(float(t)) == single)
    return f"{text}f" if set(text) & {".", "e"} else f"{text}.0f"


def as_single(x: float) -> float:
    """The nearest number of single precision, or infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.inf


def c_comment(paragraphs: Iterable[str]) -> str:
    """The texts as a wrapped comment. Lines that begin with a space stay as they are; no text can end the comment."""
    lines: list[str] = []
    for paragraph in paragraphs:
        for line in comment_text(paragraph).split("\n"):
            lines += [line] if line.startswith(" ") else textwrap.wrap(line, WIDTH - 3, break_long_words=False) or [""]
    return "\n".join(["/* " + lines[0], *(f" * {line}".rstrip() for line in lines[1:]), " */", ""])


def comment_text(text: str) -> str:
    """The text as printable ASCII and line breaks, without comment marks and trigraphs."""
    plain = unicodedata.normalize("NFKD", text.translate({0xB7: " ", 0xB1: "+-"}))  # N m for N·m
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"[^ -~\n]", "_", plain)
    return re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", plain)


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
HOLDS = {"select": ">", "where_lt": "<", "where_le": "<", "where_eq": "=="}  # the side on which the condition is true


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
