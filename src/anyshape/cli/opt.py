"""`python -m anyshape opt FILE -p canonicalize,fuse`: text in, passes, text out.

Reads a graph from a file or from standard input (`-`), and prints what the passes make of it.
Without `-p` all passes run, in their order; `-p print` runs none. `--each` prints the graph after
every pass that changes it, `--decisions` what was done and refused, `--list` the passes there are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from anyshape.base.errors import OptionError
from anyshape.cli.mistakes import CommandError
from anyshape.ir.graph import Graph
from anyshape.ir.text.parser import parse
from anyshape.ir.verify import verify
from anyshape.passes import PASSES, Pass, PassReport, run_passes

Print = Callable[[str], object]


def declare(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", nargs="?", default="-", help="a graph as text; - reads stdin")
    parser.add_argument("-p", "--passes", help="names, separated by commas; default: all")
    parser.add_argument("--each", action="store_true", help="print after each pass with effect")
    parser.add_argument("--decisions", action="store_true", help="print what was decided, and why")
    parser.add_argument("--list", action="store_true", help="print the passes, and end")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, show: Print = print) -> None:
    """Prints the graph; raises the errors of reading and of passes."""
    if arguments.list:
        show("\n".join(f"{name:20} {_summary(step)}" for name, step in by_name().items()))
        return
    steps = PASSES if arguments.passes is None else passes_of(arguments.passes)
    observe = _Shown(arguments.each, arguments.decisions, show)
    passed = run_passes(_read(arguments.file), steps, verify=True, observe=observe)
    show(passed.graph.as_text().rstrip())


def by_name() -> dict[str, Pass]:
    """Every pass of level 1."""
    return {step.name: step for step in PASSES}


def passes_of(names: str) -> Sequence[Pass]:
    """Those that a text like `canonicalize, fuse` names, in its order; `print` is none."""
    known = by_name()
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in known and name != "print":
            raise OptionError("passes", name, f"one of {', '.join(known)}, or print")
    return [known[name] for name in wanted if name != "print"]


def _summary(step: Pass) -> str:
    return (type(step).__doc__ or "").strip().split("\n", maxsplit=1)[0]


def _read(file: str) -> Graph:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"{file} is no text", "pass a graph as text: graph.as_text()") from None
    return verify(parse(text, file=file))


class _Shown:
    """Prints what a pass did, as a comment of the graph language."""

    def __init__(self, each: bool, decisions: bool, show: Print) -> None:
        self.each, self.decisions, self.show = each, decisions, show

    def __call__(self, report: PassReport, graph: Graph) -> None:
        if self.decisions:
            for decision in report.decisions:
                self.show(f"# {decision}")
        if self.each and report.changed:
            self.show(f"# after {report}\n{graph.as_text()}")
