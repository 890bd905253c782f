"""The typed Python face of the native library, whose C++ sources are in `csrc/`."""

from anyshape.runtime.machine import Machine, VectorIsa, machine

__all__ = ["Machine", "VectorIsa", "machine"]
