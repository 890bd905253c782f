"""`python -m tests.conformance.child executor[:plain|:symbolic] name ...` prints a line for each
case. The symbolic runs alone are those of cases that are recorded to pass as they are."""

from __future__ import annotations

import resource
import sys

from tests.conformance.cases import cases
from tests.conformance.outcome import outcome_of
from tests.conformance.table import recorded

CPU_SECONDS = 600


def main(executor: str, names: list[str]) -> None:
    executor, _, rest = executor.partition(":")
    before = recorded() if rest == "symbolic" else {}
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    known = cases()
    for name in names:
        print("begins", name, flush=True)
        found = outcome_of(known[name], executor, before.get(name), plain=rest == "plain")
        print("ends", name, found.line, flush=True)


main(sys.argv[1], sys.argv[2:])
