"""Who asks a question about sizes while torch traces: the model's code, or an op about itself.

A question turns a size into a truth or a number. Walking outwards from where it is asked, the first
frame that decides is

    an op that computes its result's shape     the op's own matter: its entry in our table says what
                                               it needs, and what it gives is compared with torch's
    a decomposition into ops that are recorded   as if the model were written that way
    code outside of torch, or torch's own      the model's
    functions and layers in Python

Whoever asks for a tensor's layout (`is_contiguous`) calls a function of torch that is no op.
"""

from __future__ import annotations

import abc
import functools
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._ops import OperatorBase

from anyshape.base.location import Location
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.aten.walk import nearest_location

_OURS = f"{Path(__file__).parents[2]}{os.sep}"
_NOBODY = (_OURS, "<frozen ")
"""Code that is neither torch's nor the model's. A model may well be in no file: `<stdin>`, a cell
of a notebook, a string, or code that `torch.fx` has generated."""
_LAYERS = (f"{TORCH_FOLDER}nn/", f"{TORCH_FOLDER}functional.py", f"{TORCH_FOLDER}_tensor.py")
_TEXT_FOR_PEOPLE = ("/logging/__init__.py", "/warnings.py", "/traceback.py", "/unittest/mock.py")
_ENTRIES = frozenset({"_export", "simplified"})
"""Our own functions that call torch's exporter: nobody further out asks."""
_FAKE = frozenset(
    f"{TORCH_FOLDER}_subclasses/{name}.py" for name in ("fake_tensor", "fake_impls", "meta_utils")
)
_OPS = f"{TORCH_FOLDER}_ops.py"
_PROXY = f"{TORCH_FOLDER}fx/experimental/proxy_tensor.py"
_INTERPRETER = f"{TORCH_FOLDER}fx/interpreter.py"
_EXPORT_MODE = f"{TORCH_FOLDER}_export/non_strict_utils.py"


def asking_frame() -> FrameType | None:
    """The frame of the model's code that asks; None if an op asks, or torch's exporter itself."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    layer: FrameType | None = None
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if not file.startswith(TORCH_FOLDER):
            if not file.startswith(_NOBODY) and not _is_made_by_torch(frame):
                return frame
            if name in _ENTRIES:
                return layer
        elif _is_decomposition(file, name, frame) or _is_interpreted(file, name, frame):
            return layer or frame
        elif _is_op(file, name, frame):
            return layer
        elif file.startswith(_LAYERS) and not file.endswith("/module.py"):
            layer = layer or frame
        frame = frame.f_back
    return layer


def taking_frame(taken: Any) -> FrameType | None:
    """The frame of the model's code for which a size, an expression, becomes a number, may be by an
    op: one that takes no symbolic sizes (`linspace`) is recorded with that number. The number of an
    op's results is the matter of its entry, unless the model's code gave it (`chunk(n // 2)`)."""
    frame = asking_frame()
    outer: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is None and outer is not None:
        file, name = outer.f_code.co_filename, outer.f_code.co_name
        if (name in _ENTRIES and file.startswith(_OURS)) or _counts_parts(outer, taken):
            return None
        if is_models_own(outer):
            frame = outer
        outer = outer.f_back
    return frame


def _counts_parts(frame: FrameType, taken: Any) -> bool:
    """Whether torch calls an op there that gives as many tensors as sizes say, and counts these."""
    if not frame.f_code.co_filename.startswith(TORCH_FOLDER):
        return False
    called = frame.f_locals.get("func", frame.f_locals.get("self"))
    name = getattr(called, "__name__", "") if callable(called) else ""
    if not isinstance(name, str) or name.partition(".")[0] not in _WITH_PARTS:
        return False
    given = (*frame.f_locals.get("args", ()), *frame.f_locals.get("kwargs", {}).values())
    sizes: list[Any] = [number for number in given if isinstance(number, torch.SymInt)]
    return all(size.node.expr != taken for size in sizes)


_WITH_PARTS = frozenset(
    {"split", "split_with_sizes", "chunk", "tensor_split", "unbind", "unsafe_split"}
)


def _is_made_by_torch(frame: FrameType) -> bool:
    """Whether torch made a function of a string. Models may be strings too, so that the file's name
    does not tell: a function of torch's has names of torch's around it."""
    if frame.f_code.co_filename != "<string>":
        return False
    names = frame.f_globals
    owner = str(names.get("__name__", "")).partition(".")[0]
    if owner == "torch" or owner.startswith("namedtuple_"):
        return True
    calls_only = frame.f_code.co_name == "<lambda>" and frame.f_code.co_names == ("fn",)
    return calls_only or names.keys() >= _SYMPY_NAMES


_SYMPY_NAMES = frozenset({"IsNonOverlappingAndDenseIndicator", "cast_symbool_to_symint_guardless"})
"""What torch's guards on sizes are written with, as text."""


