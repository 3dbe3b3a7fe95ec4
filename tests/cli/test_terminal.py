"""Text of files does not reach a terminal as it stands: OSC 52 in a name would write the clipboard."""

import ast
import re
import shlex
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises
from linkwise.cli import COMMANDS
from linkwise.errors import printable
from linkwise.progress import description
from linkwise.robot import toml

EVIL = "\x1b]52;c;eA==\x07 \x1b[31m \x9d52;c;eA==\x9c \u202eevil\u2066 \x7f\t\r\u2028 [red]x[/red] $x_{ <b>&"
IN_XML = EVIL.translate(dict.fromkeys((*range(9), *range(11, 13), *range(14, 32))))  # which XML cannot hold
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PLANAR = lw.load("planar3")
ROW = {**PLANAR.rows[0], "name": "[red]one[/red]"}
ARM = lw.Robot.from_dh([ROW, {**PLANAR.rows[1], "parent": ROW["name"]}], convention="standard", name="[bold]$arm_{")
RUNS = [
    *("describe {}", "draw {} --out x.svg", "compare {} {}", "compare {} planar3", "convert {} x.toml"),
    *("torque {} cycloid --samples 3", "torque {} --q 0,0", "torque {} table.csv", "torque {} --q @table.csv"),
    *("ridim {} cycloid --samples 3", "rfdsim {} --duration 0.01 --samples 3"),
    *("budget {} --q 0,0", "budget {} --q 0,0 --why", "budget {} --q 0,0 --latex", "loads {} cycloid --samples 3"),
    *("simulate {} --duration 0.01 --samples 3", "simulate {} --duration 0.01 --samples 3 --csv - --save x.npz"),
    *("excite {} --duration 2 --position nope=1:2", "identify {} table.csv", "sweep {}", "equations {} gravity_torque"),
    *("explain {}", "explain {} m_hat --q 0,0 --qd 0,0 --qdd 0,0", "count {}", "export {} toml", "export {} urdf"),
    *("export {} c gravity_torque", "export {} python gravity_torque", "export {} latex gravity_torque"),
    *("bench {} --nope", "describe {}x", "describe {} --json", "describe {} --debug --mimic x", "robots {}", "demo {}"),
    *("cache {}", "doctor {}", "ik {} --xyz 0.5,0.3,0", "ik {} --xyz 9,0,0 --q 0,0"),
]
SLOW = ("draw", "simulate", "robots", "compare", "explain", "excite", "export {} urdf", "torque {} table")


def raw(text: str) -> list[str]:
    """The characters of a text that a terminal obeys or that turn its direction, other than ends of lines."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A robot whose notes and path are hostile."""
    path = tmp_path / f"arm{EVIL.replace('/', '')}.toml"
    name, *rest = toml.table_text(ARM.name, EVIL, "standard", ARM.gravity, ARM.rows).splitlines()
    path.write_text("\n".join([name, *rest]) + "\n")
    evil = EVIL.translate({ord(c): None for c in "\r\u2028"})  # which end lines
    (tmp_path / "table.csv").write_text(f"t,q1,q2,tau{evil}\n0,0,0,0\n1,1,1,1\n")
    path.with_name(f"{path.stem}.csv").write_text("t,q1,q2,qd1,qd2\n0,0,0,0,0\n1,1,1,0,0\n")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize(
    ("lines", "colours"),
    [
        ([line for line in RUNS if not line.startswith(SLOW)], {}),
        pytest.param(RUNS, {}, marks=pytest.mark.slow),
        pytest.param(RUNS, {"FORCE_COLOR": "1", "COLUMNS": "70"}, marks=pytest.mark.slow),
    ],
    ids=["quick", "plain", "colours"],
)
def test_no_command_prints_what_a_terminal_obeys(file: Path, lines: list[str], colours: dict[str, str]):
    assert {line.split()[0] for line in RUNS} == set(COMMANDS)
    for line in lines:
        result = linkwise(line.replace("{}", shlex.quote(file.name)), colours)
        for text in (result.out, result.err):
            assert not raw(COLOURS.sub("", text) if colours else text), line
        assert "Traceback" not in result.err or "--debug" in line, (line, result.err)
    shown = COLOURS.sub("", linkwise(f"describe {shlex.quote(file.name)}", colours).out)
    assert r"\x1b]52;c;eA==\x07" in shown
    assert "[red]one[/red]" in shown


def urdf(robot: str = "arm", link: str = "one", joint: str = "turn", kind: str = "revolute") -> str:
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    return f"""<robot name="{robot}">
<link name="base"/>
<link name="{link}">{body}</link>
<joint name="{joint}" type="{kind}"><parent link="base"/><child link="{link}"/></joint>
</robot>"""


def mjcf(robot: str = "arm", link: str = "one", joint: str = "turn", kind: str = "hinge") -> str:
    return f"""<mujoco model="{robot}">
<worldbody>
<body name="{link}"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<joint name="{joint}" type="{kind}"/></body>
</worldbody>
</mujoco>"""


