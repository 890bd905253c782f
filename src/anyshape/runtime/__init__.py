"""The typed Python face of the native library, whose C++ sources are in `csrc/`."""

from anyshape.runtime.code import Code, Function, load_code
from anyshape.runtime.machine import Machine, VectorIsa, cpu_identity, hardware, machine

__all__ = [
    "Code",
    "Function",
    "Machine",
    "VectorIsa",
    "cpu_identity",
    "hardware",
    "load_code",
    "machine",
]
