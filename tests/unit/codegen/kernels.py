"""Kernels as LLVM IR, each with something that the compiler or the loader must get right."""

from pathlib import Path

from anyshape.codegen.llvm.isa import FMA
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.execute.target import target_for

HOST = target_for().llvm
TARGETS = {"host": HOST, **NAMED_TARGETS}

# One loop over `body`, which may use %i; %n is the trip count.
_LOOP = """
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
"""


def loop(signature: str, body: str) -> str:
    return f"define void {signature} {{{_LOOP.format(body=body)}}}\n"


ADD = loop(
    "@add(ptr %a, ptr %b, ptr %c, i64 %n)",
    """
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %z = fadd float %x, %y
  store float %z, ptr %pc""",
)

# LLVM makes these calls of memset, memcpy and memmove.
FILL = loop(
    "@fill(ptr %a, i64 %n)",
    """
  %pa = getelementptr float, ptr %a, i64 %i
  store float 0.0, ptr %pa""",
)
COPY = loop(
    "@copy(ptr noalias %a, ptr noalias %b, i64 %n)",
    """
  %pa = getelementptr i8, ptr %a, i64 %i
  %pb = getelementptr i8, ptr %b, i64 %i
  %x = load i8, ptr %pb
  store i8 %x, ptr %pa""",
)
SHIFT = loop(
    "@shift(ptr %a, i64 %n)",
    """
  %pa = getelementptr i8, ptr %a, i64 %i
  %pb = getelementptr i8, ptr %pa, i64 1
  %x = load i8, ptr %pb
  store i8 %x, ptr %pa""",
)
FILL_BYTES = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @fill_bytes(ptr %a, i8 %x, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %a, i8 %x, i64 %n, i1 false)
  ret void
}
"""
MOVE_BYTES = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define void @move_bytes(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
"""

# A constant pool, a table, a table of addresses, a public constant, calls, and a jump table.
TABLES = """
@squares = internal constant [8 x i32] [i32 0, i32 1, i32 4, i32 9, i32 16, i32 25, i32 36, i32 49]
@public = constant [3 x i32] [i32 100, i32 200, i32 300]
@functions = internal constant [3 x ptr] [ptr @triple, ptr @flip, ptr @flip_add]

define i32 @triple(i32 %x) noinline {
  %r = mul i32 %x, 3
  ret i32 %r
}
define internal i32 @flip(i32 %x) noinline {
  %r = xor i32 %x, 77
  ret i32 %r
}
define i32 @flip_add(i32 %x) noinline {
  %f = call i32 @flip(i32 %x)
  %r = add i32 %f, 1
  ret i32 %r
}
define i32 @dispatch(i64 %i, i32 %x) {
  %slot = getelementptr ptr, ptr @functions, i64 %i
  %function = load ptr, ptr %slot
  %y = call i32 %function(i32 %x)
  %offset = getelementptr i32, ptr @public, i64 %i
  %z = load i32, ptr %offset
  %r = add i32 %y, %z
  ret i32 %r
}
define i32 @square(i64 %i) {
  %slot = getelementptr i32, ptr @squares, i64 %i
  %r = load i32, ptr %slot
  ret i32 %r
}
define double @polynomial(double %x) {
  %a = fmul double %x, 3.25
  %b = fadd double %a, 0.1
  ret double %b
}
define i32 @choose(i32 %i, i32 %x) {
  switch i32 %i, label %other [ i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d ]
a:
  %va = call i32 @triple(i32 %x)
  ret i32 %va
b:
  %vb = sdiv i32 %x, 7
  ret i32 %vb
c:
  %vc = call i32 @flip(i32 %x)
  ret i32 %vc
d:
  %vd = mul i32 %x, %x
  ret i32 %vd
other:
  ret i32 -1
}
"""

GEMM = (Path(__file__).parents[3] / "benchmarks/gemm.ll").read_text()

ALL = {
    "add": ADD,
    "fill": FILL,
    "copy": COPY,
    "shift": SHIFT,
    "fill_bytes": FILL_BYTES,
    "move_bytes": MOVE_BYTES,
    "tables": TABLES,
    "gemm": GEMM,
}


def text_for(name: str, target: LlvmTarget) -> str:
    """Without fused multiply-add, a product and a sum."""
    text = ALL[name]
    if FMA in target.instruction_set.software:
        return text.replace("llvm.fma.", "llvm.fmuladd.")
    return text


def many(count: int) -> list[str]:
    """Distinct kernels."""
    return [
        ADD.replace("@add", f"@add_{i}").replace("fadd", ("fadd", "fmul")[i % 2])
        for i in range(count)
    ]
