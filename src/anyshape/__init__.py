"""anyshape compiles a model once, with named symbolic axes, and runs it at any shape.

Names are imported when they are first used: a process that runs a saved executable needs none of
what compiles. Type checkers read the imports below, the running program reads `_public.py`.
"""

import typing as _typing
from importlib import import_module as _import_module

from anyshape import _public
from anyshape.base.fork_lock import LOADING as _LOADING
from anyshape.loaded import LoadedExecutable, LoadedModel, LoadedRaggedModel, load

if _typing.TYPE_CHECKING:
    from anyshape import ir
    from anyshape.api import CompiledModule, Jitted, RaggedModule, compile, jit
    from anyshape.api.batches import Batch, batches
    from anyshape.api.strategies import strategies
    from anyshape.base import errors
    from anyshape.base.errors import AnyshapeError
    from anyshape.base.options import Options
    from anyshape.base.warnings import GradientsWarning, HostOpsWarning
    from anyshape.dynamic.buckets import learn_buckets
    from anyshape.execute import (
        CallProfile,
        Executable,
        Hot,
        KernelView,
        ObservedSizes,
        ResultCache,
        Specialization,
    )
    from anyshape.frontend.builder import fft, random
    from anyshape.frontend.builder import functions as _functions
    from anyshape.frontend.builder.assemble import concat, pad, repeat, split, stack
    from anyshape.frontend.builder.compound import (
        attention,
        dense,
        gelu,
        layer_norm,
        log_softmax,
        relu,
        rms_norm,
        silu,
        softmax,
    )
    from anyshape.frontend.builder.control import cond, scan, while_loop
    from anyshape.frontend.builder.conv import conv
    from anyshape.frontend.builder.convert import asarray
    from anyshape.frontend.builder.cumulative import cummax, cummin, cumprod, cumsum
    from anyshape.frontend.builder.dot import dot_general, grouped_dot, matmul, outer, vecdot
    from anyshape.frontend.builder.einsum import einsum
    from anyshape.frontend.builder.elementwise import (
        abs,
        add,
        bitwise_and,
        bitwise_not,
        bitwise_or,
        bitwise_xor,
        ceil,
        clip,
        divide,
        equal,
        floor,
        floor_divide,
        greater,
        greater_equal,
        isfinite,
        isinf,
        isnan,
        left_shift,
        less,
        less_equal,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        maximum,
        minimum,
        mod,
        multiply,
        negative,
        not_equal,
        power,
        reciprocal,
        right_shift,
        round,
        sign,
        square,
        subtract,
        where,
    )
    from anyshape.frontend.builder.functions import *  # noqa: F403  from the entries of ops
    from anyshape.frontend.builder.grid_sample import (
        grid_sample,
    )
    from anyshape.frontend.builder.late import (
        argwhere,
        bincount,
        compress,
        masked_select,
        nonzero,
        repeat_interleave,
        unique,
    )
    from anyshape.frontend.builder.movement import (
        broadcast_to,
        expand_dims,
        flip,
        gather,
        matrix_transpose,
        moveaxis,
        ravel,
        reshape,
        squeeze,
        swapaxes,
        take,
        transpose,
    )
    from anyshape.frontend.builder.name_size import name_size
    from anyshape.frontend.builder.nms import nms
    from anyshape.frontend.builder.order import (
        argsort,
        kthvalue,
        median,
        mode,
        sort,
        topk,
    )
    from anyshape.frontend.builder.pool import avg_pool, max_pool, windows
    from anyshape.frontend.builder.ragged import (
        ragged_attention,
        segment_first,
        segment_ids,
        segment_lengths,
        segment_max,
        segment_mean,
        segment_positions,
        segment_sum,
    )
    from anyshape.frontend.builder.ragged_value import Ragged, pack
    from anyshape.frontend.builder.reduce import (
        all,
        any,
        argmax,
        argmin,
        logsumexp,
        max,
        mean,
        min,
        prod,
        std,
        sum,
        var,
    )
    from anyshape.frontend.builder.ring import ring_positions, ring_read, ring_write
    from anyshape.frontend.builder.scatter import scatter, scatter_add, take_along
    from anyshape.frontend.builder.search import (
        bucketize,
        digitize,
        histc,
        isin,
        searchsorted,
    )
    from anyshape.frontend.builder.signal import (
        bartlett,
        bartlett_window,
        blackman,
        blackman_window,
        general_cosine_window,
        hamming,
        hamming_window,
        hann_window,
        hanning,
        istft,
        kaiser,
        kaiser_window,
        mel_weights,
        stft,
    )
    from anyshape.frontend.builder.source import (
        arange,
        eye,
        full,
        full_like,
        iota,
        one_hot,
        ones,
        ones_like,
        tril,
        triu,
        zeros,
        zeros_like,
    )
    from anyshape.frontend.builder.tensor import Tensor
    from anyshape.frontend.builder.worklist import worklist
    from anyshape.ir.types import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
    from anyshape.ir.types import bool_ as bool
    from anyshape.runtime.limits import Cancellation
    from anyshape.session import (
        ExecutionMode,
        GraphOptimizationLevel,
        InferenceSession,
        IOBinding,
        ModelMetadata,
        NodeArg,
        OrtValue,
        RunOptions,
        SessionOptions,
        get_available_providers,
        get_device,
        set_default_logger_severity,
    )
    from anyshape.sym import Axis, ragged

    __all__ = [
        "AnyshapeError",
        "Axis",
        "Batch",
        "CallProfile",
        "Cancellation",
        "CompiledModule",
        "Executable",
        "ExecutionMode",
        "GradientsWarning",
        "GraphOptimizationLevel",
        "HostOpsWarning",
        "Hot",
        "IOBinding",
        "InferenceSession",
        "Jitted",
        "KernelView",
        "LoadedExecutable",
        "LoadedModel",
        "LoadedRaggedModel",
        "ModelMetadata",
        "NodeArg",
        "ObservedSizes",
        "Options",
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
        "batches",
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
        "i8",
        "i16",
        "i32",
        "i64",
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
        "strategies",
        "subtract",
        "sum",
        "swapaxes",
        "take",
        "take_along",
        "topk",
        "transpose",
        "tril",
        "triu",
        "u8",
        "u16",
        "u32",
        "u64",
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
    __all__ += _functions.__all__

newaxis = None


def __getattr__(name: str) -> _typing.Any:
    """A public name, imported now, and found at once from then on."""
    if name == "__all__":
        return sorted((*_public.NAMES, *_import_module(_public.FUNCTIONS).__all__))
    if name.startswith("__"):  # what else Python asks modules for
        raise AttributeError(f"module 'anyshape' has no attribute {name!r}")
    with _LOADING:
        found = _public.found(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
