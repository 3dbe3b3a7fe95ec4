"""How fast is the plain text? Inverse and forward dynamics of a batch on NumPy, beside Pinocchio in a Python loop.

    python benchmarks/plain_text.py [--states 4096]

Both run in this process, one thread, the same states; the figure is the ratio of the medians of several repeats. The
plain text is the definition, not the fast road: it is here so that a change that slows it down is seen.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pinocchio as pin

import linkwise as lw

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from peers import to_pinocchio


def median_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=4096, help="how many states in the batch (4096)")
    count = parser.parse_args(argv).states
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"linkwise {lw.__version__}, Pinocchio {version('pin')}; batch of {count} states, medians of 7\n")
    print(f"{'robot':10} {'function':18} {'linkwise µs':>12} {'Pinocchio µs':>13} {'Pinocchio / linkwise':>21}")
    for arm in (lw.load("stanford"), lw.load("puma560"), lw.chain(7)):
        model, data = to_pinocchio(arm)
        q, qd, qdd, tau = np.random.default_rng(0).normal(size=(4, count, arm.n))
        pairs = {
            "inverse_dynamics": (
                lambda: lw.inverse_dynamics(arm, q, qd, qdd),  # noqa: B023
                lambda: [pin.rnea(model, data, *x) for x in zip(q, qd, qdd, strict=True)],  # noqa: B023
            ),
            "forward_dynamics": (
                lambda: lw.forward_dynamics(arm, q, qd, tau),  # noqa: B023
                lambda: [pin.aba(model, data, *x) for x in zip(q, qd, tau, strict=True)],  # noqa: B023
            ),
        }
        for name, (ours, theirs) in pairs.items():
            here, there = (median_seconds(call) / count * 1e6 for call in (ours, theirs))
            print(f"{arm.name[:10]:10} {name:18} {here:12.3f} {there:13.3f} {there / here:21.2f}")


if __name__ == "__main__":
    main()
