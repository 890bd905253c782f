"""Programs written by hand: kernels and shape functions as LLVM text, without any compiler of ours.

`IntegerFunction` assembles `bind` and `shape`; `elementwise` makes a kernel whose tasks are blocks
of `GRAIN` elements. `Handmade` collects words, buffers and steps into a description.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from tests.unit.codegen.kernels import HOST

from anyshape.codegen.llvm.compile import compile_object
from anyshape.program import (
    Address,
    Buffer,
    ConstantStore,
    Input,
    InputStore,
    Output,
    OutputStore,
    ProgramDescription,
    Source,
    Step,
    Store,
    Variant,
    Word,
)
from anyshape.runtime import Code, load_code
from anyshape.runtime.options import RunOptions
from anyshape.runtime.program import Program

GRAIN = 64  # elements of one task
F32 = np.dtype(np.float32)


@cache
def compiled(text: str) -> Code:
    return load_code(compile_object(text, HOST))


# ---- integer functions -------------------------------------------------------------------------


class IntegerFunction:
    """Assembles `i64 name(ptr in, ptr out)`: straight-line code with checks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: list[str] = []
        self._checks = 0
        self._stores = 0

    def _value(self, text: str) -> str:
        name = f"%v{len(self._lines)}"
        self._lines.append(f"  {name} = {text}")
        return name

    def read(self, index: int) -> str:
        return self._value(
            f"load i64, ptr {self._value(f'getelementptr i64, ptr %in, i64 {index}')}"
        )

    def op(self, name: str, a: str | int, b: str | int) -> str:
        return self._value(f"{name} i64 {a}, {b}")

    def ceil_div(self, a: str | int, b: int) -> str:
        return self.op("sdiv", self.op("add", a, b - 1), b)

    def check(self, condition: str, a: str | int, b: str | int) -> None:
        holds = self._value(f"icmp {condition} i64 {a}, {b}")
        n = self._checks
        self._lines += [
            f"  br i1 {holds}, label %ok{n}, label %bad{n}",
            f"bad{n}:",
            f"  ret i64 {n}",
            f"ok{n}:",
        ]
        self._checks += 1

    def store(self, value: str | int) -> int:
        """The index at which it was stored."""
        pointer = self._value(f"getelementptr i64, ptr %out, i64 {self._stores}")
        self._lines.append(f"  store i64 {value}, ptr {pointer}")
        self._stores += 1
        return self._stores - 1

    def text(self) -> str:
        body = "\n".join(self._lines)
        return f"define i64 @{self.name}(ptr %in, ptr %out) {{\n{body}\n  ret i64 -1\n}}\n"


# ---- kernels -----------------------------------------------------------------------------------

