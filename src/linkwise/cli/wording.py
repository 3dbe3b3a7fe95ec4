"""Messages of functions, with the options of the command line in place of Python where they say how to go on."""

from __future__ import annotations

import re

AT_THE_PROMPT = (
    (r"lw\.LIBRARY lists", "linkwise robots lists"),
    (r"arm\.with_gravity\(\(([^()]*)\)\)", lambda found: f"--gravity {found[1].replace(' ', '')}"),
    (r" \(np\.sign, a comparison\)", ""),
    (r"lw\.Friction\(smooth=\.\.\.\) or another smooth function instead of np\.sign", "--friction"),
    (r"lw\.Friction\(smooth=0\)", "--stick"),
    (r"integrator='(\w+)'", r"--integrator \1"),
    (r"with a fixed step\b", "with a fixed --step"),
    (r"max_steps=\.\.\.", "--max-steps"),
    (r"(?<=as many as )max_steps allows", "--max-steps allows"),
    (r"\(expected joints that move on their own\)", "(expected joints that move on their own: --mimic independent)"),
)


def at_the_prompt(text: str) -> str:
    for pattern, words in AT_THE_PROMPT:
        text = re.sub(pattern, words, text)
    return text
