"""`python -m tests.conformance [--jobs N] [text ...]` runs all tests, or those whose names
contain a text, in child processes, and writes `outcomes.txt` and the table of `docs/onnx.md`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from rich.progress import Progress
from tests.conformance.cases import cases
from tests.conformance.outcome import Outcome
from tests.conformance.table import record, recorded, totals

TO_DO = ("passes", "-")
"""The outcome, as it is and symbolic, of a case whose symbolic runs were left out."""

Report = Callable[[str, Outcome], None]


def tried(names: Sequence[str], executor: str, until: float, report: Report) -> None:
    """Reports the outcomes of some cases, one by one. One that ends its child is wrong, and the
    others go on."""
    left = list(names)
    while left and time.monotonic() < until:
        command = [sys.executable, "-m", "tests.conformance.child", executor, *left]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as child:
            begun = _read(child, left, until, report)
        if begun and time.monotonic() < until:
            left.remove(begun)
            report(begun, Outcome("wrong", why=f"the process ended with {child.returncode}"))
        elif not begun:
            return


def _read(child: subprocess.Popen[str], left: list[str], until: float, report: Report) -> str:
    """The case that had begun and not ended when the child did."""
    begun = ""
    assert child.stdout is not None
    for line in child.stdout:
        kind, name, *rest = line.rstrip("\n").split(" ", 2)
        begun = name if kind == "begins" else ""
        if kind == "ends":
            left.remove(name)
            report(name, Outcome.of(rest[0]))
        if time.monotonic() > until:
            child.kill()
            break
    return begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--executor", default="native")
    parser.add_argument("--missing", action="store_true", help="those without a record only")
    parser.add_argument("--plain", action="store_true", help="without the symbolic runs")
    parser.add_argument(
        "--symbolic",
        action="store_true",
        help="what is still to do: those without a record, and symbolic runs",
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="the rest stays as it is")
    parser.add_argument("text", nargs="*")
    given = parser.parse_args()
    known = {n: outcome for n, outcome in recorded().items() if n in cases()}
    names = [n for n in cases() if not given.text or any(text in n for text in given.text)]
    names = [n for n in names if not given.missing or n not in known]
    if given.symbolic:
        left = [n for n in names if n in known and (known[n].plain, known[n].symbolic) == TO_DO]
        names = [*(n for n in names if n not in known), *left]
    until = time.monotonic() + given.seconds
    how = given.executor + (":plain" if given.plain else ":symbolic" if given.symbolic else "")
    with Progress() as progress, ThreadPoolExecutor(given.jobs) as pool:
        task = progress.add_task("tests", total=len(names))

        def report(name: str, outcome: Outcome) -> None:
            known[name] = outcome
            progress.advance(task)

        parts = [names[i :: given.jobs] for i in range(given.jobs)]
        list(pool.map(lambda part: tried(part, how, until, report), parts))
    record(known)
    print(totals(known))
    wrong = [n for n, o in known.items() if "wrong" in o.statuses]
    if wrong:
        sys.exit("wrong: " + ", ".join(wrong))


main()
