"""The names users may rely on. Adding one is a decision, so it is written down twice."""

import ast
from pathlib import Path
from types import ModuleType

import pytest

import anyshape as ash
from anyshape._public import PLACES
from anyshape.ir.opdef import all_ops

NAMES = [
    "AnyshapeError",
    "Axis",
    "Cancellation",
    "CompiledModule",
    "Executable",
    "ExecutionMode",
    "GradientsWarning",
    "GraphOptimizationLevel",
    "HostOpsWarning",
    "IOBinding",
    "InferenceSession",
    "Jitted",
    "KernelView",
    "LoadedExecutable",
    "LoadedModel",
    "ModelMetadata",
    "NodeArg",
    "Options",
    "ObservedSizes",
    "OrtValue",
    "Ragged",
    "RaggedModule",
    "ResultCache",
    "RunOptions",
    "SessionOptions",
    "Specialization",
    "Tensor",
    "abs",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "asarray",
    "attention",
    "avg_pool",
    "bartlett",
    "bartlett_window",
    "bf16",
    "bincount",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "blackman",
    "blackman_window",
    "bool",
    "broadcast_to",
    "bucketize",
    "ceil",
    "clip",
    "compile",
    "compress",
    "concat",
    "cond",
    "conv",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dense",
    "digitize",
    "divide",
    "dot_general",
    "einsum",
    "equal",
    "errors",
    "expand_dims",
    "eye",
    "f16",
    "f32",
    "f64",
    "fft",
    "flip",
    "floor",
    "floor_divide",
    "full",
    "full_like",
    "gather",
    "gelu",
    "general_cosine_window",
    "get_available_providers",
    "get_device",
    "greater",
    "greater_equal",
    "grid_sample",
    "grouped_dot",
    "hamming",
    "hamming_window",
    "hann_window",
    "hanning",
    "histc",
    "i16",
    "i32",
    "i64",
    "i8",
    "iota",
    "ir",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "istft",
    "jit",
    "kaiser",
    "kaiser_window",
    "kthvalue",
    "layer_norm",
    "learn_buckets",
    "left_shift",
    "less",
    "less_equal",
    "load",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "masked_select",
    "matmul",
    "matrix_transpose",
    "max",
    "max_pool",
    "maximum",
    "mean",
    "median",
    "mel_weights",
    "min",
    "minimum",
    "mod",
    "mode",
    "moveaxis",
    "multiply",
    "name_size",
    "negative",
    "newaxis",
    "nms",
    "nonzero",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "pack",
    "pad",
    "power",
    "prod",
    "ragged",
    "ragged_attention",
    "random",
    "ravel",
    "reciprocal",
    "relu",
    "repeat",
    "repeat_interleave",
    "reshape",
    "right_shift",
    "ring_positions",
    "ring_read",
    "ring_write",
    "rms_norm",
    "round",
    "scan",
    "scatter",
    "scatter_add",
    "searchsorted",
    "segment_first",
    "segment_ids",
    "segment_lengths",
    "segment_max",
    "segment_mean",
    "segment_positions",
    "segment_sum",
    "set_default_logger_severity",
    "sign",
    "silu",
    "softmax",
    "sort",
    "split",
    "square",
    "squeeze",
    "stack",
    "std",
    "stft",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along",
    "topk",
    "transpose",
    "tril",
    "triu",
    "u16",
    "u32",
    "u64",
    "u8",
    "unique",
    "var",
    "vecdot",
    "where",
    "while_loop",
    "windows",
    "worklist",
    "zeros",
    "zeros_like",
]

OF_ENTRIES = [op.name for op in all_ops() if op.public]
"""Functions that come from ops that say so."""


def test_what_type_checkers_read_is_what_is_imported() -> None:
    tree = ast.parse(Path(ash.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    read = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    of_functions = {"*", "_functions"}
    assert {n: place for n, place in read.items() if n not in {*of_functions, "ir"}} == PLACES


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'anyshape' has no attribute 'sofmax'$"):
        ash.sofmax  # noqa: B018
    assert not hasattr(ash, "__wrapped__")


def test_public_names() -> None:
    names = [*NAMES, *OF_ENTRIES]
    assert sorted(ash.__all__) == sorted(names)
    assert all(hasattr(ash, name) for name in names)


def test_nothing_else_is_public_but_the_layers() -> None:
    others = {name for name in vars(ash) if not name.startswith("_")} - {*NAMES, *OF_ENTRIES}
    assert all(isinstance(getattr(ash, name), ModuleType) for name in others)


def test_random() -> None:
    for name in ("key", "new_key", "split", "bits", "uniform", "normal"):
        assert callable(getattr(ash.random, name))
