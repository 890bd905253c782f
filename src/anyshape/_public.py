"""Where public names are, for the first use of each.

`__init__.py` imports the same for type checkers; tests/unit/frontend/test_public_names.py compares
the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

FUNCTIONS: Final = "anyshape.frontend.builder.functions"
"""Functions that come from the entries of ops, by the names of their ops."""

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "anyshape.api": (
        "CompiledModule",
        "Jitted",
        "RaggedModule",
        "compile",
        "jit",
    ),
    "anyshape.api.batches": ("Batch", "batches"),
    "anyshape.api.strategies": ("strategies",),
    "anyshape.base": ("errors",),
    "anyshape.base.errors": ("AnyshapeError",),
    "anyshape.base.options": ("Options",),
    "anyshape.base.warnings": (
        "GradientsWarning",
        "HostOpsWarning",
    ),
    "anyshape.dynamic.buckets": ("learn_buckets",),
    "anyshape.execute": (
        "CallProfile",
        "Executable",
        "Hot",
        "KernelView",
        "ObservedSizes",
        "ResultCache",
        "Specialization",
    ),
    "anyshape.frontend.builder": (
        "fft",
        "random",
    ),
    "anyshape.frontend.builder.assemble": (
        "concat",
        "pad",
        "repeat",
        "split",
        "stack",
    ),
    "anyshape.frontend.builder.compound": (
        "attention",
        "dense",
        "gelu",
        "layer_norm",
        "log_softmax",
        "relu",
        "rms_norm",
        "silu",
        "softmax",
    ),
    "anyshape.frontend.builder.control": (
        "cond",
        "scan",
        "while_loop",
    ),
    "anyshape.frontend.builder.conv": ("conv",),
    "anyshape.frontend.builder.convert": ("asarray",),
    "anyshape.frontend.builder.cumulative": (
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
    ),
    "anyshape.frontend.builder.dot": (
        "dot_general",
        "grouped_dot",
        "matmul",
        "outer",
        "vecdot",
    ),
    "anyshape.frontend.builder.einsum": ("einsum",),
    "anyshape.frontend.builder.elementwise": (
        "abs",
        "add",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "ceil",
        "clip",
        "divide",
        "equal",
        "floor",
        "floor_divide",
        "greater",
        "greater_equal",
        "isfinite",
        "isinf",
        "isnan",
        "left_shift",
        "less",
        "less_equal",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
        "mod",
        "multiply",
        "negative",
        "not_equal",
        "power",
        "reciprocal",
        "right_shift",
        "round",
        "sign",
        "square",
        "subtract",
        "where",
    ),
    "anyshape.frontend.builder.grid_sample": ("grid_sample",),
    "anyshape.frontend.builder.late": (
        "argwhere",
        "bincount",
        "compress",
        "masked_select",
        "nonzero",
        "repeat_interleave",
        "unique",
    ),
    "anyshape.frontend.builder.movement": (
        "broadcast_to",
        "expand_dims",
        "flip",
        "gather",
        "matrix_transpose",
        "moveaxis",
        "ravel",
        "reshape",
        "squeeze",
        "swapaxes",
        "take",
        "transpose",
    ),
    "anyshape.frontend.builder.name_size": ("name_size",),
    "anyshape.frontend.builder.nms": ("nms",),
    "anyshape.frontend.builder.order": (
        "argsort",
        "kthvalue",
        "median",
        "mode",
        "sort",
        "topk",
    ),
    "anyshape.frontend.builder.pool": (
        "avg_pool",
        "max_pool",
        "windows",
    ),
    "anyshape.frontend.builder.ragged": (
        "ragged_attention",
        "segment_first",
        "segment_ids",
        "segment_lengths",
        "segment_max",
        "segment_mean",
        "segment_positions",
        "segment_sum",
    ),
    "anyshape.frontend.builder.ragged_value": ("Ragged", "pack"),
    "anyshape.frontend.builder.reduce": (
        "all",
        "any",
        "argmax",
        "argmin",
        "logsumexp",
        "max",
        "mean",
        "min",
        "prod",
        "std",
        "sum",
        "var",
    ),
    "anyshape.frontend.builder.ring": (
        "ring_positions",
        "ring_read",
        "ring_write",
    ),
    "anyshape.frontend.builder.scatter": (
        "scatter",
        "scatter_add",
        "take_along",
    ),
    "anyshape.frontend.builder.search": (
        "bucketize",
        "digitize",
        "histc",
        "isin",
        "searchsorted",
    ),
    "anyshape.frontend.builder.signal": (
        "bartlett",
        "bartlett_window",
        "blackman",
        "blackman_window",
        "general_cosine_window",
        "hamming",
        "hamming_window",
        "hann_window",
        "hanning",
        "istft",
        "kaiser",
        "kaiser_window",
        "mel_weights",
        "stft",
    ),
    "anyshape.frontend.builder.source": (
        "arange",
        "eye",
        "full",
        "full_like",
        "iota",
        "one_hot",
        "ones",
        "ones_like",
        "tril",
        "triu",
        "zeros",
        "zeros_like",
    ),
    "anyshape.frontend.builder.tensor": ("Tensor",),
    "anyshape.frontend.builder.worklist": ("worklist",),
    "anyshape.ir.types": (
        "bf16",
        "f16",
        "f32",
        "f64",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
    ),
    "anyshape.runtime.limits": ("Cancellation",),
    "anyshape.session": (
        "ExecutionMode",
        "GraphOptimizationLevel",
        "InferenceSession",
        "IOBinding",
        "ModelMetadata",
        "NodeArg",
        "OrtValue",
        "RunOptions",
        "SessionOptions",
        "get_available_providers",
        "get_device",
        "set_default_logger_severity",
    ),
    "anyshape.sym": ("Axis", "ragged"),
}

RENAMED: Final[Mapping[str, tuple[str, str]]] = {
    "bool": ("anyshape.ir.types", "bool_"),
}

PLACES: Final[Mapping[str, tuple[str, str]]] = {
    **{name: (module, name) for module, names in MODULES.items() for name in names},
    **RENAMED,
}
"""The module of each name, and what it is called there."""

_LOADED: Final = ("LoadedExecutable", "LoadedModel", "LoadedRaggedModel", "load")

NAMES: Final = (*PLACES, *_LOADED, "ir", "newaxis")
"""All but the functions that come from ops."""


def found(name: str) -> Any:
    """What a public name stands for, or a layer of that name."""
    if name in PLACES:
        return _member(*PLACES[name])
    if name in import_module(FUNCTIONS).__all__:
        return _member(FUNCTIONS, name)
    try:
        return import_module(f"anyshape.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'anyshape' has no attribute {name!r}") from None


def _member(module: str, name: str) -> Any:
    holder: ModuleType = import_module(module)
    return getattr(holder, name) if hasattr(holder, name) else import_module(f"{module}.{name}")
