"""The memory's own speed: a copy with streaming stores, and a plain read.

Both are LLVM text of their own and use nothing of anyshape. They work on the first input of a model
and share it evenly between threads; a copy goes to memory that was touched before.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from benchmarks.harness.engines import Call, Engine, library
from benchmarks.harness.model import Array, Model

FLOATS_PER_STEP = 64
ALIGNMENT = 64

# Both take (to, from, number of steps); a step is 64 floats.
KERNELS = """
define void @copy(ptr noalias %to, ptr noalias %from, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr <64 x float>, ptr %from, i64 %i
  %place = getelementptr <64 x float>, ptr %to, i64 %i
  %x = load <64 x float>, ptr %source, align 64
  store <64 x float> %x, ptr %place, align 64, !nontemporal !0
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  fence seq_cst
  ret void
}

define void @read(ptr noalias %to, ptr noalias %from, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <64 x float> [ zeroinitializer, %entry ], [ %added, %loop ]
  %source = getelementptr <64 x float>, ptr %from, i64 %i
  %x = load <64 x float>, ptr %source, align 64
  %added = fadd <64 x float> %sum, %x
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  store <64 x float> %added, ptr %to, align 64
  ret void
}

!0 = !{i32 1}
"""


def aligned(floats: int) -> Array:
    """Memory that begins on a cache line, touched once."""
    spare = ALIGNMENT // 4
    whole = np.ones(floats + spare, np.float32)
    start = -whole.ctypes.data % ALIGNMENT // 4
    return whole[start : start + floats]


class _Code:
    """The two functions, for the CPU this runs on."""

    def __init__(self) -> None:
        llvm = library("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(KERNELS), target)
        self._engine.finalize_object()

    def function(self, name: str) -> Callable[[int, int, int], None]:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        return kind(self._engine.get_function_address(name))


def _stay_on(cpu: int) -> None:
    """Two threads that meet on one CPU would halve the figure."""
    os.sched_setaffinity(0, {cpu})


class _Stream(Engine):
    """One of the functions, on the first input."""

    name: str

    def __init__(self, model: Model, threads: int) -> None:
        self._code = _Code()
        self._function = self._code.function(self.name)
        cpus = sorted(os.sched_getaffinity(0))[:threads]
        self._workers = [ThreadPoolExecutor(1, "stream", _stay_on, (cpu,)) for cpu in cpus]

    def call(self, inputs: Sequence[Array]) -> Call:
        source = aligned(inputs[0].size)
        source[:] = inputs[0].reshape(-1)
        to = aligned(source.size)
        steps = source.size // FLOATS_PER_STEP // len(self._workers)
        share = steps * FLOATS_PER_STEP * 4

        places = [
            (to.ctypes.data + number * share, source.ctypes.data + number * share, steps)
            for number in range(len(self._workers))
        ]

        def call(keep: tuple[Array, Array] = (source, to)) -> None:
            pairs = zip(self._workers, places, strict=True)
            for done in [worker.submit(self._function, *place) for worker, place in pairs]:
                done.result()

        return call

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return ()


class Copy(_Stream):
    """All bytes of the input, to other memory, past the caches."""

    name = "copy"


class Read(_Stream):
    """All bytes of the input, summed."""

    name = "read"


STREAMS = {"copy": Copy, "read": Read}
