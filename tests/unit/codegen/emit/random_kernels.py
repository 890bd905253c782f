"""Random kernels against the interpreter, with every buffer against a protected page.

    python -m tests.unit.codegen.emit.random_kernels SEED COUNT

An access outside a buffer is a crash, hence a process of its own. Floats that were computed are
never compared or converted to integers, so that a last bit cannot turn into a different branch.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.unit.codegen.emit.harness import TARGETS, J, at, interpreted, kernel, run, values
from tests.unit.codegen.emit.harness import buffer as make_buffer

from anyshape.ir.types import DType, bf16, bool_, f16, f32, f64, i32, i64, u8
from anyshape.loop import (
    Accumulator,
    Apply,
    Bind,
    Buffer,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Local,
    Number,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.printer import kernel_text
from anyshape.sym import Dim, Less, LessEqual, Symbol

DTYPES = (f32, f32, f32, f64, f16, bf16, i32, i64, u8, bool_)
UNARY = {"float": ("neg", "abs", "floor", "round", "sign"), "int": ("neg", "abs", "sign")}
BINARY = {
    "float": ("add", "sub", "mul", "maximum", "minimum"),
    "int": ("add", "sub", "mul", "maximum", "minimum", "floordiv", "mod", "bitwise_xor"),
    "uint": ("add", "sub", "mul", "maximum", "minimum", "floordiv", "mod", "bitwise_and"),
    "bool": ("logical_and", "logical_or", "eq"),
}
REDUCE = {"bool": ("logical_and", "logical_or")}
SHAPES = (("n0", "n1"), ("n1",), ("n0",), ("n1", "n0"), ("n1 + n2",), ("n0", "3*n1"), ("n2",))
TOLERANCE = {f32: 1e-4, f64: 1e-10, f16: 0.05, bf16: 0.2}
INNER, K = Symbol("i"), Symbol("k")


@dataclass
class Maker:
    """Makes one kernel; sizes are n0 rows, n1 columns and n2 of something else."""

    random: Random
    buffers: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    locals: list[Local] = field(default_factory=list[Local])
    bound: bool = False

    def kernel(self) -> Kernel:
        body: list[Statement] = []
        for _ in range(self.random.randint(1, 3)):
            body += self.random.choice((self.map, self.map, self.reduction, self.columns))()
            self.bound = False
        buffers = list(self.buffers.values())
        return kernel(buffers, *body, sizes=("n0", "n1", "n2"))

    def source(self, dtype: DType, shape: tuple[str, ...]) -> Buffer:
        name = f"x{len(self.buffers)}"
        return self.buffers.setdefault(name, make_buffer(name, dtype, shape))

    def result(self, dtype: DType, shape: tuple[str, ...]) -> Buffer:
        name = f"out{len(self.buffers)}"
        return self.buffers.setdefault(name, make_buffer(name, dtype, shape, written=True))

    # --- statements -----------------------------------------------------------------------------

    def map(self) -> list[Statement]:
        dtype = self.random.choice(DTYPES)
        body: list[Statement] = []
        if self.random.random() < 0.3:
            ids = self.source(self.random.choice((i64, i32)), ("n0", "n1"))
            body.append(Bind(K, at(ids, "t", "j"), Dim.of("n2")))
            self.bound = True
        if self.random.random() < 0.5:
            local = Local(f"v{len(self.buffers)}", dtype)
            body.append(Let(local, self.scalar(dtype, 2)))
            self.locals.append(local)
        out = self.result(dtype, ("n0", "n1"))
        body.append(Store(out, (Dim.of("t"), Dim.of("j")), self.scalar(dtype, 3)))
        self.locals.clear()
        return [For(J, Dim.of("n1"), tuple(body), vector=self.random.random() < 0.8)]

    def reduction(self) -> list[Statement]:
        dtype, total, accumulator = self.accumulator()
        loop = For(J, Dim.of("n1"), (Update(total, self.scalar(dtype, 2)),), (accumulator,), True)
        out = self.result(dtype, ("n0",))
        return [loop, Store(out, (Dim.of("t"),), total)]

    def columns(self) -> list[Statement]:
        dtype, total, accumulator = self.accumulator()
        source = self.source(dtype, ("n2", "n1"))
        inner = For(
            INNER,
            Dim.of("n2"),
            (Update(total, at(source, "i", "j")),),
            (accumulator,),
            self.random.random() < 0.5,
        )
        out = self.result(dtype, ("n0", "n1"))
        return [
            For(
                J, Dim.of("n1"), (inner, Store(out, (Dim.of("t"), Dim.of("j")), total)), vector=True
            )
        ]

    def accumulator(self) -> tuple[DType, Local, Accumulator]:
        dtype = self.random.choice(DTYPES)
        total = Local(f"total{len(self.buffers)}", dtype)
        name = self.random.choice(REDUCE.get(dtype.kind, ("add", "maximum", "minimum")))
        return dtype, total, Accumulator(total, name)

    # --- expressions ----------------------------------------------------------------------------

    def scalar(self, dtype: DType, depth: int) -> Scalar:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(dtype)
        makers = [self.unary, self.binary, self.binary, self.guard, self.select, self.cast]
        return self.random.choice(makers)(dtype, depth - 1)

    def leaf(self, dtype: DType) -> Scalar:
        usable = [local for local in self.locals if local.dtype is dtype]
        if usable and self.random.random() < 0.5:
            return self.random.choice(usable)
        if dtype is i64 and self.random.random() < 0.3:
            return Number(Dim.of(self.random.choice(("j", "t*n1 + j", "n1 - j", "j // 3"))))
        if self.random.random() < 0.2:
            return Literal.of(self.random.randint(0, 3), dtype)
        return self.load(dtype)

    def load(self, dtype: DType) -> Scalar:
        if self.bound and self.random.random() < 0.4:
            return at(self.source(dtype, ("n2",)), "k")
        shape = self.random.choice(SHAPES)
        source = self.source(dtype, shape)
        inside = {
            ("n0", "n1"): [("t", "j"), ("t", "n1 - 1 - j"), ("n0 - 1 - t", "j")],
            ("n1",): [("j",), ("n1 - 1 - j",), ("(j + t) % n1",)],
            ("n0",): [("t",), ("(j + t) % n0",)],
            ("n1", "n0"): [("j", "t")],
            ("n1 + n2",): [("j",), ("j + n2",)],
            ("n0", "3*n1"): [("t", "3*j"), ("t", "j + n1"), ("t", "3*j + 2")],
        }.get(shape)
        if inside is None:  # n2 may be less than n1
            test = (Less(Dim.of("j"), Dim.of("n2")),)
            return Guard(test, at(source, "j"), Literal.of(1, dtype))
        return at(source, *self.random.choice(inside))

    def unary(self, dtype: DType, depth: int) -> Scalar:
        if dtype.kind not in UNARY:
            return self.binary(dtype, depth)
        return Apply(self.random.choice(UNARY[dtype.kind]), (self.leaf(dtype),), dtype)

    def binary(self, dtype: DType, depth: int) -> Scalar:
        name = self.random.choice(BINARY[dtype.kind])
        return Apply(name, (self.scalar(dtype, depth), self.scalar(dtype, depth)), dtype)

    def select(self, dtype: DType, depth: int) -> Scalar:
        kind = self.random.choice((f32, i32, u8))
        test = Apply(
            self.random.choice(("lt", "ge", "ne")), (self.load(kind), self.load(kind)), bool_
        )
        return Apply("select", (test, self.scalar(dtype, depth), self.scalar(dtype, depth)), dtype)

    def cast(self, dtype: DType, depth: int) -> Scalar:
        kinds = (f32, i32, u8, bool_) if dtype.is_float else (i32, i64, u8, bool_)
        source = self.random.choice(kinds)
        return Apply("cast", (self.scalar(source, depth),), dtype)

    def guard(self, dtype: DType, depth: int) -> Scalar:
        """A slice of something else, shifted by n2."""
        j, n1, n2 = (Dim.of(name) for name in ("j", "n1", "n2"))
        tests = self.random.choice(
            (
                (LessEqual(n2, j),),
                (LessEqual(n2, j), Less(j, n1 - 1)),
                (LessEqual(n2, j), LessEqual(j, n2 + 3)),
                (Less(Dim.of("t"), n2), LessEqual(n2, j)),
            )
        )
        inside = at(self.source(dtype, ("n1",)), "j - n2")
        return Guard(tests, inside, self.scalar(dtype, depth))


def arrays_for(made: Kernel, sizes: dict[Symbol, int], seed: int) -> list[NDArray[Any]]:
    arrays: list[NDArray[Any]] = []
    for place, buffer in enumerate(made.buffers):
        shape = tuple(dim.evaluate(sizes) for dim in buffer.shape)
        count = int(np.prod(shape))
        data = values(buffer.dtype, count, seed + place, special=False)
        arrays.append(np.zeros_like(data.reshape(shape)) if buffer.written else data.reshape(shape))
    return arrays


def check(made: Kernel, numbers: tuple[int, int, int], seed: int) -> None:
    sizes = dict(zip(made.sizes, numbers, strict=True))
    arrays = arrays_for(made, sizes, seed)
    wanted = interpreted(made, arrays, numbers)
    for target in TARGETS.values():
        found = run(made, arrays, numbers, target, at_end=seed % 2 == 0)
        for buffer, one, other in zip(made.buffers, found, wanted, strict=True):
            tolerance = TOLERANCE.get(buffer.dtype, 0)
            np.testing.assert_allclose(
                one.astype(np.float64) if tolerance else one,
                other.astype(np.float64) if tolerance else other,
                rtol=tolerance,
                atol=tolerance,
                err_msg=f"{buffer.name} at {numbers} for {target.cpu or 'host'}",
            )


def main(seed: int, count: int) -> None:
    for number in range(seed, seed + count):
        random = Random(number)
        made = Maker(random).kernel()
        print(f"# {number}\n{kernel_text(made)}", file=sys.stderr, flush=True)
        for _ in range(3):
            numbers = (
                random.randint(0, 4),
                random.choice((0, 1, 7, 16, 37, 70)),
                random.randint(1, 40),
            )
            print(f"# sizes {numbers}", file=sys.stderr, flush=True)
            check(made, numbers, number)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