_KERNEL = """
define void @kernel(ptr %block, i64 %first, i64 %last, i64 %worker) {{
entry:
{loads}
  %pn = getelementptr i64, ptr %block, i64 {n_index}
  %n = load i64, ptr %pn
  %begin = mul i64 %first, {grain}
  %full = mul i64 %last, {grain}
  %short = icmp slt i64 %full, %n
  %end = select i1 %short, i64 %full, i64 %n
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
{body}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def elementwise(expression: str, operands: int, scalar: str = "float") -> int:
    """The address of a kernel over [operand addresses…, result address, n].

    `expression` is LLVM text that computes %r from %x0, %x1, …
    """
    loads = "\n".join(
        f"  %q{k} = getelementptr i64, ptr %block, i64 {k}\n  %a{k} = load ptr, ptr %q{k}"
        for k in range(operands + 1)
    )
    body = "\n".join(
        f"  %p{k} = getelementptr {scalar}, ptr %a{k}, i64 %i\n  %x{k} = load {scalar}, ptr %p{k}"
        for k in range(operands)
    )
    body += f"""
{expression}
  %pr = getelementptr {scalar}, ptr %a{operands}, i64 %i
  store {scalar} %r, ptr %pr"""
    text = _KERNEL.format(loads=loads, n_index=operands + 1, grain=GRAIN, body=body)
    return compiled(text).address("kernel")


def add_kernel() -> int:
    return elementwise("  %r = fadd float %x0, %x1", 2)


def multiply_kernel() -> int:
    return elementwise("  %r = fmul float %x0, %x1", 2)


def double_kernel() -> int:
    return elementwise("  %r = fadd float %x0, %x0", 1)


# ---- descriptions ------------------------------------------------------------------------------


@dataclass
class Handmade:
    """Collects the parts; `description()` and `program()` compile bind and shape."""

    kernels: list[int] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    bind: IntegerFunction = field(default_factory=lambda: IntegerFunction("bind"))
    shape: IntegerFunction = field(default_factory=lambda: IntegerFunction("shape"))
    symbols: int = 0
    words: int = 0

    def word(self, value: str | int) -> int:
        self.words += 1
        return self.shape.store(value)

    def buffer(self, store: Store[int], nbytes: int) -> int:
        self.buffers.append(Buffer(store, nbytes))
        return len(self.buffers) - 1

    def input(self, name: str, rank: int, nbytes: int, dtype: Any = F32) -> int:
        self.inputs.append(Input(name, np.dtype(dtype), rank))
        return self.buffer(InputStore(len(self.inputs) - 1), nbytes)

    def output(self, dims: Sequence[int], nbytes: int, dtype: Any = F32) -> int:
        number = self.buffer(OutputStore(len(self.outputs)), nbytes)
        self.outputs.append(Output(np.dtype(dtype), tuple(dims), number))
        return number

    def constant(self, array: np.ndarray) -> int:
        self.constants.append(array.ctypes.data)
        return self.buffer(ConstantStore(len(self.constants) - 1), self.word(array.nbytes))

    def variant(self, kernel: int) -> Variant:
        """Of a kernel by its address."""
        if kernel not in self.kernels:
            self.kernels.append(kernel)
        return Variant(self.kernels.index(kernel))

    def step(
        self,
        kernel: int | tuple[int, ...],
        buffers: Sequence[int],
        n: int,
        tasks: int,
        waits: Sequence[int] = (),
        variant: int | None = None,
        cost: int | None = None,
    ) -> int:
        block: tuple[Source, ...] = (*(Address(b) for b in buffers), Word(n))
        kernels = kernel if isinstance(kernel, tuple) else (kernel,)
        variants = tuple(map(self.variant, kernels))
        name = f"step{len(self.steps)}"
        self.steps.append(Step(name, variants, tasks, block, tuple(waits), variant, cost))
        return len(self.steps) - 1

    def description(self) -> ProgramDescription:
        code = compiled(self.bind.text() + self.shape.text())
        return ProgramDescription(
            bind=code.address("bind"),
            shape=code.address("shape"),
            symbols=self.symbols,
            words=self.words,
            kernels=tuple(self.kernels),
            constants=tuple(self.constants),
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            buffers=tuple(self.buffers),
            steps=tuple(self.steps),
        )

    def program(self, **options: int) -> Program:
        return Program(self.description(), options=RunOptions(**options))


@dataclass(frozen=True)
class Sizes:
    """Words of arrays of m×n floats."""

    m: int
    n: int
    count: int
    nbytes: int
    tasks: int


def matrices(made: Handmade, names: Sequence[str], item: int = 4, dtype: Any = F32) -> Sizes:
    """Declare inputs of equal shape m×n; `bind` checks each size of all but the first."""
    made.symbols = 2
    m, n = made.bind.read(0), made.bind.read(1)
    for other in range(1, len(names)):
        made.bind.check("eq", made.bind.read(2 * other), m)
        made.bind.check("eq", made.bind.read(2 * other + 1), n)
    made.bind.store(m)
    made.bind.store(n)
    m, n = made.shape.read(0), made.shape.read(1)
    count = made.shape.op("mul", m, n)
    sizes = Sizes(
        m=made.word(m),
        n=made.word(n),
        count=made.word(count),
        nbytes=made.word(made.shape.op("mul", count, item)),
        tasks=made.word(made.shape.ceil_div(count, GRAIN)),
    )
    for name in names:
        made.input(name, 2, sizes.nbytes, dtype)
    return sizes


def add_program(cost: int | None = None, **options: int) -> Program:
    """a + b, said to cost so many nanoseconds."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    word = None if cost is None else made.word(1000 * cost)
    made.step(add_kernel(), [0, 1, out], sizes.count, sizes.tasks, cost=word)
    return made.program(**options)


Reference = Callable[..., np.ndarray]
