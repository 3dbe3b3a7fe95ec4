"""The command line, `linkwise`: its commands are functions in `commands/`, imported when one is used.

`declare` says how a command is declared. Each returns its exit code.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

SECTIONS = {  # of the help: commands, each a function of its name
    "Robots": {
        "robots": "list the robots that come with Linkwise",
        "describe": "a robot's table: joints, bodies, drives",
        "draw": "a picture of a robot",
        "compare": "why two models of a robot disagree",
        "convert": "a robot in another file format or convention",
    },
    "Motion": {
        "torque": "torques of the drives along a trajectory, or at a state",
        "budget": "where the torques come from, term by term",
        "ik": "the joints for a pose or a position of a frame",
        "loads": "what the bearings of each joint carry along a trajectory",
        "simulate": "the motion in time: falls, controllers, friction",
        "ridim": "Saha's recursive inverse dynamics: torque by the DeNOC matrices",
        "rfdsim": "Saha's recursive forward dynamics: simulate by the DeNOC matrices",
        "excite": "a motion to identify the parameters by, within limits",
        "identify": "parameters from measured motions and torques",
        "sweep": "how far a sweep is; resume it",
    },
    "Equations and code": {
        "equations": "inertia matrix, gravity, torques as formulas",
        "explain": "every intermediate of the formulations, with its source",
        "count": "how many operations each method takes",
        "export": "C, Python, LaTeX, URDF or TOML text of a robot",
    },
    "This machine": {
        "demo": "the main jobs in a minute, with pictures",
        "bench": "time the dynamics of a robot here",
        "doctor": "versions, extras, compiler and cache; what to install",
        "cache": "show or clear the folder of compiled code",
    },
}
COMMANDS = {name: about for section in SECTIONS.values() for name, about in section.items()}
MODULES = {  # in `commands/`
    "robots": ("robots", "describe", "draw", "compare", "convert"),
    "loads": ("torque", "ridim", "loads"),
    "kinematics": ("ik",),
    "budget": ("budget",),
    "simulate": ("simulate", "rfdsim", "sweep"),
    "identify": ("excite", "identify"),
    "equations": ("equations", "explain"),
    "export": ("count", "export"),
    "bench": ("bench",),
    "machine": ("demo", "doctor", "cache"),
}
MODULE_OF = {command: module for module, commands in MODULES.items() for command in commands}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is one of `app.EXIT_CODES`."""
    is_process = arguments is None  # it mostly imports, and makes no garbage to collect
    if is_process:
        gc.set_threshold(200_000, 20, 20)
    try:
        from .app import run  # typer is imported for the command line only

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before or after the command
        return 130
    finally:
        if is_process:
            gc.freeze()  # otherwise the collection at exit takes 0.1 s
