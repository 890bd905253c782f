"""`anyshape doctor`: what this machine is to anyshape, and whether it works here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from anyshape.base.errors import AnyshapeError
from anyshape.base.options import options_from_environment
from anyshape.execute.compile import compile_graph
from anyshape.execute.target import executable_isas
from anyshape.ir.text.parser import parse
from anyshape.observe.table import byte_text
from anyshape.runtime.machine import cpu_levels, machine
from anyshape.runtime.options import most_threads

PACKAGES = ("anyshape", "numpy", "llvmlite", "ml_dtypes", "onnx", "torch")
GRAPH = """graph test(x: f32[n, k], y: f32[k, m]) -> f32[n, m] {
  %0 = dot(x, y) {contract=([1], [0])} : f32[n, m]
  %1 = exp(%0) : f32[n, m]
  return %1
}
"""


def examined() -> dict[str, Any]:
    """Names and values, to print or to read."""
    here, options = machine(), options_from_environment()
    isas, limit = executable_isas(), options.memory_limit
    found: dict[str, Any] = {
        "instruction set": options.isa or isas[0],
        "executes": ", ".join(isas),
        "targets": ", ".join(cpu_levels()) or "none",
        "CPUs": here.cpus,
        "CPUs by affinity": here.affinity_cpus,
        "CPU quota": here.cpu_quota or "none",
        "threads": min(here.cpus, most_threads(options) or here.cpus),
        "affinity": ", ".join(map(str, options.affinity)) or "none",
        "memory limit": "none" if limit is None else byte_text(limit),
        "L1, L2, L3": ", ".join(map(byte_text, (here.l1d_bytes, here.l2_bytes, here.l3_bytes))),
        "cache": str(options.cache_dir),
    }
    found |= {package: _version(package) for package in PACKAGES}
    found |= {"self-test": _self_test()}
    return found | {"slow here": _slow(isas[0], here.cpus) or "nothing"}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _self_test() -> str:
    """A product and a function, compiled and compared with NumPy."""
    x, y = (np.linspace(-1, 1, 12, dtype=np.float32).reshape(s) for s in ((3, 4), (4, 3)))
    try:
        (result,) = compile_graph(parse(GRAPH))(x, y)
    except (AnyshapeError, OSError) as error:
        return f"failed: {error}"
    close = bool(np.allclose(result, np.exp(x @ y), rtol=1e-4, atol=1e-4))
    return "ok" if close else "failed: wrong results"


def _slow(isa: str, cpus: int) -> str:
    reasons: list[str] = []
    if isa in ("sse2", "scalar"):
        reasons.append(f"vectors of {isa} are narrow")
    if cpus == 1:
        reasons.append("one CPU is allowed to this process")
    return "; ".join(reasons)
