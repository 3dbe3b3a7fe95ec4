"""Mutated robot files, for as long as is asked: `make fuzz`, or `python tests/helpers/fuzz.py --seconds 3600`.

A file that makes a reader raise anything but `RobotError`, crash, hang, or take more than 4 GiB is written to the
folder `fuzz-failures`, and the exit status is 1. Reduce it to a few lines and keep it in
tests/formats/test_fuzzing.py. Files are read in processes of their own, since MuJoCo, which compiles MJCF, is a
library in C.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fuzzing

FAILURES = Path("fuzz-failures")
BATCH = 200  # files of a seed
ROUND = 5  # seeds for each process between two lines of progress


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (600)")
    parser.add_argument("--seed", type=int, default=None, help="of the first batch (the time)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (one for each core)")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else int(time.time())
    print(f"seeds from {seed} on, {BATCH} files each")
    start, files, accepted, failed = time.monotonic(), 0, 0, 0
    with ThreadPoolExecutor(arguments.workers) as pool:
        while time.monotonic() - start < arguments.seconds:
            for read, problems in pool.map(batch, range(seed, seed + ROUND * arguments.workers)):
                files, accepted, failed = files + BATCH, accepted + read, failed + len(problems)
                print("".join(f"\n{problem}" for problem in problems), end="")
            seed += ROUND * arguments.workers
            print(f"{files} files, {accepted} read, {failed} failures, {time.monotonic() - start:.0f} s", flush=True)
    print(f"failures are in {FAILURES}/" if failed else "no failure")
    return int(failed > 0)


def batch(seed: int) -> tuple[int, list[str]]:
    """How many of the files of a seed are read, and the failures."""
    rng, read, problems = random.Random(seed), 0, []
    worker = fuzzing.Worker()
    for _ in range(BATCH):
        name = rng.choice(list(fuzzing.SAMPLES))
        content, chosen = fuzzing.mutated(fuzzing.SAMPLES[name], rng), fuzzing.options(rng)
        try:
            read += worker(content, name, chosen)
        except Exception:
            FAILURES.mkdir(exist_ok=True)
            path = FAILURES / f"{hashlib.sha256(content).hexdigest()[:12]}-{name}"
            path.write_bytes(content)
            problems.append(f"{path} with {chosen}:\n{''.join(traceback.format_exc(limit=-6))}")
    worker.stop()
    return read, problems


if __name__ == "__main__":
    sys.exit(main())
