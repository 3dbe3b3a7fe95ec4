"""Messages of functions, with the options of the command line in place of Python where they say how to go on."""

from __future__ import annotations

import re

AT_THE_PROMPT = (
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
    (r"columns has (?='\w+')", "--columns has "),
    (r"\b(gains|period|cutoff|delay|regularization)=\.\.\.", r"--\1"),
    (r"\b(gains|delay)=(?=-?\d)", r"--\1 "),
    (r"\b(friction|physical)=False\b", r"--no-\1"),
    (r"\bphysical=True finds\b", "without --no-physical it finds"),
    (r"; fit\.payload\('([^']+)'\) gives", r"; --frame \1 gives"),
    (r"\bslower than minimum_speed\b", "slower than --minimum-speed"),
    (r"\bwith_payload\(mass, com\) is\b", "--payload KG,X,Y,Z is"),
    (r"\bfree has (?='[^']+')", "--free has "),
    (r"\(expected that link; fit\.payload\('([^']+)'\) then gives", r"(expected that link; --frame \1 then gives"),
    (r"fit\.predict has them, fit\.robot and its file have not", "the robot that --save writes has none"),
    (r"\b(torque_cutoff|minimum_speed)=\.\.\.", lambda found: f"--{found[1].replace('_', '-')}"),
    (r"\b(degrees|offset)=True\b", r"--\1"),
    (r"\bminimum_speed=0\b", "--minimum-speed 0"),
    (r"\brecorded_rates=False\b", "--no-rates"),
    (r"lw\.LIBRARY lists", "linkwise robots lists"),
    (r"arm\.with_gravity\(\(([^()]*)\)\)", lambda found: f"--gravity {found[1].replace(' ', '')}"),
    (r"(?<=as many as )max_steps allows", "--max-steps allows"),
    (r"\(expected joints that move on their own\)", "(expected joints that move on their own: --mimic independent)"),
    (r'\b(base|mimic|unphysical)="(\w+)"', r"--\1 \2"),
    (r'\burdf_rotors="(\w+)"', r"--urdf-rotors \1"),
    (r"urdf_rotors belongs", "--urdf-rotors belongs"),
    (r'\bignore=\["([^"\]]*)"\]', r"--ignore \1"),
    (r"\(expected step=\.\.\.\)", "(expected --step)"),
    (r"expected a shorter duration", "expected a shorter --duration"),
    (r"a larger speed or a smaller fps", "a larger --speed or a smaller --fps"),
)
ADVICE = re.compile(r" If a torque jumps there.*| The recording until then.*", re.DOTALL)  # for who writes Python
STATE = re.compile(r", q = \[[^\]]*\], qd = \[[^\]]*\]")  # which the table shows, in fewer digits


def at_the_prompt(text: str) -> str:
    for pattern, words in AT_THE_PROMPT:
        text = re.sub(pattern, words, text)
    return text


def failed_simulation(text: str, integrator: str, stiff: bool) -> str:
    """Why a simulation ended early, and below that which options can help. `stiff`: with friction or a controller."""
    why = STATE.sub("", ADVICE.sub("", at_the_prompt(text)))
    options = []
    if "--max-steps allows" in why:
        options.append("a larger --max-steps for a longer run")
    if integrator == "rk4":
        options.append("a smaller --step, or another --integrator, which chooses its own steps")
    else:
        if integrator != "radau" and stiff:
            options.append("--integrator radau for stiff friction and gains")
        options.append("--integrator rk4 with a fixed --step")
    return f"{why}\nTo go on: {'; '.join(options)}."
