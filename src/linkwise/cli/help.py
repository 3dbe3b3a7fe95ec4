"""Help: what a command does, examples, arguments, options by subject, exit codes; laid out by typer."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from ..tables import parse_number
from . import SECTIONS
from .encoding import encodable
from .options import OUTPUT, ROBOT
from .screen import styled

NUMBERS = ("float", "int", "integer")  # types of options, also with a range
EXIT_CODES = "0 done   1 failed, or different   2 not understood   3 bad file   130 Ctrl-C"
BESIDE, COLUMN = 44, 24  # columns of examples, and of names of options, that leave room for a text beside them
HYPHEN = "\N{NON-BREAKING HYPHEN}"  # in place of others while lines are broken: options stay whole


class WithHelp:
    """A command or group with examples; its options stand under their subjects."""

    examples: tuple[tuple[str, str], ...] = ()
    help: Any

    def format_help(self, ctx: Any, formatter: Any) -> None:
        group = hasattr(self, "list_commands")
        formatter.write_usage(ctx.command_path, f"{'COMMAND' if group else usage_of(ctx)} [OPTIONS]".strip())
        formatter.write_paragraph()
        formatter.write_text(unbroken(self.help))
        with formatter.section(heading("Examples")):
            if max(len(line) for line, _ in self.examples) <= BESIDE:
                formatter.write_dl([(styled(line, "cyan"), unbroken(about)) for line, about in self.examples], BESIDE)
            else:
                for line, about in self.examples:
                    formatter.write(f"  {styled(line, 'cyan')}\n")
                    with formatter.indentation():
                        formatter.write_text(unbroken(about))
        sections = by_subject(ctx) if not group else {k: list(v.items()) for k, v in SECTIONS.items()} | by_subject(ctx)
        for title, entries in sections.items():
            with formatter.section(heading(title)):
                formatter.write_dl(
                    [(styled(unbroken(name), "cyan"), unbroken(about)) for name, about in entries], COLUMN
                )
        with formatter.section(heading("Exit codes")):
            formatter.write(f"  {EXIT_CODES}\n")

    def get_help(self, ctx: Any) -> str:
        text: str = super().get_help(ctx)  # type: ignore[misc]
        return encodable(text.replace(HYPHEN, "-"))


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


def heading(text: str) -> str:
    return styled(text, "bold green")


def unbroken(text: str) -> str:
    return text.replace("-", HYPHEN)


def usage_of(ctx: Any) -> str:
    """The arguments of a command."""
    names = {param: param.human_readable_name.upper() + "..." * (param.nargs == -1) for param in arguments_of(ctx)}
    return " ".join(name if param.required else f"[{name}]" for param, name in names.items())


def arguments_of(ctx: Any) -> list[Any]:
    return [param for param in ctx.command.params if param.param_type_name == "argument"]


def by_subject(ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments, options, and further options by their subject: what is written and of which robot come last."""
    subjects: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in ctx.command.get_params(ctx):
        if param.param_type_name == "argument":
            subjects["Arguments"].append((param.human_readable_name.upper(), param.help))
        else:
            named = ", ".join(sorted(param.opts, key=len)) + "".join(f" / {name}" for name in param.secondary_opts)
            name = named if param.is_flag else f"{named} {param.metavar}"
            subject = getattr(param, "rich_help_panel", None) or "Options"
            subjects.setdefault(subject, []).append((name, param.help))
    for last in (OUTPUT, ROBOT):
        if last in subjects:
            subjects[last] = subjects.pop(last)
    return {title: entries for title, entries in subjects.items() if entries}
