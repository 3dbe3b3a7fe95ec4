"""`linkwise bench`: how fast the dynamics of a robot are here, and in Pinocchio and MuJoCo if they are installed."""

from __future__ import annotations

import tempfile
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

import linkwise as lw

from ..declare import command, opt
from ..results import Tables
from ..screen import echo, note, print_table

AGREE = 1e-6  # relative difference of torques that a peer may have
GRAVITY = (0.0, 0.0, -9.81)


@command(
    ("linkwise bench stanford", "inverse and forward dynamics, one state and batches"),
    ("linkwise bench puma560 --batch 100000 --json", "a larger batch"),
)
def bench(
    robot: lw.Robot,
    batch: Annotated[int, opt("COUNT", "Number of states in the batch.", min=1)] = 10_000,
    seconds: Annotated[float, opt("SECONDS", "Time for each measurement.", min=0.001)] = 0.2,
    *,
    out: Tables,
) -> int:
    """Times of inverse and forward dynamics on this machine: plain Python, compiled, in a batch, on all cores.

    Pinocchio and MuJoCo are timed too if they are installed and the robot can be written as URDF for them; their
    results are compared first. Each time is the best of seven rounds.
    """
    rows = measure(robot, batch, seconds)

    def on_screen() -> None:
        echo(f"{robot.name}, {robot.n} degrees of freedom: microseconds for a state\n")
        print_table(["how", "inverse dynamics", "forward dynamics"], [list(row.values()) for row in rows])

    out.show(lambda: {"robot": robot.name, "batch": batch, "microseconds_per_state": rows}, on_screen)
    out.write(lambda: {key: [row[key] for row in rows] for key in rows[0]})
    return 0


def measure(robot: lw.Robot, batch: int, seconds: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    q, qd, qdd = lw.random_configuration(robot, rng, batch), *rng.normal(size=(2, batch, robot.n))
    one = q[0], qd[0], qdd[0]
    rows = []

    def add(how: str, inverse: Any, forward: Any, states: int) -> None:
        times = [1e6 * best_time(call, seconds) / states for call in (inverse, forward)]
        rows.append({"how": how, "inverse_dynamics": times[0], "forward_dynamics": times[1]})

    with lw.use_kernels("never"):
        tau = np.asarray(lw.inverse_dynamics(robot, *one))
        ahead = q[0], qd[0], tau
        add(
            "plain Python, one state",
            lambda: lw.inverse_dynamics(robot, *one),
            lambda: lw.forward_dynamics(robot, *ahead),
            1,
        )
    inverse, forward = lw.compile(lw.inverse_dynamics, robot), lw.compile(lw.forward_dynamics, robot)
    torques = inverse(q, qd, qdd)
    add("compiled, one state", lambda: inverse(*one), lambda: forward(*ahead), 1)
    add(f"compiled, batch of {batch}", lambda: inverse(q, qd, qdd), lambda: forward(q, qd, torques), batch)
    for name, peer in peers(robot):
        if isinstance(peer, str):
            note(f"{name} is left out: {peer}")
            continue
        off = float(np.abs(peer.inverse(*one) - tau).max() / max(np.abs(tau).max(), 1e-300))
        if off > AGREE:
            note(f"{name} is left out: its torques differ by {off:.1e}")
            continue
        add(f"{name}, one state", lambda peer=peer: peer.inverse(*one), lambda peer=peer: peer.forward(*ahead), 1)
    return rows


def best_time(call: Any, seconds: float, rounds: int = 7) -> float:
    """Seconds for one call: the best of rounds that take `seconds` together."""
    timer = timeit.Timer(call)
    timer.timeit(1)  # the first call may compile
    each = max(1, int(seconds / rounds / max(timer.timeit(1), 1e-9)))
    return min(timer.repeat(rounds, each)) / each


class Peer(NamedTuple):
    inverse: Callable[..., Any]  # (q, qd, qdd) -> tau
    forward: Callable[..., Any]  # (q, qd, tau) -> qdd


def peers(robot: lw.Robot) -> Iterator[tuple[str, Peer | str]]:
    """Each peer, or the reason why it is left out."""
    for name, make in (("Pinocchio", pinocchio), ("MuJoCo", mujoco)):
        try:
            yield name, make(robot)
        except ImportError:
            yield name, "it is not installed: pip install 'linkwise[peers]'"
        except (lw.errors.RobotError, ValueError, RuntimeError) as error:
            yield name, str(error).splitlines()[0].rpartition("robot.urdf: ")[2]


def urdf(robot: lw.Robot) -> str:
    if robot.nq != robot.n or robot.couplings:
        raise ValueError("its joints are not all of one degree of freedom")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        lw.save(robot.without_rotors().with_gravity(GRAVITY), path)  # URDF has neither rotors nor gravity
        text = path.read_text(encoding="utf-8")
    # without limits a joint would have two coordinates in Pinocchio
    limit = '<limit lower="-1000" upper="1000" effort="0" velocity="0"/>'
    return text.replace('type="continuous">', f'type="revolute">{limit}')


def pinocchio(robot: lw.Robot) -> Peer:
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf(robot))
    model.gravity.linear = np.array([float(x) for x in robot.gravity])
    model.armature = np.array([float(link.joint.rotor_inertia) for link, _ in robot.driving])
    data = model.createData()
    return Peer(lambda *state: pin.rnea(model, data, *state), lambda *state: pin.aba(model, data, *state))


def mujoco(robot: lw.Robot) -> Peer:
    import mujoco as mj

    model = mj.MjModel.from_xml_string(urdf(robot))
    model.opt.gravity[:] = [float(x) for x in robot.gravity]
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_armature[:] = [float(link.joint.rotor_inertia) for link, _ in robot.driving]
    model.dof_damping[:] = 0.0
    data = mj.MjData(model)

    def inverse(q: Any, qd: Any, qdd: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mj.mj_inverse(model, data)
        return np.array(data.qfrc_inverse)

    def forward(q: Any, qd: Any, tau: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mj.mj_forward(model, data)
        return np.array(data.qacc)

    return Peer(inverse, forward)
