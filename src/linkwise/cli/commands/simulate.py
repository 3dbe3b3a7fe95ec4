"""`linkwise simulate`: the motion in time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...robot import Robot
from ..declare import flag, opt
from ..options import OUTPUT, STATE, Degrees, motions
from ..results import STDOUT, Outputs, check_outputs, refuse_ending, write_by, writing
from ..screen import complain, echo, sentence, table, warn
from ..wording import failed_simulation

if TYPE_CHECKING:
    from ...recording import Recording

CONTROL, INTEGRATION = "Control", "Integration"
EXAMPLES = (
    ("linkwise simulate stanford", "let go at rest, 1 s"),
    ("linkwise simulate planar3 --duration 2 --csv fall.csv --plot fall.png", "keep the motion, draw it"),
    ("linkwise simulate puma560 --target 0,-45,90,0,0,0 --degrees --friction", "controlled to a target"),
    ("linkwise simulate stanford --follow paper --duration 10 --json", "controlled along a trajectory"),
)
KP, KD = 100.0, 20.0


def integrators(incomplete: str) -> list[str]:
    """For shells to complete; the modules of integrators are imported when one asks."""
    import linkwise as lw

    return [name for name in lw.integrators() if name.startswith(incomplete)]


START = "Start: numbers (0.1,pi/2,...), joints or links by name (link2=0.5), or @file.csv."
ALONG = "Computed torque along a .csv file, or a trajectory by name, from the start to --target."


@dataclass(frozen=True)
class Control:
    """What acts on the joints."""

    torque: Annotated[str | None, opt("STATE", "Constant torques, given likewise; default: none.", CONTROL)] = None
    target: Annotated[str | None, opt("STATE", "Computed torque to a configuration.", CONTROL)] = None
    follow: Annotated[str | None, opt("TRAJECTORY", ALONG, CONTROL, known=motions)] = None
    kp: Annotated[float | None, opt("GAIN", "1/s²; default: 100.", CONTROL)] = None
    kd: Annotated[float | None, opt("GAIN", "1/s; default: 20.", CONTROL)] = None


@dataclass(frozen=True)
class Integration:
    """Arguments of `lw.simulate` by their own names."""

    integrator: Annotated[
        str, opt("NAME", "verner65 (default), dormand54, dop853, rk4, radau, ...", INTEGRATION, known=integrators)
    ] = "verner65"
    rtol: Annotated[float, opt("NUMBER", "Relative error; default: 1e-8.", INTEGRATION)] = 1e-8
    step: Annotated[float | None, opt("SECONDS", "Of the first step; with rk4, of every step.", INTEGRATION)] = None
    max_steps: Annotated[int | None, opt("COUNT", "Default: ten million.", INTEGRATION, min=1)] = None


@dataclass(frozen=True)
class Files(Outputs):
    """A recording and films too."""

    save: Annotated[str | None, opt("FILE", "A recording for lw.load_recording: .npz.", OUTPUT)] = None
    animate: Annotated[
        list[str] | None, opt("FILE", "A film: .gif, .mp4 or .html; can be given several times.", OUTPUT)
    ] = None
    fps: Annotated[float | None, opt("NUMBER", "Of the film, pictures per second; default: 30.", OUTPUT)] = None
    speed: Annotated[float | None, opt("FACTOR", "Of the film: 0.1 is slow motion; default: 1.", OUTPUT)] = None

    def __post_init__(self) -> None:
        for name, ending in (("csv", ".csv"), ("parquet", ".parquet"), ("save", ".npz")):
            refuse_ending(getattr(self, name), f"--{name}", ending)
        super().__post_init__()
        check_outputs(False, None, self.save, *self.films)

    @property
    def films(self) -> list[str]:
        return self.animate or []

    @property
    def paths(self) -> list[str]:
        return [path for path in (self.csv, self.parquet, self.save, self.plot, *self.films) if path]


def command(
    arm: Robot,
    control: Control,
    integration: Integration,
    out: Files,
    q0: Annotated[str | None, opt("STATE", START, STATE)] = None,
    qd0: Annotated[str | None, opt("STATE", "Its rates; default: at rest.", STATE)] = None,
    degrees: Degrees = False,
    duration: Annotated[float, opt("SECONDS", "How long; default: 1.")] = 1.0,
    friction: Annotated[bool, flag("--friction", "The joints' friction acts, smoothed.")] = False,
    stick: Annotated[bool, flag("--stick", "The joints' friction acts, and they can stick.")] = False,
    limits: Annotated[bool, flag("--limits", "Stop where a joint reaches a limit of travel.")] = False,
    samples: Annotated[int, opt("COUNT", "Of the result; default: 501.", OUTPUT, min=2)] = 501,
) -> int:
    """The motion of a robot in time: let go, pushed by constant torques, or controlled.

    Ctrl-C ends a simulation; what was computed until then is shown and written. The exit code is 1 where the end was
    not reached, unless --limits stopped it. A table of starts (--q0 @starts.csv) is simulated side by side.
    """
    film = film_of(out, duration)
    from ...control import computed_torque
    from ...recording.one_trajectory import until_end
    from ...robot import Friction
    from ...simulation import SimulationError, SimulationInterrupted, joint_limits, simulate
    from ..app import message
    from ..limits import warn_of_start
    from ..states import state, warn_of_unread

    given = state(arm, q0, "q", "--q0", degrees)
    start = start_of(arm, given, control.follow, degrees)
    rates = state(arm, qd0, "qd", "--qd0", degrees)
    wanted, said = reference(arm, start, control.target, control.follow, duration, degrees)
    if control.torque is not None and wanted is not None:
        raise ValueError("--torque, and a controller by --target or --follow (expected one of them)")
    if wanted is None and (control.kp is not None or control.kd is not None):
        raise ValueError("--kp and --kd belong to a controller (expected --target or --follow too)")
    law: Any = state(arm, control.torque, "tau", "--torque", False)
    warn_of_unread(arm, {"--q0": ("q", q0), "--qd0": ("qd", qd0), "--torque": ("tau", control.torque)})
    if wanted is not None:
        gains = KP if control.kp is None else control.kp, KD if control.kd is None else control.kd
        law = computed_torque(wanted, *gains, passive=[joint.joint for joint in arm.free_joints])
    said = said if control.torque is None else "with constant torques"
    brought = [] if given is not None or control.follow is not None else brought_to_limits(arm, start)
    said += f" from the zero position, {' and '.join(brought)}" if brought else ""
    if limits:
        warn_of_start(arm, start)
        if brought:
            names = ", ".join(text.partition(" brought")[0] for text in brought)
            warn(f"{names} starts at its limit: --q0 starts elsewhere")
    code, ended = 0, ""
    try:
        run = simulate(
            arm, start, rates, duration, law, friction=Friction(smooth=0) if stick else friction, samples=samples,
            events=joint_limits(arm) if limits else (), **vars(integration),
        )  # fmt: skip
    except SimulationError as error:
        stiff = friction or stick or wanted is not None
        run, code, ended = error.recording, 1, failed_simulation(str(error), integration.integrator, stiff)
    except SimulationInterrupted as error:
        run, code, ended = error.recording, 130, where_interrupted(error.recording, duration)
    run = until_end(run)
    out.show(lambda: as_json(run, said), lambda: show(run, said))
    try:
        write(run, out, film)
    except (ValueError, OSError, ImportError) as error:
        if not ended:
            raise
        complain(f"{ended}\n{message(error)}")
        return code
    if ended:
        kept = f"is in {', '.join(out.paths)}" if out.paths else "is shown, and not written"
        complain(f"{ended}\nWhat was computed {kept}.")
        return code
    return 1 if run.batch and not all(status in ("done", "stopped") for status in run.status.flat) else 0


def start_of(arm: Robot, given: Any, follow: str | None, degrees: bool) -> Any:
    """The start that was given; otherwise that of the paper's motion, or the zero position."""
    if given is not None:
        return given
    import numpy as np

    from ...robot.configurations import neutral
    from ..motion import NAMES, motion_of_paper, within

    if follow is not None and follow not in NAMES:
        from ..motion import trajectory_of

        return trajectory_of(arm, follow, None, None, None, degrees)[0](0.0).q
    if (of_paper := motion_of_paper(arm)) is not None:
        return np.array(of_paper[0], dtype=float)
    return within(arm, np.array(neutral(arm), dtype=float))


