"""What fuzzers share that run each seed in a child: arguments, progress, failures and their count.

A failure is printed as it is found, with its seed; with `--shrink` it is made small first.
`--seed S --<what> 1 --shrink` runs one again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fuzz.against_numpy.isolate import Ended, each

Job = tuple[int, int]
"""Seed and greatest length of what it gives."""


@dataclass(frozen=True)
class Fuzzer:
    """One fuzzer. Its tallies have `add`, its failures a `kind`."""

    what: str  # that seeds give, in the plural
    count: int  # of them, unless told
    longest: int  # of them, unless told
    tally: Callable[[], Any]
    run: Callable[[Job], tuple[Any, Any]]  # a tally, and a failure or None
    crashed: Callable[[Job, str], Any]  # the failure of a child that did not come to its end
    shrunk: Callable[[Any], Any]
    snippet: Callable[[Any], str]
    summary: Callable[[Any], str]  # of a tally
    missing: Callable[[Any], set[str]] = lambda tally: set()  # what a long run must have made
    complete: int = sys.maxsize  # how long that is

    def main(self, description: str | None) -> int:
        """Runs what the command line asks for; returns the exit code."""
        options = self._options(description)
        tally, failures, start = self.tally(), list[Any](), time.perf_counter()
        jobs = [(options.seed + index, options.longest) for index in range(options.count)]
        for number, item in enumerate(each(self.run, jobs, options.jobs), 1):
            failure = self._result(item, tally)
            if failure is not None:
                failures.append(failure)
                shown = self.shrunk(failure) if options.shrink else failure
                print(f"\n{self.snippet(shown)}\n", flush=True)
            self._progress(number, len(jobs), len(failures))
        print("", file=sys.stderr)
        print(f"{self.summary(tally)}\n{time.perf_counter() - start:.0f} s, {_count(failures)}")
        missing = self.missing(tally) if len(jobs) >= self.complete else set[str]()
        if missing:
            print(f"never made: {', '.join(sorted(missing))}")
        return 1 if failures or missing else 0

    def _options(self, description: str | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument(f"--{self.what}", type=int, default=self.count, dest="count")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--longest", type=int, default=self.longest)
        parser.add_argument("--jobs", type=int, default=1)
        parser.add_argument("--shrink", action="store_true")
        return parser.parse_args()

    def _result(self, item: Any, tally: Any) -> Any:
        """The failure of a job, if it has one; else what it counted is added."""
        if isinstance(item, Ended):
            return self.crashed(item.job, item.how)
        tally.add(item[0])
        return item[1]

    def _progress(self, number: int, of: int, failures: int) -> None:
        if sys.stderr.isatty() or number % 100 == 0:
            text = f"\r{number}/{of} {self.what}, {failures} failures"
            print(text, end="", file=sys.stderr, flush=True)


def _count(failures: list[Any]) -> str:
    kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(f.kind for f in failures).items())
    return f"{len(failures)} failures{': ' * bool(kinds)}{kinds}"
