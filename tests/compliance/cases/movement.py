"""Movement: the same bits in other places, for every dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, emit

from anyshape.ir.types import ALL_DTYPES

CASES = Collection()


def all_dtypes(
    op: str,
    label: str,
    inputs: tuple[str, ...],
    attrs: dict[str, object],
    result: str,
    expect: Callable[..., Any],
    facts: tuple[str, ...] = (),
    **options: Any,
) -> None:
    """The first label with every dtype, `T` standing for it; all others with f32 only."""
    first = op not in {case.op for case in CASES.cases}
    for dtype in ALL_DTYPES if first else [ALL_DTYPES[1]]:
        typed = tuple(text.replace("T[", f"{dtype}[") for text in inputs)
        CASES.add(
            op, f"{label} {dtype}", typed, emit(op, **attrs), (result.replace("T[", f"{dtype}["),),
            expect, facts, **options,
        )  # fmt: skip


# --- reshape, transpose, broadcast, reverse -------------------------------------------------------

all_dtypes(
    "reshape", "merge", ("T[batch, seq, 4]",), {"shape": ("batch*seq", 2, 2)},
    "T[batch*seq, 2, 2]", lambda x: x.reshape(x.shape[0] * x.shape[1], 2, 2),
)  # fmt: skip
all_dtypes(
    "reshape", "split", ("T[batch, 8*heads]",), {"shape": ("batch", "heads", 8)},
    "T[batch, heads, 8]", lambda x: x.reshape(x.shape[0], x.shape[1] // 8, 8),
)  # fmt: skip
all_dtypes(
    "reshape", "split that must divide", ("T[batch, seq]",), {"shape": ("batch", "seq//4", 4)},
    "T[batch, seq//4, 4]", lambda x: x.reshape(x.shape[0], x.shape[1] // 4, 4),
    ("batch*seq == 4*batch*(seq//4)",), sizes=({"batch": 3, "seq": 12},),
)  # fmt: skip
all_dtypes(
    "reshape", "declared split", ("T[batch, seq]",), {"shape": ("batch", "seq//4", 4)},
    "T[batch, seq//4, 4]", lambda x: x.reshape(x.shape[0], x.shape[1] // 4, 4),
    given="axes { seq: 0..64 multiple_of 4 }", sizes=({"batch": 3, "seq": 12},),
)  # fmt: skip
all_dtypes(
    "reshape", "to a scalar", ("T[1, 1]",), {"shape": ()}, "T[]", lambda x: x.reshape(()),
)  # fmt: skip
CASES.add(
    "reshape", "fresh", ("f32[?, 4]",),
    lambda b, x: b.emit("reshape", x, shape=(2 * x.tensor.shape[0], 2)), ("f32[2*?0, 2]",),
    lambda x: x.reshape(-1, 2),
)  # fmt: skip

all_dtypes(
    "transpose", "[2, 0, 1]", ("T[batch, seq//2 + 1, ?]",), {"perm": (2, 0, 1)},
    "T[?0, batch, seq//2 + 1]", lambda x: np.moveaxis(x, 2, 0), sizes=(),
)  # fmt: skip
all_dtypes("transpose", "of a scalar", ("T[]",), {"perm": ()}, "T[]", lambda x: x)

for _dtype in ALL_DTYPES:
    CASES.add(
        "broadcast", f"new axes {_dtype}", (f"{_dtype}[batch, 1]", "f32[seq]"),
        lambda b, x, y: b.emit("broadcast", x, shape=("seq//2", "batch", "seq")),
        (f"{_dtype}[seq//2, batch, seq]",),
        lambda x, y: np.tile(x, (len(y) // 2, 1, len(y))),
    )  # fmt: skip
CASES.add(
    "broadcast", "perhaps 1", ("f32[?, 3]", "f32[seq]"),
    lambda b, x, y: b.emit("broadcast", x, shape=("seq//2", 3)), ("f32[seq//2, 3]",),
    lambda x, y: x if len(x) == len(y) // 2 else np.tile(x, (len(y) // 2, 1)),
    ("broadcastable(?0, seq//2)", "bcast(?0, seq//2) == seq//2"),
    sizes=({"?0": 1, "seq": 7}, {"?0": 4, "seq": 9}, {"?0": 1, "seq": 0}),
)  # fmt: skip
all_dtypes(
    "broadcast", "of a scalar", ("T[]",), {"shape": (3, 5)}, "T[3, 5]", lambda x: np.tile(x, (3, 5))
)

all_dtypes(
    "reverse", "two axes", ("T[batch, seq, 3]",), {"axes": (0, 2)}, "T[batch, seq, 3]",
    lambda x: x[::-1, :, ::-1],
)  # fmt: skip
all_dtypes(
    "reverse", "no axes", ("T[2*seq - 1]",), {"axes": ()}, "T[2*seq - 1]", lambda x: x,
)  # fmt: skip


# --- slice, concat, pad ---------------------------------------------------------------------------

all_dtypes(
    "slice", "halves", ("T[batch, seq]",),
    {"starts": (0, "seq//2"), "stops": ("batch", "seq"), "steps": (1, 1)},
    "T[batch, seq - seq//2]", lambda x: x[:, x.shape[1] // 2 :],
)  # fmt: skip
all_dtypes(
    "slice", "every third", ("T[batch, seq]",),
    {"starts": (0, 0), "stops": ("batch", "seq"), "steps": (1, 3)},
    "T[batch, (seq + 2)//3]", lambda x: x[:, ::3],
)  # fmt: skip
all_dtypes(
    "slice", "without the first and last", ("T[batch, seq]",),
    {"starts": (0, 1), "stops": ("batch", "seq - 1"), "steps": (1, 1)},
    "T[batch, seq - 2]", lambda x: x[:, 1:-1], ("1 <= seq - 1",),
)  # fmt: skip
all_dtypes(
    "slice", "a window", ("T[10, seq]",),
    {"starts": (2, 0), "stops": (9, "seq"), "steps": (2, 1)},
    "T[4, seq]", lambda x: x[2:9:2],
)  # fmt: skip
all_dtypes(
    "slice", "of a scalar", ("T[]",), {"starts": (), "stops": (), "steps": ()}, "T[]", lambda x: x,
)  # fmt: skip

all_dtypes(
    "concat", "three", ("T[batch, seq]", "T[batch, 3]", "T[batch, past]"), {"axis": 1},
    "T[batch, past + seq + 3]", lambda *xs: np.concatenate(xs, 1),
)  # fmt: skip
all_dtypes("concat", "one", ("T[batch, seq]",), {"axis": 0}, "T[batch, seq]", lambda x: x)
all_dtypes(
    "concat", "a fresh dim adopts a name", ("T[2, ?]", "T[n, seq]"), {"axis": 0},
    "T[n + 2, seq]", lambda x, y: np.concatenate([x, y]),
)  # fmt: skip

all_dtypes(
    "append", "rows", ("T[past, 3]", "T[seq, 3]"), {},
    "T[past + seq, 3]", lambda x, y: np.concatenate([x, y]),
)  # fmt: skip

all_dtypes(
    "pad", "to a multiple of 8", ("T[batch, seq]", "T[]"),
    {"low": (0, 0), "high": (0, "8*((seq + 7)//8) - seq")}, "T[batch, 8*((seq + 7)//8)]",
    lambda x, fill: np.pad(x, [(0, 0), (0, -x.shape[1] % 8)], constant_values=fill),
)  # fmt: skip
all_dtypes(
    "pad", "both sides", ("T[batch, seq]", "T[]"), {"low": (0, 1), "high": ("seq", 2)},
    "T[batch + seq, seq + 3]",
    lambda x, fill: np.pad(x, [(0, x.shape[1]), (1, 2)], constant_values=fill),
)  # fmt: skip
all_dtypes(
    "pad", "a scalar", ("T[]", "T[]"), {"low": (), "high": ()}, "T[]", lambda x, fill: x,
)  # fmt: skip
