"""The table of `docs/ops.md`: a row for each op of torch's, and sums above it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.op_samples.core import core_op
from tests.e2e.op_samples.outcome import HOST, NATIVE, REFUSED, WRONG, Outcome
from tests.e2e.op_samples.samples import all_ops

DOCUMENT = Path(__file__).parents[3] / "docs" / "ops.md"

HEADER = "| op | core | result | samples | any size | on the host, or why refused |\n" + "|---" * 6
_ROWS = re.compile(r"^\| op \|.*(?:\n\|.*)*", re.MULTILINE)
_SUMS = re.compile(r"^\| \| native \|.*(?:\n\|.*)*", re.MULTILINE)


def row(outcome: Outcome) -> str:
    """As the document shows it."""
    info = all_ops()[outcome.name]
    through = outcome.having(NATIVE) + outcome.having(HOST)
    said = ", ".join(f"`{op}`" for op in outcome.host)
    why = "; ".join(outcome.reasons[:2]) if outcome.result in (REFUSED, WRONG) else ""
    text = "; ".join(part for part in (said, why) if part).replace("|", "\\|")
    core = "core" if core_op(info) else ""
    counted = f"{through} of {outcome.count}"
    begin = f"| `{outcome.name}` | {core} | {outcome.result} | {counted}"
    return f"{begin} | {outcome.any_size} | {text} |"


def recorded_rows(text: str) -> dict[str, str]:
    """The rows of the document by op."""
    found = _ROWS.search(text)
    lines = found.group().splitlines()[2:] if found else []
    return {line.split("`")[1]: line for line in lines}


def result_of(line: str) -> str:
    return line.split(" | ")[2]


def is_core(line: str) -> bool:
    return line.split(" | ")[1] == "core"


def sums(rows: Mapping[str, str]) -> str:
    """How many ops there are of each result."""
    lines = ["| | native | host | refused | wrong | all |", "|---|---|---|---|---|---|"]
    for what, chosen in (
        ("the ATen core set", [line for line in rows.values() if is_core(line)]),
        ("all that were tried", list(rows.values())),
    ):
        counts = Counter(map(result_of, chosen))
        each = " | ".join(str(counts[result]) for result in (NATIVE, HOST, REFUSED, WRONG))
        lines.append(f"| {what} | {each} | {len(chosen)} |")
    return "\n".join(lines)


def written(text: str, rows: Mapping[str, str]) -> str:
    """The document with other rows and their sums."""
    ordered = {name: rows[name] for name in all_ops() if name in rows}
    table = "\n".join([HEADER, *ordered.values()])
    text = _ROWS.sub(lambda _: table, text, count=1)
    return _SUMS.sub(lambda _: sums(ordered), text, count=1)
