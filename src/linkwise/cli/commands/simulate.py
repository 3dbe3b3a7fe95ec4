"""`linkwise simulate`: the motion in time; `linkwise sweep`: many of them, in a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

import linkwise as lw

from ...robot.layout import Layout
from ...trajectories.limits import outside_travel
from ..declare import OUTPUT, STATE, arg, command, command_with, flag, opt
from ..history import History, RoundTrip
from ..inputs import parse_states, parse_wrench
from ..motion import (
    TRAJECTORIES,
    MotionOptions,
    limit_unit,
    make_profile,
    paper_motion,
    passed_limits_json,
    print_limits,
    warn_of_start,
    zero_configuration,
)
from ..motion import limit_number as in_units
from ..options import (
    PROFILES,
    Coordinates,
    Degrees,
    Json,
    Method,
    Wrench,
    complete_tables,
    complete_trajectories,
    of_paper_in_joint_coordinates,
)
from ..quasi import QuasiCoordinates
from ..results import STDOUT, Outputs, check_file, file_errors_as_failures, print_json, write_file
from ..screen import complain, echo, emit, print_sentence, print_table, to_command_line, warn

CONTROL, INTEGRATION = "Control", "Integration"
KP, KD = 100.0, 20.0
SHOWN = 20  # trajectories of a batch, on the screen
START = (
    "Start: numbers (0.1,pi/2,...), joints or links by name (link2=0.5), or a table (@file.csv); default: that of the"
    " first row of --torque-history, of the paper's motion, or zero."
)
ALONG = "Follow a .csv file, or a trajectory by name (to --target), under computed torque; default: none."
HISTORY = "Torques over time: a .csv file with columns t, tau1, ..., as ridim --csv writes; default: none."
ARGUMENT = "Torques over time, as --torque-history: a .csv file with columns t, tau1, ..., as ridim --csv writes"
INTEGRATOR = "Integration method: verner65 (default), dormand54, dop853, rk4, radau, ..."
STEP = "Length of every step. Methods with fixed steps (rk4) require it; others refuse it."

ADVICE = re.compile(r" If a torque jumps there.*| The recording until then.*", re.DOTALL)  # advice for Python code
STATES = re.compile(r", q = \[[^\]]*\], qd = \[[^\]]*\]")  # the table shows them


def integrators(incomplete: str) -> list[str]:
    """Completions; imports the integrators when a shell asks."""
    return [name for name in lw.methods(lw.simulate) if name.startswith(incomplete)]


@dataclass(frozen=True)
class Control:
    """Options for what acts on the joints."""

    torque: Annotated[str | None, opt("STATE", "Constant torques, given as for --q0; default: none.", CONTROL)] = None
    torque_history: Annotated[str | None, opt("FILE", HISTORY, CONTROL, known=complete_tables)] = None
    interpolation: Annotated[
        Literal["cubic", "held"],
        opt("NAME", "Torques between the rows of the file: cubic (default), or held from row to row.", CONTROL),
    ] = "cubic"
    target: Annotated[
        str | None, opt("STATE", "Configuration to reach under computed torque; default: none.", CONTROL)
    ] = None
    follow: Annotated[str | None, opt("TRAJECTORY", ALONG, CONTROL, known=complete_trajectories)] = None
    kp: Annotated[float | None, opt("GAIN", "Position gain of computed torque, 1/s²; default: 100.", CONTROL)] = None
    kd: Annotated[float | None, opt("GAIN", "Rate gain of computed torque, 1/s; default: 20.", CONTROL)] = None


@dataclass(frozen=True)
class Integration:
    """Arguments of `lw.simulate` by their own names."""

    integrator: Annotated[str, opt("NAME", INTEGRATOR, INTEGRATION, known=integrators)] = "verner65"
    rtol: Annotated[float, opt("NUMBER", "Relative error that a step may make; default: 1e-8.", INTEGRATION)] = 1e-8
    dt: Annotated[float | None, opt("SECONDS", STEP, INTEGRATION)] = None
    first_step: Annotated[
        float | None,
        opt("SECONDS", "Length of the first step, for methods with adaptive steps; default: 1e-3.", INTEGRATION),
    ] = None
    max_steps: Annotated[
        int | None, opt("COUNT", "Maximum number of steps; default: ten million.", INTEGRATION, min=1)
    ] = None


@dataclass(frozen=True)
class SimulationOutputs(Outputs):
    """Tables and pictures, a recording, films."""

    save: Annotated[str | None, opt("FILE", "Write a recording for lw.load_recording: .npz.", OUTPUT)] = None
    animate: Annotated[list[str] | None, opt("FILE", "Write a film: .gif, .mp4 or .html; can be repeated.", OUTPUT)] = (
        None
    )
    fps: Annotated[float | None, opt("NUMBER", "Frames per second of the film; default: 30.", OUTPUT)] = None
    speed: Annotated[float | None, opt("FACTOR", "Speed of the film (0.1 is slow motion); default: 1.", OUTPUT)] = None

    def __post_init__(self) -> None:
        for name, ending in (("csv", ".csv"), ("parquet", ".parquet"), ("save", ".npz")):
            check_file(getattr(self, name), f"--{name}", ending)
        for path in self.films:
            check_file(path, "--animate", ".gif", ".mp4", ".html")
        super().__post_init__()

    @property
    def films(self) -> list[str]:
        return self.animate or []

    @property
    def paths(self) -> list[str]:
        return [path for path in (self.csv, self.parquet, self.save, self.plot, *self.films) if path]


@command(
    ("linkwise simulate stanford", "let go at rest, 1 s"),
    ("linkwise simulate planar3 --duration 2 --csv fall.csv --plot fall.png", "keep the motion, draw it"),
    ("linkwise simulate puma560 --target 0,-45,90,0,0,0 --degrees --friction", "controlled to a target"),
    ("linkwise simulate stanford --follow paper --duration 10 --json", "controlled along a trajectory"),
)
def simulate(
    robot: lw.Robot,
    control: Control,
    integration: Integration,
    out: SimulationOutputs,
    history_file: Annotated[str | None, arg("history", ARGUMENT, complete_tables)] = None,
    q0: Annotated[str | None, opt("STATE", START, STATE)] = None,
    qd0: Annotated[
        str | None, opt("STATE", "Rates at the start, given as for --q0, with the same default.", STATE)
    ] = None,
    degrees: Degrees = False,
    duration: Annotated[
        float | None, opt("SECONDS", "Duration; default: 1, or to the end of --torque-history.")
    ] = None,
    method: Method = None,
    wrench: Wrench = None,
    coordinates: Coordinates = "joint",
    friction: Annotated[bool, flag("--friction", "Apply the friction of the joints, smoothed near rest.")] = False,
    stick: Annotated[bool, flag("--stick", "Apply the exact friction of the joints: they can stick.")] = False,
    limits: Annotated[bool, flag("--limits", "Stop where a joint reaches a limit of travel.")] = False,
    samples: Annotated[int, opt("COUNT", "Number of samples of the result.", OUTPUT, min=2)] = 501,
) -> int:
    """The motion of a robot in time: let go, pushed by constant torques, or controlled.

    Ctrl-C ends a simulation; the results until then are shown and written. The exit code is 1 if the end was not
    reached, unless --limits stopped it. The rows of a table (--q0 @starts.csv) are simulated side by side.
    """
    from ...recording.one_trajectory import until_end

    if history_file is not None and control.torque_history is not None:
        raise ValueError(f"{history_file} and --torque-history {control.torque_history} (expected one of them)")
    if history_file in TRAJECTORIES and not Path(history_file).exists():
        raise ValueError(f"{history_file} is a trajectory (expected a file of torques; or --follow {history_file})")
    history = History.read(robot, history_file or control.torque_history, degrees and q0 is None)
    if duration is None:
        duration = 1.0 if history is None else history.duration
    film = film_options(out, duration)
    typed = {"--q0": ("q", q0), "--qd0": ("qd", qd0), "--torque": ("tau", control.torque)}
    given, rates, law = parse_states(robot, typed, degrees)
    if history is not None and given is None:
        given, rates = history.q, history.qd if rates is None else rates
    start = start_of(robot, given, control.follow, degrees)
    goal, description = reference(robot, start, control, duration, degrees)
    acting = {"--torque": law, "--torque-history": history, "a controller by --target or --follow": goal}
    if len(several := [name for name, value in acting.items() if value is not None]) > 1:
        raise ValueError(f"{', and '.join(several)} (expected one of them)")
    if history is None and control.interpolation != "cubic":
        raise ValueError("--interpolation belongs to --torque-history (expected that too)")
    if goal is None and (control.kp is not None or control.kd is not None):
        raise ValueError("--kp and --kd belong to a controller (expected --target or --follow too)")
    if goal is not None:
        gains = KP if control.kp is None else control.kp, KD if control.kd is None else control.kd
        law = lw.control.computed_torque(goal, *gains, passive=[joint.joint for joint in robot.free_joints])
    description = description if control.torque is None else "with constant torques"
    if history is not None:
        law, description = history.file, f"under the torques of {history.file}"
    at_limits = [] if given is not None or control.follow is not None else joints_at_limits(robot, start)
    description += f" from the zero position, {' and '.join(at_limits)}" if at_limits else ""
    if limits:
        warn_of_start(robot, start)
        if at_limits:
            names = ", ".join(text.partition(" brought")[0] for text in at_limits)
            warn(f"{names} starts at its limit: --q0 starts elsewhere")
    description += "" if method is None else f", by {method}"
    description += "" if coordinates == "joint" else f", in {coordinates} quasi-velocities"
    code, ended = 0, ""
    force, drag = parse_wrench(robot, wrench), lw.Friction(smooth=0) if stick else friction
    try:
        run = lw.simulate(
            robot, start, rates, duration, law, force, interpolation=control.interpolation,
            friction=drag, coordinates=coordinates, method=method,
            samples=samples, events=lw.control.joint_limits(robot) if limits else (), **vars(integration),
        )  # fmt: skip
    except lw.errors.SimulationError as error:
        stiff = friction or stick or goal is not None
        run, code, ended = error.recording, 1, failure_text(str(error), integration.integrator, stiff)
    except lw.errors.SimulationInterrupted as error:
        run, code, ended = error.recording, 130, where_interrupted(error.recording, duration)
    run = until_end(run)
    ones = np.ones(robot.n)
    idle = not (friction or stick) and bool(np.any(lw.Friction().torque(robot, ones, load=ones)))
    quasi = QuasiCoordinates.of(coordinates, robot, run.q, run.qd, t=run.t)
    trip = None if history is None else history.compare(run, force, drag)
    sentence = "" if history is None else history.sentence(run, trip, control.interpolation)
    out.show(lambda: as_json(run, description, quasi, trip), lambda: show(run, description, sentence, idle, quasi))
    try:
        write(run, out, film, quasi)
    except (ValueError, OSError, ImportError) as error:
        if not ended:
            raise
        from ..app import error_message

        complain(f"{ended}\n{error_message(error)}")
        return code
    if ended:
        place = f"is in {', '.join(out.paths)}" if out.paths else "is shown, and not written"
        complain(f"{ended}\nWhat was computed {place}.")
        return code
    return 1 if run.batch and not all(status in ("done", "stopped") for status in run.status.flat) else 0


RFDSIM = """Saha's recursive forward dynamics: the motion under torques, by the DeNOC matrices.