def brought_to_limits(arm: Robot, start: Any) -> list[str]:
    """Joints that stand at a limit since zero is outside their travel, in words."""
    from ...robot.configurations import neutral
    from ...trajectories.limits import outside_travel
    from ..limits import shown as in_units
    from ..limits import unit_of
    from ..motion import motion_of_paper

    if motion_of_paper(arm) is not None:
        return []
    outside = outside_travel(arm, neutral(arm))
    at = dict(zip(arm.q_names, start.tolist(), strict=True))
    return [f"{x.joint} brought to its limit of {in_units(x, at[x.joint])} {unit_of(x)}" for x in outside]


def reference(
    arm: Robot, start: Any, target: str | None, follow: str | None, duration: float, degrees: bool
) -> tuple[Any, str]:
    """What the controller follows, and in words; None: nothing."""
    if follow is None and target is None:
        return None, "let go"
    from ..motion import NAMES, PROFILES, trajectory_of
    from ..states import state, warn_of_unread

    goal = state(arm, target, "q", "--target", degrees)
    warn_of_unread(arm, {"--target": ("q", target)})
    if follow is None:
        return goal, "under computed torque, to --target"
    if goal is not None and follow not in PROFILES:
        raise ValueError(f"--follow {follow} has an end of its own (expected no --target)")
    if goal is None:
        seconds = duration if follow in NAMES else None
        motion, words_ = trajectory_of(arm, follow, None, None, seconds, degrees)
        return motion, f"under computed torque, {words_}"
    needed = arm if arm.quaternions or follow == "trapezoid" else None
    motion = PROFILES[follow](start, goal, duration, arm=needed)
    return motion, f"under computed torque, along a {follow} to --target"


