"""How a command is declared, and its help.

A command is a function: its annotations are its arguments and options (typer), its docstring is its help. A dataclass
holds options that several commands share; a parameter with this annotation stands for its fields. A parameter that is
a `Robot` stands for the name of a robot and the options of `lw.load`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

import linkwise as lw

from ..errors import is_real
from ..tables import is_number
from . import SECTIONS
from .screen import as_stdout_shows, style

Completion = Callable[[str], list[str]]
Function = TypeVar("Function", bound=Callable[..., int])
ROBOT, STATE, MOTION, OUTPUT = "Robot", "State", "Trajectory", "Output"  # headings of options in the help
NUMBERS = ("float", "int", "integer")  # types of options, also with a range
EXIT_CODES = "0 done   1 failed, or different   2 not understood   3 bad file   130 Ctrl-C"
BESIDE, COLUMN = 44, 24  # width of examples and of option names, with a text to the right
HYPHEN = "\N{NON-BREAKING HYPHEN}"  # keeps options on one line while text is wrapped


def opt(
    metavar: str, about: str, panel: str | None = None, *names: str, known: Sequence[str] | Completion = (), **more: Any
) -> Any:
    """An option with a value, named after its parameter. Shells complete the words of `known`."""
    return typer.Option(
        *names, metavar=metavar, help=about, rich_help_panel=panel, autocompletion=completion(known), **more
    )


def flag(name: str, about: str, panel: str | None = None) -> Any:
    return typer.Option(name, help=about, rich_help_panel=panel)


def arg(metavar: str, about: str, known: Sequence[str] | Completion = ()) -> Any:
    return typer.Argument(metavar=metavar, help=about, autocompletion=completion(known), show_default=False)


def completion(known: Sequence[str] | Completion) -> Completion | None:
    if callable(known) or not known:
        return known or None  # type: ignore[return-value]
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


def complete_files(incomplete: str, *endings: str) -> list[str]:
    """Completions: folders, and files with these endings."""
    head, _, start = incomplete.rpartition("/")
    folder = Path(head or ("/" if incomplete.startswith("/") else "."))
    paths = sorted(folder.glob(f"{start}*")) if folder.is_dir() else []
    return [f"{path}{'/' * path.is_dir()}" for path in paths if path.is_dir() or path.suffix in endings]


def command(*examples: tuple[str, str]) -> Callable[[Function], Function]:
    """Mark a function as a command. `examples` are command lines, which a test runs, and what they show."""

    def attach_examples(function: Function) -> Function:
        function.examples = examples  # type: ignore[attr-defined]
        return function

    return attach_examples


def command_with(function: Function, about: str, adapt: Callable[[dict[str, Any]], dict[str, Any]]) -> Function:
    """A command with the options of another, which it calls with values that `adapt` makes of those given."""

    def run(**given: Any) -> int:
        return function(**adapt(given))

    run.__signature__ = signature(function, eval_str=True)  # type: ignore[attr-defined]
    run.__doc__, run.__name__, run.__module__ = about, function.__name__, function.__module__
    return run  # type: ignore[return-value]


def build_command(function: Callable[..., int], name: str, about: str) -> Any:
    """The command for typer."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Command, short_help=about)(expand_groups(function))
    built = typer.main.get_command(app)
    built.examples = function.examples  # type: ignore[attr-defined]
    return built


