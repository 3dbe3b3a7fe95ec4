"""Messages of functions, with the options of the command line in place of Python where they say how to go on."""

from __future__ import annotations

import re
from collections.abc import Callable

OPTIONS = (  # that have the names of arguments
    "base|cutoff|degrees|delay|dt|first_step|friction|gains|ignore|mimic|minimum_speed|offset|physical|regularization"
    "|torque_cutoff|unphysical|urdf_rotors"
)
GIVEN = re.compile(rf"""\b({OPTIONS})=(?:(\.\.\.|True\b)|(False\b)|\[?"([^"\]]*)"\]?|(-?\d[.\d]*(?<!\.)))""")
AT_THE_PROMPT: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"limits=\{'position': \{'([^']+)': \(lower, upper\)\}\}", r"--position \1=LOWER:UPPER"),
    (r"\(-np\.inf, np\.inf\) if it turns", "-inf:inf if it turns"),
    (r"limits=\{'velocity': \{'([^']+)': \.\.\.\}\}", r"--velocity \1=NUMBER"),
    (r"limits\['(\w+)'\]", r"--\1"),
    (r"\ba smaller margin\b", "a smaller --margin"),
    (r"columns=\{'(\w+)': \[?\.\.\.\]?\}", r"--columns \1=NAMES"),
    (
        r"columns=\{'t': 0, 'q': \[1, \.\.\.\], 'tau': \[\.\.\.\]\}",
        "--columns t=0 --columns q=1,2,... --columns tau=...",
    ),
    (r"\b(columns|free) has (?=')", r"--\1 has "),
    (r"\bphysical=True finds\b", "without --no-physical it finds"),
    (r"; fit\.payload\('([^']+)'\) (gives|then gives)", r"; --frame \1 \2"),
    (r"\bslower than minimum_speed\b", "slower than --minimum-speed"),
    (r"\bwith_payload\(mass, com\) is\b", "--payload KG,X,Y,Z is"),
    (r"fit\.predict has them, fit\.robot and its file have not", "the robot that --save writes has none"),
    (r"\brecorded_rates=False\b", "--no-rates"),
    (r"lw\.LIBRARY lists", "linkwise robots lists"),
    (r"robot\.with_gravity\(\(([^()]*)\)\)", lambda found: f"--gravity {found[1].replace(' ', '')}"),
    (r"(?<=as many as )max_steps allows", "--max-steps allows"),
    (r"\(expected joints that move on their own\)", "(expected joints that move on their own: --mimic independent)"),
    (r"urdf_rotors belongs", "--urdf-rotors belongs"),
    (r"expected a shorter duration", "expected a shorter --duration"),
    (r"a larger speed or a smaller fps", "a larger --speed or a smaller --fps"),
)


def at_the_prompt(text: str) -> str:
    for pattern, words in AT_THE_PROMPT:
        text = re.sub(pattern, words, text)
    return GIVEN.sub(option, text)


def option(given: re.Match[str]) -> str:
    """--cutoff, --no-friction or --mimic independent for cutoff=..., friction=False and mimic="independent"."""
    name, _, off, word, number = given.groups()
    return f"--{'no-' if off else ''}{name.replace('_', '-')}{f' {word or number}' if word or number else ''}"
