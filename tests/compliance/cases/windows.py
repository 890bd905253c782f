"""Windows, against NumPy's view of them with strides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from tests.compliance.case import Collection, emit

from anyshape.ir.types import ALL_DTYPES

CASES = Collection()


def _planes(x: Any) -> Any:
    """Windows of 3 by 2 at every second row and every place of a column, 2 apart inside."""
    return sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, :, :, ::2]


_PLANES = {"counts": ("rows + 1", "columns + 1"), "sizes": (3, 2), "steps": (2, 1), "gaps": (1, 2)}

for _dtype in ALL_DTYPES:
    CASES.add(
        "windows", f"of planes {_dtype}", (f"{_dtype}[batch, 2*rows + 3, columns + 3]",),
        emit("windows", **_PLANES),
        (f"{_dtype}[batch, rows + 1, columns + 1, 3, 2]",), _planes,
    )  # fmt: skip
CASES.add(
    "windows", "that must fit", ("f32[seq]",),
    emit("windows", counts=("seq//2",), sizes=(3,), steps=(2,), gaps=(1,)),
    ("f32[seq//2, 3]",), lambda x: x[np.arange(len(x) // 2)[:, None] * 2 + np.arange(3)],
    ("2*(seq//2) <= seq - 1",), sizes=({"seq": 3}, {"seq": 9}),
)  # fmt: skip
CASES.add(
    "windows", "as large as a size", ("f32[batch, seq]", "f32[wide]"),
    lambda b, x, y: b.emit("windows", x, counts=(2,), sizes=("wide",), steps=(1,), gaps=(1,)),
    ("f32[batch, 2, wide]",), lambda x, y: sliding_window_view(x, len(y), axis=1)[:, :2],
    ("wide <= seq - 1",), domain=("wide >= 1",),
    sizes=({"batch": 2, "seq": 5, "wide": 4}, {"batch": 1, "seq": 2, "wide": 1}),
)  # fmt: skip
CASES.add(
    "windows", "of no axes", ("f32[batch]",),
    emit("windows", counts=(), sizes=(), steps=(), gaps=()), ("f32[batch]",), lambda x: x,
)  # fmt: skip
