"""Everything about compiling and running that a user may set for a whole process, as data.

A knob is a field of `Options`, the environment variable that gives its default, and what it does.
`docs/reference/knobs.md` is written from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Knob:
    option: str  # the field of Options
    variable: str
    default: str
    meaning: str


KNOBS: Final = (
    Knob(
        "threads",
        "ANYSHAPE_THREADS",
        "the CPUs allowed to the process",
        "the most threads that the process uses; affinity and cgroup quota are respected",
    ),
    Knob(
        "affinity",
        "ANYSHAPE_AFFINITY",
        "none",
        "CPUs of the threads, `(0, 2)` or `0,2-3`: so many threads at most, each worker on the CPU"
        " at its place in the list; the calling thread, which is the first, stays where it is;"
        " `none` leaves them to the operating system; one list for all Executables of a process",
    ),
    Knob(
        "memory_limit",
        "ANYSHAPE_MEMORY_LIMIT",
        "none",
        "the bytes that one call may take, `1 GiB` or a number, where neither `compile` nor the"
        " call says another limit; executables that are saved keep it",
    ),
    Knob(
        "specializations",
        "ANYSHAPE_SPECIALIZATIONS",
        "1024",
        "bindings of which an Executable keeps level 2; those used last stay",
    ),
    Knob(
        "specialization_bytes",
        "ANYSHAPE_SPECIALIZATION_BYTES",
        "64 MiB",
        "the most that these may occupy, for each Executable",
    ),
    Knob(
        "cache_dir",
        "ANYSHAPE_CACHE_DIR",
        "in XDG's cache",
        "folder for compiled kernels; `off` keeps none",
    ),
    Knob("cache_bytes", "ANYSHAPE_CACHE_BYTES", "1 GiB", "how much that folder may hold"),
    Knob(
        "session_cache_bytes",
        "ANYSHAPE_SESSION_CACHE_BYTES",
        "2 GiB",
        "how much compiled ONNX models, weights included, may occupy in it; `0` keeps none",
    ),
    Knob(
        "compile_jobs",
        "ANYSHAPE_COMPILE_JOBS",
        "the CPUs allowed to the process",
        "the most processes that compile",
    ),
    Knob(
        "calibrate",
        "ANYSHAPE_CALIBRATE",
        "1",
        "`0` takes costs as given instead of measuring this machine once",
    ),
    Knob(
        "target",
        "ANYSHAPE_TARGET",
        "native",
        "what runs kernels: native, interpreter",
    ),
    Knob(
        "isa",
        "ANYSHAPE_ISA",
        "the best that the CPU has",
        "instruction set of kernels: avx512, avx2, sse2, neon, scalar",
    ),
    Knob("without", "ANYSHAPE_WITHOUT", "none", "passes that are left out, by name"),
    Knob(
        "debug",
        "ANYSHAPE_DEBUG",
        "0",
        "1 to 4: what compiling shows on stderr: passes, decisions, graphs, kernels",
    ),
    Knob("progress", "ANYSHAPE_PROGRESS", "1", "`0` shows no line of progress on a terminal"),
    Knob(
        "perf_map",
        "ANYSHAPE_PERF_MAP",
        "0",
        "`1` names generated functions for `perf`, in /tmp/perf-<pid>.map",
    ),
)
