"""What users call: `jit` and `compile`."""

from anyshape.api.compile import compile
from anyshape.api.compiled_module import CompiledModule
from anyshape.api.jit import Jitted, jit

__all__ = ["CompiledModule", "Jitted", "compile", "jit"]
