"""`python -m tests.conformance.child executor[:plain] name ...` prints a line for each case."""

from __future__ import annotations

import resource
import sys

from tests.conformance.cases import cases
from tests.conformance.outcome import outcome_of

CPU_SECONDS = 600


def main(executor: str, names: list[str]) -> None:
    executor, _, rest = executor.partition(":")
    plain_only = rest == "plain"
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    known = cases()
    for name in names:
        print("begins", name, flush=True)
        print(
            "ends", name, outcome_of(known[name], executor, plain_only=plain_only).line, flush=True
        )


main(sys.argv[1], sys.argv[2:])
