"""One run of a script: its command line, the processes it starts, the progress bar, the results."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from benchmarks.harness.engines import EngineName
from benchmarks.harness.process import EngineError
from benchmarks.harness.report import Table, show, write_json
from benchmarks.harness.roofline import Roofline, roofline, roofline_cases
from benchmarks.harness.turns import Case, Effort, Measured, Turns
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from anyshape.runtime import machine

RESULTS = Path(__file__).parent.parent / "results"
NORMAL = Effort(seconds=0.1, settled=4, most=30)
QUICK = Effort(seconds=0.03, settled=2, most=6)
QUIET = 0.3  # load average at which figures are evidence
SECONDS_BETWEEN_LINES = 5.0
WIDTH = 130  # of tables that no terminal shows


class Told:
    """A line of progress now and then, on stderr, where no terminal shows a bar."""

    def __init__(self, seconds: float = SECONDS_BETWEEN_LINES) -> None:
        self._seconds = seconds
        self._next = 0.0

    def tell(self, what: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._seconds
            print(f"  {what}", file=sys.stderr, flush=True)


class Session:
    """Measures cases and shows tables; ends its processes when it is closed."""

    def __init__(self, name: str, description: str) -> None:
        options = _arguments(name, description)
        self._quick: bool = options.quick
        self._without: frozenset[str] = frozenset(options.without)
        self._only: str = options.only
        self.before: str = options.before
        self._output: Path = options.json
        self._console = Console()
        self._shown = self._console.is_terminal
        if not self._shown:
            self._console.width = WIDTH
        self._load = os.getloadavg()[0]
        self._turns = Turns(QUICK if options.quick else NORMAL)
        self._tables: list[Table] = []
        self._left_out: list[str] = []
        self._told = Told()
        self._measured: list[Measured] = []
        self._records: dict[str, Any] = {}
        self._rooflines: dict[int, Roofline] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self._turns.close()
        if kind is None:
            self._finish()

    def run(self, tables: Mapping[str, Callable[[Session, str], None]]) -> None:
        """All that `--only` asks for. What cannot be made is named, and the rest goes on."""
        for title, table in tables.items():
            if not self.wants(title):
                continue
            try:
                table(self, title)
            except (EngineError, TimeoutError) as error:
                self._console.print(f"{title}: left out: {error}", style="yellow", markup=False)
                self._left_out.append(title)

    def wants(self, table: str) -> bool:
        """Whether `--only` asks for a table."""
        return self._only.lower() in table.lower()

    @property
    def quick(self) -> bool:
        """Whether the command line asks for less of everything."""
        return self._quick

    @property
    def missed(self) -> bool:
        """Whether some goal was not met."""
        missed = any(row.met is False for table in self._tables for row in table.rows)
        return missed or bool(self._left_out)

    def taking_part(self, engines: Sequence[EngineName]) -> tuple[EngineName, ...]:
        """All but those that the command line leaves out."""
        return tuple(name for name in engines if name not in self._without)

    def measure(
        self, title: str, cases: Sequence[Case], effort: Effort | None = None
    ) -> list[Measured]:
        """All cases in turn, with a progress bar; with the effort of the run, or another one."""
        done: list[Measured] = []
        with self._bar() as progress:
            task = progress.add_task(title, total=len(cases))
            for case in cases:
                tell = functools.partial(self._tell, progress, task, title)
                done.append(self._turns.measure(self._allowed(case), tell, effort))
                progress.advance(task)
        self._measured += done
        self._tell_failures(done)
        return done

    @contextmanager
    def progress(self, title: str, total: int) -> Generator[Callable[[str], None]]:
        """A bar for work of another kind: call what it gives with what begins now."""
        with self._bar() as progress:
            task = progress.add_task(title, total=total)

            def advance(what: str) -> None:
                self._tell(progress, task, title, what)
                progress.advance(task)

            yield advance

    def _bar(self) -> Progress:
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        text = TextColumn("{task.description}")
        return Progress(
            *columns, text, console=self._console, transient=True, disable=not self._shown
        )

    def _tell_failures(self, done: Sequence[Measured]) -> None:
        """Once for each engine and reason, however many cases there are."""
        cases: dict[tuple[str, str], list[str]] = {}
        for measured in done:
            for failure in measured.failures.items():
                cases.setdefault(failure, []).append(measured.case.label)
        for (label, failure), (first, *others) in cases.items():
            more = f" and {len(others)} more" if others else ""
            what = f"{first}{more}: {label} did not take part: {failure}"
            self._console.print(what, style="yellow", markup=False)

    def _tell(self, progress: Progress, task: TaskID, title: str, what: str) -> None:
        progress.update(task, description=f"{title}: {what}")
        if not self._shown:
            self._told.tell(f"{title}: {what}")

    def _allowed(self, case: Case) -> Case:
        chosen = tuple(c for c in case.contenders if c.engine not in self._without)
        return Case(case.label, case.binding, chosen)

    def roofline(self, threads: int) -> Roofline:
        """Measured at the first need; later cases may raise it."""
        if threads not in self._rooflines:
            self.measure("roofline", roofline_cases(threads))
        found = roofline(threads, self._measured, machine().l3_bytes)
        self._rooflines[threads] = found
        return found

    def show(self, table: Table) -> None:
        self._tables.append(table)
        show(self._console, table)

    def print(self, *lines: str) -> None:
        """Text below the last table."""
        for line in lines:
            self._console.print(line, markup=False, highlight=False)

    def record(self, name: str, figures: Any) -> None:
        """What belongs in the file of figures and in no table."""
        self._records[name] = figures

    def _finish(self) -> None:
        for found in self._rooflines.values():
            self._console.print(str(found))
        busy = f"others kept {self._load:.1f} CPUs busy when this run began"
        self._console.print(busy, style="yellow" if self._load > QUIET else "")
        rows = [row for table in self._tables for row in table.rows if row.met is not None]
        met = f"{sum(row.met is True for row in rows)} of {len(rows)} goals met"
        missing = f", not counting {', '.join(sorted(self._without))}" if self._without else ""
        self._console.print(met + missing)
        rooflines = [asdict(one) for one in self._rooflines.values()]
        facts = {
            "quick": self._quick,
            "without": sorted(self._without),
            "load": self._load,
            "rooflines": rooflines,
            **({"records": self._records} if self._records else {}),
        }
        write_json(self._output, facts, self._tables, self._measured)
        self._console.print(f"all figures: {self._output}")


def _arguments(name: str, description: str) -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(f"benchmarks.{name}", None, description, formatter_class=form)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    parser.add_argument("--only", default="", metavar="TEXT", help="tables whose title has TEXT")
    parser.add_argument(
        "--without",
        nargs="*",
        default=[],
        choices=get_args(EngineName),
        metavar="ENGINE",
        help="engines to leave out",
    )
    parser.add_argument(
        "--before", default="", metavar="PYTHON", help="of another environment, to compare with"
    )
    parser.add_argument(
        "--json", type=Path, default=RESULTS / f"{name}.json", help="where figures go"
    )
    return parser.parse_args()
