"""Writes docs/reference from the code: API, knobs, errors, passes, ops. `make reference` runs it,
and a test compares what it would write with what is there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tools.api_reference import api

from anyshape.api.compile import compile as compile_model
from anyshape.base import errors
from anyshape.base.errors import AnyshapeError
from anyshape.base.knobs import KNOBS
from anyshape.ir.opdef import all_ops
from anyshape.passes import PASSES

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
HEAD = "<!-- Written by tools/reference.py; `make reference` writes it again. -->\n\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {line} |\n" for line in cells)


def first_sentence(thing: object) -> str:
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n", maxsplit=1)[0].split())
    return re.split(r"(?<=[.:]) (?=[A-Z`])", text, maxsplit=1)[0]


def knobs() -> str:
    """Of processes, and of single executables."""
    process = [[f"`{k.option}`", f"`{k.variable}`", k.default, k.meaning] for k in KNOBS]
    text = inspect.getdoc(compile_model) or ""
    _, _, shared = text.partition("For all of them:")
    found = re.findall(r"^- `(\w+)`: (.*?)(?=^- `|\Z)", shared, re.M | re.S)
    single = [[f"`{name}`", " ".join(what.split())] for name, what in found]
    return (
        "# Knobs\n\nFor a process: a field of `anyshape.Options`, given to "
        "`compile(..., options=)`, or an environment variable that sets its default.\n\n"
        + table(("option", "variable", "default", "meaning"), process)
        + "\nFor one executable: keywords of `anyshape.compile`.\n\n"
        + table(("keyword", "meaning"), single)
    )


def error_list() -> str:
    """Every error, below the one that it is a kind of."""
    named = (getattr(errors, name) for name in errors.__all__)
    kinds = [k for k in named if inspect.isclass(k) and issubclass(k, AnyshapeError)]
    rows = [
        [f"`{kind.__name__}`", f"`{kind.__mro__[1].__name__}`", first_sentence(kind)]
        for kind in sorted(kinds, key=lambda kind: kind.__name__)
    ]
    intro = "All are in `anyshape.errors`. Messages say what is wrong, and how to mend it.\n\n"
    return f"# Errors\n\n{intro}" + table(("error", "is a kind of", "raised for"), rows)


def passes() -> str:
    """In their order."""
    rows = [
        [str(number), f"`{step.name}`", first_sentence(type(step))]
        for number, step in enumerate(PASSES)
    ]
    intro = "What `anyshape opt` runs, and `without=` leaves out, in this order.\n\n"
    return f"# Passes\n\n{intro}" + table(("", "pass", "does"), rows)


def ops() -> str:
    """Of the graph language."""
    rows = [
        [f"`{op.name}{op.signature}`", "compound" if op.is_compound else "", op.doc.strip()]
        for op in all_ops()
    ]
    intro = "Ops of the graph language; `Graph.as_text()` prints them.\n\n"
    return f"# Ops\n\n{intro}" + table(("op", "", "is"), rows)


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api,
    "knobs.md": knobs,
    "errors.md": error_list,
    "passes.md": passes,
    "ops.md": ops,
}


def pages() -> dict[str, str]:
    return {name: HEAD + make() for name, make in PAGES.items()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
