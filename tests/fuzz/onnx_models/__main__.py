"""`python -m tests.fuzz.onnx_models [--models N] [--seed N]` reads mutated models in children with
limits. One that ends its child (a crash, a hang, too much memory) or fails with an error that is
none of ours is a failure, and the others go on."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter

PER_CHILD = 500


def tried(first: int, count: int) -> dict[int, str]:
    """What became of so many models."""
    found: dict[int, str] = {}
    number, end = first, first + count
    while number < end:
        command = [sys.executable, "-m", "tests.fuzz.onnx_models.child", str(number)]
        ended = subprocess.run(
            [*command, str(end - number)], stdout=subprocess.PIPE, text=True, check=False
        )
        lines = [line.split(" ", 2) for line in ended.stdout.splitlines()]
        found |= {int(line[1]): line[2] for line in lines if line[0] == "ends"}
        begun = [int(line[1]) for line in lines if line[0] == "begins"]
        lost = begun[-1] if begun else number
        if lost not in found:
            found[lost] = f"ends the process with {ended.returncode}"
        number = max(found) + 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found: dict[int, str] = {}
    end = given.seed + given.models
    for first in range(given.seed, end, PER_CHILD):
        found |= tried(first, min(PER_CHILD, end - first))
        print(f"{len(found)} models", end="\r", file=sys.stderr)
    bad = {n: what for n, what in found.items() if what not in ("read", "refused")}
    print(dict(Counter(what for what in found.values() if what in ("read", "refused"))))
    for number, what in bad.items():
        print(number, what)
    if bad:
        sys.exit(f"{len(bad)} failures; tests.fuzz.onnx_models.child.model_of(number) has each")


main()