RFDSIM of J. Appl. Mech. 66 (1999), section 5.2: the options of `linkwise simulate`, with --method denoc. With
a file of torques the start is its first row, where it has a motion too, and the result is compared with it: it comes
back for as long as the arm does not amplify small errors.
"""
rfdsim = command(
    ("linkwise rfdsim planar3 --duration 5 --plot fall.png", "Fig. 6 of the paper: let go at rest"),
    ("linkwise ridim planar3 cubic --to 1,1,1 --duration 1 --csv tau.csv", "torques along a motion"),
    ("linkwise rfdsim planar3 tau.csv --rtol 1e-12", "the motion under these torques, which is reproduced"),
    ("linkwise rfdsim stanford --coordinates normalized", "integrated in normalized quasi-velocities"),
)(command_with(simulate, RFDSIM, of_paper_in_joint_coordinates))


def start_of(robot: lw.Robot, given: Any, follow: str | None, degrees: bool) -> Any:
    """The given start; otherwise that of the paper's motion, or the zero position."""
    if given is not None:
        return given
    if follow is not None and follow not in TRAJECTORIES:
        return MotionOptions(follow, degrees=degrees).resolve(robot)[0](0.0).q
    if (of_paper := paper_motion(robot)) is not None:
        return np.array(of_paper[0], dtype=float)
    return zero_configuration(robot)