def _is_decomposition(file: str, name: str, frame: FrameType) -> bool:
    """Whether torch takes an op apart there and goes on with its parts."""
    if file == _PROXY:
        return name == "maybe_handle_decomp"
    if file != _OPS or name != "__call__" or not _is_decomposed_by(frame):
        return False
    op = frame.f_locals["self"].name()
    dispatcher: Any = getattr(torch, "_C")  # noqa: B009 - torch has no types for it
    composite = dispatcher._dispatch_has_kernel_for_dispatch_key(op, "CompositeImplicitAutograd")
    return composite and op not in _SAME_EITHER_WAY


_SAME_EITHER_WAY = frozenset(
    {
        "aten::contiguous",
        "aten::einsum",
        "aten::reshape",
        "aten::reshape_as",
        "aten::flatten.using_ints",
    }
    | {"aten::to.dtype", "aten::to.device", "aten::to.dtype_layout", "aten::type_as"}
)
"""Ops that ask whether to copy, or to multiply along one element: the result is the same."""


def _is_interpreted(file: str, name: str, frame: FrameType) -> bool:
    """Whether the model is a graph of torch.fx, of which torch calls one function after another."""
    if file != _INTERPRETER or name not in ("call_function", "call_method"):
        return False
    return not isinstance(frame.f_locals.get("target"), OperatorBase)


def _is_decomposed_by(frame: FrameType) -> bool:
    """Whether the op is called on the way to a program of simpler ops."""
    outer: FrameType | None = frame
    while outer is not None:
        if outer.f_code.co_name in _ENTRIES and outer.f_code.co_filename.startswith(_OURS):
            return outer.f_code.co_name == "simplified"
        outer = outer.f_back
    return False


def _is_op(file: str, name: str, frame: FrameType) -> bool:
    if file == _EXPORT_MODE:
        return name == "__torch_function__" and _gives_tensors(frame.f_locals.get("func"))
    return file in _FAKE or (file == _OPS and name == "__call__")


def _gives_tensors(function: Any) -> bool:
    """Whether a function of torch is an op, and no question about a tensor."""
    name = getattr(function, "__name__", "")
    if name.startswith("__"):
        return name not in _ASKING
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return False
    overloads = (getattr(packet, overload) for overload in packet.overloads())
    return any("Tensor" in str(r.type) for o in overloads for r in o._schema.returns)


_ASKING = frozenset(
    {"__len__", "__bool__", "__int__", "__float__", "__index__", "__contains__", "__iter__"}
    | {"__repr__", "__str__", "__format__", "__array__", "__hash__"}
)
"""Methods of tensors that Python calls for something else than a tensor."""


def location_in_model(frame: FrameType) -> Location:
    """The line that asks: of the model, or of torch's layers if they are all there is."""
    outer: FrameType | None = frame
    while outer is not None:
        file = outer.f_code.co_filename
        if outer.f_code.co_name == "run_node" and "n" in outer.f_locals:
            return nearest_location(outer.f_locals["n"]) or Location(file, outer.f_lineno)
        if not file.startswith((TORCH_FOLDER, *_NOBODY)) and not _is_made_by_torch(outer):
            return Location(file, outer.f_lineno)
        if outer.f_code.co_name in _ENTRIES and file.startswith(_OURS):
            break
        outer = outer.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)


def writes_result(frame: FrameType) -> bool:
    """Whether what a frame writes as text may matter to the model: it is no message for people."""
    file = frame.f_code.co_filename
    return not file.startswith((TORCH_FOLDER, _OURS)) and not file.endswith(_TEXT_FOR_PEOPLE)


def is_models_own(frame: FrameType | None) -> bool:
    """Whether the model's code is what runs there, or has Python's own library run for it."""
    while frame is not None and frame.f_code.co_filename in _TYPE_TESTS:
        frame = frame.f_back
    if frame is None or is_torchs_or_ours(frame.f_code.co_filename):
        return False
    return not _is_made_by_torch(frame)


@functools.cache
def is_torchs_or_ours(file: str) -> bool:
    """Whether code of a file is torch's, or ours that calls torch."""
    return file.startswith((TORCH_FOLDER, _OURS))


_TYPE_TESTS = frozenset({"<frozen abc>", abc.__file__, functools.__file__})
"""Python's own files that test an object's type for somebody else."""
