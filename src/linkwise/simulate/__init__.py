"""Motion in time: trajectories and loads; integrators, drives, controllers, recordings; sweeps over many samples."""

from .compiled import CompiledSimulation, compile_simulation
from .control import computed_torque, diagonal_control, pd_gravity
from .drives import limited, springs, with_gears
from .events import Event, Happening, joint_limits
from .files import load_recording
from .loads import Loads, Peaks, torque_along
from .recording import Recording
from .simulation import SimulationError, SimulationInterrupted, simulate
from .splines import spline, trajectory_from_csv
from .sweep import Sweep, SweepInterrupted, open_sweep, sweep
from .sweep_files import SweepWarning
from .sweep_samples import grid, monte_carlo
from .tableaux import integrators
from .trajectories import JointMotion, Trajectory, cubic, cycloid, quintic, septic, trapezoid

__all__ = [
    "CompiledSimulation",
    "Event",
    "Happening",
    "JointMotion",
    "Loads",
    "Peaks",
    "Recording",
    "SimulationError",
    "SimulationInterrupted",
    "Sweep",
    "SweepInterrupted",
    "SweepWarning",
    "Trajectory",
    "compile_simulation",
    "computed_torque",
    "cubic",
    "cycloid",
    "diagonal_control",
    "grid",
    "integrators",
    "joint_limits",
    "limited",
    "load_recording",
    "monte_carlo",
    "open_sweep",
    "pd_gravity",
    "quintic",
    "septic",
    "simulate",
    "spline",
    "springs",
    "sweep",
    "torque_along",
    "trajectory_from_csv",
    "trapezoid",
    "with_gears",
]
