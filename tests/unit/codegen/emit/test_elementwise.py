"""Every elementwise primitive, for every dtype it allows, at sizes around the vector width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.codegen.emit.harness import (
    SIZES,
    TARGETS,
    at,
    buffer,
    each,
    kernel,
    put,
    run,
    same_bits,
    values,
)

from anyshape.base.errors import DTypeError
from anyshape.codegen.llvm import math
from anyshape.codegen.llvm.emit import GENERATORS
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.literal import WeightStore
from anyshape.ir.opdef import Call, OpDef, Trait, all_ops, lookup
from anyshape.ir.types import ALL_DTYPES, DType, bool_, f32
from anyshape.loop import Apply, Kernel

PRIMITIVES = sorted(
    op.name for op in all_ops() if Trait.ELEMENTWISE in op.traits and op.decompose is None
)


def test_every_primitive_has_a_generator():
    assert set(PRIMITIVES) == {*GENERATORS, "cast"}


def operand_dtypes(op: OpDef[Any], dtype: DType) -> tuple[DType, ...]:
    names = op.signature.names
    return (bool_, dtype, dtype) if op.name == "select" else (dtype,) * len(names)


def result_dtype(name: str, dtype: DType) -> DType | None:
    """None if the op does not allow the dtype."""
    op = lookup(name)
    try:
        return op.dtype_rule(name, operand_dtypes(op, dtype), NO_ATTRS)[0]
    except DTypeError:
        return None


def cases() -> Iterator[tuple[DType, tuple[str, ...]]]:
    """Ops in groups small enough to compile quickly."""
    for dtype in ALL_DTYPES:
        names = [n for n in PRIMITIVES if n != "cast" and result_dtype(n, dtype)]
        yield from ((dtype, tuple(names[i : i + 8])) for i in range(0, len(names), 8))


@cache
def map_kernel(dtype: DType, names: tuple[str, ...]) -> Kernel:
    """One output per op."""
    sources = [buffer(f"x{i}", dtype, ["n0", "n1"]) for i in range(2)]
    test = buffer("test", bool_, ["n0", "n1"])
    outs, stores = [], []
    for name in names:
        result = result_dtype(name, dtype)
        assert result
        outs.append(buffer(name, result, ["n0", "n1"], written=True))
        loads = [at(source, "t", "j") for source in sources]
        loads = [at(test, "t", "j"), *loads] if name == "select" else loads
        arity = len(operand_dtypes(lookup(name), dtype))
        stores.append(put(outs[-1], ["t", "j"], Apply(name, tuple(loads[:arity]), result)))
    return kernel([*sources, test, *outs], each(*stores))


def reference(name: str, args: Sequence[NDArray[Any]], result: DType) -> NDArray[Any]:
    op = lookup(name)
    assert op.reference
    call = Call(NO_ATTRS, tuple(args), (result[args[0].shape],), WeightStore(), None)
    return np.asarray(op.reference(call))


def assert_close(name: str, found: NDArray[Any], expected: NDArray[Any]) -> None:
    """To the last bit, but for math functions, which have error bounds (tested elsewhere)."""
    if name not in math.FUNCTIONS or name == "sqrt":
        assert same_bits(found, expected), name
        return
    wide = np.float64 if found.dtype == np.float64 else np.float32
    # What NumPy and we may be apart: a few units in the last place, or one of a 16-bit result.
    room = 8 * np.finfo(wide).eps if found.dtype == wide else 2.0**-7
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            found.astype(wide), expected.astype(wide), rtol=room, atol=1e-37, err_msg=name
        )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "names"), list(cases()), ids=str)
def test_primitives(dtype: DType, names: tuple[str, ...], target: str):
    made = map_kernel(dtype, names)
    for size in SIZES:
        shape = (2, size)
        args = [values(dtype, 2 * size, seed).reshape(shape) for seed in (size, size + 1)]
        test = values(bool_, 2 * size).reshape(shape)
        outs = [np.zeros(shape, out.dtype.numpy) for out in made.results]
        found = run(made, [*args, test, *outs], [2, size], TARGETS[target], at_end=size % 2 == 0)
        for name, out, result in zip(made.results, found[3:], made.results, strict=True):
            operands = [test, *args] if name.name == "select" else args
            arity = len(operand_dtypes(lookup(name.name), dtype))
            expected = reference(name.name, operands[:arity], result.dtype)
            assert_close(name.name, out, expected)


# --- casts ----------------------------------------------------------------------------------------


@cache
def cast_kernel(source: DType) -> Kernel:
    x = buffer("x", source, ["n0", "n1"])
    outs = [buffer(f"to_{d}", d, ["n0", "n1"], written=True) for d in ALL_DTYPES]
    stores = (put(out, ["t", "j"], Apply("cast", (at(x, "t", "j"),), out.dtype)) for out in outs)
    return kernel([x, *outs], each(*stores))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
def test_casts(source: DType, target: str):
    made = cast_kernel(source)
    for size in (1, 33, 1000):
        x = values(source, size, size).reshape(1, size)
        outs = [np.zeros((1, size), out.dtype.numpy) for out in made.results]
        found = run(made, [x, *outs], [1, size], TARGETS[target])
        for out, result in zip(made.results, found[1:], strict=True):
            with np.errstate(all="ignore"):
                expected = x.astype(out.dtype.numpy)
            defined = castable(x, out.dtype)
            assert same_bits(result[defined], expected[defined]), out.name


def castable(x: NDArray[Any], to: DType) -> NDArray[Any]:
    """Where the result is specified: floats that fit, if the target is an integer."""
    if not to.is_integer or x.dtype.kind in "iub":
        return np.full(x.shape, True)
    wide = x.astype(np.float64)
    limits = np.iinfo(to.numpy)
    return (wide > float(limits.min) - 1) & (wide < float(limits.max))


@pytest.mark.parametrize("target", TARGETS)
def test_floats_that_no_integer_holds(target: str):
    """The least integer of 32 bits, whose low bits are 0: in vectors, and in what is left."""
    made = cast_kernel(f32)
    numbers = [np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31) - 512, 3e38, -3e38]
    for size in (1, 7, 63):
        x = np.resize(np.array(numbers, np.float32), (1, size))
        outs = [np.zeros((1, size), out.dtype.numpy) for out in made.results]
        found = run(made, [x, *outs], [1, size], TARGETS[target])
        by_name = dict(zip((out.name for out in made.results), found[1:], strict=True))
        assert (by_name["to_i32"] == np.iinfo(np.int32).min).all()
        assert all((by_name[f"to_{narrow}"] == 0).all() for narrow in ("i8", "u8", "i16", "u16"))


def test_f64_rounds_once_to_f16():
    """2**-11 above 1 is a tie; a little more than that must go up, though f32 cannot see it."""
    x = np.array([[1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 65520.0 - 2.0**-20]])
    made = cast_kernel_to_f16()
    found = run(made, [x, np.zeros((1, 3), np.float16)], [1, 3])[1]
    assert np.array_equal(found, x.astype(np.float16))


def cast_kernel_to_f16() -> Kernel:
    from anyshape.ir.types import f16, f64

    x = buffer("x", f64, ["n0", "n1"])
    out = buffer("out", f16, ["n0", "n1"], written=True)
    return kernel([x, out], each(put(out, ["t", "j"], Apply("cast", (at(x, "t", "j"),), f16))))


def test_float_mod_of_extreme_ratios():
    from anyshape.ir.types import f64

    for dtype, big, small in ((f32, 3e38, 1.4e-45), (f64, 1.7e308, 5e-324)):
        made = map_kernel(dtype, ("floordiv", "mod"))
        numbers = np.array([big, -big, small, -small, 3 * small, 1.0, 7.5, -0.1, big / 3])
        x, y = (m.reshape(1, -1).astype(dtype.numpy) for m in np.meshgrid(numbers, numbers))
        test = np.zeros(x.shape, bool)
        outs = [np.zeros_like(x), np.zeros_like(x)]
        found = run(made, [x, y, test, *outs], [1, x.size])
        assert same_bits(found[3], reference("floordiv", [x, y], dtype))
        assert same_bits(found[4], reference("mod", [x, y], dtype))
