"""`python -m tests.e2e.op_samples [op ...]` tries all ops of torch's table, or some, in children
with a limit of CPU time, and writes their rows into `docs/ops.md`; `--from`/`--count` take a part.
With `--dtypes float16 complex64 ...` it tries samples of other dtypes, and shows what is not as it
should be; by the interpreter, as what is captured is the same and kernels have their own tests."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from functools import partial

os.environ.setdefault("ANYSHAPE_CALIBRATE", "0")
os.environ.setdefault("ANYSHAPE_COMPILE_JOBS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from tests.e2e.op_samples.core import core_op
from tests.e2e.op_samples.outcome import REFUSED, WRONG, Outcome, Tried, outcome_of
from tests.e2e.op_samples.samples import all_ops
from tests.e2e.op_samples.table import DOCUMENT, recorded_rows, result_of, row, sums, written
from tests.fuzz.against_numpy.isolate import Ended, Limits, each

LIMIT = Limits(cpu=120)
"""What one op may take."""


def main() -> int:
    options = _options()
    names = _chosen(options)
    if options.dtypes:
        return _of_dtypes(names, options)
    rows: dict[str, str] = {}
    for number, item in enumerate(each(outcome_of, names, options.jobs, 20, LIMIT), 1):
        outcome = _failed(item) if isinstance(item, Ended) else item
        rows[outcome.name] = row(outcome)
        print(f"{number}/{len(names)} {rows[outcome.name]}", file=sys.stderr, flush=True)
        _write(rows)
    print(sums(rows))
    return 1 if any(result_of(line) == WRONG for line in rows.values()) else 0


def _of_dtypes(names: list[str], options: argparse.Namespace) -> int:
    counts = {getattr(torch, name): 2 for name in options.dtypes}
    work = partial(outcome_of, counts=counts, executor="reference")
    tally = Counter[str]()
    for item in each(work, names, options.jobs, 20, LIMIT):
        outcome = _failed(item) if isinstance(item, Ended) else item
        tally[outcome.result] += 1
        if outcome.result in (REFUSED, WRONG):
            print(outcome.name, outcome.result, *outcome.reasons, sep="\n    ", flush=True)
    print(", ".join(f"{count} {result}" for result, count in tally.items()))
    return 1 if tally[WRONG] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--core", action="store_true", help="those of the ATen core set only")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--dtypes", nargs="+", default=[])
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[str]:
    known = all_ops()
    if options.ops:
        return options.ops
    names = [name for name, info in known.items() if not options.core or core_op(info)]
    return names[options.first :][: options.count]


def _failed(ended: Ended) -> Outcome:
    return Outcome(ended.job, (Tried(WRONG, why=ended.how),))


def _write(rows: dict[str, str]) -> None:
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(written(text, {**recorded_rows(text), **rows}))


sys.exit(main())
