"""Compounds against torch.nn.functional in f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, emit
from tests.compliance.expect import as_torch, by_integers, by_torch
from tests.compliance.tolerance import ANY_ZERO, Tolerance, accumulated
from torch.nn import functional

from anyshape.ir.types import FLOATS, NUMERIC

CASES = Collection()

# --- activations ----------------------------------------------------------------------------------

# Where 1 + erf(x) cancels, an error relative to 1 remains.
GELU = Tolerance(ulps=8, absolute=8, signed_zeros=False)
SILU = Tolerance(ulps=8, signed_zeros=False)


def _finite(rng: Any, shapes: Any, dtypes: Any) -> list[Any]:
    """inf * 0 is NaN in the formula; torch agrees in some kernels only."""
    array = rng.normal(0, 3, shapes[0])
    array[rng.random(shapes[0]) < 0.1] = np.nan
    return [array.astype(dtypes[0].numpy)]


for _dtype in FLOATS:
    for _shape in ("[batch, seq]", "[seq//2 + 1, 3]", "[?]", "[]"):
        _result = _shape.replace("?", "?0")
        for _approximate in ("none", "tanh"):
            CASES.add(
                "gelu", f"{_approximate} {_dtype}{_shape}", (f"{_dtype}{_shape}",),
                emit("gelu", approximate=_approximate), (f"{_dtype}{_result}",),
                by_torch(functional.gelu, approximate=_approximate), tolerance=GELU, fill=_finite,
            )  # fmt: skip
        CASES.add(
            "silu", f"{_dtype}{_shape}", (f"{_dtype}{_shape}",), emit("silu"),
            (f"{_dtype}{_result}",), by_torch(functional.silu), tolerance=SILU, fill=_finite,
        )  # fmt: skip

for _dtype in NUMERIC:
    CASES.add(
        "relu", str(_dtype), (f"{_dtype}[batch, seq//2 + 1]",), emit("relu"),
        (f"{_dtype}[batch, seq//2 + 1]",),
        by_torch(functional.relu) if _dtype.is_float else by_integers(lambda x: np.maximum(x, 0)),
        tolerance=ANY_ZERO,
    )  # fmt: skip


# --- softmax --------------------------------------------------------------------------------------


def _with_infinities(rng: Any, shapes: Any, dtypes: Any) -> list[Any]:
    """Large and minus infinite scores; some rows entirely minus infinity."""
    array = rng.normal(0, 4, shapes[0])
    array[rng.random(shapes[0]) < 0.3] = -np.inf
    return [array.astype(dtypes[0].numpy)]


for _dtype in FLOATS:
    for _op, _function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        for _shape, _axis in (("[batch, seq]", 1), ("[seq//2 + 1, batch, 3]", 0)):
            CASES.add(
                _op, f"{_dtype}{_shape}", (f"{_dtype}{_shape}",), emit(_op, axis=_axis),
                (f"{_dtype}{_shape}",), by_torch(_function, dim=_axis),
                tolerance=accumulated(16), fill=_with_infinities,
            )  # fmt: skip


# --- norms ----------------------------------------------------------------------------------------


def _norm(function: Callable[..., Any], axis: int, eps: float) -> Callable[..., Any]:
    def expect(x: Any, *weights: Any) -> Any:
        if 0 in x.shape:
            return np.zeros(x.shape)
        tensors = map(as_torch, weights)
        return function(as_torch(x), x.shape[axis:], *tensors, eps=eps).numpy()

    return expect


NORM = accumulated(64, ulps=16)
NORMS = [
    # label, shape of x, shape of the weights, axis, eps
    ("last axis", "[batch, seq, 8]", "[8]", 2, 1e-5),
    ("dynamic axes", "[batch, seq, seq//2 + 1]", "[seq, seq//2 + 1]", 1, 1e-3),
    ("everything", "[seq]", "[seq]", 0, 0.5),
]

for _dtype in FLOATS:
    for _label, _x, _weight, _axis, _eps in NORMS:
        for _op, _function, _most in (
            ("layer_norm", functional.layer_norm, 2), ("rms_norm", functional.rms_norm, 1)
        ):  # fmt: skip
            for _count in range(_most + 1):
                CASES.add(
                    _op, f"{_label} {_dtype} {_count} weights",
                    (f"{_dtype}{_x}", *[f"{_dtype}{_weight}"] * _count),
                    emit(_op, axis=_axis, eps=_eps), (f"{_dtype}{_x}",),
                    _norm(_function, _axis, _eps), tolerance=NORM,
                )  # fmt: skip
CASES.add(
    "layer_norm", "fresh weights adopt a size", ("f32[batch, seq]", "f32[?]", "f32[?]"),
    emit("layer_norm", axis=1), ("f32[batch, seq]",), _norm(functional.layer_norm, 1, 1e-5),
    tolerance=NORM,
)  # fmt: skip


# --- dense ----------------------------------------------------------------------------------------

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "none": lambda x: x,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}


def _dense(activation: str) -> Callable[..., Any]:
    def expect(x: Any, weight: Any, *bias: Any) -> Any:
        tensors = map(as_torch, (x, np.swapaxes(weight, 0, 1), *bias))
        return ACTIVATIONS[activation](functional.linear(*tensors)).numpy()

    return expect


DENSE = accumulated(512, ulps=32)
for _dtype in FLOATS:
    for _activation in ACTIVATIONS:
        CASES.add(
            "dense", f"{_activation} {_dtype}",
            (f"{_dtype}[batch, seq, 5]", f"{_dtype}[5, n]", f"{_dtype}[n]"),
            emit("dense", activation=_activation), (f"{_dtype}[batch, seq, n]",),
            _dense(_activation), tolerance=DENSE,
        )  # fmt: skip
    CASES.add(
        "dense", f"without bias {_dtype}", (f"{_dtype}[seq//2 + 1]", f"{_dtype}[?, 3]"),
        emit("dense"), (f"{_dtype}[3]",), _dense("none"), tolerance=DENSE,
    )  # fmt: skip
