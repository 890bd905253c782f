"""How ops are spelled in the public API: {0}, {1} are operands, names are parameters.

All spellings of an op mean the same. A test reads the names out of these texts and fails for any
public function or method that no spelling has.
"""

from __future__ import annotations

import numpy as np

from anyshape.ir.opdef import all_ops

OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "mod": "%",
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip

BINARY = (*OPERATORS, "maximum", "minimum", "logical_and", "logical_or", "logical_xor")

NUMPY_NAMES = {"mod": "remainder"}
NO_UFUNC = ("logical_xor",)

PUBLIC = tuple(op.name for op in all_ops() if op.public)
FLOAT_FUNCTIONS = (*PUBLIC, "gelu", "silu")
OTHER_UNARY = (
    "abs", "sign", "square", "reciprocal", "floor", "ceil", "round", "isnan", "isinf", "isfinite",
    "logical_not", "bitwise_not", "negative", "relu",
)  # fmt: skip
UFUNCS_OF_ONE = {
    **{
        name: name
        for name in (
            "floor", "ceil", "sign", "square", "isnan", "isinf", "isfinite", "negative",
            "logical_not", *(name for name in PUBLIC if hasattr(np, name)),
        )
    },
    "abs": "absolute", "round": "rint", "bitwise_not": "invert",
}  # fmt: skip

REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "logsumexp")
CORRECTED = ("var", "std")
CUMULATIVE = ("cumsum", "cumprod", "cummax", "cummin")


def _binary(name: str) -> list[str]:
    spellings = [f"ash.{name}({{0}}, {{1}})"]
    if name in OPERATORS:
        spellings += [f"{{0}} {OPERATORS[name]} {{1}}"] * 2
    if name not in NO_UFUNC:
        spellings.append(f"np.{NUMPY_NAMES.get(name, name)}({{0}}, {{1}})")
    return spellings


def _unary(name: str) -> list[str]:
    spellings = [f"ash.{name}({{0}})"]
    if name in UFUNCS_OF_ONE:
        spellings.append(f"np.{UFUNCS_OF_ONE[name]}({{0}})")
    if name in PUBLIC:
        spellings.append(f"{{0}}.{name}()")
    prefix = {"negative": "-{0}", "abs": "abs({0})", "bitwise_not": "~{0}"}.get(name)
    return [*spellings, prefix] if prefix else spellings


def _reduction(name: str) -> list[str]:
    more = ", correction={correction}" if name in CORRECTED else ""
    spellings = [f"ash.{name}({{0}}, axis={{axis}}, keepdims={{keepdims}}{more})"]
    if name != "logsumexp":
        spellings.append(f"{{0}}.{name}({{axis}}, {{keepdims}}{more})")
    return spellings


