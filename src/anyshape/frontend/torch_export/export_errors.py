"""What torch.export refuses, in the words of the user's model: its line, and what to change."""

from __future__ import annotations

import os
from linecache import getline
from pathlib import Path
from traceback import extract_tb
from typing import Any

from anyshape.base.errors import AnyshapeError, TraceError
from anyshape.base.location import Location
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER

_SYMBOLIC = ("SymInt", "SymFloat", "SymBool")
_OURS = f"{Path(__file__).parents[2]}{os.sep}"


def in_words_of_model(error: Exception, module: Any) -> Exception:
    """The error to raise instead; a defect of the model itself stays as Python reports it."""
    if isinstance(error, AnyshapeError):
        return error
    name, location = type(module).__name__, location_of_error(error)
    if "data-dependent" in str(error):
        return TraceError(
            name,
            f"the model's Python code needs the data of a tensor{code_at(location)}",
            "choose with torch.where(condition, a, b), or with"
            " torch.cond(condition, true_fn, false_fn, operands)",
            location,
        )
    if isinstance(error, TypeError) and any(kind in str(error) for kind in _SYMBOLIC):
        problem = f"its Python code does with a size what cannot be followed{code_at(location)}"
        fix = "compute with sizes by +, -, *, // and %, compare them, or give None for that axis"
        return TraceError(name, f"{problem}: {error}", fix, location)
    if not type(error).__module__.startswith("torch."):
        return error
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return TraceError(name, f"torch.export refuses it: {lines[0]}", _suggestion(lines), location)


def failing_example(error: RuntimeError, module: Any) -> TraceError:
    """For what torch's ops say of the user's example itself."""
    location = location_of_error(error)
    problem = f"it fails at the example{code_at(location)}: {str(error).splitlines()[0]}"
    fix = "pass an example that the model itself takes"
    return TraceError(type(module).__name__, problem, fix, location)


def code_at(location: Location | None) -> str:
    """The source line there, to follow a problem."""
    line = getline(location.file, location.line).strip() if location is not None else ""
    return f": `{line}`" if line else ""


def _suggestion(lines: list[str]) -> str:
    """torch's own suggestions, if it has any."""
    headings = [number for number, line in enumerate(lines) if "Suggested fixes" in line]
    if headings:
        return "; ".join(line.strip() for line in lines[headings[0] + 1 :] if line.strip())
    return "change that line so that torch.export.export accepts the model"


def location_of_error(error: BaseException) -> Location | None:
    """The innermost line of the traceback that is the model's own."""
    frames = [*extract_tb(error.__traceback__)]
    if error.__cause__ is not None or error.__context__ is not None:
        inner = error.__cause__ or error.__context__
        assert inner is not None
        frames += extract_tb(inner.__traceback__)
    own = [f for f in frames if not f.filename.startswith((TORCH_FOLDER, _OURS, "<frozen "))]
    return Location(own[-1].filename, own[-1].lineno or 0) if own else None
