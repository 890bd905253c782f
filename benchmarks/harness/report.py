"""Tables of figures with their goals, and the same as JSON."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness.turns import Measured
from rich.console import Console
from rich.table import Table as RichTable

PACKAGES = ("anyshape", "numpy", "torch", "onnxruntime", "openvino", "llvmlite")


@dataclass(frozen=True)
class Row:
    """`met` is None where there is no goal, or nothing to compare with it."""

    label: str
    cells: tuple[str, ...]
    figure: str = ""
    goal: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Table:
    """`columns` name the cells; label, figure, goal and verdict come with every row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    figure: str


def at_most(value: float, limit: float) -> bool | None:
    """Whether a figure meets its limit; None if it was not measured (NaN)."""
    return None if math.isnan(value) else value <= limit


def at_least(value: float, limit: float) -> bool | None:
    return at_most(-value, -limit)


def number(value: float, digits: int = 2) -> str:
    return "—" if math.isnan(value) else f"{value:,.{digits}f}"


def microseconds(seconds: float) -> str:
    return number(seconds * 1e6, 1 if seconds < 1e-4 else 0)


def show(console: Console, table: Table) -> None:
    goals = ("goal", "") if any(row.goal for row in table.rows) else ()
    shown = RichTable(title=table.title, title_justify="left", title_style="bold")
    shown.add_column("")
    for name in (*table.columns, table.figure, *goals):
        shown.add_column(name, justify="right")
    for row in table.rows:
        verdict = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[row.met]
        shown.add_row(row.label, *row.cells, row.figure, *((row.goal, verdict) if goals else ()))
    console.print(shown)


def write_json(
    path: Path, facts: Mapping[str, Any], tables: Sequence[Table], measured: Sequence[Measured]
) -> None:
    """Everything that was measured, for comparing runs."""
    content = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        **facts,
        "tables": [asdict(table) for table in tables],
        "cases": [_case(one) for one in measured],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _case(measured: Measured) -> dict[str, Any]:
    timings = {
        label: {"best": measured.best(label), "median": measured.median(label)}
        for label in measured.timings
    }
    case = measured.case
    return {
        "label": case.label,
        "binding": dict(case.binding),
        "models": {c.label: repr(c.model) for c in case.contenders},
        "threads": {c.label: c.threads for c in case.contenders},
        "seconds": timings,
        "failures": measured.failures,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