def joints_at_limits(robot: lw.Robot, start: Any) -> list[str]:
    """Descriptions of joints that start at a limit, because zero is outside their travel."""
    if paper_motion(robot) is not None:
        return []
    at = dict(zip(robot.q_names, start.tolist(), strict=True))
    outside = outside_travel(robot, lw.neutral(robot))
    return [f"{x.joint} brought to its limit of {in_units(x, at[x.joint])} {limit_unit(x)}" for x in outside]


def reference(robot: lw.Robot, start: Any, control: Control, duration: float, degrees: bool) -> tuple[Any, str]:
    """The configuration or trajectory to control to, or None; and its description."""
    follow = control.follow
    if follow is None and control.target is None:
        return None, "let go"
    (goal,) = parse_states(robot, {"--target": ("q", control.target)}, degrees)
    if follow is None:
        return goal, "under computed torque, to --target"
    if goal is None:
        motion, words = MotionOptions(
            follow, duration=duration if follow in TRAJECTORIES else None, degrees=degrees
        ).resolve(robot)
        return motion, f"under computed torque, {words}"
    if follow not in PROFILES:
        raise ValueError(f"--follow {follow} has an end of its own (expected no --target)")
    return make_profile(robot, follow, start, goal, duration), f"under computed torque, along a {follow} to --target"


