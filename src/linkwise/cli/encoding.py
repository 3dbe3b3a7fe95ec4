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
    "\u0302": "^", "\u0303": "~", "\u0304": "-", "\u0307": "'", "\u0308": "''",
}  # fmt: skip


def spelled(character: str) -> str:
    """ASCII that says the same; ? where there is none."""
    if character in SPELLED:
        return SPELLED[character]
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part if part.isascii() else SPELLED.get(part, "") for part in parts) or "?"


def spell(error: UnicodeError) -> tuple[str, int]:
    """The error handler: what cannot be encoded is spelled out."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(spelled, error.object[error.start : error.end])), error.end


def encodable(text: str) -> str:
    """The text as stdout will show it; for what others print there, who would choose another encoding."""
    name = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(name, HANDLER).decode(name)


def never_fail() -> None:
    """From now on nothing that is printed raises a UnicodeEncodeError."""
    codecs.register_error(HANDLER, spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