def film_of(out: Files, duration: float) -> dict[str, float]:
    """The options of the films, which are refused before the simulation if they cannot be made."""
    for path in out.films:
        refuse_ending(path, "--animate", ".gif", ".mp4", ".html")
    if len({Path(path) for path in out.films}) < len(out.films):
        raise ValueError(f"--animate {out.films[-1]}: a film is given twice (expected different files)")
    given = {name: x for name, x in (("fps", out.fps), ("speed", out.speed)) if x is not None}
    if not out.films:
        if given:
            raise ValueError(f"--{' and --'.join(given)}: of which film? (expected --animate too)")
        return {}
    from ...drawing.film import check_film

    options = {"fps": 30.0, "speed": 1.0} | given
    with writing():
        for path in out.films:
            check_film(Path(path), duration, **options)
    return options


def where_interrupted(run: Recording, duration: float) -> str:
    if run.batch:
        return f"interrupted; of {run.q[..., 0, 0].size} trajectories of {duration:g} s: {run.ends}"
    return f"interrupted at {float(run.reached):.6g} s of {duration:g} s"


def write(run: Recording, out: Files, film: dict[str, Any]) -> None:
    for path in (out.csv, out.parquet, out.save):
        if path is not None:
            write_by(run.save, path, ".csv" if path == STDOUT else Path(path).suffix)
    out.draw(run.plot)
    for each in out.films:
        write_by(lambda path: run.animate(path, **film), each, "")


def as_json(run: Recording, said: str) -> dict[str, Any]:
    keys = ("status", "reached", "steps", "rejected", "integrator", "rtol", "t", "q", "qd", "qdd", "tau", "energy")
    names = {"robot": run.robot.name, "motion": said, "q_names": run.robot.q_names, "v_names": run.robot.v_names}
    events = [{"trajectory": index, "t": t, "name": name} for index, t, name in run.event_list]
    return names | {key: getattr(run, key) for key in keys} | {"imbalance": run.imbalance, "events": events}


def show(run: Recording, said: str) -> None:
    summary = str(run.summary())
    head, _, rest = summary.partition("\n")
    sentence(f"{head}, {said}")
    echo(f"{rest}\n")
    if run.batch:
        return
    q, v = run.robot.q_names, run.robot.v_names
    last = int(sum(run.t <= float(run.reached))) - 1
    if q == v:
        rows = [[q[k], run.q[0, k], run.q[last, k], run.qd[last, k]] for k in range(run.robot.n)]
        table(["joint", "q at start", f"q at {run.t[last]:g} s", "qd"], [[name, *map(float, x)] for name, *x in rows])
    else:
        table(
            ["coordinate", "at start", f"at {run.t[last]:g} s"],
            [[q[k], float(run.q[0, k]), float(run.q[last, k])] for k in range(len(q))],
        )
