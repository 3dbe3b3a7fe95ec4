"""How a command is declared: an option in a line, and groups of options that several commands share.

A group is a dataclass whose fields are arguments and options. A parameter of a command that is annotated with it stands
for its fields, and a parameter that is a `Robot` for the name of a robot with the options of `load`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, get_type_hints

import typer

Completion = Callable[[str], list[str]]


def opt(
    metavar: str, about: str, panel: str | None = None, *names: str, known: Sequence[str] | Completion = (), **more: Any
) -> Any:
    """An option with a value; its name is that of the parameter. `known` are words for shells to complete."""
    complete = known if callable(known) else words(*known) if known else None
    return typer.Option(*names, metavar=metavar, help=about, rich_help_panel=panel, autocompletion=complete, **more)


def flag(name: str, about: str, panel: str | None = None) -> Any:
    return typer.Option(name, help=about, rich_help_panel=panel)


def arg(metavar: str, about: str, known: Sequence[str] | Completion = ()) -> Any:
    complete = known if callable(known) else words(*known) if known else None
    return typer.Argument(metavar=metavar, help=about, autocompletion=complete, show_default=False)


def words(*known: str) -> Completion:
    """A completion of these words."""
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


def files(incomplete: str, *endings: str) -> list[str]:
    """A completion of folders and of files with these endings."""
    head, _, start = incomplete.rpartition("/")
    folder = Path(head or ("/" if incomplete.startswith("/") else "."))
    found = sorted(folder.glob(f"{start}*")) if folder.is_dir() else []
    return [f"{path}{'/' * path.is_dir()}" for path in found if path.is_dir() or path.suffix in endings]


def declared(command: Callable[..., int]) -> Callable[..., int]:
    """The command as typer reads it: with the fields of its groups in place of the groups."""
    from ..robot import Robot
    from .robot import Source

    groups: dict[str, tuple[list[str], Callable[..., Any]]] = {}
    own: list[Parameter] = []
    for name, parameter in signature(command, eval_str=True).parameters.items():
        group = Source if parameter.annotation is Robot else parameter.annotation
        if not (isinstance(group, type) and hasattr(group, "__dataclass_fields__")):
            own.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        hints, fields = get_type_hints(group, include_extras=True), list(signature(group).parameters.values())
        own += [p.replace(annotation=hints[p.name], kind=Parameter.KEYWORD_ONLY) for p in fields]
        make = Source.loaded if parameter.annotation is Robot else group
        groups[name] = [p.name for p in fields], make

    def run(**given: Any) -> int:
        made = {name: make(**{field: given.pop(field) for field in taken}) for name, (taken, make) in groups.items()}
        return command(**made, **given)

    run.__signature__ = Signature(own, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in own}
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    return run
