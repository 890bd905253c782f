"""Random numbers: Philox 4x32-10 written again with Python integers, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection
from tests.compliance.tolerance import Tolerance

from anyshape.ir import Builder, Value, lookup
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.types import FLOATS, DType

CASES = Collection()


def philox_words(key: tuple[int, int], block: int, stream: int) -> tuple[int, int, int, int]:
    """One block of Salmon et al., SC'11, in plain integers."""
    mask = 0xFFFFFFFF
    c = [block & mask, block >> 32, stream, 0]
    k = list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c[0], c[1], c[2], c[3]


def bits(key: Any, shape: tuple[int, ...], stream: int = 0) -> Any:
    count = math.prod(shape)
    pair = (int(key[0]), int(key[1]))
    words = [word for i in range(-(-count // 4)) for word in philox_words(pair, i, stream)]
    return np.array(words[:count], np.uint32).reshape(shape)


def _keys(rng: Any, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    return [rng.integers(0, 1 << 32, 2).astype(np.uint32), np.zeros(shapes[1], np.float32)]


def draw(
    op: str, label: str, shape: tuple[str | int, ...], result: str,
    expect: Callable[..., Any], tolerance: Tolerance, **attrs: object,
) -> None:  # fmt: skip
    """A draw whose shape comes from a second operand."""

    def make(b: Builder, key: Value, x: Value) -> Value:
        return b.emit(op, key, shape=shape, **attrs)

    def sized(key: Any, x: Any) -> Any:
        sizes = {"batch": x.shape[0], "seq//2 + 1": x.shape[1] // 2 + 1}
        return expect(key, tuple(sizes.get(str(size), size) for size in shape))

    CASES.add(
        op, label, ("u32[2]", "f32[batch, seq]"), make, (result,), sized, tolerance=tolerance,
        fill=_keys,
    )  # fmt: skip


EXACT = Tolerance(exact=True)
draw("random_bits", "symbolic", ("batch", "seq//2 + 1"), "u32[batch, seq//2 + 1]", bits, EXACT)
draw("random_bits", "scalar", (), "u32[]", bits, EXACT)
draw(
    "random_bits", "another stream", ("batch", 3), "u32[batch, 3]",
    lambda key, shape: bits(key, shape, 5), EXACT, stream=5,
)  # fmt: skip
CASES.add(
    "random_bits", "a key of fresh size", ("u32[?]",),
    lambda b, key: b.emit("random_bits", key, shape=(7,)), ("u32[7]",),
    lambda key: bits(key, (7,)),
)  # fmt: skip


def _uniform(dtype: DType) -> Callable[..., Any]:
    used = {"f16": 11, "bf16": 8}.get(dtype.name, 24)
    return lambda key, shape: (bits(key, shape) >> (32 - used)) / 2.0**used


def _normal(key: Any, shape: tuple[int, ...]) -> Any:
    """Box-Muller in f64."""
    radius, angle = ((bits(key, shape, stream) >> 8) / 2.0**24 for stream in (0, 1))
    return np.sqrt(-2 * np.log(1 - radius)) * np.cos(2 * np.pi * angle)


# Near zeros of the cosine the f32 angle, up to 2π, has an error of its own.
NORMAL = Tolerance(ulps=64, absolute=32, signed_zeros=False)

for _dtype in FLOATS:
    _result = f"{_dtype}[batch, seq//2 + 1]"
    _shape = ("batch", "seq//2 + 1")
    draw("random_uniform", str(_dtype), _shape, _result, _uniform(_dtype), Tolerance(ulps=0),
         dtype=_dtype)  # fmt: skip
    draw("random_normal", str(_dtype), _shape, _result, _normal, NORMAL, dtype=_dtype)
draw("random_uniform", "scalar", (), "f32[]", _uniform(FLOATS[1]), Tolerance(ulps=0))
draw("random_normal", "scalar", (), "f32[]", _normal, NORMAL)


# --- effects --------------------------------------------------------------------------------------


def _two_keys(b: Builder, x: Value) -> tuple[Value, ...]:
    """Two keys in a stated order, and a draw from the first."""
    first = b.node(lookup("entropy"), [b.emit("token")], NO_ATTRS)
    second = b.node(lookup("entropy"), [first.result(1)], NO_ATTRS)
    drawn = b.emit("random_bits", first.result(0), shape=x.tensor.shape)
    return first.result(0), second.result(0), drawn, second.result(1)


def _keys_differ(run: Callable[[], tuple[Any, ...]]) -> None:
    one, other = run(), run()
    assert [result.dtype for result in one] == [np.uint32] * 3
    assert len({tuple(key) for results in (one, other) for key in results[:2]}) == 4
    assert (one[2] == bits(one[0], one[2].shape)).all()


for _op in ("entropy", "token"):
    CASES.add(
        _op, "keys", ("f32[batch]",), _two_keys, ("u32[2]", "u32[2]", "u32[batch]", "token"),
        None, check=_keys_differ,
    )  # fmt: skip
