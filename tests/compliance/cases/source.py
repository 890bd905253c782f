"""Sources: constants, counting, and sizes as values. All exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.compliance.case import Collection, emit

from anyshape.ir.types import ALL_DTYPES, NUMERIC

CASES = Collection()

# --- constant -------------------------------------------------------------------------------------


def _with_operand(array: Any) -> Any:
    """A constant beside a parameter, so that the graph has sizes to be called with."""
    return lambda b, x: (b.constant(array), b.emit("add", x, b.constant(np.float32(1).reshape(()))))


for _dtype in ALL_DTYPES:
    for _shape in ((), (3,), (0, 2), (33,), (5, 8)):
        _array = (np.arange(np.prod(_shape)).reshape(_shape) % 5).astype(_dtype.numpy)
        CASES.add(
            "constant", f"{_dtype}{list(_shape)}", ("f32[batch]",), _with_operand(_array),
            (f"{_dtype}{list(_shape)}", "f32[batch]"), lambda x, a=_array: (a, x + np.float32(1)),
        )  # fmt: skip

_SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38, 0.1], np.float32)
CASES.add(
    "constant", "special values", ("f32[batch, 1]",),
    lambda b, x: b.emit("select", b.emit("eq", x, x), b.constant(_SPECIAL), x),
    ("f32[batch, 7]",), lambda x: np.broadcast_to(_SPECIAL, (len(x), 7)),
)  # fmt: skip


# --- iota -----------------------------------------------------------------------------------------

for _dtype in NUMERIC:
    CASES.add(
        "iota", str(_dtype), ("f32[batch, seq]",),
        lambda b, x, d=_dtype: b.emit("iota", shape=("batch", "seq//2 + 1"), axis=1, dtype=d),
        (f"{_dtype}[batch, seq//2 + 1]",),
        lambda x, d=_dtype: np.tile(np.arange(x.shape[1] // 2 + 1), (len(x), 1)).astype(d.numpy),
        given="axes { batch: 0..64   seq: 0..64 }",
    )  # fmt: skip
CASES.add(
    "iota", "first axis", ("f32[batch]",),
    lambda b, x: b.emit("iota", shape=("2*batch", 3), axis=0, dtype=x.tensor.dtype),
    ("f32[2*batch, 3]",),
    lambda x: np.repeat(np.arange(2 * len(x)), 3).reshape(-1, 3).astype(np.float32),
    given="axes { batch: 0..64 }",
)  # fmt: skip


# --- sizes ----------------------------------------------------------------------------------------

CASES.add(
    "dim_value", "expression", ("f32[batch, seq]",),
    lambda b, x: b.emit("dim_value", value="batch*(seq//2) - 1"), ("i64[]",),
    lambda x: np.int64(x.shape[0] * (x.shape[1] // 2) - 1),
    given="axes { batch: 0..64   seq: 0..64 }",
)  # fmt: skip
CASES.add(
    "dim_value", "minimum", ("f32[batch, seq]",),
    lambda b, x: b.emit("dim_value", value="min(batch, 4) + max(seq, batch)"), ("i64[]",),
    lambda x: np.int64(min(x.shape[0], 4) + max(x.shape)),
    given="axes { batch: 0..64   seq: 0..64 }",
)  # fmt: skip

for _dtype in ALL_DTYPES:
    CASES.add(
        "dim_of", str(_dtype), (f"{_dtype}[batch, 2*seq + 1]",), emit("dim_of", axis=1),
        ("i64[]",), lambda x: np.int64(x.shape[1]),
    )  # fmt: skip
    CASES.add(
        "shape_of", str(_dtype), (f"{_dtype}[batch, 2*seq + 1, 3]",), emit("shape_of"),
        ("i64[3]",), lambda x: np.array(x.shape, np.int64),
    )  # fmt: skip
CASES.add(
    "dim_of", "fresh", ("f32[?, 4]",), emit("dim_of", axis=0), ("i64[]",),
    lambda x: np.int64(x.shape[0]),
)  # fmt: skip
CASES.add(
    "shape_of", "of a scalar", ("f32[]",), emit("shape_of"), ("i64[0]",),
    lambda x: np.zeros(0, np.int64),
)  # fmt: skip