def film_options(out: SimulationOutputs, duration: float) -> dict[str, float]:
    """Options of the films; raises before the simulation where these cannot be made."""
    if len({Path(path) for path in out.films}) < len(out.films):
        raise ValueError(f"--animate {out.films[-1]}: a film is given twice (expected different files)")
    given = {name: x for name, x in (("fps", out.fps), ("speed", out.speed)) if x is not None}
    if not out.films:
        if given:
            raise ValueError(f"--{' and --'.join(given)} is for a film (expected --animate too)")
        return {}
    from ...drawing.film import check_film

    options = {"fps": 30.0, "speed": 1.0} | given
    with file_errors_as_failures():
        for path in out.films:
            check_film(Path(path), duration, **options)
    return options


def failure_text(text: str, integrator: str, stiff: bool) -> str:
    """Why a simulation ended early, and options that can help. `stiff`: with friction or a controller."""
    from ...ode.registry import integrator as integrator_named

    why = STATES.sub("", ADVICE.sub("", to_command_line(text)))
    options = []
    if "--max-steps allows" in why:
        options.append("a larger --max-steps for a longer run")
    if integrator_named(integrator).fixed:
        options.append("a smaller --dt, or another --integrator, which chooses its own steps")
    else:
        if integrator != "radau" and stiff:
            options.append("--integrator radau for stiff friction and gains")
        options.append("--integrator rk4 with a --dt")
    return f"{why}\nTo go on: {'; '.join(options)}."


def where_interrupted(run: lw.Recording, duration: float) -> str:
    if run.batch:
        return f"interrupted; of {run.q[..., 0, 0].size} trajectories of {duration:g} s: {run.ends}"
    return f"interrupted at {float(run.reached):.6g} s of {duration:g} s"


def write(run: lw.Recording, out: SimulationOutputs, film: dict[str, Any], quasi: QuasiCoordinates) -> None:
    from ...recording.files import table_columns, values_of

    if quasi.values:  # which recordings do not have
        out.write(lambda: table_columns(values_of(run), Layout.of(run.robot)) | quasi.columns())
    for path in (out.save,) if quasi.values else (out.csv, out.parquet, out.save):
        if path is not None:
            write_file(run.save, path, ".csv" if path == STDOUT else Path(path).suffix)
    out.draw(run.plot)
    for each in out.films:
        write_file(lambda path: run.animate(path, **film), each, "")


def as_json(run: lw.Recording, description: str, quasi: QuasiCoordinates, trip: RoundTrip | None) -> dict[str, Any]:
    keys = ("status", "reached", "steps", "rejected", "integrator", "rtol", "t", "q", "qd", "qdd", "tau", "energy")
    names = {"robot": run.robot.name, "motion": description, "q_names": run.robot.q_names, "v_names": run.robot.v_names}
    events = [{"trajectory": index, "t": t, "name": name} for index, t, name in run.event_list]
    passed = passed_limits_json(run.robot, *samples_of(run), "trajectory" if run.batch else "time")
    results = {key: getattr(run, key) for key in keys} | quasi.values
    back = {} if trip is None else {"round_trip": trip._asdict()}
    return names | results | {"imbalance": run.imbalance, "events": events, "passed": passed} | back


