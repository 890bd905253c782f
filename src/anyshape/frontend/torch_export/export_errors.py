"""What torch.export refuses, in the words of the user's model: its line, and what to change."""

from __future__ import annotations

import os
import re
from linecache import getline
from pathlib import Path
from traceback import extract_tb, walk_tb
from typing import Any

from anyshape.base.errors import AnyshapeError, TraceError
from anyshape.base.location import Location
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER

_SYMBOLIC = ("SymInt", "SymFloat", "SymBool")
_NEEDS_DATA = ("data-dependent", "Boolean value of Tensor")
_NOBODY = (f"{Path(__file__).parents[2]}{os.sep}", "<frozen ", "<string>")
"""Our own code, Python's, and what torch makes of strings."""
_LAYERS = f"{TORCH_FOLDER}nn{os.sep}"
_CALLS = frozenset({"_call_impl", "_wrapped_call_impl"})
"""Methods through which modules call each other."""


def in_words_of_model(error: Exception, module: Any) -> Exception:
    """The error to raise instead; a defect of the model itself stays as Python reports it."""
    if isinstance(error, AnyshapeError):
        return error
    name, location = type(module).__name__, location_of_error(error)
    if _is_within(error, _FLEX):
        problem = f"flex_attention, whose scores are Python functions{code_at(location)}"
        fix = "scaled_dot_product_attention(query, key, value, attn_mask=...) with what they add"
        return TraceError(name, problem, fix, location)
    if any(words in str(error) for words in _NEEDS_DATA):
        return TraceError(
            name,
            f"the model's Python code needs the data of a tensor{code_at(location)}",
            "choose with torch.where(condition, a, b), or with"
            " torch.cond(condition, true_fn, false_fn, operands)",
            location,
        )
    if isinstance(error, TypeError) and "FakeTensor" in str(error):
        return _number_of_tensor(error, name, location)
    if ".numpy() is not supported" in str(error):
        problem = f"its Python code leaves torch for NumPy{code_at(location)}"
        return TraceError(name, problem, "compute that part with torch's ops", location)
    if "unhashable type: non-nested SymInt" in str(error):
        return TraceError(
            name,
            "its Python code looks a size up, in a dict, a set or a cache of results"
            f"{code_at(location)}",
            "compute what is looked up with +, -, *, // and % from the size, or give None for that"
            " axis in axes=",
            location,
        )
    if isinstance(error, (TypeError, AttributeError)) and _is_about_sizes(error):
        problem = f"its Python code does with a size what cannot be followed{code_at(location)}"
        fix = "compute with sizes by +, -, *, // and %, compare them, or give None for that axis"
        return TraceError(name, f"{problem}: {error}", fix, location)
    if not type(error).__module__.startswith("torch.") and not _is_torchs_own(error):
        return error
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return TraceError(name, f"torch.export refuses it: {lines[0]}", _suggestion(lines), location)


def _is_torchs_own(error: Exception) -> bool:
    """Whether torch's own code gave up. What ops raise is of the model, as is `torch._assert`."""
    if not isinstance(error, (NotImplementedError, AssertionError)) or not raised_by_op(error):
        return False
    *_, innermost = extract_tb(error.__traceback__)
    return not innermost.filename.endswith(os.path.join("torch", "__init__.py"))


def _number_of_tensor(error: TypeError, name: str, location: Location | None) -> TraceError:
    """An element of a tensor is passed as a number, which Python makes of it in eager mode."""
    if _is_within(error, _RECURRENT):
        problem = f"a recurrent layer over a packed sequence{code_at(location)}"
        fix = "give the layer a padded tensor, and take each sequence's part of its result"
        return TraceError(name, problem, fix, location)
    problem = f"the model's Python code takes a tensor as a number{code_at(location)}"
    return TraceError(
        name, problem, "take the number with .item(), or compute it from sizes", location
    )


_RECURRENT = os.path.join("nn", "modules", "rnn.py")
_FLEX = os.path.join("nn", "attention", "flex_attention.py")


def _is_within(error: Exception, file: str) -> bool:
    """Whether it was raised by what a file of torch's calls."""
    return any(frame.filename.endswith(file) for frame in extract_tb(error.__traceback__))


def _is_about_sizes(error: Exception) -> bool:
    return any(kind in str(error) for kind in _SYMBOLIC)


def failing_example(error: RuntimeError, module: Any) -> TraceError:
    """For what torch's ops say of the user's example itself."""
    location = location_of_error(error)
    if match := _UNKNOWN_RESULT.search(str(error)):
        return _unknown_result(match.group(1), module)
    problem = f"it fails at the example{code_at(location)}: {str(error).splitlines()[0]}"
    fix = "pass an example that the model itself takes"
    return TraceError(type(module).__name__, problem, fix, location)


_UNKNOWN_RESULT = re.compile(r"Found <class '([\w.<>]+)'> in output, which is not a known type")


def _unknown_result(path: str, module: Any) -> TraceError:
    """A class of results that torch does not take apart."""
    kind = path.rpartition(".")[2]
    problem = f"it returns a {kind}, a class that torch does not take apart"
    fix = f"torch.export.register_dataclass({kind}), or return a tuple or a dict"
    if path.startswith("transformers.") and kind.endswith("Cache"):
        exporter = "compile it with anyshape.api.transformers_exporter.AnyshapeExporter"
        fix = f"pass kwargs={{..., 'use_cache': False}}; to have the cache, {exporter}"
    return TraceError(type(module).__name__, problem, fix)


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
    """The innermost line of the traceback that is the model's own, or that of a layer of torch's
    where that is the model."""
    frames = [*extract_tb(error.__traceback__)]
    if error.__cause__ is not None or error.__context__ is not None:
        inner = error.__cause__ or error.__context__
        assert inner is not None
        frames += extract_tb(inner.__traceback__)
    own = [f for f in frames if not f.filename.startswith((TORCH_FOLDER, *_NOBODY))]
    layers = [f for f in frames if f.filename.startswith(_LAYERS) and f.name not in _CALLS]
    return next((Location(f.filename, f.lineno or 0) for f in (own or layers)[::-1]), None)


def raised_by_op(error: Exception) -> bool:
    """Whether torch raised it, and no line of the model."""
    if isinstance(error, AnyshapeError):
        return False
    *_, (innermost, _) = walk_tb(error.__traceback__)
    return innermost.f_code.co_filename.startswith(TORCH_FOLDER)
