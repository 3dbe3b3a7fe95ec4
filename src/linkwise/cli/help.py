"""Help that reads well at 80 columns: what it does, examples, arguments, options by subject, exit codes."""

from __future__ import annotations

import shutil
from typing import Any

from typer.core import TyperCommand

from ..tables import parse_number
from . import SECTIONS, colour
from .encoding import encodable

NUMBERS = ("float", "int", "integer")  # types of options, also with a range
WIDEST = 80
COLUMN = 26  # where the texts of options begin
EXIT_CODES = "0 done   1 failed, or different   2 not understood   3 bad file   130 Ctrl-C"


class WithHelp:
    """A command or group whose help is laid out here."""

    examples: tuple[tuple[str, str], ...] = ()
    help: Any
    params: Any

    def format_help(self, ctx: Any, formatter: Any) -> None:
        page = Page()
        page.usage(ctx.command_path, self.params, hasattr(self, "list_commands"))
        page.text(self.help or "")
        page.examples(self.examples)
        if hasattr(self, "list_commands"):
            for title, commands in SECTIONS.items():
                page.entries(title, list(commands.items()))
        for title, entries in by_subject(self.params, ctx).items():
            page.entries(title, entries)
        page.lines += ["", page.style("Exit codes", "bold green"), f"  {EXIT_CODES}"]
        formatter.write(encodable("\n".join(page.lines)) + "\n")


class Command(WithHelp, TyperCommand):
    """One command. An option that has one value cannot be given twice, as the last would win silently."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            given, _, order = self.make_parser(ctx).parse_args(list(args))
            for param in order:
                if param.type.name.split()[0] in NUMBERS:
                    values = given[str(param.name)]
                    refuse_words(ctx, param.opts[0], values if isinstance(values, list) else [values])
                single = param.param_type_name == "option" and not (param.is_flag or param.multiple)  # type: ignore[attr-defined]
                if single and order.count(param) > 1:
                    ctx.fail(f"{param.opts[0]} is given twice (expected once)")
        return super().parse_args(ctx, args)


def refuse_words(ctx: Any, option: str, values: list[str]) -> None:
    """Raise an error for what is no number to other programs, though Python may read it as one: 1_0."""
    for value in values:
        try:
            parse_number(value)
        except ValueError:
            ctx.fail(f"{option} is {value!r} (expected a number)")


class Page:
    """The lines of a help text."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.width = min(WIDEST, shutil.get_terminal_size().columns)
        self.style = colour.stdout()

    def usage(self, path: str, params: Any, group: bool) -> None:
        line = f"{f'{path} COMMAND' if group else usage_of(path, params)} [OPTIONS]"
        self.lines.append(f"{self.style('Usage:', 'bold')} {line}")

    def text(self, about: str) -> None:
        """Paragraphs; lines that begin with a space stay as they are."""
        for paragraph in about.strip().split("\n\n"):
            kept = any(line.startswith(" ") for line in paragraph.splitlines())
            lines = paragraph.splitlines() if kept else wrapped(" ".join(paragraph.split()), self.width)
            self.lines += ["", *lines]

    def examples(self, examples: tuple[tuple[str, str], ...]) -> None:
        if not examples:
            return
        self.lines += ["", self.style("Examples", "bold green")]
        beside = max(len(line) for line, _ in examples) <= self.width // 2 + 8
        for line, about in examples:
            room = self.width - 4 - max(len(example) for example, _ in examples)
            if beside and len(about) <= room:
                pad = " " * (max(len(example) for example, _ in examples) - len(line))
                self.lines.append(f"  {self.style(line, 'cyan')}{pad}  {about}")
            else:
                self.lines += [f"  {self.style(line, 'cyan')}", *wrapped(about, self.width, "      ")]

    def entries(self, title: str, entries: list[tuple[str, str]]) -> None:
        if not entries:
            return
        self.lines += ["", self.style(title, "bold green")]
        longest = max(len(name) for name, _ in entries)
        column = min(COLUMN, longest + 4) if longest else 2
        for name, about in entries:
            first, *rest = wrapped(about, self.width, " " * column) or [""]
            if len(name) + 4 > column and name:
                self.lines += [f"  {self.style(name, 'cyan')}", first]
            else:
                pad = " " * (column - 2 - len(name))
                self.lines.append(f"  {self.style(name, 'cyan') if name else ''}{pad}{first.strip()}")
            self.lines += rest


def usage_of(path: str, params: Any) -> str:
    """A command and its arguments."""
    arguments = [param for param in params if param.param_type_name == "argument"]
    names = [argument_name(param) + "..." * (param.nargs == -1) for param in arguments]
    return " ".join(
        [path, *(name if param.required else f"[{name}]" for name, param in zip(names, arguments, strict=True))]
    )


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def by_subject(params: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments, options, and further options by their subject."""
    subjects: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in params:
        if getattr(param, "hidden", False):
            continue
        if param.param_type_name == "argument":
            subjects["Arguments"].append((argument_name(param), param.help or ""))
            continue
        subject = getattr(param, "rich_help_panel", None) or "Options"
        subjects.setdefault(subject, []).append((option_name(param), param.help or ""))
    subjects["Options"].append(("-h, --help", "Show this help."))
    return {title: entries for title, entries in subjects.items() if entries}


def argument_name(param: Any) -> str:
    name: str = param.metavar or param.name
    return name.upper()


def option_name(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag or not param.metavar else f"{names} {param.metavar}"
