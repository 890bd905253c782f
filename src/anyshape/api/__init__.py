"""What users call: `jit` and `compile`."""

from anyshape.api.compile import compile
from anyshape.api.jit import Jitted, jit

__all__ = ["Jitted", "compile", "jit"]