def samples_of(run: lw.Recording) -> tuple[Any, Any, Any, list[float]]:
    """q, qd and torques of the finite samples, and the time of each, or in a batch its trajectory."""
    sizes = (run.robot.nq, run.robot.n, run.robot.n)
    q, qd, tau = (x.reshape(-1, size) for x, size in zip((run.q, run.qd, run.tau), sizes, strict=True))
    finite = np.isfinite(q).all(axis=1)
    where = np.arange(len(q)) // len(run.t) if run.batch else run.t
    return q[finite], qd[finite], tau[finite], where[finite].tolist()


def show(run: lw.Recording, description: str, comparison: str, idle_friction: bool, quasi: QuasiCoordinates) -> None:
    """Print a summary, the ends, the limits that are passed, and whether the table's friction does not act."""
    summary = str(run.summary())
    head, _, rest = summary.partition("\n")
    print_sentence(f"{head}, {description}")
    echo(f"{rest}\n")
    if comparison:
        print_sentence(comparison)
        echo()
    show_ends(run)
    if not run.batch:
        quasi.show()
    print_limits(run.robot, *samples_of(run), "first in trajectory" if run.batch else "first at (s)")
    if idle_friction:
        print_sentence("The friction of the robot's table does not act: --friction or --stick applies it.")


def show_ends(run: lw.Recording) -> None:
    q, v = run.robot.q_names, run.robot.v_names
    if run.batch:
        ends = [int(sum(run.t <= reached)) - 1 for reached in run.reached.flat]
        rows = [[k, float(run.t[end]), *run.q[k, end].tolist()] for k, end in enumerate(ends[:SHOWN])]
        print_table(["trajectory", "at (s)", *q], rows, heading="Ends")
        if len(ends) > SHOWN:
            print_sentence(f"Trajectories {SHOWN} to {len(ends) - 1} are in the files of --csv, --parquet and --save.")
        return
    last = int(sum(run.t <= float(run.reached))) - 1
    if q == v:
        rows = [[q[k], run.q[0, k], run.q[last, k], run.qd[last, k]] for k in range(run.robot.n)]
        print_table(
            ["joint", "q at start", f"q at {run.t[last]:g} s", "qd"], [[name, *map(float, x)] for name, *x in rows]
        )
    else:
        print_table(
            ["coordinate", "at start", f"at {run.t[last]:g} s"],
            [[q[k], float(run.q[0, k]), float(run.q[last, k])] for k in range(len(q))],
        )


@command(
    ("linkwise sweep falls", "the counts, and the last line of each error"),
    ("linkwise sweep falls --errors", "the errors in full"),
    ("linkwise sweep falls --resume", "compute what is missing or failed"),
)
def sweep(
    folder: Annotated[str, arg("folder", "The folder of the sweep")],
    errors: Annotated[bool, flag("--errors", "Show the errors in full.")] = False,
    resume: Annotated[bool, flag("--resume", "Compute the chunks that are missing or failed.")] = False,
    json: Json = False,
) -> int:
    """The state of a sweep, as lw.sweep left it in its folder: chunks that are done, failed and missing.

    Every file is verified; without --resume nothing is computed and nothing changed. Ctrl-C leaves what was computed,
    and --resume goes on from there. A sweep with functions (torque, events, vary) is resumed from Python. With
    --resume the exit code is 1 where chunks failed.
    """
    try:
        state = lw.sweeps.open_sweep(folder)
    except lw.errors.RobotError:
        raise
    except ValueError as problem:
        raise OSError(str(problem)) from None  # the folder holds no sweep, or another version's
    if resume:
        try:
            state = state.resume()
        except lw.errors.SweepInterrupted as interrupted:
            progress(folder, interrupted.sweep, errors, json)
            complain(f"interrupted; finished chunks are kept: linkwise sweep {folder} --resume goes on")
            return 130
    progress(folder, state, errors, json)
    return 1 if resume and state.failed else 0


def progress(folder: str, sweep: lw.results.Sweep, errors: bool, json: bool) -> None:
    done, failed = len(sweep.done), sweep.failed
    counts: dict[str, Any] = {
        "folder": folder,
        "trajectories": sweep.count,
        "chunks": sweep.chunks,
        "done": done,
        "failed": len(failed),
        "missing": sweep.chunks - done - len(failed),
    }
    if json:
        print_json({**counts, "errors": failed})
        return
    for name, value in counts.items():
        emit(f"{name:12}  {value}")
    for chunk, text in failed.items():
        emit(f"chunk {chunk}: {text if errors else text.strip().splitlines()[-1]}")