def table(robot: str = "arm", link: str = "one", joint: str = "turn", kind: str = "revolute") -> str:
    numbers = "a = 1\nb = 0\nalpha = 0\nmass = 1\ncom = [0, 0, 0]\ninertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]"
    head = f'convention = "standard"\nname = "{robot}"\ngravity = [0, 0, 0]'
    return f'{head}\n[[link]]\nname = "{link}"\njoint_name = "{joint}"\njoint = "{kind}"\n{numbers}\n'


def escaped(text: str, ending: str) -> str:
    if ending == "toml":
        return "".join(f"\\U{ord(c):08x}" if raw(c) or c in '"\\\n' else c for c in text)
    return "".join(f"&#{ord(c)};" if raw(c) or c in '<&"\n' else c for c in text)


NAMES = ["\x7f", "\x9d52;c;eA==\x9c", "two\nlines", "\u202eevil", "\u2028", "\t"]
FILES = {"toml": (table, (2, 5, 6, 7)), "urdf": (urdf, (1, 3, 4, 4)), "xml": (mjcf, (1, 3, 4, 4))}


@pytest.mark.parametrize("entry", range(4), ids=["robot", "link", "joint", "kind"])
@pytest.mark.parametrize(
    ("ending", "evil"),
    [("toml", "\x1b]0;x\x07"), *((ending, evil) for ending in FILES for evil in NAMES)],  # XML cannot hold that one
)
def test_names_are_one_printable_line(ending: str, entry: int, evil: str, tmp_path: Path):
    text, lines = FILES[ending]
    names = ["arm", "one", "turn", "revolute" if ending != "xml" else "hinge"]
    names[entry] = escaped(f"x{evil}", ending)
    path = tmp_path / f"file.{ending}"
    path.write_text(text(*names), encoding="utf-8")
    with pytest.raises(lw.errors.FileError) as caught:
        lw.load(path)
    message = str(caught.value)
    assert not raw(message)
    assert "\n" not in message
    assert message.startswith(f"{path}:{lines[entry]}: ")
    assert f"x{evil}".encode("unicode_escape").decode() in message.replace("'", "")


def test_constructors_refuse_such_names_too():
    rows = PLANAR.rows
    for evil in ("\x1b", "a\nb", "\u202e", 3):
        with raises(lw.errors.RobotError, "robot name", "printable"):
            lw.Robot.from_dh(rows, convention="standard", name=evil)  # type: ignore[arg-type]
        for key in ("name", "joint_name"):
            with pytest.raises(lw.errors.RobotError, match=f"{key} is .*printable"):
                lw.Robot.from_dh([{**rows[0], key: evil}], convention="standard")


def test_errors_warnings_and_descriptions_are_escaped(file: Path):
    hostile = lw.load(file)
    assert hostile.about == EVIL
    assert not raw(lw.describe(hostile))
    assert EVIL not in hostile._repr_html_()
    assert "<b>&" not in hostile._repr_html_()
    assert not raw(hostile._repr_html_())
    assert not raw(repr(lw.trajectories.read_csv(file.with_name(f"{file.stem}.csv"))))
    falling = lw.simulate(hostile, [0.0, 0.0], duration=0.01, samples=2)
    assert not raw(falling._repr_html_())
    for word in ("status", "integrator"):
        assert not raw(repr(replace(falling, **{word: EVIL})))
    (file.parent / "evil.m").write_text(f"n = 1; {EVIL}")
    for path in (file.with_suffix(".m"), file.with_suffix(".txt"), Path(EVIL), file.parent / "evil.m"):
        with pytest.raises(lw.errors.FileError) as caught:
            lw.load(path)
        assert not raw(str(caught.value))
    skipped = urdf().replace('<link name="base"/>', f'<link name="base"/><{"evil"} name="{escaped(IN_XML, "urdf")}"/>')
    other = file.with_suffix(".urdf")
    other.write_text(skipped.replace("revolute", "continuous"))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        lw.load(other)
    assert found
    assert not raw("".join(str(each.message) for each in found))


def test_words_in_brackets_are_no_commands_for_progress_bars():
    rich = pytest.importorskip("rich.text")
    assert rich.Text.from_markup(description("[red]x[/nope] \x1b")).plain == r"[red]x[/nope] \x1b"


def test_printable_keeps_what_prints():
    for text in ("two\nlines", "Kozłowski, τ̂ = Δq̇\u00a0°", "日本\u3000語", ""):
        assert printable(text) == text
    assert not raw(printable("".join(map(chr, range(0x3000)))))


def calls(path: Path) -> Iterator[Any]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node)


def test_commands_print_by_one_function():
    """`emit`, which escapes; and the help, which is of typer."""
    folder = Path(lw.__file__).parent / "cli"
    direct = [
        call for path in folder.rglob("*.py") for call in calls(path) if call.startswith(("print(", "sys.stdout.w"))
    ]
    shown = "print(style(printable(text), look, stream), file=stream, end=end)"
    assert sorted(direct) == ["print(context.get_help())", shown]


def test_columns_of_tables_in_memory_are_escaped_in_errors() -> None:
    t = np.arange(300.0)
    table = {f"time {EVIL}": t} | {f"{word}{k}": t for word in ("q", "tau") for k in (1, 2, 3)}
    with pytest.raises(ValueError, match="there is no time") as error:
        lw.identify(lw.load("planar3"), table)
    assert r"\x1b]52" in str(error.value)
    assert str(error.value).isprintable()
