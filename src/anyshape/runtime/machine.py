"""What this process may use of the machine: CPUs, data caches, vector instructions and memory.

CPUs *allowed* are not CPUs *present*: an affinity mask or a container's quota lowers them, and a
team with more threads than that only waits for itself.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from anyshape.runtime import _native

VectorIsa: TypeAlias = Literal["avx512", "avx2", "sse2", "neon", "scalar"]
"""Widest first. "avx512" means F+BW+DQ+VL, "avx2" means AVX2+FMA, "sse2" is plain x86-64."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as this process sees it. Sizes are in bytes and 0 where unknown.

    `cpus` is the number of threads worth running: the smaller of `affinity_cpus` (the scheduler's
    mask of the calling thread) and `cpu_quota` rounded up (CPUs' worth of time that the cgroups
    grant; None if unlimited). `byte_products` says whether the CPU has VNNI in its `vector_isa`.
    """

    cpus: int
    affinity_cpus: int
    cpu_quota: float | None
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    cache_line_bytes: int
    vector_isa: VectorIsa
    byte_products: bool


def machine() -> Machine:
    """Read the machine anew: affinity and quotas may change while the process runs."""
    native = _native.machine()
    return Machine(
        cpus=native.cpus,
        affinity_cpus=native.affinity_cpus,
        cpu_quota=native.cpu_quota,
        l1d_bytes=native.l1d_bytes,
        l2_bytes=native.l2_bytes,
        l3_bytes=native.l3_bytes,
        cache_line_bytes=native.cache_line_bytes,
        vector_isa=native.vector_isa,
        byte_products=native.byte_products,
    )


@cache
def hardware() -> Machine:
    """The machine as it was first seen: for caches and instructions, which stay as they are. To
    read it takes as long as a tenth of the passes of a small graph."""
    return machine()


def cpu_identity() -> str:
    """Maker, model and features of the CPU: equal where the same native code suits. Opaque."""
    return _native.cpu_identity()


_RUNS = {
    "x86-64-v4": ("x86-64-v4", "x86-64-v3", "x86-64"),
    "x86-64-v3": ("x86-64-v3", "x86-64"),
    "x86-64-v2": ("x86-64",),
    "x86-64": ("x86-64",),
    "aarch64": ("aarch64",),
}


def cpu_levels() -> tuple[str, ...]:
    """The kinds of CPUs that this one is of, the best first: code for each of them runs here."""
    return _RUNS.get(_native.cpu_level(), ())


def lacking_memory(bytes: int) -> int | None:
    """What the system has left, if `bytes` more are not there to be touched; None if they are.

    A few MiB are always taken to be there, as in calls.
    """
    return _native.lacking_memory(bytes)