SPELLINGS: dict[str, list[str]] = {
    **{name: _binary(name) for name in BINARY},
    **{name: _unary(name) for name in (*FLOAT_FUNCTIONS, *OTHER_UNARY)},
    **{name: _reduction(name) for name in REDUCTIONS},
    **{
        name: [
            f"ash.{name}({{0}}, axis={{axis}}, keepdims={{keepdims}})",
            f"{{0}}.{name}({{axis}}, {{keepdims}})",
        ]
        for name in ("argmax", "argmin")
    },
    **{
        name: [f"ash.{name}({{0}}, {{axis}}, exclusive={{exclusive}}, reverse={{reverse}})"]
        for name in CUMULATIVE
    },
    "gelu": ["ash.gelu({0}, {approximate})"],
    "power": ["{0} ** {1}", "ash.power({0}, {1})"],
    "where": ["ash.where({0}, {1}, {2})", "{1}.where({0}, {2})"],
    "left_shift": ["{0} << {1}", "ash.left_shift({0}, {1})"],
    "right_shift": ["{0} >> {1}", "ash.right_shift({0}, {1})"],
    "clip": ["ash.clip({0}, {1}, {2})"],
    "astype": ["{0}.astype({dtype})"],
    # movement
    "reshape": ["ash.reshape({0}, {shape})", "{0}.reshape({shape})"],
    "ravel": ["ash.ravel({0})", "{0}.ravel()"],
    "transpose": ["ash.transpose({0}, {axes})", "{0}.transpose({axes})"],
    "T": ["{0}.T"],
    "squeeze": ["ash.squeeze({0}, {axis})", "{0}.squeeze({axis})"],
    "expand_dims": ["ash.expand_dims({0}, {axis})"],
    "swapaxes": ["ash.swapaxes({0}, {axis1}, {axis2})", "{0}.swapaxes({axis1}, {axis2})"],
    "moveaxis": ["ash.moveaxis({0}, {source}, {destination})"],
    "matrix_transpose": ["ash.matrix_transpose({0})", "{0}.mT"],
    "broadcast_to": ["ash.broadcast_to({0}, {shape})"],
    "flip": ["ash.flip({0}, {axis})"],
    "repeat": ["ash.repeat({0}, {repeats}, {axis})"],
    "index": ["{0}[{item}]"],
    "take": ["ash.take({0}, {1}, axis={axis})", "{0}.take({1}, {axis})"],
    "gather": ["ash.gather({0}, {1}, {axis})"],
    "concat": ["ash.concat([{all}], axis={axis})"],
    "stack": ["ash.stack([{all}], axis={axis})"],
    "split": ["ash.split({0}, {sections}, axis={axis})"],
    "pad": ["ash.pad({0}, {width}, {1})"],
    "tril": ["ash.tril({0}, {k})"],
    "triu": ["ash.triu({0}, {k})"],
    # from nothing
    "full": ["ash.full({shape}, {value}, {dtype})"],
    "zeros": ["ash.zeros({shape}, {dtype})"],
    "ones": ["ash.ones({shape}, {dtype})"],
    "full_like": ["ash.full_like({0}, {value}, {dtype})"],
    "zeros_like": ["ash.zeros_like({0})"],
    "ones_like": ["ash.ones_like({0})"],
    "iota": ["ash.iota({shape}, {axis}, {dtype})"],
    "arange": ["ash.arange({start}, {stop}, {step}, {dtype})"],
    "eye": ["ash.eye({rows}, {columns}, {dtype})"],
    "one_hot": ["ash.one_hot({0}, {classes}, {dtype})"],
    "asarray": ["ash.asarray({0}, {dtype})"],
    "argwhere": ["ash.argwhere({0})"],
    "nonzero": ["ash.nonzero({0})", "{0}.nonzero()"],
    "size_value": ["ash.asarray({size})"],
    # order and selection
    "sort": [
        "ash.sort({0}, {axis}, {descending})",
        "{0}.sort(dim={axis}, descending={descending})",
    ],
    "argsort": ["ash.argsort({0}, {axis}, {descending})", "{0}.argsort({axis}, {descending})"],
    "topk": ["ash.topk({0}, {k}, {axis}, {largest})", "{0}.topk({k}, {axis}, {largest})"],
    "kthvalue": ["ash.kthvalue({0}, {k}, {axis}).values"],
    "median": ["ash.median({0}, {axis}).values"],
    "mode": ["ash.mode({0}, {axis}).values"],
    "searchsorted": [
        "ash.searchsorted({1}, {0}, right={right})",
        "ash.bucketize({0}, {1}, right={right})",
        "ash.digitize({0}, {1}, right=not {right})",
    ],
    "isin": ["ash.isin({0}, {1})"],
    "histc": ["ash.histc({0}, {bins}, {low}, {high})"],
    "take_along": ["ash.take_along({0}, {1}, {axis})", "{0}.take_along({1}, {axis})"],
    "scatter": ["ash.scatter({0}, {dim}, {1}, {2})", "{0}.scatter({dim}, {1}, {2})"],
    "scatter_add": ["ash.scatter_add({0}, {dim}, {1}, {2})", "{0}.scatter_add({dim}, {1}, {2})"],
    "compress": ["ash.compress({0}, {1}, {axis})", "{1}.compress({0}, {axis})"],
    "masked_select": ["ash.masked_select({0}, {1})", "{0}.masked_select({1})", "{0}[{1}]"],
    "unique": ["ash.unique({0}, True, True, True)", "{0}.unique(True, True, True)"],
    "bincount": ["ash.bincount({0}, None, {minlength})", "{0}.bincount(minlength={minlength})"],
    "weighted_bincount": ["ash.bincount({0}, {1})", "{0}.bincount({1})"],
    "repeat_interleave": [
        "ash.repeat_interleave({0}, {1}, {axis})",
        "{0}.repeat_interleave({1}, {axis})",
    ],
    # products
    "matmul": ["{0} @ {1}", "ash.matmul({0}, {1})", "np.matmul({0}, {1})"],
    "dot_general": ["ash.dot_general({0}, {1}, {contract}, {batch})"],
    "vecdot": ["ash.vecdot({0}, {1})"],
    "outer": ["ash.outer({0}, {1})"],
    "einsum": ["ash.einsum({equation}, {all})"],
    "grouped_dot": ["ash.grouped_dot({0}, {1}, {2})"],
    "dense": ["ash.dense({all}, activation={activation})"],
    # layers
    "softmax": ["ash.softmax({0}, axis={axis})"],
    "log_softmax": ["ash.log_softmax({0}, axis={axis})"],
    "layer_norm": ["ash.layer_norm({all}, axis={axis})"],
    "rms_norm": ["ash.rms_norm({all}, axis={axis}, eps={eps})"],
    "attention": ["ash.attention({all}, causal={causal}, scale={scale})"],
    # control flow
    "cond": ["ash.cond({0}, lambda: ash.{then}({1}, {2}), lambda: ash.{other}({1}, {2}))"],
    "while_loop": [
        "ash.while_loop(lambda i, s: i < {times}, "
        "lambda i, s: (i + 1, ash.{step}(s, {1}).astype(s.dtype)), 0, {0})[1]"
    ],
    "scan": [
        "ash.scan(lambda s, x: (ash.{step}(s, x).astype(s.dtype), ash.{output}(s, x)), "
        "{0}, {1}, reverse={reverse})"
    ],
}
