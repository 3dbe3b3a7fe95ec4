"""Licence files: which licence a text is, whether each robot's files are what sources.toml says, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import tables
from .originals import in_wheel

PATH = tables.FOLDER / "LICENSES.md"
ALLOWED = ("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT")
TITLES = ("robot", "distribution on PyPI", "licence file in it", "the maker's own licence file, if it is another one")


def licence_of(text: str) -> str:
    """One of ALLOWED, by the words of the text; an error for any other."""
    words = " ".join(text.split())
    if "Apache License Version 2.0" in words:
        return "Apache-2.0"
    if "Permission is hereby granted, free of charge, to any person obtaining a copy" in words:
        return "MIT"
    if "Redistribution and use in source and binary forms" in words and "Redistributions in binary form" in words:
        return "BSD-3-Clause" if "Neither the name of" in words else "BSD-2-Clause"
    raise ValueError(f"the licence is none of {', '.join(ALLOWED)}: {words[:80]!r}")


def check(name: str, source: dict[str, Any], wheels: Path) -> None:
    """The wheel's own file permits copies; the maker's, where a distribution has it, is the licence that we name."""
    found = licence_in(name, source["wheel"], source["licence_file"], wheels)
    wheel, _, file = source.get("maker_licence", "").partition(" ")
    if "==" in wheel:
        found = licence_in(name, wheel, file, wheels)
    if found != source["licence"] and (not wheel or "==" in wheel):
        raise ValueError(f"{name}: the licence file is {found}, sources.toml says {source['licence']}")


def licence_in(name: str, wheel: str, file: str, wheels: Path) -> str:
    try:
        return licence_of(in_wheel(wheel, file, wheels))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{name}: {file} of {wheel}: {error}") from error


def text() -> str:
    """LICENSES.md as it is, with its table made anew."""
    rows = [(f"`{n}`", s["wheel"], s["licence_file"], s.get("maker_licence", "")) for n, s in tables.ALL.items()]
    return tables.with_table(PATH, [TITLES, *rows])
