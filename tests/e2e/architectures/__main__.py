"""`python -m tests.e2e.architectures [name ...]` tries all architectures, or some, and writes their
rows into the table of `docs/models.md`."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence

os.environ["TRANSFORMERS_OFFLINE"] = "1"

from rich.progress import Progress
from tests.e2e.architectures.entry import Architecture
from tests.e2e.architectures.outcome import HEADER, outcome_of
from tests.e2e.architectures.table import ALL, DOCUMENT, recorded_rows, with_table


def rows(chosen: Sequence[Architecture]) -> Iterator[str]:
    """The row of each, with a bar on a terminal."""
    with Progress() as progress:
        task = progress.add_task("architectures", total=len(chosen))
        for each in chosen:
            progress.update(task, description=each.name)
            start = time.process_time()
            outcome = outcome_of(each)
            if bool(outcome.refused) != bool(each.refused):
                sys.exit(f"{each.name}: {outcome.refused or 'is not refused any more'}")
            seconds = time.process_time() - start
            progress.console.print(f"{each.name}: {seconds:.1f} CPU s", highlight=False)
            progress.advance(task)
            yield outcome.row(each)


def main(names: Sequence[str]) -> None:
    warnings.simplefilter("ignore")  # torch's, transformers', and that torch computes some ops
    chosen = [each for each in ALL if not names or each.name in names]
    tried = dict(zip((each.name for each in chosen), rows(chosen), strict=True))
    known = {**recorded_rows(DOCUMENT.read_text()), **tried}
    table = [HEADER, *(known[each.name] for each in ALL if each.name in known)]
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(), "\n".join(table)))
    print(*tried.values(), sep="\n")


main(sys.argv[1:])
