"""How far a simulation is: shown on a terminal after a second; elsewhere in lines, ever more rarely, if asked for."""

from __future__ import annotations

import numpy as np

from ..ode.trajectories import Trajectories
from ..progress import ProgressDisplay, on_terminal

PATIENCE = 1.0  # seconds before anything is shown
RARELY = 60.0  # seconds between lines, after some time


class ProgressCallback:
    """Called now and then with where all trajectories are; `close` when the run is over."""

    def __init__(self, end: float, shown: bool | None) -> None:
        self.end = end
        shown = on_terminal() if shown is None else shown
        self.display = ProgressDisplay(PATIENCE, PATIENCE, PATIENCE, RARELY) if shown else None

    def __call__(self, now: Trajectories) -> None:
        if self.display is None:
            return
        fraction = float(np.mean(np.where(now.status == 0, now.t / self.end, 1.0)))
        line = f"simulate: {fraction:6.1%} after {self.display.seconds:.0f} s"
        self.display.update(fraction, 1.0, f"{len(now.t)} trajectories", line)

    def close(self) -> None:
        if self.display is not None:
            self.display.close()
