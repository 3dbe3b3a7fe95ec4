"""Run a command line: find the command by name, turn errors into one message and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import linkwise as lw

from ..errors import RobotError, SingularError, near_miss
from . import COMMANDS, MODULE_OF, screen
from .declare import HelpPage, arguments_of, build_command, usage_of
from .screen import complain, emit, gap, install_spelling, silence_stdout, to_command_line, warn

PROGRAM = "linkwise"
DONE, FAILED, NOT_UNDERSTOOD, BAD_FILE, INTERRUPTED = 0, 1, 2, 3, 130
UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # of the click that typer itself uses
ClickError: type[Exception] = typer.BadParameter.__mro__[2]
CODES: tuple[tuple[Any, int], ...] = (  # of errors; the first match counts
    (KeyboardInterrupt, INTERRUPTED),
    (ClickError, NOT_UNDERSTOOD),
    (RobotError, BAD_FILE),
    ((SingularError, ImportError, OSError, MemoryError), FAILED),
    (ValueError, NOT_UNDERSTOOD),
)
GLOBAL_OPTIONS = {"--debug": "debug", "--no-color": "no_color", "--no-colour": "no_color"}
SETTINGS = {"help_option_names": ["-h", "--help"], "color": True}  # `style` decides about colours
EXAMPLES = (
    ("linkwise demo", "the main jobs in a minute"),
    ("linkwise torque stanford --plot torque.png", "torques along a trajectory"),
    ("linkwise simulate planar3 --csv fall.csv", "let it fall, keep the motion"),
    ("linkwise describe puma560", "the table of a robot"),
    ("linkwise export stanford c --out code", "C of its inverse dynamics"),
    ("linkwise torque --help", "more on one command"),
)


class Group(HelpPage, TyperGroup):
    """`linkwise`. The module of a command is imported when the command is used."""

    examples = EXAMPLES

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        try:
            return load_command(cmd_name) if cmd_name in COMMANDS else None
        except KeyboardInterrupt:  # while modules are imported
            raise typer.Exit(INTERRUPTED) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{near_miss(args[0].lower(), COMMANDS)}")
        return super().resolve_command(ctx, args)


def load_command(name: str) -> Any:
    """Import the command of this name."""
    module = import_module(f".commands.{MODULE_OF[name]}", __package__)
    return build_command(getattr(module, name), name, COMMANDS[name])


def show_version(show: bool) -> None:
    if show:
        emit(f"{PROGRAM} {lw.__version__}")
        raise typer.Exit


def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error (any command).")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (any command); also NO_COLOR=1.")] = False,
) -> int:
    """Dynamics of robots: torques, joint loads, motion, equations, code."""
    if context.invoked_subcommand is None:
        print(context.get_help())
    return DONE


def build_group() -> Any:
    app = typer.Typer(cls=Group, rich_markup_mode=None, context_settings=SETTINGS)
    app.callback(invoke_without_command=True)(start)
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit code. The process may lack stdout or stderr."""
    with ExitStack() as stack:
        for name, redirected in (("stdout", redirect_stdout), ("stderr", redirect_stderr)):
            if getattr(sys, name) is None:
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirected(nowhere))
        return run_with_streams(arguments)


def run_with_streams(arguments: list[str]) -> int:
    install_spelling()
    gap.due = False
    arguments, options = split_global_options(arguments)
    screen.no_colours = "no_color" in options
    try:
        with quiet_warnings():
            code = DONE if (done := invoke(arguments)) is None else int(done)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
        return DONE
    except (Exception, KeyboardInterrupt) as error:
        code = report_error(error, "debug" in options)
        if isinstance(error, OSError) and error.filename is None:
            silence_stdout()  # it may be the stream that failed
    return code


def split_global_options(arguments: list[str]) -> tuple[list[str], set[str]]:
    """The arguments without the options that every command has; and these options."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = {GLOBAL_OPTIONS[word] for word in arguments[:end] if word in GLOBAL_OPTIONS}
    return [word for word in arguments[:end] if word not in GLOBAL_OPTIONS] + arguments[end:], options


def invoke(arguments: list[str]) -> Any:
    linkwise = build_group()
    if f"_{PROGRAM.upper()}_COMPLETE" in os.environ:  # completion: a shell asks for its script or for words
        try:
            return linkwise.main(arguments, prog_name=PROGRAM, standalone_mode=False)
        except SystemExit as ended:
            return ended.code
    try:
        with linkwise.make_context(PROGRAM, arguments) as context:
            return linkwise.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code


def report_error(error: BaseException, debug: bool) -> int:
    """Print an error on stderr; returns the exit code. An unexpected error keeps its traceback."""
    code = exit_code(error)
    if debug or code is None:
        emit("".join(traceback.format_exception(error)), error=True, end="")
    if code is None:
        emit("\nThis is a fault in Linkwise. Please report it, with the command line.", error=True)
        return FAILED
    if isinstance(error, KeyboardInterrupt):
        emit(f"\n{str(error) or 'interrupted'}", error=True)
    elif not debug:
        complain(error_message(error))
    if isinstance(error, UsageError) and (context := getattr(error, "ctx", None)) is not None:
        emit(f"help:  {context.command_path} --help", error=True)
    return code


def exit_code(error: BaseException) -> int | None:
    """The exit code of an expected error; None for others."""
    expected = next((code for kinds, code in CODES if isinstance(error, kinds)), None)
    return FAILED if expected is None and isinstance(error, lw.errors.SimulationError) else expected


def error_message(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"there is not enough memory{f' ({error})' if str(error) else ''}; fewer samples or states need less"
    if isinstance(error, OSError) and error.strerror:
        return f"{'stdout' if error.filename is None else error.filename}: {error.strerror}"
    if not isinstance(error, ClickError):
        return to_command_line(str(error)) or type(error).__name__
    option, close = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if option is not None and not isinstance(error, typer.BadParameter):
        context: Any = getattr(error, "ctx", None)
        for param in [] if context is None else arguments_of(context):
            if option == f"--{param.human_readable_name.lower()}":
                usage = f"{context.command_path} {usage_of(context)}"
                return f"there is no option {option!r}: the {option[2:]} stands without it, as in {usage}"
        names = [] if context is None else [name for param in context.command.params for name in param.opts]
        known = [name for name in names if name.startswith("-")]  # the others are names of arguments
        return f"there is no option {option!r}{near_miss(option, known or close or ())}"
    if type(error).__name__ == "MissingParameter" and (param := getattr(error, "param", None)) is not None:
        return f"{param.human_readable_name.upper()} is missing (expected: {param.help})"
    text: str = error.format_message()  # type: ignore[attr-defined]
    return text


@contextmanager
def quiet_warnings() -> Iterator[None]:
    """Show warnings as lines on stderr, without a place in the source, and hide deprecations."""

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if not issubclass(category, DeprecationWarning):  # packages may raise these when imported
            warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield
