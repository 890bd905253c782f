"""How the examples print: headings, progress, mistakes in red; nothing of it in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import anyshape as ash


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


@contextmanager
def progress(text: str) -> Generator[None]:
    """A moving bar where there is a terminal and rich is installed, else a line."""
    if not sys.stdout.isatty() or find_spec("rich") is None:
        print(f"{text} ...", flush=True)
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, transient=True) as bar:
        bar.add_task(text, total=None)
        yield


def seconds(function: Callable[[], Any]) -> float:
    """What one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def mistake(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """A call that must fail, and what it says."""
    print(f"{what}:")
    try:
        function(*args, **kwargs)
    except ash.errors.AnyshapeError as error:
        shown = str(error).replace("\n", "\n  ")
        print(f"  \033[31m{shown}\033[0m" if sys.stdout.isatty() else f"  {shown}")
