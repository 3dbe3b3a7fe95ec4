"""Text for terminals and pipes that cannot hold all characters, as under many Windows encodings."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

HANDLER = "linkwise.spell"
SPELLED = {
    "τ": "tau", "θ": "theta", "ν": "nu", "ξ": "xi", "ψ": "psi", "Ψ": "Psi", "λ": "lambda", "ω": "omega", "π": "pi",
    "α": "alpha", "Δ": "d", "Σ": "sum", "·": "*", "×": "x", "–": "-", "—": "-", "−": "-", "…": "...", "≤": "<=",
    "≥": ">=", "±": "+-", "→": "->", "µ": "u", "μ": "u", "°": " deg", "ł": "l", "Ł": "L", "✓": "ok", "✗": "no",
    "⁻": "^-", "ᵀ": "'", "‘": "'", "’": "'", "“": '"', "”": '"', "─": "-", "━": "-", "│": "|", "½": "1/2",
}  # fmt: skip


def spelled(character: str) -> str:
    """ASCII that says the same; ? where there is none."""
    if character in SPELLED:
        return SPELLED[character]
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or ("" if unicodedata.combining(character) else "?")


def spell(error: UnicodeError) -> tuple[str, int]:
    """The error handler: what cannot be encoded is spelled out."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(spelled, error.object[error.start : error.end])), error.end


def never_fail() -> None:
    """From now on nothing that is printed raises a UnicodeEncodeError."""
    codecs.register_error(HANDLER, spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