def expand_groups(function: Callable[..., int]) -> Callable[..., int]:
    """The function with the fields of its groups of options as parameters, for typer."""
    from .options import RobotSource  # late: options.py imports this module

    groups: dict[str, tuple[list[str], Callable[..., Any]]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(function, eval_str=True).parameters.items():
        group = RobotSource if parameter.annotation is lw.Robot else parameter.annotation
        if not (isinstance(group, type) and hasattr(group, "__dataclass_fields__")):
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        hints, fields = get_type_hints(group, include_extras=True), list(signature(group).parameters.values())
        parameters += [p.replace(annotation=hints[p.name], kind=Parameter.KEYWORD_ONLY) for p in fields]
        make = RobotSource.loaded if parameter.annotation is lw.Robot else group
        groups[name] = [p.name for p in fields], make

    def run(**given: Any) -> int:
        grouped = {name: make(**{field: given.pop(field) for field in taken}) for name, (taken, make) in groups.items()}
        return function(**grouped, **given)

    run.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__doc__, run.__name__ = function.__doc__, function.__name__
    return run


class HelpPage:
    """The help of a command or group: examples, and options under headings."""

    examples: tuple[tuple[str, str], ...] = ()
    help: Any

    def format_help(self, ctx: Any, formatter: Any) -> None:
        group = hasattr(self, "list_commands")
        formatter.write_usage(ctx.command_path, f"{'COMMAND' if group else usage_of(ctx)} [OPTIONS]".strip())
        formatter.write_paragraph()
        formatter.write_text(protect_hyphens(self.help))
        with formatter.section(heading("Examples")):
            if max(len(line) for line, _ in self.examples) <= BESIDE:
                formatter.write_dl(
                    [(style(line, "cyan"), protect_hyphens(about)) for line, about in self.examples], BESIDE
                )
            else:
                for line, about in self.examples:
                    formatter.write(f"  {style(line, 'cyan')}\n")
                    with formatter.indentation():
                        formatter.write_text(protect_hyphens(about))
        commands = {title: list(entries.items()) for title, entries in SECTIONS.items()} if group else {}
        for title, entries in (commands | options_by_subject(ctx)).items():
            rows = [(style(protect_hyphens(name), "cyan"), protect_hyphens(about)) for name, about in entries]
            with formatter.section(heading(title)):
                formatter.write_dl(rows, COLUMN)
        with formatter.section(heading("Exit codes")):
            formatter.write(f"  {EXIT_CODES}\n")

    def get_help(self, ctx: Any) -> str:
        text: str = super().get_help(ctx)  # type: ignore[misc]
        return as_stdout_shows(text.replace(HYPHEN, "-"))


class Command(HelpPage, TyperCommand):
    """One command. An option with one value is refused where it is given twice: the last would win silently."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            given, _, order = self.make_parser(ctx).parse_args(list(args))
            for param in order:
                if param.type.name.split()[0] in NUMBERS:
                    values = given[str(param.name)]
                    for value in values if isinstance(values, list) else [values]:
                        if not is_number(value, finite=False):  # Python would read 1_0, other programs do not
                            ctx.fail(f"{param.opts[0]} is {value!r} (expected a number)")
                single = param.param_type_name == "option" and not (param.is_flag or param.multiple)  # type: ignore[attr-defined]
                if single and order.count(param) > 1:
                    ctx.fail(f"{param.opts[0]} is given twice (expected once)")
        return super().parse_args(ctx, args)


def heading(text: str) -> str:
    return style(text, "bold green")


def protect_hyphens(text: str) -> str:
    return text.replace("-", HYPHEN)


def usage_of(ctx: Any) -> str:
    """The arguments of a command, for the line of its usage."""
    names = {param: param.human_readable_name.upper() + "..." * (param.nargs == -1) for param in arguments_of(ctx)}
    return " ".join(name if param.required else f"[{name}]" for param, name in names.items())


def arguments_of(ctx: Any) -> list[Any]:
    return [param for param in ctx.command.params if param.param_type_name == "argument"]


def help_with_default(param: Any) -> str:
    """The help of an option, with its default where that is a number and the text has none."""
    about: str = param.help
    if not is_real(param.default) or "default" in about:
        return about
    return f"{about.removesuffix('.')}; default: {param.default:g}."


def options_by_subject(ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options with their help, by heading; output and robot come last."""
    subjects: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in ctx.command.get_params(ctx):
        if param.param_type_name == "argument":
            subjects["Arguments"].append((param.human_readable_name.upper(), param.help))
        else:
            names = ", ".join(sorted(param.opts, key=len)) + "".join(f" / {name}" for name in param.secondary_opts)
            subject = getattr(param, "rich_help_panel", None) or "Options"
            name = names if param.is_flag else f"{names} {param.metavar}"
            subjects.setdefault(subject, []).append((name, help_with_default(param)))
    last = {title: subjects.pop(title, []) for title in (OUTPUT, ROBOT)}
    return {title: entries for title, entries in (subjects | last).items() if entries}
