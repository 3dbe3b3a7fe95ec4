"""Convert an input file of ReDySim to a table for `lw.load`.

    python tools/redysim inputs.m              writes inputs.toml
    python tools/redysim inputs.m crane.toml

Links with inertias that no body has are refused; with --unphysical warn they are written as they are.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import linkwise as lw
from redysim import inputs


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python tools/redysim", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("inputs", type=Path, help="inputs.m, or the script that writes inputs.mat")
    parser.add_argument("table", type=Path, nargs="?", help="the .toml to write (beside the input)")
    parser.add_argument("--unphysical", choices=("refuse", "warn"), default="refuse")
    arguments = parser.parse_args()
    table = arguments.table or arguments.inputs.with_suffix(".toml")
    try:
        robot = inputs.read(arguments.inputs, arguments.unphysical)
        lw.save(robot, table)
    except (lw.errors.RobotError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    print(f"{table}: {robot!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
