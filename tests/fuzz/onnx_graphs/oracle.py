"""onnxruntime: a node alone, a whole model, and how far rounding moves a model's results.

Nodes are run alone while a model grows, and once more with noise: each inexact result is moved by
some units in its last place, at random. What differs between such runs is decided by rounding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper
from tests.fuzz.onnx_graphs.program import Node, Program, Type, model_of

DTYPES = {
    "float": "float32", "double": "float64", "float16": "float16", "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip

Values = Mapping[str, Any]
Types = tuple[tuple[str, Type], ...]


def session(model: Any, optimized: bool = False) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


@lru_cache(2048)
def of_node(node: Node, opset: int, types: Types) -> Any:
    """A model of one node; None where onnxruntime takes no such node."""
    inputs = [kind.info(name) for name, kind in types]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.outputs if name]
    graph = helper.make_graph([node.proto()], "node", inputs, outputs)
    try:
        return session(model_of(graph, opset))
    except Exception:
        return None


def types_of(made: Any) -> list[Type | None]:
    """Of a session's outputs; None for what is neither a tensor nor a sequence of them."""
    return [_type(each.type) for each in made.get_outputs()]


def _type(text: str) -> Type | None:
    found = re.fullmatch(r"(seq\()?tensor\((\w+)\)\)?", text)
    if found is None or found[2] not in DTYPES:
        return None
    return Type(DTYPES[found[2]], found[1] is not None)


def ran(made: Any, feeds: Values) -> list[Any] | None:
    """Its results; None where it raises."""
    try:
        return list(made.run(None, dict(feeds)))
    except Exception:
        return None


# --- noise ----------------------------------------------------------------------------------------

MOVED = 4
"""Units in the last place, at most: of one op."""

EXACT = frozenset((
    "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Tile",
    "Concat", "Split", "Slice", "Pad", "Gather", "GatherElements", "GatherND", "Scatter",
    "ScatterElements", "ScatterND", "Compress", "Shape", "Size", "Constant", "Trilu",
    "ConstantOfShape", "Where", "Relu", "Abs", "Neg", "Max", "Min", "Clip", "Ceil", "Floor",
    "Round", "Sign", "ReduceMax", "ReduceMin", "DepthToSpace", "SpaceToDepth", "TopK",
    "MaxPool", "Dropout", "OneHot", "EyeLike", "ReverseSequence", "Unique", "SequenceAt",
    "ConcatFromSequence", "SplitToSequence", "SequenceConstruct", "SequenceInsert",
    "SequenceErase",
))  # fmt: skip


SUMS = frozenset({"DFT"})
"""Ops whose results are sums of positive and negative parts, often 0 where all is exact."""


def noisy(program: Program, number: int, rng: np.random.Generator) -> list[Any] | None:
    """The model's results at one of its sizes, each op with an error of its own."""
    given = {each.name: each.array for each in program.constants} | program.feeds(number)
    values = {name: _moved(value, rng) for name, value in given.items()}
    types = {each.name: Type(each.dtype) for each in (*program.inputs, *program.constants)}
    for node in program.nodes:
        names = sorted(set(node.reads()))
        made = of_node(node, program.opset, tuple((name, types[name]) for name in names))
        results = None if made is None else ran(made, {name: values[name] for name in names})
        if made is None or results is None:
            return None
        outputs = [name for name in node.outputs if name]
        for name, kind, result in zip(outputs, types_of(made), results, strict=True):
            if kind is None:
                return None
            types[name] = kind
            values[name] = result if node.op in EXACT else _moved(result, rng, node.op in SUMS)
    return [values[name] for name, _ in program.outputs]


def _moved(value: Any, rng: np.random.Generator, is_sum: bool = False) -> Any:
    """Whole numbers stay: most are exact. Sums that cancel have errors of what is summed."""
    if isinstance(value, list) or value.dtype.kind != "f":
        return value
    with np.errstate(all="ignore"):
        size = np.max(np.abs(value), initial=0) if is_sum else np.abs(value)
        step = np.spacing(size) * rng.integers(-MOVED, MOVED + 1, value.shape)
        moved = (value + step).astype(value.dtype)
        whole = ((value == np.round(value)) & (not is_sum)) | ~np.isfinite(value)
    return np.where(whole, value, moved)


def spread(program: Program, number: int, runs: int = 6) -> list[Any] | None:
    """For each result, how far noise moves each element: inf where it decides what is there; None
    for one of which it decides the shape. That of a sequence is a list."""
    rng = np.random.default_rng(program.seed)
    found = [noisy(program, number, rng) for _ in range(runs)]
    if any(each is None for each in found):
        return None
    return [_spread(list(column)) for column in zip(*filter(None, found), strict=True)]


def _spread(runs: list[Any]) -> Any:
    if all(isinstance(each, list) and len(each) == len(runs[0]) for each in runs):
        return [_spread(list(column)) for column in zip(*runs, strict=True)]
    if any(isinstance(each, list) or each.shape != runs[0].shape for each in runs):
        return None
    if runs[0].dtype.kind != "f":
        same = np.all([each == runs[0] for each in runs], axis=0)
        return np.where(same, 0.0, np.inf)
    with np.errstate(all="ignore"):
        stacked = np.stack(runs).astype(np.float64)
        found = np.max(stacked, axis=0) - np.min(stacked, axis=0)
        kinds = np.stack([np.isnan(stacked), np.isinf(stacked)])
        changing = (kinds != kinds[:, :1]).any(axis=(0, 1))
    return np.where(changing, np.inf, np.nan_to_num(found, nan=0.0))
