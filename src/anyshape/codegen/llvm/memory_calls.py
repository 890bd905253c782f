"""Our own memcpy, memmove and memset, for code that may not call a C library.

LLVM turns a loop that copies or fills into one of these calls, whatever the kernel's text says, and
it does so for good reason. Kernels are self-contained, so a kernel that needs them gets this module
linked in. Copying goes by blocks of 32 bytes, with a last block that overlaps its neighbour instead
of a tail loop; fewer bytes are two overlapping halves. All loads of such a pair come before its
stores, and blocks go in the direction in which no byte is overwritten before it was read: memmove
is right for every overlap, and memcpy is the same function.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

NAMES: Final = frozenset({"memcpy", "memmove", "memset"})

_HALVES: Final = (16, 8, 4, 2)  # bytes; two of them cover 2..31 bytes


def memory_call(function: str) -> str | None:
    """Which of `NAMES` a declared function is, or may become if it is LLVM's intrinsic."""
    name = function.removeprefix("llvm.").partition(".")[0]
    return name if name in NAMES else None


def memory_calls_text(names: Set[str] = NAMES) -> str:
    """LLVM IR that defines them, as good as LLVM's optimiser would leave it."""
    copies = _memmove() + _MEMCPY if names & {"memcpy", "memmove"} else ""
    fills = _memset() if "memset" in names else ""
    return copies + fills + _ATTRIBUTES


# `no-builtins` keeps these loops from becoming calls in turn.
_ATTRIBUTES: Final = 'attributes #0 = { nounwind "no-builtins" }\n'

_MEMCPY: Final = "@memcpy = hidden alias ptr (ptr, ptr, i64), ptr @memmove\n"

_MEMMOVE: Final = """\
define hidden ptr @memmove(ptr %to, ptr %from, i64 %n) #0 {
  %is_long = icmp uge i64 %n, 32
  br i1 %is_long, label %long, label %short16
long:
  %last = sub i64 %n, 32
  %to_last = getelementptr i8, ptr %to, i64 %last
  %from_last = getelementptr i8, ptr %from, i64 %last
  %head = load <32 x i8>, ptr %from, align 1
  %tail = load <32 x i8>, ptr %from_last, align 1
  %to_address = ptrtoint ptr %to to i64
  %from_address = ptrtoint ptr %from to i64
  %ahead = sub i64 %to_address, %from_address
  %overwrites = icmp ult i64 %ahead, %n
  br i1 %overwrites, label %down, label %up
up:
  %i = phi i64 [ 0, %long ], [ %i_next, %up_block ]
  %i_more = icmp ult i64 %i, %last
  br i1 %i_more, label %up_block, label %up_end
up_block:
  %from_i = getelementptr i8, ptr %from, i64 %i
  %to_i = getelementptr i8, ptr %to, i64 %i
  %block_i = load <32 x i8>, ptr %from_i, align 1
  store <32 x i8> %block_i, ptr %to_i, align 1
  %i_next = add i64 %i, 32
  br label %up
up_end:
  store <32 x i8> %tail, ptr %to_last, align 1
  ret ptr %to
down:
  %j = phi i64 [ %last, %long ], [ %j_next, %down_block ]
  %j_more = icmp sgt i64 %j, 0
  br i1 %j_more, label %down_block, label %down_end
down_block:
  %from_j = getelementptr i8, ptr %from, i64 %j
  %to_j = getelementptr i8, ptr %to, i64 %j
  %block_j = load <32 x i8>, ptr %from_j, align 1
  store <32 x i8> %block_j, ptr %to_j, align 1
  %j_next = sub i64 %j, 32
  br label %down
down_end:
  store <32 x i8> %head, ptr %to, align 1
  ret ptr %to
"""

_MOVE_HALVES: Final = """\
  %b{size} = getelementptr i8, ptr %from, i64 %rest{size}
  %x{size} = load <{size} x i8>, ptr %from, align 1
  %y{size} = load <{size} x i8>, ptr %b{size}, align 1
  %d{size} = getelementptr i8, ptr %to, i64 %rest{size}
  store <{size} x i8> %x{size}, ptr %to, align 1
  store <{size} x i8> %y{size}, ptr %d{size}, align 1
"""

_MOVE_ONE: Final = """\
  %one = load i8, ptr %from, align 1
  store i8 %one, ptr %to, align 1
"""

_MEMSET: Final = """\
define hidden ptr @memset(ptr %to, i32 %value, i64 %n) #0 {
  %byte = trunc i32 %value to i8
  %lane = insertelement <32 x i8> poison, i8 %byte, i64 0
  %block = shufflevector <32 x i8> %lane, <32 x i8> poison, <32 x i32> zeroinitializer
  %is_long = icmp uge i64 %n, 32
  br i1 %is_long, label %long, label %short16
long:
  %last = sub i64 %n, 32
  %to_last = getelementptr i8, ptr %to, i64 %last
  br label %up
up:
  %i = phi i64 [ 0, %long ], [ %i_next, %up_block ]
  %i_more = icmp ult i64 %i, %last
  br i1 %i_more, label %up_block, label %up_end
up_block:
  %to_i = getelementptr i8, ptr %to, i64 %i
  store <32 x i8> %block, ptr %to_i, align 1
  %i_next = add i64 %i, 32
  br label %up
up_end:
  store <32 x i8> %block, ptr %to_last, align 1
  ret ptr %to
"""

_SET_HALVES: Final = """\
  %x{size} = shufflevector <32 x i8> %lane, <32 x i8> poison, <{size} x i32> zeroinitializer
  %d{size} = getelementptr i8, ptr %to, i64 %rest{size}
  store <{size} x i8> %x{size}, ptr %to, align 1
  store <{size} x i8> %x{size}, ptr %d{size}, align 1
"""

_SET_ONE: Final = "  store i8 %byte, ptr %to, align 1\n"


def _memmove() -> str:
    return _MEMMOVE + _short_cases(_MOVE_HALVES, _MOVE_ONE)


def _memset() -> str:
    return _MEMSET + _short_cases(_SET_HALVES, _SET_ONE)


def _short_cases(halves: str, one: str) -> str:
    """Fewer than 32 bytes: the largest half that fits twice, else one byte or none."""
    following = dict(zip(_HALVES, (*_HALVES[1:], 1), strict=True))
    cases = [
        _HALF_CASE.format(size=size, next=following[size], halves=halves.format(size=size))
        for size in _HALVES
    ]
    return "".join(cases) + _ONE_CASE.format(one=one)


_HALF_CASE: Final = """\
short{size}:
  %fits{size} = icmp uge i64 %n, {size}
  br i1 %fits{size}, label %halves{size}, label %short{next}
halves{size}:
  %rest{size} = sub i64 %n, {size}
{halves}  ret ptr %to
"""

_ONE_CASE: Final = """\
short1:
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %nothing, label %single
single:
{one}  br label %nothing
nothing:
  ret ptr %to
}}
"""
