"""`linkwise bench`: how fast the dynamics of a robot are here."""

from __future__ import annotations

import time
from typing import Annotated, Any

from ...robot import Robot
from .. import peers
from ..declare import opt
from ..results import Tables
from ..screen import echo, note, table

EXAMPLES = (
    ("linkwise bench stanford", "inverse and forward dynamics, one state and batches"),
    ("linkwise bench puma560 --batch 100000 --json", "a larger batch"),
)
AGREE = 1e-6  # of peers: relative


def command(
    arm: Robot,
    batch: Annotated[int, opt("COUNT", "States of a batch; default: 10000.", min=1)] = 10_000,
    seconds: Annotated[float, opt("SECONDS", "For each measurement; default: 0.2.", min=0.001)] = 0.2,
    *,
    out: Tables,
) -> int:
    """Times of inverse and forward dynamics on this machine: plain Python, compiled, in a batch, on all cores.

    Pinocchio and MuJoCo stand beside them where they are installed and the robot can be written as URDF for them; their
    results are compared first. Each time is the best of seven rounds.
    """
    rows = measured(arm, batch, seconds)

    def on_screen() -> None:
        echo(f"{arm.name}, {arm.n} degrees of freedom: microseconds for a state\n")
        table(["how", "inverse dynamics", "forward dynamics"], [list(row.values()) for row in rows])

    out.show(lambda: {"robot": arm.name, "batch": batch, "microseconds_per_state": rows}, on_screen)
    out.write(lambda: {key: [row[key] for row in rows] for key in rows[0]})
    return 0


def measured(arm: Robot, batch: int, seconds: float) -> list[dict[str, Any]]:
    import numpy as np

    from ...api import compiling
    from ...api.functions import forward_dynamics, inverse_dynamics
    from ...kernels.dispatch import use_kernels
    from ...robot.configurations import random_configuration

    rng = np.random.default_rng(0)
    q, qd, qdd = random_configuration(arm, rng, batch), *rng.normal(size=(2, batch, arm.n))
    one = q[0], qd[0], qdd[0]
    rows = []

    def add(how: str, inverse: Any, forward: Any, states: int) -> None:
        times = [1e6 * best_time(call, seconds) / states for call in (inverse, forward)]
        rows.append({"how": how, "inverse_dynamics": times[0], "forward_dynamics": times[1]})

    with use_kernels("never"):
        tau = np.asarray(inverse_dynamics(arm, *one))
        add(
            "plain Python, one state",
            lambda: inverse_dynamics(arm, *one),
            lambda: forward_dynamics(arm, q[0], qd[0], tau),
            1,
        )
    inverse, forward = compiling.compile(inverse_dynamics, arm), compiling.compile(forward_dynamics, arm)
    torques = inverse(q, qd, qdd)
    add("compiled, one state", lambda: inverse(*one), lambda: forward(q[0], qd[0], tau), 1)
    add(f"compiled, batch of {batch}", lambda: inverse(q, qd, qdd), lambda: forward(q, qd, torques), batch)
    for name, peer in peers.on(arm):
        if isinstance(peer, str):
            note(f"{name} is left out: {peer}")
            continue
        off = float(np.abs(peer.inverse(*one) - tau).max() / max(np.abs(tau).max(), 1e-300))
        if off > AGREE:
            note(f"{name} is left out: its torques differ by {off:.1e}")
            continue
        add(
            f"{name}, one state",
            lambda peer=peer: peer.inverse(*one),
            lambda peer=peer: peer.forward(q[0], qd[0], tau),
            1,
        )
    return rows


def best_time(call: Any, seconds: float, rounds: int = 7) -> float:
    """Seconds for one call, in rounds that take so long together."""
    call()
    begin = time.perf_counter()
    call()
    each = max(1, int(seconds / rounds / max(time.perf_counter() - begin, 1e-9)))
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(each):
            call()
        times.append((time.perf_counter() - begin) / each)
    return min(times)
