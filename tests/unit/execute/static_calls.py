"""A process of its own that calls a compiled function at random sizes while the kernel refuses it
every system call for memory: a filter (seccomp) ends it at the first one.

    python -m tests.unit.execute.static_calls static|exact plain|out|few_specializations [free]

Prints the page faults of these calls. It exits with 0, or is ended by SIGSYS; `free`, without the
filter.
"""

import ctypes
import gc
import os
import platform
import resource
import sys
from typing import Any, Final

import numpy as np

import anyshape as ash

GREATEST: Final = 640
CALLS: Final = 1500

_SYSTEM_CALLS: Final = {  # mmap, mprotect, munmap, brk, mremap, madvise, clone, clone3
    "x86_64": (317, (9, 10, 11, 12, 25, 28, 56, 435)),
    "aarch64": (277, (222, 226, 215, 214, 216, 233, 220, 435)),
}
_KILL_PROCESS, _ALLOW = 0x80000000, 0x7FFF0000
_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS = 38, 1, 1
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


class _Instruction(ctypes.Structure):
    _fields_ = (  # struct sock_filter
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


def refuse_memory() -> None:
    """From now on, in all threads of this process."""
    number, refused = _SYSTEM_CALLS[platform.machine()]
    code = [_Instruction(_LOAD, 0, 0, 0)]
    for each in refused:
        code += [
            _Instruction(_JUMP_IF_EQUAL, 0, 1, each),
            _Instruction(_RETURN, 0, 0, _KILL_PROCESS),
        ]
    code.append(_Instruction(_RETURN, 0, 0, _ALLOW))
    listed = (_Instruction * len(code))(*code)
    program = _Program(len(code), listed)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(
        number, _SET_FILTER, _ALL_THREADS, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def compiled(memory: str, mode: str) -> ash.Executable:
    is_static = memory == "static"
    axis = ash.Axis("rows", min=1, max=GREATEST, static=is_static)

    @ash.jit(axes=[axis])
    def function(x: ash.f32["rows", 64], w: ash.f32[64, 512], v: ash.f32[512, 64]) -> Any:
        hidden = ash.tanh(x @ w)
        return ash.softmax(hidden @ v, axis=-1), x @ x.T

    few = mode == "few_specializations"
    options = ash.Options(specializations=8) if few else ash.Options()
    return ash.compile(function, options=options, threads=2)


def main() -> None:
    memory, mode, *free = sys.argv[1:]
    executable = compiled(memory, mode)
    rng = np.random.default_rng(0)
    rows, w, v = (
        rng.normal(size=size).astype(np.float32) for size in ((GREATEST, 64), (64, 512), (512, 64))
    )
    sizes = rng.integers(1, GREATEST + 1, CALLS).tolist()
    room = np.ones((GREATEST, 64), np.float32), np.ones(GREATEST * GREATEST, np.float32)

    def call(size: int) -> None:
        if mode == "out":
            out = room[0][:size], room[1][: size * size].reshape(size, size)
            executable.run((rows[:size], w, v), out=out)
        else:
            executable(rows[:size], w, v)

    for size in (2, 3) * 200:  # Python's own memory, and the stacks of threads
        call(size)
    gc.disable()
    if not free:
        refuse_memory()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for size in sizes:
        call(size)
    after = resource.getrusage(resource.RUSAGE_SELF)
    faults = after.ru_minflt - before.ru_minflt + after.ru_majflt - before.ru_majflt
    os.write(1, str(faults).encode())
    os._exit(0)  # to end as usual gives memory back


if __name__ == "__main__":
    main()
