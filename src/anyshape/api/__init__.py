"""What users call: `jit`."""

from anyshape.api.jit import Jitted, jit

__all__ = ["Jitted", "jit"]
